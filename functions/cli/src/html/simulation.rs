//! A simulated run as a page.

use maud::{Markup, html};
use simulation::report::{Entry, ExpectationOutcome, Occurrence, Report, View};

use crate::html::node_table::node_table;
use crate::html::page::{figure, page};
use crate::text::age::exact;
use crate::text::paint::Role;
use crate::text::simulation::{distinct_views, moment_title, role, since_start};
use crate::view::money::{Dollars, Monthly};
use crate::view::node_row::NodeRow;
use crate::view::pod_names::counted;
use crate::view::pricing::PriceNote;

/// The whole run.
pub(crate) fn simulation(report: &Report) -> String {
    let body = html! {
        h1 { (report.scenario) }
        p.about { (report.about) }
        (figures(report))
        p.soft { "Dollars are " (PriceNote::from(report)) "." }
        (expectations(&report.expectations))
        (violations(report))
        @for view in distinct_views(report) { (nodes(view, report)) }
        h2 { "Timeline" }
        ol.timeline { @for entry in &report.timeline { (happening(entry, report)) } }
    };
    page(&report.scenario, &body)
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
            h2 { "Expectations" }
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
        h2 {
            "Nodes " (moment_title(*moment))
            small {
                (since_start(report, *at)) ", " (counted(rows.len(), "node")) ", "
                (counted(*pods_running, "pod")) " running, " (pods_pending) " pending, "
                (hourly) ", " (Monthly(*hourly)) " a month"
            }
        }
        @if !rows.is_empty() { (node_table(&rows)) }
    }
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

    #[test]
    fn the_page_shows_every_part_of_the_run() {
        let page = simulation(&testing::report());
        for part in ["Two nodes become one.", "+10m", "its pods fit elsewhere", "✗ ", "$58.84"] {
            assert!(page.contains(part), "{part}");
        }
    }

    #[test]
    fn words_of_the_scenario_are_escaped() {
        let mut report = testing::report();
        report.about = "<img onerror=alert(1)>".into();
        assert!(!simulation(&report).contains("<img"));
    }
}
