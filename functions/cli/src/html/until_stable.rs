//! What comes of a cluster until nothing changes, as a page.

use domain::money::UsdPerHour;
use maud::{Markup, html};
use simulation::stable::StableRun;

use crate::html::data::PageData;
use crate::html::node_table::node_table;
use crate::html::page::{Page, capitalized, count, figure, fold};
use crate::html::simulation::timeline;
use crate::text::age::exact;
use crate::text::until_stable::{headline, side_line};
use crate::view::money::Monthly;
use crate::view::pricing::PriceNote;
use crate::view::until_stable::{CameRow, StepRow, UntilStable, sentence};

/// The whole answer; `cluster` is its name, where one was given.
pub(crate) fn until_stable(
    command: &'static str,
    own: &UntilStable,
    run: &StableRun,
    prices: &PriceNote,
    cluster: Option<&str>,
) -> Result<String, serde_json::Error> {
    let subject = cluster.map_or_else(
        || "A cluster until nothing changes".to_owned(),
        |name| format!("{name} until nothing changes"),
    );
    let mut data = PageData::new(command);
    if let Some(history) = &run.history {
        data.add_run("the cluster", &run.report, history);
    }
    let lead = html! {
        @for assumption in &own.assumptions { p.about { (assumption) } }
        div.figures {
            (figure(&Monthly(own.from.remaining()).to_string(), "a month now"))
            (figure(&Monthly(own.to.remaining()).to_string(), "a month then"))
            (figure(&exact(own.elapsed), "until the last change"))
            (count(own.evictions, ["eviction", "evictions"]))
        }
        @if !own.is_stable { p.warn { "It had not come to rest when the run was given up." } }
        p { "Now " (side_line(&own.from)) "." br; "Then " (side_line(&own.to)) "." }
        p.soft { "Dollars are " (prices) "." }
        @for violation in &own.violations { p.bad { (violation) } }
        h2 { "What holds more back" small { "dollars a month" } }
        div.scroll tabindex="0" role="region" aria-label="What holds more back" {
            table {
                tbody {
                    @for cost in &own.blockers.costs {
                        tr {
                            td.number.good {
                                @if cost.is_at_least { "≥ " }
                                (Monthly(cost.saving))
                            }
                            td { (sentence(cost, |name| name)) }
                        }
                    }
                    tr { td.number { "–" } td { (own.blockers.harmless) @if own.blockers.harmless == 1 { " other holds" } @else { " others hold" } " nothing back" } }
                }
            }
        }
    };
    let tables = html! {
        (fold("Steps", "", &html! { @for step in &own.steps { (step_card(step)) } }))
        (fold("Nodes then", "", &node_table(&own.to.rows)))
        (timeline(&run.report))
    };
    let result = capitalized(&headline(own));
    Page { command, subject: &subject, result: &result, lead, tables, data: &data }.render()
}

fn step_card(step: &StepRow) -> Markup {
    let is_dearer = step.savings < UsdPerHour::ZERO;
    let change = if is_dearer { UsdPerHour::ZERO - step.savings } else { step.savings };
    html! {
        div.card {
            b { "+" (exact(step.at)) " " (step.summary()) }
            " " (Monthly(change)) @if is_dearer { " a month more" } @else { " a month less" }
            @if !step.went.is_empty() { p.name { "− " (step.went.join(", ")) } }
            @for CameRow { instance_type, zone, capacity_type, price, .. } in &step.came {
                p { "+ " (instance_type) " " (capacity_type) " in " (zone) " at " (price) }
            }
        }
    }
}
