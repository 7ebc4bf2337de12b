//! A plan: what one tick wants done, complete, with its reasons. Nothing is left to decide while
//! acting.

use std::collections::BTreeMap;

use crate::commitment::Bill;
use crate::instance_type::CapacityType;
use crate::label::Labels;
use crate::money::UsdPerHour;
use crate::pod::{PodKey, VirtualPodSource};
use crate::reason::{DisruptionReason, NodePoolUnfit, NotDisruptable, PodUnschedulable};
use crate::requirement::{Operator, Requirement};
use crate::resource::Resources;
use crate::taint::Taint;
use crate::{SignedDuration, Text};

/// Time from the proposal of a consolidation to its validation, as Karpenter has it. A node whose
/// `consolidateAfter` ends within it may be proposed already.
pub const VALIDATION_WAIT: SignedDuration = SignedDuration::from_secs(15);

/// What one tick wants done. Every list is sorted, so that the same snapshot gives the same bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "a plan that nobody reads or executes decides nothing"]
pub struct Plan {
    /// Nodes to launch for pending pods, by name.
    pub node_claims: Vec<PlannedNodeClaim>,
    /// Pods that go to a node that exists or is in flight, by pod.
    pub placements: Vec<Placement>,
    /// Pods that nothing can host, by pod.
    pub unschedulable: Vec<UnschedulablePod>,
    /// Nodes to take away or replace.
    pub disruptions: Vec<PlannedDisruption>,
    /// Nodes that something keeps from being disrupted, by node.
    pub blocked: Vec<BlockedNode>,
    /// Disruptions that budgets will allow once those under way are over. Only proposals have any.
    pub awaiting_budget: Vec<PlannedDisruption>,
    /// Nodes that later disruptions are going to remove, as things stand, by name. Only proposals
    /// have any.
    pub candidates: Vec<Text>,
    /// Pods that are planned for before they are there, and where room is kept for them, by pod.
    pub virtual_pods: Vec<PlannedVirtualPod>,
    /// What it comes to.
    pub totals: Totals,
    /// What commitments cover of what it comes to; `None` where none holds.
    pub committed: Option<CommittedTotals>,
    /// What it was chosen from.
    pub figures: PlanFigures,
}

/// What commitments cover of on-demand nodes before a plan, and once it is carried out.
///
/// Prices of a plan are on-demand and spot prices throughout; what they come to beyond the
/// commitments is that less what is covered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommittedTotals {
    /// Before.
    pub before: Bill,
    /// After.
    pub after: Bill,
}

/// What a plan was chosen from, and what it approved: for metrics and events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanFigures {
    /// Pending pods by the zone that they may go to, whatever NodePools launch there; those that
    /// may go to several or to none, by [`SEVERAL_ZONES`] and [`NO_ZONE`].
    pub pending_by_zone: BTreeMap<Text, u32>,
    /// How many more nodes of each NodePool may go for each voluntary reason before this plan; all
    /// of them where no budget applies.
    pub allowed_disruptions: BTreeMap<(Text, DisruptionReason), u32>,
    /// Nodes that could go for each voluntary reason if budgets, and their pods' new places, let
    /// them.
    pub eligible_nodes: BTreeMap<DisruptionReason, u32>,
    /// Nodes of each NodePool that are past their age limit, where nodes expire gracefully; other
    /// NodePools are left out.
    pub past_expiry: BTreeMap<Text, u32>,
    /// Whether each NodePool is off that has off hours.
    pub off: BTreeMap<Text, bool>,
    /// How far drift has come in each NodePool that drifts in waves or may be halted.
    pub drift: BTreeMap<Text, DriftFigures>,
    /// Nodes of each NodePool that asks for balance over zones, by NodePool and zone, those that
    /// leave not counted.
    pub zone_nodes: BTreeMap<(Text, Text), u32>,
    /// Nodes whose drain lasts longer than drains do, and what they cost meanwhile.
    pub stuck_drains: StuckDrains,
    /// Moves that the `Balanced` policy of their NodePools approved.
    pub approved: Vec<ApprovedMove>,
}

/// Nodes whose drain lasts longer than [`crate::drain::STUCK_AFTER`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StuckDrains {
    /// How many.
    pub nodes: u32,
    /// What they cost by the catalogue; those that it does not price cost nothing here.
    pub hourly: UsdPerHour,
}

/// How far drift of a NodePool has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DriftFigures {
    /// The number of the wave, from 1; 0 where no node has drifted.
    pub wave: u32,
    /// Whether drift is halted.
    pub is_halted: bool,
}

/// Of [`PlanFigures::pending_by_zone`], in Karpenter's word: more zones than one.
pub const SEVERAL_ZONES: &str = "flexible";

/// Of [`PlanFigures::pending_by_zone`], in Karpenter's word: requirements, volumes and other pods
/// leave no zone.
pub const NO_ZONE: &str = "none";

/// A move that a `Balanced` NodePool approved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApprovedMove {
    /// The NodePool.
    pub node_pool: Text,
    /// All nodes of the move.
    pub nodes: Vec<Text>,
    /// The score with what it is made of.
    pub score: Text,
}

/// A NodeClaim to launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedNodeClaim {
    /// `POOL-xxxxx`, drawn from the snapshot's seed and what the claim holds.
    pub name: Text,
    /// The NodePool.
    pub node_pool: Text,
    /// The EC2NodeClass.
    pub node_class: Text,
    /// Instance types to offer to EC2, cheapest first. Every pod of the claim can run on each of
    /// them.
    pub instance_types: Vec<Text>,
    /// Requirements, by key.
    pub requirements: Vec<Requirement>,
    /// What the claim is priced at: the cheapest offering that meets its requirements.
    pub offering: LaunchOffering,
    /// What EC2 is asked for: offerings of `instance_types`, cheapest first and all of one capacity
    /// type; at least one, of at most 60 instance types. A subset of what `instance_types` and
    /// `requirements` allow: metal, accelerated types and spot dearer than on-demand are left out
    /// where they may be.
    pub offerings: Vec<LaunchOffering>,
    /// Labels that the node will have whatever is launched.
    pub labels: Labels,
    /// Taints that stay.
    pub taints: Vec<Taint>,
    /// Taints that something removes once the node is set up.
    pub startup_taints: Vec<Taint>,
    /// What its pods and its DaemonSets request.
    pub requests: Resources,
    /// Its pods, sorted. Virtual pods are not listed.
    pub pods: Vec<PodKey>,
}

impl PlannedNodeClaim {
    /// Labels that its node will have whatever is launched.
    pub fn settled_labels(&self) -> Labels {
        let required = self.requirements.iter().filter_map(|own| match own.values.as_slice() {
            [value] if own.operator == Operator::In => Some((own.key.clone(), value.clone())),
            _ => None,
        });
        required
            .chain(self.labels.iter().map(|(key, value)| (key.clone(), value.clone())))
            .collect()
    }
}

/// An offering that a launch may use: an instance type in one zone, bought one way, at one price.
///
/// Ordered by price, then by instance type, zone, capacity type and reservation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LaunchOffering {
    /// The price, which also is its priority in CreateFleet.
    pub price: UsdPerHour,
    /// The instance type.
    pub instance_type: Text,
    /// The zone's name.
    pub zone: Text,
    /// How it is bought.
    pub capacity_type: CapacityType,
    /// The capacity reservation, for `reserved`.
    pub reservation_id: Option<Text>,
}

/// A pod's place on a node that exists, or on a claim in flight.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Placement {
    /// The pod.
    pub pod: PodKey,
    /// The Node's name; the NodeClaim's for one without a Node.
    pub node: Text,
}

/// A virtual pod: room for a pod that is not there yet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PlannedVirtualPod {
    /// The name that it has in planning. No pod of the cluster has it.
    pub pod: PodKey,
    /// What wants the room.
    pub source: VirtualPodSource,
    /// Where the room is: the Node's name, the NodeClaim's for one without a Node, or that of a
    /// claim which the plan launches. `None` where nothing can host it.
    pub place: Option<Text>,
}

/// A pod that nothing can host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnschedulablePod {
    /// The pod.
    pub pod: PodKey,
    /// Why not, at least one.
    pub reasons: Vec<PodUnschedulable>,
}

impl UnschedulablePod {
    /// Whether no NodePool can ever host it as it is and as they are: every reason is a lasting one
    /// ([`PodUnschedulable::is_lasting`]). Such a pod does not wait for capacity.
    pub fn is_unhostable(&self) -> bool {
        !self.reasons.is_empty() && self.reasons.iter().all(PodUnschedulable::is_lasting)
    }

    /// Whether it waits for a NodePool that is off, and for no other.
    pub fn awaits_off_pool(&self) -> bool {
        let is_off = |reason: &PodUnschedulable| {
            matches!(
                reason,
                PodUnschedulable::NodePool { reason: NodePoolUnfit::OffHours { .. }, .. }
            )
        };
        self.reasons.iter().any(is_off)
            && self.reasons.iter().all(|reason| is_off(reason) || reason.is_lasting())
    }

    /// Whether it waits for room that others leave, because some NodePool buys no node for pods of
    /// its priority, and nobody else does.
    pub fn is_expendable(&self) -> bool {
        self.reasons.iter().any(|reason| {
            matches!(
                reason,
                PodUnschedulable::NodePool { reason: NodePoolUnfit::Expendable { .. }, .. }
            )
        })
    }
}

/// Nodes to take away together, with what replaces them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedDisruption {
    /// Why.
    pub reason: DisruptionReason,
    /// The Nodes, sorted; a NodeClaim's name for one without a Node.
    pub nodes: Vec<Text>,
    /// Their pods that need another place, sorted.
    pub pods: Vec<PodKey>,
    /// Claims to launch first.
    pub replacements: Vec<PlannedNodeClaim>,
    /// Where pods go that no replacement holds: nodes that stay.
    pub moves: Vec<Placement>,
    /// What it saves; negative where a replacement costs more.
    pub savings: UsdPerHour,
}

/// A node that stays, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockedNode {
    /// The Node's name.
    pub node: Text,
    /// What keeps it.
    pub reason: NotDisruptable,
}

/// What a plan comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Pods that waited for a place.
    pub pending_pods: u32,
    /// All nodes before, as far as the catalogue prices them.
    pub hourly_before: UsdPerHour,
    /// All nodes after.
    pub hourly_after: UsdPerHour,
    /// No plan could host the pending pods for less new capacity than this; `None` where it was not
    /// computed.
    pub lower_bound: Option<UsdPerHour>,
}
