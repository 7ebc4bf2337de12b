//! Constraints that the scheduler gives to pods without any of their own.

use domain::instance_type::CapacityType;
use domain::label::ZONE;
use domain::pod::{OwnerKind, TopologySpreadConstraint, WhenUnsatisfiable};
use domain::scheduler::{SchedulerConfig, SchedulerProfile};
use domain::snapshot::ClusterSnapshot;

use crate::Rule;
use crate::testing::*;

/// Three pods of a kind of owner, under a default that spreads pods over zones.
fn three_pods(kind: OwnerKind, when_unsatisfiable: WhenUnsatisfiable) -> ClusterSnapshot {
    let own = TopologySpreadConstraint { selector: None, when_unsatisfiable, ..spread(ZONE) };
    let profile =
        SchedulerProfile { default_constraints: vec![own], ..SchedulerProfile::default() };
    let mut cluster = pooled(pods("p", 3, |pod| pod.app().owned_by(kind)));
    cluster.objects.scheduler = SchedulerConfig { profiles: vec![profile] };
    cluster
}

#[test]
fn pods_that_are_spread_by_default_differ_by_max_skew_at_most() {
    let claim = |zone: &str, pods: &[&str]| {
        claim_in(&format!("n{zone}"), pods, &["small"], zone, CapacityType::OnDemand)
    };
    let apart = plan([claim("a", &["p0"]), claim("b", &["p1"]), claim("c", &["p2"])]);
    let together = plan([claim("a", &["p0", "p1", "p2"])]);
    let hard = three_pods(OwnerKind::ReplicaSet, WhenUnsatisfiable::DoNotSchedule);
    allows(&hard, &apart);
    breaks(&hard, &together, &[Rule::Spread]);
    // A preference is no rule, and what nothing selects is not spread.
    allows(&three_pods(OwnerKind::ReplicaSet, WhenUnsatisfiable::ScheduleAnyway), &together);
    allows(&three_pods(OwnerKind::Job, WhenUnsatisfiable::DoNotSchedule), &together);
}
