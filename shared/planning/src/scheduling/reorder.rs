//! A search for an order in which pods are taken one by one that leaves fewer of them.
//!
//! What limits, or nodes that are there, leave is shared out by who comes first. No rule finds the
//! best order of any pods; small changes of one often do: those that are left come earlier, or
//! others later.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::left::compare_left;
use super::one_by_one::{Turn, in_turn, left_one_by_one};
use crate::feasibility::state::State;
use crate::ids::{PodIx, ShapeIx};
use crate::model::Model;
use crate::placement::Placer;

/// Orders that are tried, at most.
const ORDERS_MAX: usize = 128;

/// Orders that are tried without leaving fewer pods: as many as these pods make up, within bounds.
const FRUITLESS_PODS: usize = 4096;

/// The bounds of their number.
const FRUITLESS: (usize, usize) = (16, 48);

/// An order of all pods that leaves few of those that have a shape in `retried`.
///
/// Work is bounded by the number of orders, which is less where pods are many. An order that leaves
/// as many pods as the best so far takes its place: the search goes on from somewhere else.
pub(super) fn better_order(
    placer: &Placer,
    state: &State,
    waiting: &[PodIx],
    retried: &BTreeSet<ShapeIx>,
) -> Vec<PodIx> {
    let model = placer.scope().model;
    let tried = |order: Vec<PodIx>| {
        let left = left_one_by_one(placer, state, retried, &order);
        Tried { order, left }
    };
    let in_turn = |turn| in_turn(placer, waiting, turn).into_iter().map(|(_, pod)| pod).collect();
    let (by_name, by_size) = (tried(in_turn(Turn::ByName)), tried(in_turn(Turn::SmallerFirst)));
    let mut best = if by_name.compare(model, &by_size).is_lt() { by_name } else { by_size };
    let (least, most) = FRUITLESS;
    let fruitless_max = (FRUITLESS_PODS / waiting.len().max(1)).clamp(least, most);
    let mut fruitless = 0;
    for number in 0..ORDERS_MAX {
        let Some(order) = best.changed(model, retried, number) else { break };
        let next = tried(order);
        let compared = next.compare(model, &best);
        fruitless = if compared.is_lt() { 0 } else { fruitless + 1 };
        if compared.is_le() {
            best = next;
        }
        if fruitless == fruitless_max {
            break;
        }
    }
    best.order
}

/// An order, and the pods that it leaves.
struct Tried {
    order: Vec<PodIx>,
    left: BTreeSet<PodIx>,
}

impl Tried {
    fn compare(&self, model: &Model, other: &Self) -> Ordering {
        compare_left(model, self.left.iter().copied(), other.left.iter().copied())
    }

    /// Another order, one change away: all pods that are left first, or those of one shape, or one
    /// pod earlier; or others of one shape last. `None` where no pod is left that could have a
    /// place.
    fn changed(
        &self,
        model: &Model,
        retried: &BTreeSet<ShapeIx>,
        number: usize,
    ) -> Option<Vec<PodIx>> {
        let shape_of = |pod: &PodIx| model.shapes.of_pod[*pod];
        let is_left = |pod: &PodIx| {
            self.left.contains(pod) && shape_of(pod).is_some_and(|own| retried.contains(&own))
        };
        let (left, placed): (Vec<PodIx>, Vec<PodIx>) =
            self.order.iter().copied().partition(|pod| is_left(pod));
        let one = *left.get(scattered(number, left.len().max(1)))?;
        let mut order = self.order.clone();
        match number % 4 {
            0 => order.sort_by_key(|pod| !is_left(pod)),
            1 => order.sort_by_key(|pod| shape_of(pod) != shape_of(&one)),
            2 => {
                let placed = *placed.get(scattered(number, placed.len().max(1)))?;
                order.sort_by_key(|pod| shape_of(pod) == shape_of(&placed));
            }
            _ => {
                let place = order.iter().position(|pod| *pod == one)?;
                order.remove(place);
                order.insert(scattered(number, place + 1), one);
            }
        }
        Some(order)
    }
}

/// A number below a bound, another for each number.
fn scattered(number: usize, below: usize) -> usize {
    (number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) % below
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feasibility::scope::Scope;
    use crate::feasibility::topology::Topology;
    use crate::ids::IndexVec;
    use crate::model::memo::Memo;
    use crate::scheduling::waiting_pods;
    use crate::testing::{Cluster, cluster, node, pod};
    use domain::resource::{NODES, Resources};

    /// Names of pods that an order leaves: the one that is found, and the one by size.
    fn left(world: &Cluster) -> [Vec<String>; 2] {
        let model = Model::new(&world.0, &[]);
        let all = IndexVec::filled(true, model.shapes.list.len());
        let topology = Topology::of(&model, &all, &all);
        let state = State::of(&model, &topology);
        let memo = Memo::of(&model);
        let scope = Scope { model: &model, topology: &topology, memo: &memo };
        let placer = Placer::new(scope, state.clone());
        let waiting = waiting_pods(&model);
        let shapes = model.shapes.list.indices().collect();
        let by_size = in_turn(&placer, &waiting, Turn::SmallerFirst);
        let by_size = by_size.into_iter().map(|(_, pod)| pod).collect();
        [better_order(&placer, &state, &waiting, &shapes), by_size].map(|order| {
            let left = left_one_by_one(&placer, &state, &shapes, &order);
            left.iter().map(|pod| model.pod(*pod).key.name.to_string()).collect()
        })
    }

    /// Two nodes are there, and no other may be launched.
    fn two_nodes() -> Cluster {
        cluster()
            .default_pool(|pool| pool.limits = Resources::new().with(NODES, 2))
            .node(node("n1").of_type("m.2xlarge"))
            .node(node("n2").of_type("m.2xlarge"))
    }

    #[test]
    fn pods_that_fill_all_nodes_come_in_an_order_in_which_each_has_a_place() {
        let sizes = [1600, 2400, 2400, 2400, 3200, 4000];
        let pods = (0..).zip(sizes).map(|(number, cpu)| pod(&format!("p{number}")).cpu(cpu));
        let [found, by_size] = left(&pods.fold(two_nodes(), Cluster::pod));
        assert_eq!(by_size, ["p5"]);
        assert_eq!(found, [""; 0]);
    }

    #[test]
    fn pods_of_lower_priority_are_left_however_many_they_are() {
        let important = pod("important").priority(1).cpu(7000);
        let world = two_nodes().pods(2, &important).pods(8, &pod("small").cpu(1500));
        let [found, _] = left(&world);
        assert!(found.iter().all(|name| name.starts_with("small")), "{found:?}");
    }
}
