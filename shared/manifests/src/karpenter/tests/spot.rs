//! SpotHistory, and what NodePools say of interruptions.

use super::{errors, only_object, read};
use crate::Object;

fn history(offering: &str) -> String {
    format!(
        "apiVersion: outrigger.dev/v1alpha1\nkind: SpotHistory\nmetadata: {{name: us-east-1}}\n\
         spec: {{asOf: 2026-01-05T09:00:00Z, offerings: [{offering}]}}\n"
    )
}

#[test]
fn a_spot_history_counts_what_was_seen_of_offerings() {
    let text = history(
        "{instanceType: m5.large, zone: us-east-1a, nodeHours: 12.5, interruptions: 3, \
         lastInterruption: 2026-01-05T08:00:00Z}",
    );
    let Object::SpotHistory(read) = only_object(&text) else { panic!() };
    let own = read.history.get("m5.large", "us-east-1a").unwrap();
    assert!((own.node_hours - 12.5).abs() < 1e-9 && (own.interruptions - 3.0).abs() < 1e-9);
    assert!(own.last_interruption.is_some() && own.launches.abs() < 1e-9);
}

#[test]
fn a_spot_history_is_read_as_it_was_written() {
    let text = history(
        "{instanceType: m5.large, zone: us-east-1a, launches: 4, nodeHours: 12.5123, \
         interruptions: 3, rebalanceRecommendations: 2, capacityErrors: 0.25, \
         lastInterruption: 2026-01-05T08:00:00Z}, {instanceType: m5a.large, zone: us-east-1b, \
         nodeHours: 7}",
    );
    let Object::SpotHistory(read) = only_object(&text) else { panic!() };
    let written = crate::to_yaml(&[read.to_manifest()]).unwrap();
    let Object::SpotHistory(again) = only_object(&written) else { panic!("{written}") };
    assert_eq!(again, read, "{written}");
}

#[test]
fn a_count_is_a_number_from_zero_up() {
    let errors = errors(&history("{instanceType: m5.large, zone: a, interruptions: -1}"));
    let [error] = errors.as_slice() else { panic!("{errors:?}") };
    assert!(error.contains("is no count"), "{error}");
    assert!(error.contains("spec.offerings[0].interruptions"), "{error}");
}

#[test]
fn an_annotation_that_says_nothing_is_warned_about_and_the_pool_is_used() {
    let text = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: default, annotations: \
                {outrigger.dev/spot-interruption-cost: soon}}\nspec: {template: {spec: {nodeClassRef: \
                {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}, requirements: []}}}\n";
    let objects = read(text);
    assert!(objects.errors.is_empty(), "{:?}", objects.errors);
    let [warning] = objects.warnings.as_slice() else { panic!("{:?}", objects.warnings) };
    let shown = warning.to_string();
    assert!(shown.contains("no cost of an interruption") && shown.contains("default"), "{shown}");
}
