//! The history of a run says what its timeline, its views and its cost say.

use domain::settings::Settings;
use simulation::Traced;
use simulation::history::{Came, History, HowEnded};
use simulation::report::{Happening, Moment, NodeState, Report};
use simulation::scenario::Scenario;

fn traced(name: &str) -> Traced {
    let path = format!("{}/../../functions/cli/scenarios/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    let scenario = Scenario::read(&path, &std::fs::read_to_string(&path).unwrap()).unwrap();
    simulation::run_traced(scenario, &Settings::default(), None, &|_| {}).unwrap()
}

fn count(report: &Report, is_it: impl Fn(&Happening) -> bool) -> usize {
    report.timeline.iter().filter(|entry| is_it(&entry.what)).count()
}

/// What the nodes of a history cost while their prices count.
fn cost_of_samples(history: &History, report: &Report) -> i128 {
    let ends = history.samples.iter().skip(1).map(|own| own.at).chain([report.ended]);
    let sum: i128 = history
        .samples
        .iter()
        .zip(ends)
        .map(|(own, end)| i128::from(own.hourly.nanos()) * end.duration_since(own.at).as_millis())
        .sum();
    sum / 3_600_000
}

#[test]
fn a_history_has_every_node_of_the_timeline_with_its_ends() {
    let Traced { report, history, .. } = traced("consolidation");
    let launched = count(&report, |what| matches!(what, Happening::Launched { .. }));
    let removed = count(&report, |what| matches!(what, Happening::NodeRemoved { .. }));
    assert!(launched > 1 && removed > 0, "{launched} {removed}");
    assert_eq!(history.nodes.iter().filter(|own| own.claim.is_some()).count(), launched);
    assert_eq!(history.nodes.iter().filter(|own| own.gone.is_some()).count(), removed);
    for own in history.nodes.iter().filter(|own| own.claim.is_some()) {
        let [joined, ready] = [own.joined, own.ready].map(Option::unwrap);
        assert!(own.launched < joined && joined <= ready, "{own:?}");
        assert!(!matches!(own.came, Came::Applied | Came::Unknown), "{own:?}");
        if let Some(gone) = own.gone {
            assert!(own.draining.unwrap() <= gone, "{own:?}");
            assert!(own.went.is_some(), "{own:?}");
        }
    }
}

#[test]
fn pods_are_where_the_view_of_the_end_counts_them() {
    for name in ["consolidation", "spot-notice"] {
        let Traced { report, history, .. } = traced(name);
        let end = report.view(Moment::End).unwrap();
        for (index, own) in history.nodes.iter().enumerate().filter(|(_, own)| own.gone.is_none()) {
            let row = end.nodes.iter().find(|row| row.name == own.name).unwrap();
            let is_there = |pod: &&simulation::history::PodLife| {
                pod.ended.is_none() && pod.bound.is_some_and(|(_, node)| node == index)
            };
            let pods = history.pods.iter().filter(is_there);
            assert_eq!(
                pods.clone().map(|pod| pod.cpu).sum::<i64>(),
                row.cpu.used,
                "{name} {own:?}"
            );
            assert_eq!(i64::try_from(pods.count()).unwrap(), row.pods.used, "{name} {own:?}");
            let is_draining = row.state == NodeState::Draining;
            assert_eq!(own.draining.is_some(), is_draining, "{name} {own:?}");
        }
        assert_eq!(history.samples.last().unwrap().pending, end.pods_pending);
        let evicted = history.pods.iter().filter(|pod| {
            pod.ended.is_some_and(|(_, how)| how == HowEnded::Evicted || how == HowEnded::Lost)
        });
        assert!(evicted.count() > 0, "{name}: pods had to leave their nodes");
    }
}

#[test]
fn samples_add_up_to_the_cost_and_no_bound_is_above_it() {
    let Traced { report, history, .. } = traced("consolidation");
    let (own, whole) = (cost_of_samples(&history, &report), report.cost.total_nano_usd);
    assert!((own - whole).abs() * 1000 <= whole, "{own} of {whole}");
    assert!(!history.bounds.is_empty());
    let last = history.bounds.last().unwrap();
    assert!(last.hourly <= report.cost.final_hourly, "{last:?}");
}

#[test]
fn a_run_is_the_same_with_and_without_its_history() {
    let Traced { report, .. } = traced("spot-notice");
    let path =
        format!("{}/../../functions/cli/scenarios/spot-notice.yaml", env!("CARGO_MANIFEST_DIR"));
    let scenario = Scenario::read(&path, &std::fs::read_to_string(&path).unwrap()).unwrap();
    let without = simulation::run(scenario, &Settings::default()).unwrap();
    assert_eq!((report.timeline, report.cost), (without.timeline, without.cost));
}
