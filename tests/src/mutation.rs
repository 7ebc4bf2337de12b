//! Plans broken on purpose: each mutation is a mistake that a planner could make, made to a plan
//! that is right.
//!
//! A mutation returns nothing where the plan gives it nothing to break. Not every mutant is wrong
//! (a pod moved to another claim may fit there); that is for judges to say, and two judges have to
//! say the same.

use domain::Text;
use domain::money::UsdPerHour;
use domain::plan::{BlockedNode, Placement, Plan, PlannedDisruption, PlannedNodeClaim};
use domain::pod::ObjectKey;
use domain::reason::DisruptionReason;
use domain::requirement::Requirement;
use domain::snapshot::ClusterSnapshot;
use domain::{instance_type::CapacityType, label};

/// A mistake, by name.
#[derive(Clone, Copy)]
pub struct Mutation {
    /// What is done to the plan.
    pub name: &'static str,
    break_plan: fn(&ClusterSnapshot, &mut Plan) -> Option<()>,
}

impl Mutation {
    /// The plan with the mistake made; `None` where it cannot be made.
    pub fn of(&self, snapshot: &ClusterSnapshot, plan: &Plan) -> Option<Plan> {
        let mut broken = plan.clone();
        (self.break_plan)(snapshot, &mut broken)?;
        (broken != *plan).then_some(broken)
    }
}

/// All of them.
pub const ALL: &[Mutation] = &[
    Mutation { name: "a pod is forgotten", break_plan: forget_pod },
    Mutation { name: "a pod is placed twice", break_plan: place_twice },
    Mutation { name: "a pod is placed that does not exist", break_plan: place_ghost },
    Mutation {
        name: "an unschedulable pod is put on the first claim",
        break_plan: host_unschedulable,
    },
    Mutation { name: "an unschedulable pod is put on the first node", break_plan: force_on_node },
    Mutation { name: "a pod moves to another claim", break_plan: move_between_claims },
    Mutation { name: "all pods are put on one claim", break_plan: pile_up },
    Mutation { name: "a placed pod goes to another node", break_plan: move_between_nodes },
    Mutation { name: "a placed pod goes to no node", break_plan: place_nowhere },
    Mutation { name: "a claim's name is taken", break_plan: take_name },
    Mutation { name: "a claim lists no instance type", break_plan: list_nothing },
    Mutation { name: "a claim lists a type twice", break_plan: list_twice },
    Mutation { name: "a claim lists a type that does not exist", break_plan: list_unknown },
    Mutation { name: "a claim lists every type", break_plan: list_everything },
    Mutation { name: "a claim lists its types dearest first", break_plan: list_backwards },
    Mutation { name: "the price is a tenth", break_plan: understate_price },
    Mutation { name: "the offering is in another zone", break_plan: move_zone },
    Mutation { name: "the offering is bought another way", break_plan: change_capacity_type },
    Mutation { name: "the offering is of a dearer type", break_plan: price_dearest },
    Mutation { name: "a claim leaves its requirements out", break_plan: drop_requirements },
    Mutation { name: "a claim requires another zone", break_plan: require_other_zone },
    Mutation { name: "a claim requires a label nobody defines", break_plan: require_unknown },
    Mutation { name: "a claim leaves its taints out", break_plan: drop_taints },
    Mutation { name: "a claim is of another NodePool", break_plan: change_pool },
    Mutation { name: "a claim is launched six times over for nothing", break_plan: launch_more },
    Mutation { name: "a blocked node is disrupted", break_plan: disrupt_blocked },
    Mutation { name: "every node is disrupted", break_plan: disrupt_everything },
    Mutation { name: "a node is disrupted twice", break_plan: disrupt_twice },
    Mutation { name: "a node is disrupted that does not exist", break_plan: disrupt_ghost },
    Mutation { name: "a disruption leaves a pod out", break_plan: leave_pod_behind },
    Mutation { name: "a disruption says that its nodes are empty", break_plan: call_empty },
    Mutation { name: "a disruption goes without its replacements", break_plan: replace_nothing },
    Mutation { name: "a disruption overstates its savings", break_plan: overstate_savings },
    Mutation { name: "the lower bound is above the price", break_plan: raise_lower_bound },
];

fn first_claim(plan: &mut Plan) -> Option<&mut PlannedNodeClaim> {
    plan.node_claims.first_mut()
}

fn forget_pod(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let claim = plan.node_claims.iter_mut().find(|claim| claim.pods.len() > 1)?;
    claim.pods.pop().map(drop)
}

fn place_twice(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let pod = first_claim(plan)?.pods.first()?.clone();
    first_claim(plan)?.pods.push(pod);
    Some(())
}

fn place_ghost(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    first_claim(plan)?.pods.push(ObjectKey::new("default", "nobody-knows-this-pod"));
    Some(())
}

fn host_unschedulable(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    first_claim(plan)?;
    let pod = plan.unschedulable.pop()?.pod;
    first_claim(plan)?.pods.push(pod);
    Some(())
}

fn force_on_node(snapshot: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let node = snapshot.objects.nodes.first()?.name.clone();
    let pod = plan.unschedulable.pop()?.pod;
    plan.placements.push(Placement { pod, node });
    Some(())
}

fn move_between_claims(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let [first, .., last] = plan.node_claims.as_mut_slice() else { return None };
    (first.pods.len() > 1).then_some(())?;
    last.pods.push(first.pods.pop()?);
    Some(())
}

fn pile_up(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let [first, rest @ ..] = plan.node_claims.as_mut_slice() else { return None };
    (!rest.is_empty()).then_some(())?;
    first.pods.extend(rest.iter_mut().flat_map(|claim| std::mem::take(&mut claim.pods)));
    plan.node_claims.truncate(1);
    Some(())
}

fn move_between_nodes(snapshot: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let placement = plan.placements.first_mut()?;
    let other = snapshot.objects.nodes.iter().find(|node| node.name != placement.node)?;
    placement.node = other.name.clone();
    Some(())
}

fn place_nowhere(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    plan.placements.first_mut()?.node = "no-such-node".into();
    Some(())
}

fn take_name(snapshot: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let taken = snapshot.objects.nodes.first()?.name.clone();
    first_claim(plan)?.name = taken;
    Some(())
}

fn list_nothing(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    first_claim(plan)?.instance_types.clear();
    Some(())
}

fn list_twice(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let claim = first_claim(plan)?;
    let last = claim.instance_types.last()?.clone();
    claim.instance_types.push(last);
    Some(())
}

fn list_unknown(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    first_claim(plan)?.instance_types.push("x99.enormous".into());
    Some(())
}

/// Every type that is not listed, at the end: some are too small, or are not what pool and pods ask
/// for.
fn list_everything(snapshot: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let claim = first_claim(plan)?;
    let types = snapshot.instance_types.of(&claim.node_class);
    let missing: Vec<Text> = types
        .iter()
        .map(|known| known.name.clone())
        .filter(|name| !claim.instance_types.contains(name))
        .collect();
    claim.instance_types.extend(missing);
    Some(())
}

fn list_backwards(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    first_claim(plan)?.instance_types.reverse();
    Some(())
}

fn understate_price(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let offering = &mut first_claim(plan)?.offering;
    offering.price = UsdPerHour::from_nanos(offering.price.nanos() / 10);
    Some(())
}

fn move_zone(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let offering = &mut first_claim(plan)?.offering;
    let other = if &*offering.zone == "test-zone-1" { "test-zone-2" } else { "test-zone-1" };
    offering.zone = other.into();
    Some(())
}

fn change_capacity_type(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let offering = &mut first_claim(plan)?.offering;
    offering.capacity_type = match offering.capacity_type {
        CapacityType::Spot => CapacityType::OnDemand,
        CapacityType::OnDemand | CapacityType::Reserved => CapacityType::Spot,
    };
    Some(())
}

fn price_dearest(snapshot: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let claim = first_claim(plan)?;
    let dearest = claim.instance_types.last()?;
    let types = snapshot.instance_types.of(&claim.node_class);
    let known = types.iter().find(|known| known.name == *dearest)?;
    let offering = known.offerings.iter().max_by_key(|offering| offering.price)?;
    claim.offering.instance_type = dearest.clone();
    claim.offering.zone = offering.zone.clone();
    claim.offering.capacity_type = offering.capacity_type;
    claim.offering.price = offering.price;
    Some(())
}

fn drop_requirements(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let claim = first_claim(plan)?;
    claim.requirements.clear();
    claim.labels.clear();
    Some(())
}

fn require_other_zone(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let claim = first_claim(plan)?;
    claim.requirements.retain(|requirement| &*requirement.key != label::ZONE);
    claim.requirements.push(Requirement::is_in(label::ZONE, ["mars-north-1a".into()]));
    Some(())
}

fn require_unknown(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let requirement = Requirement::is_in("example.com/nobody-defines-this", ["x".into()]);
    first_claim(plan)?.requirements.push(requirement);
    Some(())
}

fn drop_taints(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let claim = plan.node_claims.iter_mut().find(|claim| !claim.taints.is_empty())?;
    claim.taints.clear();
    Some(())
}

fn change_pool(snapshot: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let claim = first_claim(plan)?;
    let other = snapshot.objects.node_pools.iter().find(|pool| pool.name != claim.node_pool)?;
    claim.node_pool = other.name.clone();
    Some(())
}

fn launch_more(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let claim = first_claim(plan)?.clone();
    plan.node_claims.extend((0..6).map(|number| PlannedNodeClaim {
        name: format!("{}-{number}", claim.name).into(),
        pods: Vec::new(),
        ..claim.clone()
    }));
    Some(())
}

/// A disruption of nodes with the pods that they hold, placed nowhere.
fn disruption_of(snapshot: &ClusterSnapshot, nodes: Vec<Text>) -> PlannedDisruption {
    let pods = snapshot
        .objects
        .pods
        .iter()
        .filter(|pod| pod.node_name.as_ref().is_some_and(|node| nodes.contains(node)))
        .filter(|pod| pod.is_reschedulable())
        .map(|pod| pod.key.clone())
        .collect();
    PlannedDisruption {
        reason: DisruptionReason::Drifted,
        nodes,
        pods,
        replacements: Vec::new(),
        moves: Vec::new(),
        savings: UsdPerHour::ZERO,
    }
}

fn disrupt_blocked(snapshot: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let BlockedNode { node, .. } = plan.blocked.first()?;
    let disruption = disruption_of(snapshot, vec![node.clone()]);
    plan.disruptions = vec![disruption];
    Some(())
}

fn disrupt_everything(snapshot: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let nodes: Vec<Text> = snapshot.objects.nodes.iter().map(|node| node.name.clone()).collect();
    (!nodes.is_empty()).then_some(())?;
    plan.disruptions = vec![disruption_of(snapshot, nodes)];
    Some(())
}

fn disrupt_twice(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let mut again = plan.disruptions.first()?.clone();
    again.replacements.clear();
    plan.disruptions.push(again);
    Some(())
}

fn disrupt_ghost(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    plan.disruptions.first_mut()?.nodes.push("no-such-node".into());
    Some(())
}

fn leave_pod_behind(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let disruption = plan.disruptions.iter_mut().find(|entry| !entry.pods.is_empty())?;
    let left = disruption.pods.pop()?;
    disruption.moves.retain(|entry| entry.pod != left);
    disruption.replacements.iter_mut().for_each(|claim| claim.pods.retain(|pod| *pod != left));
    Some(())
}

fn call_empty(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let disruption = plan.disruptions.iter_mut().find(|entry| !entry.pods.is_empty())?;
    disruption.reason = DisruptionReason::Empty;
    Some(())
}

fn replace_nothing(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let disruption = plan.disruptions.iter_mut().find(|entry| !entry.replacements.is_empty())?;
    disruption.replacements.clear();
    Some(())
}

fn overstate_savings(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    let consolidates = [DisruptionReason::Empty, DisruptionReason::Underutilized];
    let disruption =
        plan.disruptions.iter_mut().find(|entry| consolidates.contains(&entry.reason))?;
    disruption.savings += UsdPerHour::from_nanos(1_000_000_000);
    Some(())
}

fn raise_lower_bound(_: &ClusterSnapshot, plan: &mut Plan) -> Option<()> {
    first_claim(plan)?;
    plan.totals.lower_bound = Some(UsdPerHour::from_nanos(1_000_000_000_000));
    Some(())
}
