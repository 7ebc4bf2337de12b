//! Which pods may be evicted now: those whose successors would find room on another node at once.

use std::collections::BTreeSet;

use domain::pod::PodKey;
use domain::snapshot::ClusterSnapshot;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::feasibility::scope::Scope;
use crate::feasibility::state::{PodsOn, State};
use crate::feasibility::topology::Topology;
use crate::ids::{GroupIx, IndexVec, NodeIx, PodIx, ShapeIx};
use crate::model::Model;
use crate::model::memo::Memo;
use crate::model::successor::needs_successor;
use crate::placement::Placer;
use crate::scheduling::pending_pods;

/// Of bound pods that are to be evicted, in their order, those for which some other node has room
/// whichever nodes kube-scheduler gives to the successors of those before them: each of these is
/// taken to use up its room on every node that it could go to, and of pods that spread or keep off
/// each other one goes at a time. The others follow once the successors have their places.
///
/// Where a pod has to wait for those before it, all after it wait too: what they would take is what
/// kube-scheduler gives it when they come in their order, and that was looked at before their nodes
/// were chosen. A pod that no node has room for keeps nobody waiting.
///
/// Expendable pods go at once: they need no place, and give up what they have.
///
/// Pods that wait already come first: they have the places that they are nominated to, and the room
/// that kube-scheduler would give them. No room counts on nodes that are leaving or still starting.
/// Work grows with the number of pods in question times that of nodes.
pub fn evictable(snapshot: &ClusterSnapshot, pods: &[PodKey]) -> BTreeSet<PodKey> {
    let snapshot = &*snapshot.with_default_constraints();
    let model = Model::new(snapshot, &[]);
    let wanted: FxHashSet<&PodKey> = pods.iter().collect();
    let mut bound: FxHashMap<&PodKey, Bound> = FxHashMap::default();
    for (node, view) in model.nodes.iter_enumerated() {
        for pod in &view.bound {
            let key = &model.pod(*pod).key;
            if let (true, Some(shape)) = (wanted.contains(key), model.shapes.of_pod[*pod]) {
                bound.insert(key, Bound { pod: *pod, node, shape });
            }
        }
    }
    let pending = pending_pods(&model);
    let mut to_place = IndexVec::filled(false, model.shapes.list.len());
    let waiting = pending.iter().filter_map(|pod| model.shapes.of_pod[*pod]);
    let leaving = pods.iter().filter_map(|pod| bound.get(pod)).map(|own| own.shape);
    for shape in waiting.chain(leaving) {
        to_place[shape] = true;
    }
    let topology = Topology::of(&model, &to_place, &to_place);
    let memo = Memo::of(&model);
    let scope = Scope { model: &model, topology: &topology, memo: &memo };
    let mut placer = Placer::new(scope, state_now(&model, &topology));
    placer.launches_nodes = false;
    for pod in pending {
        let Some(shape) = model.shapes.of_pod[pod] else { continue };
        if placer.place_where_expected(pod, shape).is_none() {
            placer.place_where_scheduled(shape);
        }
    }
    let as_it_stands = placer.state.clone();
    let mut actual: Option<Placer> = None;
    let mut evictable = BTreeSet::new();
    let mut unsettled: BTreeSet<GroupIx> = BTreeSet::new();
    for key in pods {
        let Some(Bound { pod, node, shape }) = bound.get(key) else { continue };
        if model.expendable.contains(pod) {
            evictable.insert(key.clone());
            continue;
        }
        let constraints = &topology.constraints[*shape];
        let owned = constraints.owned.iter().map(|owned| owned.group);
        let groups: Vec<GroupIx> = owned.chain(constraints.selected_by.iter().copied()).collect();
        let own = PodsOn { shape: *shape, node: *node, count: 1 };
        // kube-scheduler does not count a pod that is ending.
        placer.state.count(&model, &topology, PodsOn { count: -1, ..own });
        let hosts = placer.hosts_of(*shape);
        if hosts.is_empty() {
            placer.state.count(&model, &topology, own);
            let actual = actual.get_or_insert_with(|| {
                let mut placer = Placer::new(scope, as_it_stands.clone());
                placer.launches_nodes = false;
                placer
            });
            actual.state.count(&model, &topology, PodsOn { count: -1, ..own });
            if !actual.hosts_of(*shape).is_empty() {
                break;
            }
            actual.state.count(&model, &topology, own);
            continue;
        }
        // One that waits for its turn keeps its room: those after it are smaller.
        if !groups.iter().any(|group| unsettled.contains(group)) {
            evictable.insert(key.clone());
            unsettled.extend(groups);
        }
        for host in hosts {
            placer.state.place(&model, &topology, PodsOn { node: host, ..own });
        }
    }
    evictable
}

/// Where a pod is, and what it is like.
struct Bound {
    pod: PodIx,
    node: NodeIx,
    shape: ShapeIx,
}

/// What kube-scheduler goes by: pods on leaving nodes count until they end, and nodes that are
/// still starting take none.
fn state_now(model: &Model, topology: &Topology) -> State {
    let mut state = State::of(model, topology);
    for (node, view) in model.nodes.iter_enumerated() {
        state.closed[node] |= view.is_managed && !view.is_initialized;
        let leaving = view.bound.iter().filter(|_| view.is_leaving());
        let moving = leaving.filter(|pod| needs_successor(model, **pod));
        for pod in moving.filter(|pod| model.pod(**pod).is_active()) {
            if let Some(shape) = model.shapes.of_pod[*pod] {
                state.count(model, topology, PodsOn { shape, node, count: 1 });
            }
        }
    }
    state
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Cluster, NodeMaker, cluster, node, pod, spread_over};
    use domain::label;
    use domain::taint::Taint;

    fn evicted(world: &Cluster, pods: &[&str]) -> Vec<String> {
        let pods: Vec<PodKey> = pods.iter().map(|name| PodKey::new("default", *name)).collect();
        let evictable = evictable(&world.0, &pods);
        evictable.iter().map(|key| key.name.to_string()).collect()
    }

    fn leaving(name: &str) -> NodeMaker {
        node(name).with(|own| own.taints.push(Taint::disrupted()))
    }

    /// `old` is drained; `new` has room for one of its two pods.
    fn drained() -> Cluster {
        cluster()
            .node(leaving("old"))
            .node(node("new"))
            .pod(pod("a").cpu(2000).on("old"))
            .pod(pod("b").cpu(2000).on("old"))
            .pod(pod("c").cpu(1500).on("new"))
    }

    #[test]
    fn as_many_pods_leave_as_others_have_room_for() {
        assert_eq!(evicted(&drained(), &["b", "a"]), ["b"], "the first one takes the room");
        let two_more = drained().node(node("more").of_type("m.2xlarge"));
        assert_eq!(evicted(&two_more, &["b", "a"]), ["a", "b"]);
    }

    #[test]
    fn pods_that_wait_already_take_their_room_first() {
        let world = drained().pod(pod("d").cpu(2000));
        assert_eq!(evicted(&world, &["a"]), [""; 0]);
    }

    #[test]
    fn an_expendable_pod_leaves_whether_or_not_others_have_room() {
        let world = drained().pod(pod("cheap").cpu(9000).priority(-1).on("old"));
        assert_eq!(evicted(&world, &["cheap"]), [""; 0]);
        let world = world.default_pool(|pool| pool.options.expendable_below = Some(0));
        assert_eq!(evicted(&world, &["cheap", "b"]), ["b", "cheap"]);
    }

    #[test]
    fn a_node_that_is_still_starting_has_no_room_yet() {
        let world = drained().pod(pod("d").cpu(2000).on("new")).node(node("next").starting());
        assert_eq!(evicted(&world, &["a"]), [""; 0]);
    }

    #[test]
    fn a_pod_stays_where_those_before_it_may_take_its_room_wherever_they_go() {
        let world = cluster()
            .node(leaving("old"))
            .node(node("one"))
            .node(node("other"))
            .pod(pod("a").cpu(2000).on("old"))
            .pod(pod("b").cpu(3000).on("old"))
            .pod(pod("c").cpu(500).on("one"));
        assert_eq!(evicted(&world, &["a", "b"]), ["a"], "either node would do for it");
        assert_eq!(evicted(&world, &["b", "a"]), ["b"]);
        let world = world.pod(pod("small").cpu(100).on("old"));
        assert_eq!(evicted(&world, &["a", "b", "small"]), ["a"], "it could take the last of b's");
        assert_eq!(evicted(&world, &["a", "small"]), ["a", "small"]);
    }

    #[test]
    fn a_pod_that_leaves_no_longer_counts_against_its_own_spread() {
        let in_zone = |name: &str, zone| {
            let spread = spread_over(label::ZONE, ("app", "x"));
            (pod(name).label("app", "x").spread(spread).cpu(100), zone)
        };
        let world = cluster()
            .node(leaving("old").in_zone("a"))
            .node(node("near").in_zone("a"))
            .node(node("far").in_zone("b"));
        let pods = [in_zone("a", "old"), in_zone("b", "old"), in_zone("c", "far")];
        let world = pods.into_iter().fold(world, |world, (pod, node)| world.pod(pod.on(node)));
        assert_eq!(evicted(&world, &["a", "b"]), ["a"], "one of a spread at a time");
        assert_eq!(evicted(&world, &["b"]), ["b"]);
    }

    #[test]
    fn a_pod_that_waits_for_another_of_its_spread_keeps_its_room() {
        let spread = spread_over(label::ZONE, ("app", "x"));
        let of_spread = |name: &str| pod(name).label("app", "x").spread(spread.clone()).cpu(1000);
        let world = cluster()
            .node(leaving("old"))
            .node(node("new"))
            .pod(pod("there").cpu(1500).on("new"))
            .pod(of_spread("a").on("old"))
            .pod(of_spread("b").on("old"))
            .pod(pod("c").cpu(600).on("old"));
        assert_eq!(evicted(&world, &["a", "c"]), ["a", "c"]);
        assert_eq!(evicted(&world, &["a", "b", "c"]), ["a"], "b goes next, to where c would be");
    }
}
