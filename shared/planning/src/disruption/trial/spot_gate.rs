//! Spot nodes in whose place nothing may be launched, which is known before their pods are placed.

use domain::instance_type::CapacityType;
use domain::label::{CAPACITY_TYPE, OF_RESERVATION};

use super::Trials;
use crate::ids::{IndexVec, NodeIx, PodIx, PurchaseIx, ShapeIx};
use crate::model::intern::ConjunctionId;
use crate::model::interruption::INTERRUPTION_FIELD;
use crate::model::pool::{Pool, PoolType, TypeOffering};

impl Trials<'_, '_> {
    /// Whether consolidation certainly launches nothing in place of the nodes, so that they go only
    /// where others have room for all their pods: all are spot nodes, whatever hosts their pods
    /// would be bought as spot first, and feature gate `SpotToSpotConsolidation` is off.
    ///
    /// It says so only of clusters where no reservation, commitment or weight bears on what is
    /// launched.
    pub(crate) fn may_launch_nothing_for(&self, nodes: &[NodeIx]) -> bool {
        let model = self.model;
        let is_spot =
            |node: &NodeIx| model.nodes[*node].capacity_type() == Some(CapacityType::Spot);
        if model.snapshot.settings.feature_gates.spot_to_spot_consolidation
            || !nodes.iter().all(is_spot)
        {
            return false;
        }
        let stays_on_spot = self.stays_on_spot.get_or_init(|| self.shapes_on_spot());
        let mut shapes = self
            .pods_of(nodes)
            .into_iter()
            .chain(self.virtual_pods_of(nodes))
            .filter_map(|pod| model.shapes.of_pod[pod]);
        shapes.all(|shape| stays_on_spot[shape])
    }

    /// By shape, whether spot is among whatever new nodes its pods could go to, wherever those are.
    fn shapes_on_spot(&self) -> IndexVec<ShapeIx, bool> {
        let model = self.model;
        let is_plain = self.on_demand.is_none()
            && model.commitments.is_none()
            && !model.is_weighted()
            && model.pools.iter().all(sells_spot_wherever_on_demand);
        let stays = |shape| is_plain && !self.may_choose_how_to_buy(shape);
        model.shapes.list.indices().map(stays).collect()
    }

    /// Whether pods of a shape name, prefer or spread over ways of buying a node.
    fn may_choose_how_to_buy(&self, shape: ShapeIx) -> bool {
        let (own, topology) = (self.model.shape(shape), self.topology);
        let decides = |key: &str| {
            matches!(key, CAPACITY_TYPE | INTERRUPTION_FIELD) || OF_RESERVATION.contains(&key)
        };
        let names =
            |way: &ConjunctionId| self.model.sets.rules(*way).iter().any(|rule| decides(&rule.key));
        let preferred = own.preferences.iter().map(|(_, way)| way);
        let owned = topology.constraints[shape].owned.iter();
        own.alternatives.iter().chain(&own.node_alternatives).chain(preferred).any(names)
            || owned.map(|owned| &topology.groups[owned.group].key).any(|key| decides(key))
    }

    /// Whether other nodes have room for all pods of the nodes as things stand.
    pub(crate) fn have_room_elsewhere(&mut self, nodes: &[NodeIx]) -> bool {
        self.placer.reset(self.state_without(nodes));
        let mut pods: Vec<PodIx> = self.pods_of(nodes);
        pods.extend(self.virtual_pods_of(nodes));
        self.placer.place_on_existing(&pods).is_some()
    }
}

/// Whether each type that the pool may buy on demand in a zone is sold there as spot too, and
/// nothing is reserved.
fn sells_spot_wherever_on_demand(pool: &Pool) -> bool {
    let bought = |purchase: PurchaseIx| pool.purchases[purchase].capacity_type;
    let has_spot = |own: &PoolType, on_demand: &TypeOffering| {
        own.offerings.iter().any(|other| {
            other.zone == on_demand.zone && bought(other.purchase) == CapacityType::Spot
        })
    };
    pool.types.iter().all(|own| {
        own.offerings.iter().all(|offering| match bought(offering.purchase) {
            CapacityType::Spot => true,
            CapacityType::OnDemand => has_spot(own, offering),
            CapacityType::Reserved => false,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;
    use crate::scheduling::{Scheduling, SchedulingPurpose};
    use crate::testing::{
        Cluster, cluster, instance_type, node, offering, pod, spread_over, with_spot,
    };
    use domain::instance_type::InstanceType;
    use domain::requirement::Requirement;

    /// Whether nothing may be launched for `n1`.
    fn launches_nothing(world: &Cluster) -> bool {
        let model = Model::new(&world.0, &[]);
        let scheduling = Scheduling::of(&model, SchedulingPurpose::Proposal);
        let trials = Trials::of(&model, &scheduling, world.0.now);
        let n1 = model.nodes.indices().find(|node| **model.nodes[*node].name == *"n1").unwrap();
        trials.may_launch_nothing_for(&[n1])
    }

    /// Sold both ways in every zone.
    fn sold() -> InstanceType {
        let mut own = instance_type("m.xlarge", 4, 0.20);
        own.offerings.extend(["a", "b", "c"].map(|zone| offering(zone, CapacityType::Spot, 0.06)));
        own
    }

    fn on_spot() -> Cluster {
        cluster().selling(vec![sold()]).node(node("n1").label(CAPACITY_TYPE, "spot"))
    }

    #[test]
    fn for_spot_nodes_nothing_is_launched_while_the_gate_is_off() {
        let world = on_spot().pod(pod("a").on("n1"));
        assert!(launches_nothing(&world));
        let with_gate = world
            .with(|snapshot| snapshot.settings.feature_gates.spot_to_spot_consolidation = true);
        assert!(!launches_nothing(&with_gate));
        let on_demand = cluster().selling(vec![sold()]).node(node("n1")).pod(pod("a").on("n1"));
        assert!(!launches_nothing(&on_demand));
    }

    #[test]
    fn where_a_type_is_sold_on_demand_alone_it_may_come_in_place_of_spot() {
        let more = with_spot(instance_type("m.large", 2, 0.02), 0.01);
        assert!(!launches_nothing(&on_spot().selling(vec![sold(), more]).pod(pod("a").on("n1"))));
    }

    #[test]
    fn pods_that_choose_how_nodes_are_bought_may_get_others_than_spot() {
        let on_demand = || Requirement::is_in(CAPACITY_TYPE, ["on-demand".into()]);
        let spread = spread_over(CAPACITY_TYPE, ("app", "x"));
        let choosing = [
            pod("a").requiring(on_demand()),
            pod("a").preferring(1, on_demand()),
            pod("a").label("app", "x").spread(spread),
        ];
        for pod in choosing {
            assert!(!launches_nothing(&on_spot().pod(pod.on("n1"))));
        }
    }
}
