//! What a plan leaves of a cluster, in figures.

use std::collections::{BTreeMap, HashMap};

use domain::Text;
use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use domain::node_offering::NodeCapacityType;
use domain::plan::{Plan, UnschedulablePod};
use domain::pod::{Pod, PodKey};
use domain::reason::DisruptionReason;
use domain::resource::{CPU, MEMORY};
use domain::snapshot::ClusterSnapshot;

use super::node_row::{NodeRow, NodeState, rows};
use super::share::Share;

/// A cluster as a plan leaves it, and what the plan does.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Nodes that stay or are launched. Those that go, or are on their way out, do not count.
    pub(crate) nodes: Group,
    /// All nodes, those included that go.
    pub(crate) rows: Vec<NodeRow>,
    /// Nodes that are on their way out already.
    pub(crate) leaving: usize,
    /// Them by zone and by how they are bought.
    pub(crate) by_place: BTreeMap<NodePlace, Group>,
    /// Them by NodePool; `None` for those of none.
    pub(crate) by_node_pool: BTreeMap<Option<Text>, Group>,
    /// Of pods with a place, those on spot nodes. Pods of DaemonSets and static pods do not count.
    pub(crate) spot_pods: Share,
    /// Of the CPU that they request, in millicores, that on spot nodes.
    pub(crate) spot_cpu: Share,
    /// Of the memory that they request, in bytes, that on spot nodes.
    pub(crate) spot_memory: Share,
    /// Pods that nothing can host.
    pub(crate) unschedulable: Vec<UnschedulablePod>,
    /// Nodes that are launched, replacements included.
    pub(crate) launched: usize,
    /// Nodes that are taken away, by reason.
    pub(crate) disrupted: BTreeMap<DisruptionReason, usize>,
    /// Pods that have to move for that.
    pub(crate) moved: usize,
}

/// Where nodes are, and how they are bought; `None` where a node does not say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NodePlace {
    /// The zone.
    pub(crate) zone: Option<Text>,
    /// How they are bought.
    pub(crate) capacity_type: Option<NodeCapacityType>,
}

/// Some nodes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// How many.
    pub(crate) count: usize,
    /// What they cost, as far as a price is known.
    pub(crate) price: UsdPerHour,
    /// How many of them no price is known of.
    pub(crate) unpriced: usize,
}

impl Group {
    fn add(&mut self, row: &NodeRow) {
        self.count += 1;
        self.price += row.price.unwrap_or(UsdPerHour::ZERO);
        self.unpriced += usize::from(row.price.is_none());
    }
}

impl Outcome {
    /// Of a plan for a snapshot.
    pub(crate) fn of(snapshot: &ClusterSnapshot, plan: &Plan) -> Self {
        let rows = rows(snapshot, plan);
        let remains =
            |row: &&NodeRow| !matches!(row.state, NodeState::Disrupted(_) | NodeState::Draining);
        let mut outcome = Self {
            nodes: Group::default(),
            rows: Vec::new(),
            leaving: rows.iter().filter(|row| row.state == NodeState::Draining).count(),
            by_place: BTreeMap::new(),
            by_node_pool: BTreeMap::new(),
            spot_pods: Share::default(),
            spot_cpu: Share::default(),
            spot_memory: Share::default(),
            unschedulable: plan.unschedulable.clone(),
            launched: rows.iter().filter(|row| row.state == NodeState::Planned).count(),
            disrupted: BTreeMap::new(),
            moved: plan.disruptions.iter().map(|disruption| disruption.pods.len()).sum(),
        };
        for row in rows.iter().filter(remains) {
            let NodeRow { zone, capacity_type, node_pool, .. } = row;
            let place = NodePlace { zone: zone.clone(), capacity_type: *capacity_type };
            outcome.nodes.add(row);
            outcome.by_place.entry(place).or_default().add(row);
            outcome.by_node_pool.entry(node_pool.clone()).or_default().add(row);
        }
        for disruption in &plan.disruptions {
            *outcome.disrupted.entry(disruption.reason).or_default() += disruption.nodes.len();
        }
        outcome.count_pods(snapshot, plan, &rows);
        outcome.rows = rows;
        outcome
    }

    fn count_pods(&mut self, snapshot: &ClusterSnapshot, plan: &Plan, rows: &[NodeRow]) {
        let spot = Some(NodeCapacityType::Instance(CapacityType::Spot));
        let is_spot: HashMap<&str, bool> =
            rows.iter().map(|row| (&*row.name, row.capacity_type == spot)).collect();
        let planned = planned_places(plan);
        let counted = |pod: &&Pod| pod.is_active() && !pod.is_daemon() && !pod.is_static();
        for pod in snapshot.objects.pods.iter().filter(counted) {
            let planned = planned.get(&pod.key).copied();
            let Some(place) = planned.or(pod.node_name.as_deref()) else { continue };
            let on_spot = is_spot.get(place).copied().unwrap_or(false);
            self.spot_pods.count(1, on_spot);
            self.spot_cpu.count(pod.spec.requests.get(CPU), on_spot);
            self.spot_memory.count(pod.spec.requests.get(MEMORY), on_spot);
        }
    }

    /// Pods with a place, without those of DaemonSets and static ones.
    pub(crate) fn pods_placed(&self) -> i64 {
        self.spot_pods.whole
    }

    /// How many nodes are taken away.
    pub(crate) fn disrupted_count(&self) -> usize {
        self.disrupted.values().sum()
    }
}

/// Where a plan puts pods: the name of a node or of a claim.
fn planned_places(plan: &Plan) -> HashMap<&PodKey, &str> {
    let mut places: HashMap<&PodKey, &str> = HashMap::new();
    let replacements = plan.disruptions.iter().flat_map(|disruption| &disruption.replacements);
    for claim in plan.node_claims.iter().chain(replacements) {
        places.extend(claim.pods.iter().map(|pod| (pod, &*claim.name)));
    }
    let moves = plan.disruptions.iter().flat_map(|disruption| &disruption.moves);
    places.extend(plan.placements.iter().chain(moves).map(|own| (&own.pod, &*own.node)));
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn nodes_that_go_do_not_count_and_those_that_come_do() {
        let outcome = Outcome::of(&testing::snapshot(), &testing::plan());
        // Of two nodes one goes; one is launched for a pod, and one as a replacement.
        assert_eq!((outcome.nodes.count, outcome.launched), (3, 2));
        assert_eq!(outcome.disrupted, [(DisruptionReason::Underutilized, 1)].into());
        let place = |capacity_type| NodePlace {
            zone: Some("us-east-1a".into()),
            capacity_type: Some(NodeCapacityType::Instance(capacity_type)),
        };
        let counts: Vec<(NodePlace, usize)> =
            outcome.by_place.into_iter().map(|(own, group)| (own, group.count)).collect();
        let expected = [(place(CapacityType::Spot), 2), (place(CapacityType::OnDemand), 1)];
        assert_eq!(
            counts.into_iter().collect::<BTreeMap<_, _>>(),
            expected.into_iter().collect::<BTreeMap<_, _>>()
        );
        let prices = testing::usd(0.1008) + testing::usd(0.0357) * 2;
        assert_eq!(outcome.nodes.price, prices);
    }

    #[test]
    fn a_pod_counts_where_the_plan_puts_it() {
        let outcome = Outcome::of(&testing::snapshot(), &testing::plan());
        // web-0 stays on demand, web-2 joins it, web-1 and api-0 get spot nodes.
        assert_eq!(outcome.spot_pods, Share { part: 2, whole: 4 });
        assert_eq!(outcome.spot_cpu, Share { part: 1000, whole: 2000 });
        assert_eq!(outcome.pods_placed(), 4);
    }
}
