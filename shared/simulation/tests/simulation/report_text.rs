//! A run as text, for the messages of failed assertions.

use simulation::report::Report;

/// The timeline, the views, the expectations and the violations.
pub(crate) fn report_text(report: &Report) -> String {
    let mut lines = vec![String::new()];
    for entry in &report.timeline {
        let after = entry.at.duration_since(report.started).as_secs();
        let why = entry.why.as_ref().map(|why| format!("  [{why}]")).unwrap_or_default();
        lines.push(format!("{after:>6} s  {}{why}", entry.what));
    }
    for view in &report.views {
        lines.push(format!("{:?} {} running, {}", view.moment, view.pods_running, view.hourly));
        lines.extend(view.nodes.iter().map(|row| format!("  {row:?}")));
    }
    for outcome in &report.expectations {
        let found = outcome.found.as_deref().unwrap_or("so it is");
        lines.push(format!("expected {}: {found}", outcome.expected));
    }
    for occurrence in &report.violations {
        lines.push(format!("{}: {}", occurrence.at, occurrence.violation));
    }
    lines.join("\n")
}
