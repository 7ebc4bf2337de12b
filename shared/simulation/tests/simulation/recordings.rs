//! Recordings of runs: replayed with nothing changed, they come to the same nodes.

use domain::SignedDuration;
use domain::settings::Settings;
use recording::{Pseudonyms, ReadRecording, Recording};
use simulation::report::{Happening, Report};
use simulation::scenario::{Action, Scenario};
use simulation::{Recorded, RecordingTerms};

fn bundled(name: &str) -> Scenario {
    let path = format!("{}/../../functions/cli/scenarios/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
    let scenario = Scenario::read(&path, &std::fs::read_to_string(&path).unwrap()).unwrap();
    Scenario { expectations: Vec::new(), ..scenario }
}

fn recorded(scenario: Scenario, pseudonyms: Option<Pseudonyms>) -> (Report, Recording) {
    let terms = RecordingTerms { cluster: Some("test".to_owned()), pseudonyms };
    let Recorded { report, lines } =
        simulation::run_recorded(scenario, &Settings::default(), terms, &|_| {}).unwrap();
    let ReadRecording { recording, problems } = recording::read("run", &lines).unwrap();
    assert_eq!(problems, []);
    (report, recording)
}

/// The recording, with what is drawn in the scenario and what EC2 does there.
fn replayed(scenario: Scenario, recording: &Recording) -> Report {
    let is_of_ec2 =
        |action: &Action| matches!(action, Action::Interrupt { .. } | Action::OutOfCapacity { .. });
    let timeline = scenario.timeline.iter().filter(|step| is_of_ec2(&step.action)).cloned();
    let scenario = Scenario { timeline: timeline.collect(), ..scenario };
    let scenario = scenario.over(Scenario::of_recording("run", recording));
    simulation::run(scenario, &Settings::default()).unwrap()
}

/// Claims, launches and ends of nodes, with their times.
fn nodes(report: &Report) -> Vec<String> {
    let is_of_nodes = |what: &Happening| {
        matches!(
            what,
            Happening::NodeClaimCreated { .. }
                | Happening::Launched { .. }
                | Happening::NodeInitialized(_)
                | Happening::Disrupting { .. }
                | Happening::NodeRemoved { .. }
        )
    };
    let entries = report.timeline.iter().filter(|entry| is_of_nodes(&entry.what));
    entries.map(|entry| format!("{} {}", entry.at, entry.what)).collect()
}

#[track_caller]
fn assert_replays_alike(name: &str) {
    let (report, recording) = recorded(bundled(name), None);
    let again = replayed(bundled(name), &recording);
    assert!(again.violations.is_empty(), "{:?}", again.violations);
    assert!(nodes(&report).len() > 3, "{:?}", nodes(&report));
    assert_eq!(nodes(&report), nodes(&again));
    assert_eq!(report.cost, again.cost);
    assert_eq!(report.waiting, again.waiting);
}

#[test]
fn a_recorded_consolidation_replays_claim_by_claim() {
    assert_replays_alike("consolidation");
}

#[test]
fn a_recorded_interruption_replays_claim_by_claim() {
    assert_replays_alike("spot-notice");
}

#[test]
fn recorded_manifests_of_older_versions_replay_claim_by_claim() {
    assert_replays_alike("inflate");
}

#[test]
fn a_recorded_evening_replays_claim_by_claim() {
    assert_replays_alike("evening-peak");
}

#[test]
fn recorded_pods_that_nothing_can_host_replay_claim_by_claim() {
    assert_replays_alike("notebooks");
}

#[test]
fn a_recording_with_pseudonyms_holds_no_name_and_costs_the_same() {
    // Times that are drawn are drawn by name.
    let (boot, pod_stop) =
        (Some(SignedDuration::from_secs(50)), Some(SignedDuration::from_secs(2)));
    let scenario = || Scenario { boot, pod_stop, ..bundled("consolidation") };
    let pseudonyms = Pseudonyms::new(b"a key of sixteen bytes").unwrap();
    let terms = RecordingTerms { cluster: None, pseudonyms: Some(pseudonyms) };
    let Recorded { report, lines } =
        simulation::run_recorded(scenario(), &Settings::default(), terms, &|_| {}).unwrap();
    let pods = lines.lines().skip(1).filter(|line| !line.starts_with("{\"object\""));
    assert!(pods.clone().count() > 20);
    for line in pods {
        assert!(!line.contains("express-test"), "{line}");
    }
    let recording = recording::read("run", &lines).unwrap().recording;
    let again = replayed(scenario(), &recording);
    assert_eq!(report.cost, again.cost);
}

#[test]
fn a_replay_with_other_node_pools_places_the_same_pods_elsewhere() {
    let (report, recording) = recorded(bundled("consolidation"), None);
    let dearer = "
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: other}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
      - {key: node.kubernetes.io/instance-type, operator: In, values: [r5.4xlarge]}
      - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
";
    let objects = manifests::read(&[manifests::Source::new("pool.yaml", dearer)]);
    let objects = objects.objects.into_iter().map(|own| own.value).collect();
    let scenario = Scenario::of_recording("run", &recording).with_objects(objects);
    let again = simulation::run(scenario, &Settings::default()).unwrap();
    let types = |report: &Report| -> Vec<String> {
        let launched = report.timeline.iter().filter_map(|entry| match &entry.what {
            Happening::Launched { instance_type, .. } => Some(instance_type.to_string()),
            _ => None,
        });
        launched.collect()
    };
    assert!(types(&again).iter().all(|own| own == "r5.4xlarge"), "{:?}", types(&again));
    assert!(!types(&again).is_empty() && again.cost.total_nano_usd > report.cost.total_nano_usd);
    let last = |report: &Report| report.views.last().map(|view| view.pods_running);
    assert_eq!(last(&again), last(&report));
}
