//! Runs of one scenario in its variants as a page.

use maud::{Markup, html};

use crate::html::page::page;
use crate::text::comparison::{seconds, total};
use crate::text::simulation::since_start;
use crate::view::comparison::VariantRun;
use crate::view::pricing::PriceNote;

/// One row a variant, and what was not as expected.
pub(crate) fn comparison(runs: &[VariantRun]) -> String {
    let Some(VariantRun { report, .. }) = runs.first() else { return String::new() };
    let body = html! {
        h1 { (report.scenario) }
        p.about { (report.about) }
        h2 { "Variants" small { "seed " (report.seed) } }
        div.scroll {
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
        @for run in runs { (nothing_there(run)) }
        @for run in runs { (unmet(run)) }
    };
    page(&report.scenario, &body)
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
        let run = |variant: &str| VariantRun { variant: variant.into(), report: testing::report() };
        let page = comparison(&[run("as <pods> come"), run("ahead")]);
        for part in ["as &lt;pods&gt; come", "ahead", "25.0s", "1 of 2 hold", "2 pods: 3 pods"] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }
}
