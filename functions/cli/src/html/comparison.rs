//! Runs of one scenario in its variants as a page.

use maud::{Markup, html};

use crate::html::data::PageData;
use crate::html::page::Page;
use crate::text::comparison::{seconds, total};
use crate::text::simulation::since_start;
use crate::view::comparison::VariantRun;
use crate::view::money::Dollars;
use crate::view::pod_names::counted;
use crate::view::pricing::PriceNote;

/// One row a variant, and what was not as expected; their curves lie over each other.
pub(crate) fn comparison(runs: &[VariantRun]) -> Result<String, serde_json::Error> {
    let Some(VariantRun { report, .. }) = runs.first() else { return Ok(String::new()) };
    let mut data = PageData::new("simulate");
    for VariantRun { variant, report, history } in runs {
        data.add_run(variant, report, history);
    }
    let lead = html! {
        p.about { (report.about) }
        h2 { "Variants" small { "seed " (report.seed) } }
        div.scroll tabindex="0" role="region" aria-label="Variants" {
            table {
                thead {
                    tr {
                        th { "Variant" }
                        @for title in ["Pods bound", "Mean wait", "Longest wait", "Launched", "Dearest",
                            "Cost of the run", "Expectations"] { th.number { (title) } }
                    }
                }
                tbody { @for run in runs { (row(run)) } }
            }
        }
        p.soft { "Dollars are " (PriceNote::from(report)) "." }
    };
    let tables = html! {
        @for run in runs { (nothing_there(run)) }
        @for run in runs { (unmet(run)) }
    };
    let (result, subject) = (result(runs), &report.scenario);
    Page { command: "simulate", subject, result: &result, lead, tables, data: &data }.render()
}

/// The comparison in a sentence.
fn result(runs: &[VariantRun]) -> String {
    let cost = |run: &VariantRun| run.report.cost.total_nano_usd;
    let wait = |run: &VariantRun| run.report.waiting.mean();
    let (Some(cheapest), Some(quickest)) =
        (runs.iter().min_by_key(|run| cost(run)), runs.iter().min_by_key(|run| wait(run)))
    else {
        return String::new();
    };
    let dollars = |run: &VariantRun| Dollars(cost(run)).to_string();
    let waits = |run: &VariantRun| seconds(wait(run));
    if cheapest.variant == quickest.variant {
        return format!(
            "Of {}, “{}” costs least and has pods wait least: {}, and {} on average",
            counted(runs.len(), "variant"),
            cheapest.variant,
            dollars(cheapest),
            waits(cheapest)
        );
    }
    format!(
        "“{}” costs least: {}, and pods wait {} on average. In “{}” they wait least: {}, for {}",
        cheapest.variant,
        dollars(cheapest),
        waits(cheapest),
        quickest.variant,
        waits(quickest),
        dollars(quickest)
    )
}

fn row(run: &VariantRun) -> Markup {
    let (waiting, cost) = (&run.report.waiting, &run.report.cost);
    let (met, expected) = run.met();
    let tone = if run.report.is_as_expected() { "number good" } else { "number bad" };
    html! {
        tr {
            td.name { (run.variant) }
            td.number { (waiting.pods_bound) }
            td.number { (seconds(waiting.mean())) }
            td.number { (seconds(waiting.longest)) }
            td.number { (run.launches()) }
            td.number { (cost.peak_hourly) }
            td.number { (total(run)) }
            td class=(tone) { (met) " of " (expected) " hold" }
        }
    }
}

/// What the scenario would have had happen in a variant, and was not there.
fn nothing_there(run: &VariantRun) -> Markup {
    html! {
        @for entry in run.nothing_there() {
            p.warn { (run.variant) ", " (since_start(&run.report, entry.at)) ": " (entry.what) }
        }
    }
}

fn unmet(run: &VariantRun) -> Markup {
    html! {
        @if !run.report.is_as_expected() {
            h2.bad { "Not as expected" small { (run.variant) } }
            div.card {
                @for outcome in &run.report.expectations {
                    @if let Some(found) = &outcome.found {
                        p { span.bad { "✗ " } (outcome.expected) ": " (found) }
                    }
                }
                @for occurrence in &run.report.violations { p { (occurrence.violation) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn every_variant_has_a_row() {
        let run = |variant: &str| VariantRun {
            variant: variant.into(),
            report: testing::report(),
            history: testing::history(),
        };
        let page = comparison(&[run("as <pods> come"), run("ahead")]).unwrap();
        for part in ["as &lt;pods&gt; come", "ahead", "25.0s", "1 of 2 hold", "2 pods: 3 pods"] {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(
            page.contains("<h1>Of 2 variants, “as &lt;pods&gt; come” costs least and has pods")
        );
    }
}
