//! Runs with several seeds as text: one row a variant, means with their intervals.

use comfy_table::{Attribute, Cell, CellAlignment, Color};

use crate::terminal::Canvas;
use crate::text::age::age;
use crate::text::layout::{cell, hide_until_it_fits, plain_table, table_text};
use crate::text::page::Page;
use crate::text::paint::Role;
use crate::view::pod_names::counted;
use crate::view::series::{Figures, Run, Series};

const HEADER: [&str; 7] = [
    "VARIANT",
    "COST OF THE RUN",
    "AGAINST THE FIRST",
    "MEAN WAIT",
    "95 % WAIT UP TO",
    "LAUNCHED",
    "PENDING AT THE END",
];

/// Columns to do without on a narrow terminal, the least missed first: PENDING, LAUNCHED.
const DISPENSABLE: [usize; 2] = [6, 5];

/// The table, and what was not as expected.
pub(crate) fn series(series: &[Series], canvas: Canvas) -> String {
    let mut page = Page::new(canvas);
    let Some(Run { setting, pods_bound, .. }) = series.first().and_then(|own| own.runs.first())
    else {
        return page.into_text();
    };
    page.heading(&setting.scenario, "");
    for line in setting.about.lines() {
        page.line(format!("  {line}"));
    }
    let length = age(setting.ended.duration_since(setting.started));
    page.faint(format!(
        "  {length} of simulated time from {}, {}, {}",
        setting.started,
        counted(*pods_bound, "pod"),
        series[0].seeds()
    ));
    page.line("");
    page.heading("VARIANTS", "");
    page.line(table(series, canvas));
    page.faint(format!("  {}", setting.prices));
    for own in series {
        unmet(&mut page, own);
    }
    page.into_text()
}

fn table(series: &[Series], canvas: Canvas) -> String {
    let mut table = plain_table(canvas);
    table.set_header(HEADER.map(|title| Cell::new(title).add_attribute(Attribute::Dim)));
    for own in series {
        table.add_row(cells(own, &series[0]));
    }
    let alone: &[usize] = if series.len() == 1 { &[2] } else { &[] };
    for column in alone {
        crate::text::layout::hide(&mut table, *column);
    }
    hide_until_it_fits(&mut table, canvas, &DISPENSABLE);
    for column in 1..HEADER.len() {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table_text(&table)
}

fn cells(own: &Series, first: &Series) -> [Cell; 7] {
    let Figures { cost, against, is_cheaper, waits: [mean, nineteen_of_twenty], counts } =
        own.figures(first);
    let [launched, pending] = counts;
    let tone = if is_cheaper { Color::DarkGreen } else { Color::Reset };
    [
        cell(&own.name).fg(Color::DarkCyan),
        Cell::new(cost),
        Cell::new(against).fg(tone),
        Cell::new(mean),
        Cell::new(nineteen_of_twenty),
        Cell::new(launched),
        Cell::new(pending),
    ]
}

/// What of the runs was not as expected.
fn unmet(page: &mut Page, series: &Series) {
    let unmet = series.unmet();
    if !unmet.is_empty() {
        page.line("");
        page.heading("NOT AS EXPECTED", &series.name);
    }
    for (seed, what) in unmet {
        let mark = page.paint(Role::Bad, "✗");
        page.line(format!("  {mark} seed {seed}: {what}"));
    }
}
