//! A simulated run as a page.

use maud::{Markup, html};
use simulation::history::History;
use simulation::report::{Entry, ExpectationOutcome, Happening, Occurrence, Report, View};

use crate::html::data::PageData;
use crate::html::node_table::node_table;
use crate::html::page::{Page, figure, fold};
use crate::text::age::exact;
use crate::text::paint::Role;
use crate::text::simulation::{distinct_views, moment_title, role, since_start, without_price};
use crate::view::money::{Dollars, Monthly};
use crate::view::node_row::NodeRow;
use crate::view::pod_names::counted;
use crate::view::pricing::PriceNote;

/// Entries of the timeline that a page lists: a day has thousands, and bars show them all.
const ENTRIES_MAX: usize = 2_000;

/// The whole run.
pub(crate) fn simulation(report: &Report, history: &History) -> Result<String, serde_json::Error> {
    let mut data = PageData::new("simulate");
    data.add_run(&report.scenario, report, history);
    let lead = html! {
        p.about { (report.about) }
        (figures(report))
        p.soft {
            "Dollars are " (PriceNote::from(report))
            @if let Some(unpriced) = without_price(report) { ", " (unpriced) }
            "."
        }
        @if !report.is_as_expected() {
            h2.bad { "Not as expected" }
            (expectations(&report.expectations))
        }
        (violations(report))
    };
    let tables = html! {
        @if report.is_as_expected() && !report.expectations.is_empty() {
            @let beside = format!("all {} hold", report.expectations.len());
            (fold("Expectations", &beside, &expectations(&report.expectations)))
        }
        @for view in distinct_views(report) { (nodes(view, report)) }
        (timeline(report))
    };
    let result = result(report);
    let subject = &report.scenario;
    Page { command: "simulate", subject, result: &result, lead, tables, data: &data }.render()
}

/// The run in a sentence.
fn result(report: &Report) -> String {
    let Report { started, ended, timeline, cost, waiting, .. } = report;
    let count =
        |is_it: fn(&Happening) -> bool| timeline.iter().filter(|entry| is_it(&entry.what)).count();
    let launched = count(|what| matches!(what, Happening::Launched { .. }));
    let removed = count(|what| matches!(what, Happening::NodeRemoved { .. }));
    let nodes = format!("{} launched and {removed} gone", counted(launched, "node"));
    let wait = match waiting.pods_bound {
        0 => "no pod waited".to_owned(),
        pods => format!(
            "{} waited {} on average, {} at the longest",
            counted(pods, "pod"),
            exact(waiting.mean()),
            exact(waiting.longest)
        ),
    };
    let dollars = Dollars(cost.total_nano_usd);
    let length = exact(ended.duration_since(*started));
    let unmet = if report.is_as_expected() { "" } else { "Not as expected: " };
    format!("{unmet}{dollars} for {length}, {nodes}; {wait}")
}

fn figures(report: &Report) -> Markup {
    let cost = &report.cost;
    html! {
        div.figures {
            (figure(&Monthly(cost.peak_hourly).to_string(), &format!("a month at its dearest ({})", cost.peak_hourly)))
            (figure(&Monthly(cost.final_hourly).to_string(), &format!("a month at the end ({})", cost.final_hourly)))
            (figure(&Dollars(cost.total_nano_usd).to_string(), "for the run itself"))
            (figure(&exact(report.waiting.longest), "the longest wait of a pod"))
            (figure(&exact(report.ended.duration_since(report.started)), &format!("of simulated time, seed {}", report.seed)))
        }
    }
}

fn expectations(expectations: &[ExpectationOutcome]) -> Markup {
    html! {
        @if !expectations.is_empty() {
            div.card {
                @for ExpectationOutcome { at: _, expected, found } in expectations {
                    @match found {
                        None => p { span.good { "✓ " } (expected) },
                        Some(found) => p { span.bad { "✗ " } (expected) ": " (found) },
                    }
                }
            }
        }
    }
}

fn violations(report: &Report) -> Markup {
    html! {
        @if !report.violations.is_empty() {
            h2.bad { "Broken rules" }
            div.card {
                @for Occurrence { at, violation } in &report.violations {
                    p { (since_start(report, *at)) " " (violation) }
                }
            }
        }
    }
}

fn nodes(view: &View, report: &Report) -> Markup {
    let View { moment, at, nodes, hourly, pods_running, pods_pending } = view;
    let rows: Vec<NodeRow> = nodes.iter().map(NodeRow::from).collect();
    html! {
        @let beside = format!(
            "{}, {}, {} running, {pods_pending} pending, {hourly}, {} a month",
            since_start(report, *at),
            counted(rows.len(), "node"),
            counted(*pods_running, "pod"),
            Monthly(*hourly)
        );
        @let title = format!("Nodes {}", moment_title(*moment));
        (fold(&title, &beside, &html! { @if !rows.is_empty() { (node_table(&rows)) } }))
    }
}

/// What happened, in order.
pub(crate) fn timeline(report: &Report) -> Markup {
    let entries = &report.timeline;
    let left_out = entries.len().saturating_sub(ENTRIES_MAX);
    fold(
        "Timeline",
        &counted(entries.len(), "entry").replace("entrys", "entries"),
        &html! {
            ol.timeline {
                @for entry in entries.iter().take(ENTRIES_MAX) { (happening(entry, report)) }
            }
            @if left_out > 0 {
                p.soft { (left_out) " more are left out here: " code { "-o json" } " has them all." }
            }
        },
    )
}

fn happening(entry: &Entry, report: &Report) -> Markup {
    let Entry { at, what, why } = entry;
    let class = match role(what) {
        Some(Role::Heading) => "step",
        Some(Role::Good) => "good",
        Some(Role::Warning) => "warn",
        Some(Role::Bad) => "bad",
        Some(Role::Name | Role::Faint) | None => "soft",
    };
    html! {
        li class=(class) {
            time datetime=(at) { (since_start(report, *at)) }
            (what)
            @if let Some(why) = why { p { (why) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn page(report: &Report) -> String {
        simulation(report, &testing::history()).unwrap()
    }

    #[test]
    fn the_page_shows_every_part_of_the_run() {
        let page = page(&testing::report());
        for part in ["Two nodes become one.", "+10m", "its pods fit elsewhere", "✗ ", "$58.84"] {
            assert!(page.contains(part), "{part}");
        }
    }

    #[test]
    fn the_first_heading_is_the_result_in_a_sentence() {
        let page = page(&testing::report());
        let result = "<h1>Not as expected: $0.02 for 15m, 0 nodes launched and 0 gone; 4 pods waited \
                      25s on average, 52s at the longest</h1>";
        assert!(page.contains(result), "{page}");
    }

    #[test]
    fn a_long_timeline_is_cut_and_says_so() {
        let mut report = testing::report();
        report.timeline = vec![report.timeline[0].clone(); ENTRIES_MAX + 3];
        let page = page(&report);
        assert_eq!(page.matches("<li").count(), ENTRIES_MAX);
        assert!(page.contains("3 more are left out here"));
    }

    #[test]
    fn words_of_the_scenario_are_escaped() {
        let mut report = testing::report();
        report.about = "<img onerror=alert(1)>".into();
        assert!(!page(&report).contains("<img"));
    }
}
