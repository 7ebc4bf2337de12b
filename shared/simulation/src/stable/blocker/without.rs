//! A cluster without something that holds savings back.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::SignedDuration;
use domain::Text;
use domain::instance_type::CapacityType;
use domain::label;
use domain::money::UsdPerHour;
use domain::node_pool::{ConsolidationPolicy, NeverOr};
use domain::pod::{OwnerKind, Pod, PodPhase, PodSpec, WhenUnsatisfiable};
use domain::requirement::Requirement;
use domain::snapshot::ClusterSnapshot;

use super::pods::{is_spread_over_zones, owner_of};
use super::{Blocker, Kind, key_of, pool_of};
use crate::stable::Owners;

/// The cluster without a blocker; a NodePool that forbids spot is another matter.
pub(super) fn without(
    base: &ClusterSnapshot,
    owners: &Owners,
    blocker: &Blocker,
) -> ClusterSnapshot {
    let mut own = base.clone();
    let names: BTreeSet<&Text> = blocker.names.iter().collect();
    let is_named = |name: &str| names.contains(&Text::from(name));
    match blocker.kind {
        Kind::PodDisruptionBudget => {
            let is_other = |key: &dyn std::fmt::Display| !is_named(&key.to_string());
            own.objects.pod_disruption_budgets.retain(|budget| is_other(&budget.key));
        }
        Kind::DoNotDisruptPods => {
            for pod in &mut own.objects.pods {
                if pod.do_not_disrupt.is_some() && is_named(&owner_of(pod, owners)) {
                    pod.do_not_disrupt = None;
                }
            }
        }
        Kind::DoNotDisruptNode => {
            for node in own.objects.nodes.iter_mut().filter(|node| is_named(&node.name)) {
                node.annotations.remove(label::DO_NOT_DISRUPT);
            }
            for claim in &mut own.node_claims {
                if claim.status.node_name.as_ref().is_some_and(|name| is_named(name)) {
                    claim.annotations.remove(label::DO_NOT_DISRUPT);
                }
            }
        }
        Kind::OnDemandOnly => {}
        Kind::SpotToSpotOff => own.settings.feature_gates.spot_to_spot_consolidation = true,
        Kind::WhenEmpty | Kind::NeverConsolidated | Kind::NoBudget => {
            for name in &blocker.names {
                release(&mut own, name, blocker.kind);
            }
        }
        Kind::ZoneSpread => without_spread(&mut own, |pod| is_named(&owner_of(pod, owners))),
        Kind::DaemonSet => {
            let keys: Vec<_> = blocker.names.iter().filter_map(|name| key_of(name)).collect();
            own.objects.daemon_sets.retain(|own| !keys.contains(&own.key));
            own.objects.pods.retain(|pod| {
                !pod.owner.as_ref().is_some_and(|owner| {
                    owner.kind == OwnerKind::DaemonSet
                        && is_named(&format!("{}/{}", pod.key.namespace, owner.name))
                })
            });
        }
    }
    own
}

fn release(snapshot: &mut ClusterSnapshot, pool: &str, kind: Kind) {
    let Some(pool) = pool_of(snapshot, pool) else { return };
    match kind {
        Kind::WhenEmpty => {
            pool.disruption.consolidation_policy = ConsolidationPolicy::WhenEmptyOrUnderutilized;
        }
        Kind::NeverConsolidated => {
            pool.disruption.consolidate_after = NeverOr::After(SignedDuration::ZERO);
        }
        _ => pool.disruption.budgets.clear(),
    }
}

/// Takes the constraints that spread pods over zones from some of them.
fn without_spread(snapshot: &mut ClusterSnapshot, is_meant: impl Fn(&Pod) -> bool) {
    // Pods of one workload share their specification, and still do afterwards.
    let mut known: Vec<(Arc<PodSpec>, Arc<PodSpec>)> = Vec::new();
    for pod in &mut snapshot.objects.pods {
        if !is_spread_over_zones(pod) || !is_meant(pod) {
            continue;
        }
        if let Some((_, spec)) = known.iter().find(|(own, _)| Arc::ptr_eq(own, &pod.spec)) {
            pod.spec = spec.clone();
            continue;
        }
        let mut spec = PodSpec::clone(&pod.spec);
        spec.topology_spread.retain(|own| {
            &*own.topology_key != label::ZONE
                || own.when_unsatisfiable != WhenUnsatisfiable::DoNotSchedule
        });
        let spec = Arc::new(spec);
        known.push((pod.spec.clone(), spec.clone()));
        pod.spec = spec;
    }
}

/// What is saved where a NodePool allows spot: what its pods cost on new nodes without it, less
/// what they cost with it. Nodes that something holds stay as they are.
pub(super) fn spot_saving(base: &ClusterSnapshot, pool: &Text) -> UsdPerHour {
    let mut afresh = base.clone();
    let going = movable_nodes(base, pool);
    let is_going = |name: Option<&Text>| name.is_some_and(|own| going.contains(own));
    let ids: BTreeSet<Text> = base
        .objects
        .nodes
        .iter()
        .filter(|node| going.contains(&node.name))
        .filter_map(|node| node.provider_id.clone())
        .collect();
    afresh.node_claims.retain(|claim| {
        let has_its_id = claim.status.provider_id.as_ref().is_some_and(|own| ids.contains(own));
        !is_going(claim.status.node_name.as_ref()) && !has_its_id
    });
    afresh.objects.nodes.retain(|node| !going.contains(&node.name));
    afresh.objects.pods.retain(|pod| !is_going(pod.node_name.as_ref()) || pod.is_reschedulable());
    for pod in &mut afresh.objects.pods {
        if is_going(pod.node_name.as_ref()) {
            pod.node_name = None;
            pod.phase = PodPhase::Pending;
            pod.marked_unschedulable = true;
            pod.ready = None;
            pod.started = None;
        }
    }
    let before = planning::scheduling::schedule(&afresh).totals.hourly_after;
    if let Some(pool) = pool_of(&mut afresh, pool) {
        let template = Arc::make_mut(&mut pool.template);
        template.requirements.retain(|own| &*own.key != label::CAPACITY_TYPE);
        let types = [CapacityType::Spot, CapacityType::OnDemand].map(|own| own.as_str().into());
        template.requirements.push(Requirement::is_in(label::CAPACITY_TYPE, types));
    }
    before - planning::scheduling::schedule(&afresh).totals.hourly_after
}

/// Nodes of a NodePool of which neither they nor a pod nor a PodDisruptionBudget says that they
/// stay.
fn movable_nodes(snapshot: &ClusterSnapshot, pool: &Text) -> BTreeSet<Text> {
    let objects = &snapshot.objects;
    let is_held = |pod: &Pod| {
        let mut guards = objects.pod_disruption_budgets.iter().filter(|budget| budget.guards(pod));
        let is_guarded = match (guards.next(), guards.next()) {
            (None, _) => false,
            (Some(only), None) => only.allows_none(),
            _ => true,
        };
        pod.is_reschedulable() && (is_guarded || pod.refuses_disruption(snapshot.now))
    };
    let held: BTreeSet<&Text> = objects
        .pods
        .iter()
        .filter(|pod| is_held(pod))
        .filter_map(|pod| pod.node_name.as_ref())
        .collect();
    let is_movable = |node: &&domain::node::Node| {
        node.labels.get(label::NODE_POOL) == Some(pool)
            && !node.annotations.contains_key(label::DO_NOT_DISRUPT)
            && !held.contains(&node.name)
    };
    objects.nodes.iter().filter(is_movable).map(|node| node.name.clone()).collect()
}
