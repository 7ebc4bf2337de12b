//! Runs of one scenario with several seeds as a page: means of every variant, and the run of the
//! first seed drawn.

use maud::{Markup, html};

use crate::html::data::PageData;
use crate::html::page::Page;
use crate::text::age::age;
use crate::view::comparison::VariantRun;
use crate::view::pod_names::counted;
use crate::view::series::{Figures, Run, Series, dollars};

/// One row a variant, and what was not as expected in any run. `drawn` has each variant's run with
/// the first seed; their curves lie over each other.
pub(crate) fn series(series: &[Series], drawn: &[VariantRun]) -> Result<String, serde_json::Error> {
    let first = series.first().and_then(|own| own.runs.first().map(|run| (own, run)));
    let Some((first, Run { seed, setting, pods_bound, .. })) = first else {
        return Ok(String::new());
    };
    let mut data = PageData::new("simulate");
    for VariantRun { variant, report, history } in drawn {
        data.add_run(variant, report, history);
    }
    let length = age(setting.ended.duration_since(setting.started));
    let lead = html! {
        p.about { (setting.about) }
        h2 { "Variants" small { (first.seeds()) } }
        div.scroll tabindex="0" role="region" aria-label="Variants" {
            table {
                thead {
                    tr {
                        th { "Variant" }
                        @for title in ["Cost of the run", "Against the first", "Mean wait",
                            "95 % wait up to", "Launched", "Pending at the end"] { th.number { (title) } }
                    }
                }
                tbody { @for own in series { (row(own, first)) } }
            }
        }
        p.soft {
            (length) " of simulated time, " (counted(*pods_bound, "pod")) ". The run of seed " (seed)
            " is drawn below. Dollars are " (setting.prices) "."
        }
    };
    let tables = html! { @for own in series { (unmet(own)) } };
    let (result, subject) = (result(series), &setting.scenario);
    Page { command: "simulate", subject, result: &result, lead, tables, data: &data }.render()
}

/// What the runs came to in a sentence: nothing is said to be cheaper that may not be.
fn result(series: &[Series]) -> String {
    let Some((first, others)) = series.split_first() else { return String::new() };
    let cost = |own: &Series| own.estimate(|run| run.cost_usd).shown(dollars);
    let runs = counted(first.runs.len(), "run");
    if others.is_empty() {
        return format!("{} for the run, of {runs}", cost(first));
    }
    let against = |own: &Series| own.difference(first, |run| run.cost_usd);
    let mean = |own: &Series| against(own).mean;
    let cheapest = others.iter().min_by(|one, other| mean(one).total_cmp(&mean(other)));
    match cheapest.filter(|own| against(own).is_below_zero()) {
        Some(own) => format!(
            "“{}” costs {} against “{}”: {} instead of {}, of {runs} each",
            own.name,
            against(own).shown(dollars),
            first.name,
            cost(own),
            cost(first)
        ),
        None => format!(
            "No variant costs less than “{}” for certain: {}, of {runs} each",
            first.name,
            cost(first)
        ),
    }
}

fn row(own: &Series, first: &Series) -> Markup {
    let Figures { cost, against, is_cheaper, waits, counts } = own.figures(first);
    html! {
        tr {
            td.name { (own.name) }
            td.number { (cost) }
            td class=(if is_cheaper { "number good" } else { "number" }) { (against) }
            @for figure in waits.iter().chain(&counts) { td.number { (figure) } }
        }
    }
}

fn unmet(own: &Series) -> Markup {
    let unmet = own.unmet();
    html! {
        @if !unmet.is_empty() {
            h2.bad { "Not as expected" small { (own.name) } }
            div.card {
                @for (seed, what) in unmet { p { span.bad { "✗ " } "seed " (seed) ": " (what) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn series_of(name: &str, costs: &[f64]) -> Series {
        let run = |(seed, cost): (u64, &f64)| Run {
            cost_usd: *cost,
            ..Run::of(seed, &testing::report())
        };
        Series { name: name.into(), runs: (7..).zip(costs).map(run).collect() }
    }

    #[test]
    fn every_variant_has_its_means_and_the_first_seed_is_drawn() {
        let all = [series_of("as <pods> come", &[10.0, 10.2]), series_of("ahead", &[8.0, 8.2])];
        let drawn = all.each_ref().map(|own| VariantRun {
            variant: own.name.clone(),
            report: testing::report(),
            history: testing::history(),
        });
        let page = series(&all, &drawn).unwrap();
        for part in ["as &lt;pods&gt; come", "seeds 7 to 8", "The run of seed 7", "-$2.00 ± $0.00"]
        {
            assert!(page.contains(part), "{part} in {page}");
        }
        assert!(page.contains("<h1>“ahead” costs -$2.00 ± $0.00 against “as &lt;pods&gt; come”"));
        // What the report misses is said of both variants, once each.
        assert_eq!(page.matches("Not as expected").count(), 2);
    }

    #[test]
    fn what_runs_do_not_tell_apart_is_not_called_cheaper() {
        let all = [series_of("one", &[10.0, 11.0]), series_of("other", &[9.0, 12.5])];
        assert!(result(&all).starts_with("No variant costs less than “one” for certain: $10.50 ±"));
    }

    #[test]
    fn one_variant_is_its_mean() {
        assert_eq!(result(&[series_of("one", &[2.0])]), "$2.00 for the run, of 1 run");
    }
}
