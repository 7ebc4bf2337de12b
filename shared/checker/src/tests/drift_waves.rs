//! Drift in waves that halt (`outrigger.dev/drift-waves`).

use domain::drift_waves::{DriftFailure, DriftFailures, DriftHalt, DriftWaves};
use domain::node::Node;
use domain::node_claim::ConditionType;
use domain::pdb::CountOrPercent;
use domain::plan::{Plan, PlannedDisruption};
use domain::reason::DisruptionReason;
use domain::snapshot::ClusterSnapshot;

use crate::Rule;
use crate::testing::*;

/// Nodes of an old image, and of a new one in all that soaks a minute.
fn world(old: usize, new: usize, waves: DriftWaves) -> ClusterSnapshot {
    let mut own = pool();
    own.disruption.budgets = Vec::new();
    let mut class = testkit::node_class(&own.template.node_class_ref.name);
    class.status.amis = vec![testkit::ami("ami-new")];
    own.options.drift_waves = Some(waves);
    let named = |prefix: &str, count: usize| -> Vec<Node> {
        (0..count).map(|at| node(&format!("{prefix}{at}"), "small", "a")).collect()
    };
    let nodes = [named("old", old), named("new", new)].concat();
    let claims = nodes.iter().map(|node| {
        let mut claim = claim_object(&format!("claim-{}", node.name));
        claim.status.node_name = Some(node.name.clone());
        let image = if node.name.starts_with("new") { "ami-new" } else { "ami-old" };
        claim.status.image_id = Some(image.into());
        claim.labels = node.labels.clone();
        claim.status.conditions = vec![testkit::condition(ConditionType::Initialized)];
        claim
    });
    let claims: Vec<_> = claims.collect();
    let mut world = cluster([]).with_node_pools([own]).with_nodes(nodes);
    world.node_claims = claims;
    world.objects.node_classes = vec![class];
    world
}

fn waves() -> DriftWaves {
    DriftWaves {
        sizes: vec![CountOrPercent::Count(1), CountOrPercent::Percent(50)],
        halt_after: Some(2),
        ..DriftWaves::default()
    }
}

fn drifting(nodes: &[&str]) -> Plan {
    let own = disruption(DisruptionReason::Drifted, nodes);
    // A small node costs five cents.
    disrupting([PlannedDisruption {
        savings: usd(0.05) * i64::try_from(nodes.len()).unwrap(),
        ..own
    }])
}

/// Nodes of the new image have been initialized just now.
fn just_started(mut world: ClusterSnapshot) -> ClusterSnapshot {
    let now = world.now;
    for claim in &mut world.node_claims {
        claim.status.conditions.iter_mut().for_each(|own| own.changed = Some(now));
    }
    world
}

#[test]
fn no_more_drifted_nodes_go_than_a_wave_has() {
    allows(&world(8, 0, waves()), &drifting(&["old0"]));
    breaks(&world(8, 0, waves()), &drifting(&["old0", "old1"]), &[Rule::DriftWaves]);
    allows(&world(7, 1, waves()), &drifting(&["old0", "old1", "old2"]));
    let four = drifting(&["old0", "old1", "old2", "old3"]);
    breaks(&world(7, 1, waves()), &four, &[Rule::DriftWaves]);
}

#[test]
fn nodes_that_start_belong_to_the_wave_unless_they_have_failed() {
    let starting = just_started(world(7, 1, waves()));
    breaks(&starting, &drifting(&["old0"]), &[Rule::DriftWaves]);
    let mut failed = starting;
    let failure = DriftFailure { claim: "claim-new0".into(), created: now(), is_settled: false };
    let own = failed.objects.node_pools[0].options.drift_waves.as_mut().unwrap();
    own.failures = DriftFailures { target: "".into(), claims: vec![failure] };
    allows(&failed, &drifting(&["old0"]));
}

#[test]
fn no_node_drifts_while_that_is_halted() {
    let halted = DriftHalt { target: None, cause: "ami-new does not join".into() };
    let halted = DriftWaves { halted: Some(halted), ..waves() };
    breaks(&world(8, 0, halted.clone()), &drifting(&["old0"]), &[Rule::DriftWaves]);
    // It may have drifted for its age: of what it was made from nothing has changed.
    allows(&world(7, 1, halted), &drifting(&["new0"]));
}
