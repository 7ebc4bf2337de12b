//! What pods of ReplicaSets cost to delete, so that those that shrink lose pods of the same nodes.
//!
//! A ReplicaSet that shrinks takes its pods from as many nodes as it can: all nodes lose a little,
//! and consolidation evicts what is left. Of pods whose deletion cost differs it takes the
//! cheapest. So all pods of a node cost the same, and every node something else, in one order for
//! all ReplicaSets: first the nodes that are to go anyway, then the others, dear ones first, so
//! that a cluster that shrinks to little is left on small nodes. The order never changes, so that
//! each pod is written to once.
//!
//! Pods that are to be spread have no cost: their ReplicaSets take them evenly from all nodes.
//!
//! Costs are small, since Karpenter counts them as part of what an eviction costs: 2^27 is as
//! much as another pod.
//!
//! Source: [Pod deletion cost].
//!
//! [Pod deletion cost]: https://kubernetes.io/docs/concepts/workloads/controllers/replicaset

use domain::Text;
use domain::drift::fnv;
use domain::label::DO_NOT_DISRUPT;
use domain::money::UsdPerHour;
use domain::node::Node;
use domain::node_claim::ConditionType;
use domain::node_pool::{NeverOr, NodePool};
use domain::pod::{OwnerKind, Pod, PodSpec};
use rustc_hash::{FxHashMap, FxHashSet};

use super::snapshot::ClusterState;
use crate::ports::PodRef;
use crate::ports::cluster::PodDeletionCost;
use crate::record::claim::{ClaimPhase, ClaimRecord};

/// How many costs there are for nodes that are to go, and as many for others.
const COSTS: i32 = PRICES * COSTS_OF_A_PRICE;

/// How many prices of nodes count as different: eight for each power of two, a tenth from one to
/// the next.
const PRICES: i32 = 512;

/// How many costs there are for nodes of one price.
const COSTS_OF_A_PRICE: i32 = 1000;

/// The deletion costs to write: of running pods of ReplicaSets on initialized nodes of ours, as far
/// as neither users have set one nor it is right already. By pod.
///
/// Nodes that nothing empties but their own end (of static NodePools, of such as never consolidate,
/// and with pods that may not be disrupted) have no cost: pods on them stay longest.
pub fn pod_deletion_costs(observed: &ClusterState) -> Vec<PodDeletionCost> {
    let cost_of = costs(observed);
    let is_due = |pod: &Pod, cost: i32| {
        pod.owner_kind() == Some(OwnerKind::ReplicaSet)
            && pod.is_active()
            && !is_to_be_spread(&pod.spec)
            && pod.deletion_cost.is_none()
            && pod.managed_deletion_cost != cost
    };
    let pods = observed.listing.objects.pods.iter();
    let due = pods.filter_map(|pod| {
        let cost = *cost_of.get(pod.node_name.as_ref()?)?;
        is_due(pod, cost).then(|| PodDeletionCost { pod: PodRef::from(pod), cost })
    });
    let mut due: Vec<PodDeletionCost> = due.collect();
    due.sort();
    due
}

/// Whether pods are to keep apart from each other beyond what every node allows.
fn is_to_be_spread(spec: &PodSpec) -> bool {
    !spec.topology_spread.is_empty() || !spec.preferred_pod_anti_affinity.is_empty()
}

/// What pods cost on initialized nodes of ours, by Node name.
fn costs(observed: &ClusterState) -> FxHashMap<&Text, i32> {
    let objects = &observed.listing.objects;
    let pools: FxHashMap<&Text, &NodePool> =
        objects.node_pools.iter().map(|pool| (&pool.name, pool)).collect();
    let nodes: FxHashMap<&Text, &Node> =
        objects.nodes.iter().filter_map(|node| Some((node.provider_id.as_ref()?, node))).collect();
    let pods = objects.pods.iter().filter(|pod| pod.refuses_disruption(observed.now));
    let kept: FxHashSet<&Text> =
        pods.filter(|pod| pod.is_active()).filter_map(|pod| pod.node_name.as_ref()).collect();
    let claims = observed.claims.iter().map(|claim| &claim.record);
    let is_ready = |phase| matches!(phase, ClaimPhase::Initialized | ClaimPhase::Ending);
    let ready = claims.filter(|record| is_ready(record.phase()));
    ready
        .filter_map(|record| {
            let node = *nodes.get(record.claim.status.provider_id.as_ref()?)?;
            let pool = pool_of(record, &pools);
            let is_to_go = is_to_go(record, node, pool);
            let stays = kept.contains(&node.name) || node.annotations.contains_key(DO_NOT_DISRUPT);
            let is_freed = !stays && (is_to_go || pool.is_some_and(is_consolidated));
            let cost = if is_freed { cost(record, node, is_to_go) } else { 0 };
            Some((&node.name, cost))
        })
        .collect()
}

fn pool_of<'a>(
    record: &ClaimRecord,
    pools: &FxHashMap<&Text, &'a NodePool>,
) -> Option<&'a NodePool> {
    pools.get(record.claim.node_pool()?).copied()
}

/// Whether nodes of a NodePool go once pods do not need them.
fn is_consolidated(pool: &NodePool) -> bool {
    pool.replicas.is_none() && pool.disruption.consolidate_after != NeverOr::Never
}

/// Whether a node goes whatever becomes of its pods. Drifted nodes stay where the NodePool is only
/// observed, or is not there.
fn is_to_go(record: &ClaimRecord, node: &Node, pool: Option<&NodePool>) -> bool {
    let is_ending = record.ending.is_some() || node.is_disrupted();
    is_ending || pool.is_some() && record.claim.is(ConditionType::Drifted)
}

/// What pods cost on a node: below 0, since pods on nodes of others cost nothing and free no node
/// of ours.
fn cost(record: &ClaimRecord, node: &Node, is_to_go: bool) -> i32 {
    // FNV-1 mixes a byte in with the next one, and its high bits best: hence a byte more, and
    // those.
    let name: Vec<u8> = node.name.bytes().chain([0]).collect();
    let place = (fnv(&name) >> 20) % u64::from(COSTS_OF_A_PRICE.unsigned_abs());
    let place = i32::try_from(place).unwrap_or(0);
    let dear = i32::try_from(price_step(record.price())).unwrap_or(0);
    let cost = place - (1 + dear) * COSTS_OF_A_PRICE;
    if is_to_go { cost - COSTS } else { cost }
}

/// The logarithm of a price, in eighths: below [`PRICES`].
fn price_step(price: UsdPerHour) -> u64 {
    let nanos = price.nanos().max(1).unsigned_abs();
    let octave = nanos.ilog2();
    // The three bits after the first.
    let eighths = if octave < 3 { nanos << (3 - octave) } else { nanos >> (octave - 3) } & 7;
    u64::from(octave) * 8 + eighths
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::ports::{Version, Versioned};
    use crate::record::claim::EndReason;
    use crate::steps::condition::{ConditionState, set_condition};
    use crate::testing::{at, initialized_record, listing_of, node_of, node_pool, pod_on};
    use domain::instance_type::InstanceTypes;
    use domain::node_claim::ConditionStatus;
    use domain::pod::{DoNotDisrupt, Owner};
    use domain::snapshot::ClusterObjects;

    /// A pod of a ReplicaSet.
    fn replica(name: &str, node: &Node) -> Pod {
        let owner =
            Owner { kind: OwnerKind::ReplicaSet, name: "web".into(), uid: "uid-web".into() };
        Pod { owner: Some(owner), ..pod_on(name, node) }
    }

    /// Two nodes of pool `default`, with two pods of a ReplicaSet on each.
    fn observed(change: impl FnOnce(&mut ClusterObjects, &mut [ClaimRecord])) -> ClusterState {
        let mut records = [initialized_record("a", at(0)), initialized_record("b", at(0))];
        let nodes: Vec<Node> = records.iter().map(node_of).collect();
        let names = ["a-0", "a-1", "b-0", "b-1"];
        let pods = names.iter().enumerate().map(|(at, name)| replica(name, &nodes[at / 2]));
        let mut objects = ClusterObjects {
            pods: pods.collect(),
            nodes: nodes.into(),
            node_pools: vec![node_pool("default")],
            ..ClusterObjects::default()
        };
        change(&mut objects, &mut records);
        let claims = records.map(|record| Versioned { record, version: Version(1) });
        ClusterState {
            now: at(60),
            seed: 1,
            listing: listing_of(objects),
            claims: claims.to_vec(),
            commands: Vec::new(),
            unavailable: Vec::new(),
            nominations: Vec::new(),
            spot: crate::steps::snapshot::SpotMemory::default(),
            instance_types: InstanceTypes::default(),
        }
    }

    fn untouched(_: &mut ClusterObjects, _: &mut [ClaimRecord]) {}

    fn changes(observed: &ClusterState) -> Vec<(String, i32)> {
        let changes = pod_deletion_costs(observed).into_iter();
        changes.map(|own| (own.pod.key.name.to_string(), own.cost)).collect()
    }

    fn pods_written_to(observed: &ClusterState) -> Vec<String> {
        changes(observed).into_iter().map(|(pod, _)| pod).collect()
    }

    #[test]
    fn pods_of_a_node_cost_the_same_and_those_of_another_node_something_else() {
        let changes = changes(&observed(untouched));
        let costs: Vec<i32> = changes.iter().map(|(_, cost)| *cost).collect();
        assert_eq!((costs[0], costs[2]), (costs[1], costs[3]));
        assert_ne!(costs[0], costs[2]);
        assert!(costs.iter().all(|cost| (-COSTS..0).contains(cost)), "{costs:?}");
    }

    #[test]
    fn pods_of_dear_nodes_are_cheaper() {
        let costs = |prices: [f64; 2]| {
            let state = observed(|_, records| {
                for (record, price) in records.iter_mut().zip(prices) {
                    let instance = record.instance.as_mut().unwrap();
                    instance.price = UsdPerHour::from_f64(price);
                }
            });
            let changes = changes(&state);
            (changes[0].1, changes[2].1)
        };
        for (cheap, dear) in [(0.01, 0.02), (0.10, 0.12), (1.0, 100.0)] {
            let (on_cheap, on_dear) = costs([cheap, dear]);
            assert!(on_dear < on_cheap, "{on_dear} at ${dear}, {on_cheap} at ${cheap}");
            let (on_dear, on_cheap) = costs([dear, cheap]);
            assert!(on_dear < on_cheap, "{on_dear} at ${dear}, {on_cheap} at ${cheap}");
        }
    }

    #[test]
    fn prices_have_steps_of_at_most_an_eighth() {
        let step = |nanos| price_step(UsdPerHour::from_nanos(nanos));
        assert_eq!([step(0), step(1), step(2), step(3), step(8)], [0, 0, 8, 12, 24]);
        assert_eq!([step(1000), step(1024), step(1151), step(1152)], [79, 80, 80, 81]);
        assert!(step(i64::MAX) < PRICES.unsigned_abs().into());
    }

    #[test]
    fn pods_that_are_to_be_spread_are_left_to_their_replica_sets() {
        let state = observed(|objects, _| {
            let over_zones = testkit::spread(domain::label::ZONE, ("app", "web"));
            Arc::make_mut(&mut objects.pods[0].spec).topology_spread = vec![over_zones];
        });
        assert_eq!(pods_written_to(&state), ["a-1", "b-0", "b-1"]);
    }

    #[test]
    fn each_pod_is_written_to_once() {
        let mut state = observed(untouched);
        let costs = changes(&state);
        for (pod, (_, cost)) in state.listing.objects.pods.iter_mut().zip(costs) {
            pod.managed_deletion_cost = cost;
        }
        assert_eq!(changes(&state), []);
    }

    #[test]
    fn pods_of_nodes_that_are_to_go_are_cheaper_than_any_other() {
        let ending = observed(|_, records| {
            records[0] = records[0].clone().ended(at(50), EndReason::NodeDeleted, None);
        });
        let disrupted = observed(|objects, _| {
            objects.nodes[0].taints = vec![domain::taint::Taint::disrupted()];
        });
        for state in [ending, disrupted] {
            let changes = changes(&state);
            assert!(changes[0].1 < -COSTS && changes[2].1 >= -COSTS, "{changes:?}");
        }
    }

    #[test]
    fn what_users_have_set_and_pods_that_no_replica_set_owns_are_left_alone() {
        let state = observed(|objects, _| {
            objects.pods[0].deletion_cost = Some(3);
            objects.pods[1].owner = None;
            objects.pods[2].deleted = Some(at(50));
        });
        assert_eq!(pods_written_to(&state), ["b-1"]);
    }

    #[test]
    fn pods_of_nodes_that_no_scale_down_frees_cost_nothing() {
        let is_free = |state: &ClusterState| pods_written_to(state) == ["b-0", "b-1"];
        let protected = |protection| {
            observed(move |objects, _| objects.pods[1].do_not_disrupt = Some(protection))
        };
        assert!(is_free(&protected(DoNotDisrupt::Always)));
        assert!(is_free(&observed(|objects, _| {
            objects.nodes[0].annotations.insert(DO_NOT_DISRUPT.into(), "true".into());
        })));
        let never = observed(|objects, _| {
            objects.node_pools[0].disruption.consolidate_after = NeverOr::Never;
        });
        let fixed = observed(|objects, _| objects.node_pools[0].replicas = Some(2));
        assert_eq!((changes(&never), changes(&fixed)), (vec![], vec![]));
        // What was written before is taken back.
        let mut late = protected(DoNotDisrupt::Always);
        late.listing.objects.pods[0].managed_deletion_cost = -7;
        assert_eq!(changes(&late)[0], ("a-0".to_owned(), 0));
    }

    #[test]
    fn pods_of_drifted_nodes_are_the_cheapest_unless_their_node_pool_is_only_observed() {
        let drifted = |is_observed: bool| {
            observed(move |objects, records| {
                let state = ConditionState::new(ConditionStatus::True, "Drifted", "");
                set_condition(&mut records[0].claim, ConditionType::Drifted, state, at(50));
                // Lifecycle leaves such NodePools out.
                objects.node_pools.retain(|_| !is_observed);
            })
        };
        let changes = changes(&drifted(false));
        assert!(changes[0].1 < -COSTS && changes[2].1 >= -COSTS, "{changes:?}");
        assert_eq!(pods_written_to(&drifted(true)), [""; 0]);
    }

    #[test]
    fn pods_of_nodes_that_are_not_ours_are_left_alone() {
        let state = observed(|objects, _| objects.nodes[0].provider_id = Some("another".into()));
        assert_eq!(pods_written_to(&state), ["b-0", "b-1"]);
    }
}
