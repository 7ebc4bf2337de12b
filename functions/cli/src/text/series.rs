//! Runs with several seeds as text: one row a variant, means with their intervals.

use comfy_table::{Attribute, Cell, CellAlignment, Color};

use crate::terminal::Canvas;
use crate::text::age::age;
use crate::text::layout::{cell, hide_until_it_fits, plain_table, table_text};
use crate::text::page::Page;
use crate::text::paint::Role;
use crate::view::money::Dollars;
use crate::view::pod_names::counted;
use crate::view::series::{Run, Series};

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

const NANOS_PER_USD: f64 = 1e9;

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
        seeds(&series[0])
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

/// `seed 7`, or `seeds 7 to 11; ± is half of a 95 % confidence interval`.
pub(super) fn seeds(series: &Series) -> String {
    match (series.runs.first(), series.runs.last()) {
        (Some(first), Some(last)) if first.seed != last.seed => {
            let [first, last] = [first.seed, last.seed];
            format!("seeds {first} to {last}; ± is half of a 95 % confidence interval")
        }
        (Some(only), _) => format!("seed {}", only.seed),
        (None, _) => String::new(),
    }
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
    let seconds = |figure: fn(&Run) -> f64| own.estimate(figure).shown(|own| format!("{own:.1}s"));
    let count = |figure: fn(&Run) -> f64| own.estimate(figure).shown(|own| format!("{own:.0}"));
    let against = own.difference(first, |run| run.cost_usd);
    let tone = if against.is_below_zero() { Color::DarkGreen } else { Color::Reset };
    let shown = if own.name == first.name { "-".to_owned() } else { against.shown(dollars) };
    [
        cell(&own.name).fg(Color::DarkCyan),
        Cell::new(own.estimate(|run| run.cost_usd).shown(dollars)),
        Cell::new(shown).fg(tone),
        Cell::new(seconds(|run| run.mean_wait_seconds)),
        Cell::new(seconds(|run| run.percentile_95_seconds)),
        Cell::new(count(|run| count_of(run.launched))),
        Cell::new(count(|run| count_of(run.pods_pending))),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "counts of pods and nodes")]
fn count_of(count: usize) -> f64 {
    count as f64
}

/// To the cent.
#[expect(clippy::cast_possible_truncation, reason = "a cluster's bill is far from the largest")]
pub(super) fn dollars(usd: f64) -> String {
    Dollars((usd * NANOS_PER_USD).round() as i128).to_string()
}

/// What of the runs was not as expected, each once.
fn unmet(page: &mut Page, series: &Series) {
    let mut known: Vec<&str> = Vec::new();
    for run in &series.runs {
        for what in &run.unmet {
            if known.contains(&&**what) {
                continue;
            }
            if known.is_empty() {
                page.line("");
                page.heading("NOT AS EXPECTED", &series.name);
            }
            known.push(what);
            let mark = page.paint(Role::Bad, "✗");
            page.line(format!("  {mark} seed {}: {what}", run.seed));
        }
    }
}
