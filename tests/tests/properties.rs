//! What holds for every plan over every cluster, tried on generated ones.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which clippy does not exempt as it does tests"
)]

use std::collections::{BTreeMap, BTreeSet};

use domain::addresses::{AddressPolicy, FreeAddresses};
use domain::cluster_limit::ClusterLimit;
use domain::commitment::{
    Commitment, Commitments, Instance, ReservedInstances, SavingsPlan, Terms, Usage,
};
use domain::drift_waves::{DriftHalt, DriftWaves};
use domain::instance_type::{CapacityType, InstanceType, Offering};
use domain::label::Labels;
use domain::money::UsdPerHour;
use domain::node_offering::offering_of;
use domain::node_pool::NodePool;
use domain::pdb::CountOrPercent;
use domain::plan::{Plan, PlannedDisruption};
use domain::pod::{Pod, PodKey};
use domain::reason::DisruptionReason;
use domain::requirement::{Requirement, Requirements, ValueSet};
use domain::resource::{NODES, Resources, USD_PER_HOUR};
use domain::snapshot::ClusterSnapshot;
use domain::stamp::{NODE_POOL_RULES, Stamp};
use domain::taint::first_untolerated;
use domain::zone_balance::ZoneBalance;
use domain::{Text, label};
use outrigger_tests::builder::{self, NodeParts, Stage};
use outrigger_tests::generator::{Contents, TopologyRules, cluster, cluster_of, node_labels};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{RngAlgorithm, RngSeed};

/// What a plan's launches add beyond commitments to nodes that are there.
fn beyond(snapshot: &ClusterSnapshot, plan: &Plan) -> UsdPerHour {
    let commitments = Commitments::of(&snapshot.objects.commitments, snapshot.now).unwrap();
    let mut usage = Usage::new();
    let mut others = UsdPerHour::ZERO;
    let own = |labels: &Labels| {
        let instance_type = labels.get(label::INSTANCE_TYPE)?.clone();
        Some(Instance { instance_type, zone: labels.get(label::ZONE)?.clone() })
    };
    for node in snapshot.objects.nodes.iter().filter(|node| !node.is_disrupted()) {
        let types = &snapshot.instance_types.default;
        let offering = own(&node.labels)
            .and_then(|own| offering_of(&node.labels, types.named(&own.instance_type)?))
            .filter(|own| own.capacity_type == CapacityType::OnDemand);
        if let Some((offering, instance)) = offering.zip(own(&node.labels)) {
            usage.add(&instance, offering.price);
        }
    }
    let before = commitments.remaining(&usage);
    for own in plan.node_claims.iter().map(|claim| &claim.offering) {
        let (instance_type, zone) = (own.instance_type.clone(), own.zone.clone());
        match own.capacity_type {
            CapacityType::OnDemand => usage.add(&Instance { instance_type, zone }, own.price),
            _ => others += own.price,
        }
    }
    others + commitments.remaining(&usage) - before
}

/// The same cases in every run: what fails here fails everywhere, and nothing else does.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(20_260_101),
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config(1024))]

    #[test]
    fn the_same_snapshot_gives_the_same_plan_byte_for_byte(snapshot in cluster()) {
        let (once, again) = (planning::plan(&snapshot), planning::plan(&snapshot.clone()));
        prop_assert_eq!(format!("{once:?}"), format!("{again:?}"));
    }

    #[test]
    fn the_order_of_the_snapshots_lists_makes_no_difference(
        snapshot in cluster(),
        draws in prop::collection::vec(any::<Index>(), 64),
    ) {
        let plan = planning::plan(&snapshot);
        let shuffled = planning::plan(&with_lists_shuffled(snapshot, &draws));
        prop_assert_eq!(format!("{plan:#?}"), format!("{shuffled:#?}"));
    }

    #[test]
    fn every_plan_passes_the_checker(snapshot in cluster()) {
        for plan in [
            planning::plan(&snapshot),
            planning::scheduling::schedule(&snapshot),
        ] {
            let violations = checker::check(&snapshot, &plan);
            prop_assert!(violations.is_empty(), "{:#?}\n{:#?}", violations, plan);
        }
    }

    #[test]
    fn expendable_pods_buy_no_node_and_the_checker_agrees(
        snapshot in cluster(),
        below in -1_i32..2000,
    ) {
        let mut snapshot = snapshot;
        for pool in &mut snapshot.objects.node_pools {
            pool.options.expendable_below = Some(below);
        }
        let plan = planning::plan(&snapshot);
        let violations = checker::check(&snapshot, &plan);
        prop_assert!(violations.is_empty(), "{:#?}\n{:#?}", violations, plan);
        let priority = |key: &PodKey| {
            snapshot.objects.pods.iter().find(|pod| pod.key == *key).map_or(0, |pod| pod.spec.priority)
        };
        let replacements = plan.disruptions.iter().flat_map(|own| &own.replacements);
        let bought = plan.node_claims.iter().chain(replacements).flat_map(|claim| &claim.pods);
        prop_assert!(bought.into_iter().all(|pod| priority(pod) >= below));
    }

    #[test]
    fn waves_of_drift_are_kept_and_the_checker_agrees(
        snapshot in cluster(),
        first in 1_u32..4,
        is_halted in any::<bool>(),
    ) {
        let mut snapshot = snapshot;
        let halted = is_halted.then(|| DriftHalt { target: None, cause: "no node joins".into() });
        for pool in &mut snapshot.objects.node_pools {
            let sizes = vec![CountOrPercent::Count(first)];
            let halted = halted.clone();
            pool.options.drift_waves = Some(DriftWaves { sizes, halted, ..DriftWaves::default() });
            // So that its nodes drift.
            std::sync::Arc::make_mut(&mut pool.template).hash = Some("new".into());
            pool.disruption.budgets.clear();
        }
        for claim in &mut snapshot.node_claims {
            let old = Stamp { hash: "old".into(), version: NODE_POOL_RULES.into() };
            claim.annotations.extend(old.node_pool_annotations());
        }
        let plan = planning::plan(&snapshot);
        let violations = checker::check(&snapshot, &plan);
        prop_assert!(violations.is_empty(), "{:#?}\n{:#?}", violations, plan);
        let drifted = plan.disruptions.iter().filter(|own| own.reason == DisruptionReason::Drifted);
        prop_assert!(!is_halted || drifted.clone().count() == 0);
        let pools = snapshot.objects.node_pools.len();
        let first = usize::try_from(first).unwrap();
        prop_assert!(drifted.flat_map(|own| &own.nodes).count() <= first * pools);
    }

    #[test]
    fn limits_in_dollars_are_kept_and_the_checker_agrees(
        snapshot in cluster(),
        cents in 0_i64..300,
    ) {
        let mut snapshot = snapshot;
        for pool in snapshot.objects.node_pools.iter_mut().filter(|pool| pool.replicas.is_none()) {
            pool.limits = pool.limits.clone().with(USD_PER_HOUR, cents * 10_000_000);
        }
        let plan = planning::plan(&snapshot);
        let violations = checker::check(&snapshot, &plan);
        prop_assert!(violations.is_empty(), "{:#?}\n{:#?}", violations, plan);
    }

    #[test]
    fn limits_of_the_cluster_are_kept_and_the_checker_agrees(
        snapshot in cluster(),
        nodes in 0_i64..20,
        cents in 0_i64..500,
    ) {
        let mut snapshot = snapshot;
        let limits = Resources::new().with(NODES, nodes).with(USD_PER_HOUR, cents * 10_000_000);
        snapshot.objects.cluster_limits = vec![ClusterLimit::new("all", limits)];
        let plan = planning::plan(&snapshot);
        let violations = checker::check(&snapshot, &plan);
        prop_assert!(violations.is_empty(), "{:#?}\n{:#?}", violations, plan);
    }

    #[test]
    fn commitments_never_make_launches_dearer_and_the_checker_agrees(
        snapshot in cluster(),
        cents in 1_i64..300,
        percent in 1_u32..99,
        reserved in prop::option::of((any::<Index>(), 1_u32..5)),
    ) {
        let mut snapshot = snapshot;
        let unaware = planning::scheduling::schedule(&snapshot);
        let named = |name: &str, terms| {
            Commitment { name: name.into(), terms, share: 100, start: None, end: None }
        };
        let hourly = UsdPerHour::from_nanos(cents * 10_000_000);
        let (family, rates) = (None, BTreeMap::new());
        let plan = SavingsPlan { family, hourly, discount: Some(percent * 100), rates };
        let mut commitments = vec![named("plan", Terms::SavingsPlan(plan))];
        let types = &snapshot.instance_types.default;
        if let Some((index, count)) = reserved.filter(|_| !types.is_empty()) {
            let instance_type = &types[index.index(types.len())];
            let terms = ReservedInstances {
                instance_type: instance_type.name.clone(), count, zone: None, hourly: None,
            };
            commitments.push(named("reserved", Terms::ReservedInstances(terms)));
        }
        snapshot.objects.commitments = commitments;
        for plan in [
            planning::plan(&snapshot),
            planning::scheduling::schedule(&snapshot),
        ] {
            let violations = checker::check(&snapshot, &plan);
            prop_assert!(violations.is_empty(), "{:#?}\n{:#?}", violations, plan);
        }
        let aware = planning::scheduling::schedule(&snapshot);
        if aware.unschedulable == unaware.unschedulable {
            let (own, other) = (beyond(&snapshot, &aware), beyond(&snapshot, &unaware));
            prop_assert!(own <= other, "{} is more than {}\n{:#?}", own, other, aware);
        }
    }

    #[test]
    fn nothing_is_launched_while_a_cluster_limit_cannot_be_read(snapshot in cluster()) {
        let mut snapshot = snapshot;
        snapshot.objects.cluster_limits = vec![ClusterLimit::unreadable("all", "wrong")];
        let plan = planning::plan(&snapshot);
        prop_assert!(plan.node_claims.is_empty(), "{:#?}", plan);
        let replacements = plan.disruptions.iter().map(|own| own.replacements.len()).sum::<usize>();
        prop_assert_eq!(replacements, 0, "{:#?}", plan);
        let violations = checker::check(&snapshot, &plan);
        prop_assert!(violations.is_empty(), "{:#?}\n{:#?}", violations, plan);
    }

    #[test]
    fn zones_are_even_and_addresses_are_enough_and_the_checker_agrees(
        snapshot in cluster(),
        (above, premium) in (0_u8..60, 0_u8..30),
        is_balanced in any::<bool>(),
        counts in prop::collection::vec(0_u32..60, 0..6),
        (per_pod, min_free) in (0_u32..3, 0_u32..20),
    ) {
        let mut snapshot = snapshot;
        for pool in snapshot.objects.node_pools.iter_mut().filter(|_| is_balanced) {
            let balance = ZoneBalance { above_percent: above, premium_percent: premium };
            pool.options.zone_balance = Some(balance);
        }
        let offered = snapshot.instance_types.default.iter().flat_map(|own| &own.offerings);
        let zones: BTreeSet<Text> = offered.map(|own| own.zone.clone()).collect();
        let free = counts.iter().zip(zones.iter().cycle()).enumerate();
        let free = free.map(|(index, (count, zone))| FreeAddresses {
            zone: zone.clone(),
            subnet: format!("subnet-{index}").into(),
            count: *count,
        });
        let policy = AddressPolicy { per_pod, min_free, daemon_pods: 0, free: free.collect() };
        for class in &mut snapshot.objects.node_classes {
            class.addresses = Some(policy.clone());
        }
        let plan = planning::plan(&snapshot);
        let violations = checker::check(&snapshot, &plan);
        prop_assert!(violations.is_empty(), "{:#?}\n{:#?}", violations, plan);
    }

    #[test]
    fn annotations_that_ask_for_nothing_scarce_leave_every_plan_as_it_is(snapshot in cluster()) {
        let mut asking = snapshot.clone();
        for class in &mut asking.objects.node_classes {
            let (per_pod, min_free, daemon_pods) = (1, 0, 0);
            let policy = AddressPolicy { per_pod, min_free, daemon_pods, free: Vec::new() };
            class.addresses = Some(policy);
        }
        let (plain, asked) = (planning::plan(&snapshot), planning::plan(&asking));
        prop_assert_eq!(format!("{plain:?}"), format!("{asked:?}"));
    }

    #[test]
    fn every_pending_pod_is_placed_or_told_why_not_exactly_once(snapshot in cluster()) {
        let plan = planning::plan(&snapshot);
        let mut mentioned: Vec<&PodKey> = plan.unschedulable.iter().map(|entry| &entry.pod).collect();
        mentioned.extend(plan.placements.iter().map(|placement| &placement.pod));
        mentioned.extend(plan.node_claims.iter().flat_map(|claim| &claim.pods));
        mentioned.sort();
        let mut pending: Vec<&PodKey> =
            snapshot.objects.pods.iter().filter(|pod| pod.node_name.is_none()).map(|pod| &pod.key).collect();
        pending.sort();
        prop_assert_eq!(mentioned, pending);
        prop_assert!(plan.unschedulable.iter().all(|entry| !entry.reasons.is_empty()));
    }

    #[test]
    fn planning_again_after_the_plan_is_carried_out_launches_nothing(snapshot in cluster()) {
        let plan = planning::scheduling::schedule(&snapshot);
        let after = carried_out(&snapshot, &plan);
        let again = planning::plan(&after);
        prop_assert_eq!(&again.node_claims, &Vec::new(), "after {:#?}", plan);
        prop_assert_eq!(&again.placements, &Vec::new(), "after {:#?}", plan);
        prop_assert_eq!(&unschedulable(&again), &unschedulable(&plan));
    }

    #[test]
    fn planning_again_after_a_plan_for_an_empty_cluster_changes_nothing(
        mut snapshot in cluster_of(Contents {
            topology: TopologyRules::None, nodes: false, limits: false, daemons: true,
        }),
    ) {
        // Weights make a plan dearer on purpose; consolidation moves pods to whatever node is
        // there.
        for pool in &mut snapshot.objects.node_pools {
            pool.weight = 0;
        }
        let plan = planning::plan(&snapshot);
        let again = planning::plan(&carried_out(&snapshot, &plan));
        prop_assert_eq!(&again.node_claims, &Vec::new(), "after {:#?}", plan);
        prop_assert_eq!(&again.disruptions, &Vec::new(), "after {:#?}", plan);
    }

    #[test]
    fn a_plan_for_an_empty_cluster_leaves_no_node_empty_and_none_to_replace(
        snapshot in cluster_of(Contents { topology: TopologyRules::Hard, nodes: false, ..Contents::EVERYTHING }),
    ) {
        let plan = planning::plan(&snapshot);
        let again = planning::plan(&carried_out(&snapshot, &plan));
        for disruption in &again.disruptions {
            prop_assert_eq!(disruption.reason, DisruptionReason::Underutilized, "after {:#?}", plan);
            prop_assert_eq!(&disruption.replacements, &Vec::new(), "after {:#?}", plan);
        }
    }

    #[test]
    fn what_is_proposed_first_stands_in_the_same_snapshot(snapshot in cluster()) {
        let plan = planning::plan(&snapshot);
        if let Some(first) = plan.disruptions.first() {
            let validated = planning::disruption::validate(&snapshot, first);
            // New nodes that may be of the same types may change places.
            let what_counts = |own: PlannedDisruption| {
                (own.nodes, own.moves, own.replacements.len(), own.savings)
            };
            prop_assert_eq!(validated.map(what_counts), Ok(what_counts(first.clone())));
        }
    }

    #[test]
    fn pods_without_a_place_could_not_be_hosted_by_any_offering(
        snapshot in cluster_of(Contents { topology: TopologyRules::None, limits: false, nodes: false, daemons: true }),
    ) {
        let plan = planning::plan(&snapshot);
        for pod in snapshot.objects.pods.iter().filter(|pod| unschedulable(&plan).contains(&pod.key)) {
            let host = hosts(&snapshot).find(|host| host.can_run(pod, &snapshot));
            prop_assert!(host.is_none(), "{} runs on {:?}", pod.key, host);
        }
        for pod in snapshot.objects.pods.iter().filter(|pod| !unschedulable(&plan).contains(&pod.key)) {
            let host = hosts(&snapshot).find(|host| host.can_run(pod, &snapshot));
            prop_assert!(host.is_some(), "{} runs nowhere", pod.key);
        }
    }
}

fn unschedulable(plan: &Plan) -> BTreeSet<PodKey> {
    plan.unschedulable.iter().map(|entry| entry.pod.clone()).collect()
}

/// The same cluster, its lists in another order.
fn with_lists_shuffled(mut snapshot: ClusterSnapshot, draws: &[Index]) -> ClusterSnapshot {
    fn shuffle<T>(list: &mut [T], draws: &[Index]) {
        for (place, draw) in (1..list.len()).rev().zip(draws.iter().cycle()) {
            list.swap(place, draw.index(place + 1));
        }
    }
    shuffle(&mut snapshot.objects.pods, draws);
    shuffle(&mut snapshot.objects.node_pools, draws);
    shuffle(&mut snapshot.objects.nodes, draws);
    shuffle(&mut snapshot.node_claims, draws);
    shuffle(&mut snapshot.objects.daemon_sets, draws);
    snapshot
}

/// The cluster once a plan's pods run: new claims are nodes that hold their pods, each the type in
/// the offering that it was priced at, and claims in flight that were given pods have become nodes
/// too.
fn carried_out(snapshot: &ClusterSnapshot, plan: &Plan) -> ClusterSnapshot {
    let mut after = snapshot.clone();
    for claim in &plan.node_claims {
        let pool =
            snapshot.objects.node_pools.iter().find(|pool| pool.name == claim.node_pool).unwrap();
        let types = snapshot.instance_types.of(&claim.node_class);
        let instance_type =
            types.iter().find(|known| known.name == claim.offering.instance_type).unwrap();
        let offering = instance_type
            .offerings
            .iter()
            .find(|known| {
                (&known.zone, known.capacity_type)
                    == (&claim.offering.zone, claim.offering.capacity_type)
            })
            .unwrap();
        let region = snapshot.instance_types.region.as_ref();
        let mut labels = node_labels(pool, instance_type, offering, region);
        let settled = Requirements::of(&claim.requirements);
        labels.extend(settled.iter().filter_map(|(key, own)| {
            let value = own.values.representative().filter(|_| own.values.as_list().is_some());
            value.filter(|_| **key != *label::HOSTNAME).map(|value| (key.clone(), value))
        }));
        labels.extend(claim.labels.clone());
        // What a requirement or a label says generally gives way to what was launched.
        labels.insert(label::ZONE.into(), offering.zone.clone());
        labels.insert(label::CAPACITY_TYPE.into(), offering.capacity_type.as_str().into());
        labels.insert(label::INSTANCE_TYPE.into(), instance_type.name.clone());
        let parts = NodeParts {
            name: claim.name.clone(),
            labels,
            taints: claim.taints.clone(),
            capacity: instance_type.capacity.clone(),
            allocatable: instance_type.allocatable.clone(),
        };
        join(&mut after, parts);
        for pod in &claim.pods {
            bind(&mut after, pod, &claim.name);
        }
    }
    for placement in &plan.placements {
        let joined = after.objects.nodes.iter().any(|node| node.name == placement.node);
        let waiting = after.node_claims.iter().position(|claim| claim.name == placement.node);
        if let (false, Some(index)) = (joined, waiting) {
            let claim = after.node_claims.remove(index);
            let parts = NodeParts {
                name: claim.name,
                labels: claim.labels,
                taints: claim.taints,
                capacity: claim.status.capacity,
                allocatable: claim.status.allocatable,
            };
            join(&mut after, parts);
        }
        bind(&mut after, &placement.pod, &placement.node);
    }
    after
}

fn join(snapshot: &mut ClusterSnapshot, parts: NodeParts) {
    let (claim, node) = parts.build(Stage::Ready);
    let daemons: Vec<Pod> = snapshot
        .objects
        .daemon_sets
        .iter()
        .map(|daemon_set| builder::daemon_pod(daemon_set, &claim.name))
        .collect();
    snapshot.objects.pods.extend(daemons);
    snapshot.node_claims.push(claim);
    snapshot.objects.nodes.extend(node);
}

fn bind(snapshot: &mut ClusterSnapshot, pod: &PodKey, node: &str) {
    for own in snapshot.objects.pods.iter_mut().filter(|own| own.key == *pod) {
        *own = builder::running(own, node);
    }
}

/// One thing that could be launched, by plain enumeration.
#[derive(Debug)]
struct Host<'a> {
    pool: &'a NodePool,
    instance_type: &'a InstanceType,
    offering: &'a Offering,
}

fn hosts(snapshot: &ClusterSnapshot) -> impl Iterator<Item = Host<'_>> {
    snapshot.objects.node_pools.iter().flat_map(|pool| {
        let types = snapshot.instance_types.of(&pool.template.node_class_ref.name);
        types.iter().flat_map(move |instance_type| {
            let usable = instance_type.offerings.iter().filter(|offering| offering.is_usable());
            usable.map(move |offering| Host { pool, instance_type, offering })
        })
    })
}

impl Host<'_> {
    /// Whether the pod could run on it alone, beside its DaemonSets.
    fn can_run(&self, pod: &Pod, snapshot: &ClusterSnapshot) -> bool {
        let tolerates =
            first_untolerated(&pod.spec.tolerations, &self.pool.template.taints).is_none();
        let selector: Vec<Requirement> = pod
            .spec
            .node_selector
            .iter()
            .map(|(key, value)| Requirement::is_in(key, [value.clone()]))
            .collect();
        let one_term_holds = pod.spec.required_node_terms.as_ref().is_none_or(|terms| {
            terms.iter().any(|term| self.meets(selector.iter().chain(&term.expressions)))
        });
        tolerates && self.meets(&selector) && one_term_holds && self.fits(pod, snapshot)
    }

    fn fits(&self, pod: &Pod, snapshot: &ClusterSnapshot) -> bool {
        let mut room: Resources = self.instance_type.allocatable.clone();
        room.subtract(&pod.spec.requests);
        for daemon_set in &snapshot.objects.daemon_sets {
            room.subtract(&daemon_set.template.spec.requests);
        }
        room.iter().all(|(_, amount)| amount >= 0)
    }

    /// Whether a node of it may have labels under which all of these hold, and the pool's
    /// requirements too.
    fn meets<'a>(&self, requirements: impl IntoIterator<Item = &'a Requirement>) -> bool {
        let asked: Vec<&Requirement> = requirements.into_iter().collect();
        let keys: BTreeSet<&Text> = asked
            .iter()
            .map(|requirement| &requirement.key)
            .chain(self.pool.template.requirements.iter().map(|requirement| &requirement.key))
            .collect();
        keys.into_iter().all(|key| {
            let own = self.pool.template.requirements.iter().filter(|own| own.key == *key);
            let all: Vec<&Requirement> =
                own.clone().chain(asked.iter().copied().filter(|own| own.key == *key)).collect();
            let together =
                all.iter().fold(ValueSet::any(), |set, own| set.intersection(&own.value_set()));
            match self.values(key) {
                Some(values) => values.intersects(&together),
                // A label that neither type nor template gives is there only where the pool's
                // requirement makes it so.
                None if self.sets_by_requirement(key) => !together.is_empty(),
                None => all.iter().all(|own| own.holds_when_absent()),
            }
        })
    }

    /// Whether a requirement of the pool gives its nodes the label: one of a custom key that is not
    /// `absent`.
    fn sets_by_requirement(&self, key: &str) -> bool {
        let mut own = self.pool.template.requirements.iter().filter(|own| &*own.key == key);
        own.any(|own| !own.holds_when_absent())
    }

    /// The values that a node of it may have for a label; `None` where nothing gives it one.
    fn values(&self, key: &str) -> Option<ValueSet> {
        let one = |value: &str| Some(ValueSet::one(value.into()));
        match key {
            label::ZONE => one(&self.offering.zone),
            label::CAPACITY_TYPE => one(self.offering.capacity_type.as_str()),
            label::INSTANCE_TYPE => one(&self.instance_type.name),
            _ => {
                let template = self.pool.template.labels.get(key).cloned().map(ValueSet::one);
                let of_type = self.instance_type.labels.get(key);
                template.or_else(|| of_type.map(|values| ValueSet::list(values.iter().cloned())))
            }
        }
    }
}
