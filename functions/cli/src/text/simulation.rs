//! A simulated run as text: timeline, nodes, cost, and expectations.

use simulation::report::{
    Entry, ExpectationOutcome, Happening, Interruptions, Moment, Occurrence, Report, View, Waiting,
};

use crate::terminal::Canvas;
use crate::text::age::exact;
use crate::text::node_table::node_table;
use crate::text::page::Page;
use crate::text::paint::Role;
use crate::view::money::{Dollars, Monthly};
use crate::view::node_row::NodeRow;
use crate::view::pod_names::counted;
use crate::view::pricing::PriceNote;

/// Columns of the time in front of each line of the timeline, at least.
const TIME_WIDTH_MIN: usize = 8;

/// Entries of the timeline of a replay that are shown: a recorded day has thousands.
const REPLAY_ENTRIES_MAX: usize = 200;

/// The whole run.
pub(crate) fn simulation(report: &Report, canvas: Canvas) -> String {
    let mut page = Page::new(canvas);
    page.heading(&report.scenario, "");
    for line in report.about.lines() {
        page.line(format!("  {line}"));
    }
    let length = exact(report.ended.duration_since(report.started));
    let line =
        format!("  {length} of simulated time from {}, seed {}", report.started, report.seed);
    page.faint(line);
    page.line("");

    if report.is_replay && report.timeline.len() > REPLAY_ENTRIES_MAX {
        let entries = report.timeline.len();
        page.heading("TIMELINE", &format!("{entries} entries, which -o json and -o html have"));
    } else {
        page.heading("TIMELINE", "");
        let width = time_width(report);
        for entry in &report.timeline {
            happening(&mut page, entry, report, width);
        }
    }
    page.line("");

    for view in distinct_views(report) {
        nodes(&mut page, view, report);
    }
    cost(&mut page, report);
    expectations(&mut page, &report.expectations);
    violations(&mut page, &report.violations, report);
    page.into_text()
}

/// Views that differ from the one before. The first counts only if pods ran by then.
pub(crate) fn distinct_views(report: &Report) -> Vec<&View> {
    let mut distinct: Vec<&View> = Vec::new();
    for moment in [Moment::Start, Moment::Peak, Moment::End] {
        let Some(view) = report.view(moment) else { continue };
        let is_new = distinct.last().is_none_or(|last| last.nodes != view.nodes);
        if is_new && (moment != Moment::Start || view.pods_running > 0) {
            distinct.push(view);
        }
    }
    distinct
}

/// Time since the start of the run, as it stands in front of a line.
pub(crate) fn since_start(report: &Report, at: domain::Timestamp) -> String {
    format!("+{}", exact(at.duration_since(report.started)))
}

/// Columns of the times of a run.
fn time_width(report: &Report) -> usize {
    let entries = report.timeline.iter().map(|entry| entry.at);
    let times = entries.chain(report.violations.iter().map(|own| own.at));
    times.map(|at| since_start(report, at).len()).max().unwrap_or(0).max(TIME_WIDTH_MIN)
}

fn happening(page: &mut Page, entry: &Entry, report: &Report, width: usize) {
    let Entry { at, what, why } = entry;
    let time = page.paint(Role::Faint, format!("{:>width$}", since_start(report, *at)));
    let line = match role(what) {
        Some(role) => page.paint(role, what),
        None => what.to_string(),
    };
    page.line(format!("{time}  {line}"));
    if let Some(why) = why {
        page.faint(format!("{:width$}    {why}", ""));
    }
}

/// The role in which an event is painted.
pub(crate) fn role(what: &Happening) -> Option<Role> {
    match what {
        Happening::Applied(_)
        | Happening::Deleted(_)
        | Happening::Scaled { .. }
        | Happening::Marked(_) => Some(Role::Heading),
        Happening::Launched { .. }
        | Happening::NodeInitialized(_)
        | Happening::JobCompleted { .. } => Some(Role::Good),
        Happening::Disrupting { .. }
        | Happening::Draining(_)
        | Happening::RolloutStarted { .. }
        | Happening::NodeRemoved { .. }
        | Happening::InterruptionWarning { .. }
        | Happening::Announced { .. }
        | Happening::CapacityRanOut(_)
        | Happening::NothingThere { .. }
        | Happening::EvictionRefused(_) => Some(Role::Warning),
        Happening::PodsUnschedulable(_)
        | Happening::LaunchFailed { .. }
        | Happening::PodsLost { .. }
        | Happening::JobFailed { .. }
        | Happening::Fault(_)
        | Happening::ControllerFailed { .. } => Some(Role::Bad),
        Happening::CapacityReturned(_)
        | Happening::PodsPending(_)
        | Happening::NodeClaimCreated { .. }
        | Happening::NodeJoined { .. }
        | Happening::PodsBound { .. }
        | Happening::PodsEvicted { .. }
        | Happening::InstanceEnded { .. } => None,
    }
}

/// The title of a moment.
pub(crate) fn moment_title(moment: Moment) -> &'static str {
    match moment {
        Moment::Start => "after the first step",
        Moment::Peak => "at the dearest moment",
        Moment::End => "at the end",
    }
}

fn nodes(page: &mut Page, view: &View, report: &Report) {
    let View { moment, at, nodes, hourly, pods_running, pods_pending } = view;
    let summary = format!(
        "{} ({}): {}, {} running, {pods_pending} pending, {hourly}, {} a month",
        moment_title(*moment),
        since_start(report, *at),
        counted(nodes.len(), "node"),
        counted(*pods_running, "pod"),
        Monthly(*hourly)
    );
    page.heading("NODES", &summary);
    if !nodes.is_empty() {
        let rows: Vec<NodeRow> = nodes.iter().map(NodeRow::from).collect();
        page.line(node_table(&rows, page.canvas()));
    }
    page.line("");
}

fn cost(page: &mut Page, report: &Report) {
    let cost = &report.cost;
    page.heading("COST", "");
    page.line(format!("  dearest  {}  {} a month", cost.peak_hourly, Monthly(cost.peak_hourly)));
    let end = format!("  end      {}  {} a month", cost.final_hourly, Monthly(cost.final_hourly));
    let role = if cost.final_hourly < cost.peak_hourly { Role::Good } else { Role::Name };
    page.line(page.paint(role, end));
    page.line(format!("  The run itself cost {}.", Dollars(cost.total_nano_usd)));
    if let Some(covered) = cost.covered_nano_usd {
        let remaining = Dollars(cost.total_nano_usd - covered);
        page.line(format!("  Commitments covered {} of it: {remaining} remain.", Dollars(covered)));
    }
    let Interruptions { count, nano_usd, .. } = report.interruptions;
    if nano_usd > 0 {
        let taken = counted(count.try_into().unwrap_or(usize::MAX), "instance");
        page.line(format!(
            "  EC2 took back {taken}, which cost {} as their NodePools count it.",
            Dollars(nano_usd)
        ));
    }
    if let Some(needed) = report.needed {
        page.line(format!("  Its pods needed {} at least.", Dollars(needed.nano_usd)));
    }
    let Waiting { pods_bound, longest, longest_after_eviction, .. } = report.waiting;
    page.line(format!(
        "  {} bound, the longest wait {}; the longest without a replacement while nodes went {}.",
        counted(pods_bound, "pod"),
        exact(longest),
        exact(longest_after_eviction)
    ));
    if let Some(unpriced) = without_price(report) {
        page.faint(format!("  {unpriced}"));
    }
    page.faint(format!("  {}", PriceNote::from(report)));
    page.line("");
}

/// Which nodes no dollar figure counts; `None` where all have a price.
pub(crate) fn without_price(report: &Report) -> Option<String> {
    let names: Vec<&str> = report.without_price().into_iter().map(|own| &**own).collect();
    let nodes = counted(names.len(), "node");
    (!names.is_empty())
        .then(|| format!("without {nodes} that the catalogue does not price: {}", names.join(", ")))
}

fn expectations(page: &mut Page, expectations: &[ExpectationOutcome]) {
    if expectations.is_empty() {
        return;
    }
    let held = expectations.iter().filter(|outcome| outcome.holds()).count();
    page.heading("EXPECTATIONS", &format!("{held} of {} hold", expectations.len()));
    for ExpectationOutcome { at: _, expected, found } in expectations {
        let line = match found {
            None => format!("  {} {expected}", page.paint(Role::Good, "✓")),
            Some(found) => format!("  {} {expected}: {found}", page.paint(Role::Bad, "✗")),
        };
        page.line(line);
    }
}

fn violations(page: &mut Page, violations: &[Occurrence], report: &Report) {
    if violations.is_empty() {
        return;
    }
    page.line("");
    let head = page.paint(Role::Bad, "BROKEN RULES");
    page.heading(&head, &violations.len().to_string());
    let width = time_width(report);
    for Occurrence { at, violation } in violations {
        page.line(format!("{:>width$}  {violation}", since_start(report, *at)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_run_says_what_interruptions_cost_where_a_node_pool_does() {
        let mut report = testing::report();
        report.interruptions.count = 3;
        assert!(!simulation(&report, Canvas::PLAIN).contains("EC2 took back"));
        report.interruptions.nano_usd = 120_000_000;
        let text = simulation(&report, Canvas::PLAIN);
        let line = "  EC2 took back 3 instances, which cost $0.12 as their NodePools count it.";
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn a_run_names_nodes_that_no_price_is_known_of() {
        let mut report = testing::report();
        assert!(!simulation(&report, Canvas::PLAIN).contains("does not price"));
        report.views[0].nodes[0].price = None;
        let name = report.views[0].nodes[0].name.clone();
        let text = simulation(&report, Canvas::PLAIN);
        let line = format!("  without 1 node that the catalogue does not price: {name}\n");
        assert!(text.contains(&line), "{text}");
    }

    #[test]
    fn a_run_shows_its_timeline_and_cost() {
        insta::assert_snapshot!(simulation(&testing::report(), Canvas::PLAIN));
    }

    #[test]
    fn a_start_without_pods_is_not_worth_a_table() {
        let mut report = testing::report();
        let mut start = report.views[0].clone();
        start.moment = Moment::Start;
        start.nodes.pop();
        start.pods_running = 0;
        report.views.push(start);
        let moments = |report: &Report| -> Vec<Moment> {
            distinct_views(report).iter().map(|view| view.moment).collect()
        };
        assert_eq!(moments(&report), [Moment::Peak, Moment::End]);
        report.views[2].pods_running = 1;
        assert_eq!(moments(&report), [Moment::Start, Moment::Peak, Moment::End]);
    }

    #[test]
    fn a_broken_rule_is_shown_with_its_time() {
        let mut report = testing::report();
        report.violations.push(Occurrence {
            at: report.ended,
            violation: simulation::invariant::Violation::OrphanedInstance {
                instance: "i-0123".into(),
            },
        });
        let text = super::simulation(&report, Canvas::PLAIN);
        assert!(text.contains("BROKEN RULES") && text.contains("+15m  instance i-0123"), "{text}");
    }
}
