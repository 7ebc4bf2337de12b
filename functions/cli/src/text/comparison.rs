//! Runs of one scenario in its variants, beside each other.

use comfy_table::{Attribute, Cell, CellAlignment, Color};
use domain::SignedDuration;

use crate::terminal::Canvas;
use crate::text::age::age;
use crate::text::layout::{cell, hide_until_it_fits, plain_table, table_text};
use crate::text::page::Page;
use crate::text::paint::Role;
use crate::text::simulation::since_start;
use crate::view::comparison::VariantRun;
use crate::view::pricing::PriceNote;

const HEADER: [&str; 8] = [
    "VARIANT",
    "PODS BOUND",
    "MEAN WAIT",
    "LONGEST WAIT",
    "LAUNCHED",
    "DEAREST",
    "COST OF THE RUN",
    "EXPECTATIONS",
];

/// Columns to do without on a narrow terminal, the least missed first: LAUNCHED, DEAREST, PODS
/// BOUND, MEAN WAIT.
const DISPENSABLE: [usize; 4] = [4, 5, 1, 2];

/// One row a variant, and what was not as expected.
pub(crate) fn comparison(runs: &[VariantRun], canvas: Canvas) -> String {
    let mut page = Page::new(canvas);
    let Some(VariantRun { report, .. }) = runs.first() else { return page.into_text() };
    page.heading(&report.scenario, "");
    for line in report.about.lines() {
        page.line(format!("  {line}"));
    }
    let length = age(report.ended.duration_since(report.started));
    page.faint(format!(
        "  {length} of simulated time from {}, seed {}, once in each variant",
        report.started, report.seed
    ));
    page.line("");
    page.heading("VARIANTS", "");
    page.line(table(runs, canvas));
    page.faint(format!("  {}", PriceNote::from(report)));
    for run in runs {
        nothing_there(&mut page, run);
    }
    for run in runs {
        unmet(&mut page, run);
    }
    page.into_text()
}

fn table(runs: &[VariantRun], canvas: Canvas) -> String {
    let mut table = plain_table(canvas);
    table.set_header(HEADER.map(|title| Cell::new(title).add_attribute(Attribute::Dim)));
    for run in runs {
        table.add_row(cells(run));
    }
    hide_until_it_fits(&mut table, canvas, &DISPENSABLE);
    for column in 1..HEADER.len() {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table_text(&table)
}

fn cells(run: &VariantRun) -> [Cell; 8] {
    let (waiting, cost) = (&run.report.waiting, &run.report.cost);
    let (met, expected) = run.met();
    let tone = if run.report.is_as_expected() { Color::DarkGreen } else { Color::DarkRed };
    [
        cell(&run.variant).fg(Color::DarkCyan),
        Cell::new(waiting.pods_bound),
        Cell::new(seconds(waiting.mean())),
        Cell::new(seconds(waiting.longest)),
        Cell::new(run.launches()),
        Cell::new(cost.peak_hourly),
        Cell::new(total(run)),
        Cell::new(format!("{met} of {expected} hold")).fg(tone),
    ]
}

/// To a tenth of a second: means of waits differ by less than one.
pub(crate) fn seconds(duration: SignedDuration) -> String {
    format!("{:.1}s", duration.as_secs_f64())
}

/// What a run cost, to a hundredth of a cent: variants may differ by no more.
pub(crate) fn total(run: &VariantRun) -> String {
    format!("${:.4}", run.report.cost.total_usd())
}

/// What the scenario would have had happen in a variant, and was not there.
fn nothing_there(page: &mut Page, run: &VariantRun) {
    for entry in run.nothing_there() {
        let at = since_start(&run.report, entry.at);
        page.line(format!("  {}, {at}: {}", run.variant, entry.what));
    }
}

/// What of a run was not as expected.
fn unmet(page: &mut Page, run: &VariantRun) {
    if run.report.is_as_expected() {
        return;
    }
    page.line("");
    page.heading("NOT AS EXPECTED", &run.variant);
    for outcome in &run.report.expectations {
        if let Some(found) = &outcome.found {
            let mark = page.paint(Role::Bad, "✗");
            page.line(format!("  {mark} {}: {found}", outcome.expected));
        }
    }
    for occurrence in &run.report.violations {
        let at = since_start(&run.report, occurrence.at);
        page.line(format!("  {at}  {}", occurrence.violation));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn variants_stand_beside_each_other_and_say_what_was_not_as_expected() {
        let run = |variant: &str| VariantRun {
            variant: variant.into(),
            report: testing::report(),
            history: testing::history(),
        };
        let mut good = run("ahead");
        good.report.expectations.retain(simulation::report::ExpectationOutcome::holds);
        insta::assert_snapshot!(comparison(&[run("as pods come"), good], Canvas::PLAIN));
    }
}
