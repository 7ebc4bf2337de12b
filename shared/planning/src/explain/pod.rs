//! Why a pod gets its place or none: every NodePool and every node.

use domain::Text;
use domain::plan::{Plan, PlannedVirtualPod};
use domain::pod::PodKey;
use domain::reason::{NodePoolUnfit, NodeUnfit};
use domain::snapshot::ClusterSnapshot;

use super::funnel::{Filter, Funnel, Offer, Step};
use crate::feasibility::fit::pool_fit;
use crate::feasibility::limits::Limits;
use crate::feasibility::scope::Scope;
use crate::ids::{NodeIx, PoolIx, ShapeIx};
use crate::model::Model;
use crate::model::intern::{ConjunctionId, KeyRule};
use crate::placement::Placer;
use crate::scheduling::unschedulable::{pool_reason, with_subnets};
use crate::scheduling::{Scheduling, SchedulingPurpose, waiting_pods};

/// What rules out each place for a pending pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodExplanation {
    /// NodePools, heaviest first, then by name.
    pub pools: Vec<PoolExplanation>,
    /// Nodes and claims in flight that do not take it, grouped by kind of reason, the largest group
    /// first.
    pub nodes: Vec<NodeGroup>,
    /// Nodes and claims in flight that would take it, in the order in which they are tried.
    pub accepting: Vec<Text>,
}

/// What a NodePool offers a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolExplanation {
    /// The NodePool.
    pub node_pool: Text,
    /// Its weight.
    pub weight: u32,
    /// What rules it out; `None` where it could host the pod.
    pub unfit: Option<NodePoolUnfit>,
    /// Its instance types, filter by filter; empty where the pool is ruled out whatever they are.
    pub steps: Vec<Step>,
    /// The cheapest type that is left.
    pub cheapest: Option<Offer>,
}

/// Nodes that one kind of reason rules out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeGroup {
    /// The reason of the node that comes nearest to taking the pod.
    pub unfit: NodeUnfit,
    /// The nodes, the nearest first, then by name.
    pub nodes: Vec<Text>,
}

/// Explains a pending pod as things are once the plan's other pods have their places; `None` for a
/// pod that needs no place.
///
/// For a pod that the plan gives a place, NodePools are explained as they are before the plan uses
/// up their limits.
pub fn explain_pod(snapshot: &ClusterSnapshot, key: &PodKey) -> Option<PodExplanation> {
    let snapshot = &*snapshot.with_default_constraints();
    let virtual_pods = crate::virtual_pods::virtual_pods(snapshot);
    let model = Model::new(snapshot, &virtual_pods);
    let pod = waiting_pods(&model).into_iter().find(|pod| model.pod(*pod).key == *key)?;
    let shape = model.shapes.of_pod[pod]?;
    let scheduling = Scheduling::of(&model, SchedulingPurpose::Disruption);
    let has_place = has_place(&scheduling.plan, key);
    let mut limits = Limits::of(&model, |_| false);
    if !has_place {
        for launched in &scheduling.launched {
            launched.count(&mut limits);
        }
        limits.addresses.clone_from(&scheduling.limits.addresses);
        limits.too_many_for_addresses.clone_from(&scheduling.limits.too_many_for_addresses);
    }
    let mut placer = Placer::new(scheduling.scope(&model), scheduling.state.clone());
    let own = scheduling.placed.iter().find(|(placed, _)| *placed == pod).map(|(_, node)| *node);
    let (nodes, accepting) = nodes(&model, &mut placer, shape, own);
    let placer = &mut placer;
    let mut context = PoolContext { placer, limits: &limits, shape, has_place };
    let pools = model.pools.indices().map(|pool| context.explain(pool)).collect();
    Some(PodExplanation { pools, nodes, accepting })
}

/// Whether a plan has room for a pending pod, virtual or not.
fn has_place(plan: &Plan, key: &PodKey) -> bool {
    let is_waiting = plan.unschedulable.iter().any(|waiting| waiting.pod == *key);
    let is_without = |own: &PlannedVirtualPod| own.pod == *key && own.place.is_none();
    !is_waiting && !plan.virtual_pods.iter().any(is_without)
}

/// What pools are explained with.
struct PoolContext<'c, 'm, 'a> {
    placer: &'c mut Placer<'m, 'a>,
    limits: &'c Limits,
    shape: ShapeIx,
    /// Whether the plan has room for the pod.
    has_place: bool,
}

impl PoolContext<'_, '_, '_> {
    fn explain(&mut self, index: PoolIx) -> PoolExplanation {
        let Scope { model, memo, .. } = self.placer.scope();
        let pool = &model.pools[index];
        let shape = model.shape(self.shape);
        let fitting = shape
            .alternatives
            .iter()
            .copied()
            .find(|way| pool_fit(model, memo, pool, shape, *way).is_ok());
        let way = fitting.or(shape.alternatives.first().copied());
        let unfit = if self.has_place && fitting.is_some() {
            None
        } else if let (true, Some(way)) = (self.has_place, way) {
            pool_fit(model, memo, pool, shape, way)
                .err()
                .map(|unfit| with_subnets(model, pool, Some(way), unfit))
        } else {
            Some(pool_reason(model, self.placer, self.limits, self.shape, index))
        };
        let mut explanation = PoolExplanation {
            node_pool: pool.node_pool.name.clone(),
            weight: pool.node_pool.weight,
            unfit,
            steps: Vec::new(),
            cheapest: None,
        };
        let is_closed = explanation.unfit.as_ref().is_some_and(is_closed_to_all_types);
        if let Some(way) = way.filter(|_| !is_closed) {
            let mut funnel = Funnel::of(model, memo, pool);
            funnel.require(&rules(model, way), |_, text| Filter::Pods(text));
            funnel.free_ports(&shape.spec.host_ports);
            funnel.room(&shape.requests);
            funnel.limits(self.limits, index);
            explanation.cheapest = funnel.offers().into_iter().next();
            explanation.steps = funnel.steps;
        }
        explanation
    }
}

/// Whether a pool takes no such pod whatever its instance types are.
fn is_closed_to_all_types(unfit: &NodePoolUnfit) -> bool {
    matches!(
        unfit,
        NodePoolUnfit::Deleting
            | NodePoolUnfit::NotReady
            | NodePoolUnfit::NodeClass { .. }
            | NodePoolUnfit::ImagesTooYoung { .. }
            | NodePoolUnfit::OffHours { .. }
            | NodePoolUnfit::Static
            | NodePoolUnfit::Taint(_)
    )
}

fn rules(model: &Model, way: ConjunctionId) -> Vec<KeyRule> {
    model.sets.rules(way).to_vec()
}

/// Nodes by what keeps the pod off them, and those that would take it; without `own`, the one that
/// it is placed on.
fn nodes(
    model: &Model,
    placer: &mut Placer,
    shape: ShapeIx,
    own: Option<NodeIx>,
) -> (Vec<NodeGroup>, Vec<Text>) {
    let mut accepting = Vec::new();
    let mut unfit: Vec<(NodeUnfit, Text)> = Vec::new();
    for (index, node) in model.nodes.iter_enumerated().filter(|(index, _)| Some(*index) != own) {
        match placer.node_unfit(shape, index) {
            Some(reason) => unfit.push((reason, node.name.clone())),
            None => accepting.push(node.name.clone()),
        }
    }
    unfit.sort_by(|(a, a_name), (b, b_name)| {
        a.kind()
            .cmp(&b.kind())
            .then_with(|| b.nearness().cmp(&a.nearness()))
            .then_with(|| a_name.cmp(b_name))
    });
    let mut groups: Vec<NodeGroup> = unfit
        .chunk_by(|(a, _), (b, _)| a.kind() == b.kind())
        .filter_map(|group| {
            let (nearest, _) = group.first()?;
            let nodes = group.iter().map(|(_, name)| name.clone()).collect();
            Some(NodeGroup { unfit: nearest.clone(), nodes })
        })
        .collect();
    // The sort is stable: groups of one size keep the order in which reasons are checked.
    groups.sort_by_key(|group| std::cmp::Reverse(group.nodes.len()));
    (groups, accepting)
}
