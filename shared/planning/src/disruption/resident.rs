//! What holds a pod on the node that it runs on, and where it would go without that node.
//!
//! A plan carries the first thing that blocks a node. Whoever wants a pod to move has to know all
//! of them, so they are looked for again here, for one node.

use std::collections::BTreeSet;

use domain::drift::DriftReason;
use domain::money::UsdPerHour;
use domain::pdb::Guards;
use domain::plan::{LaunchOffering, Plan};
use domain::pod::{ObjectKey, Pod, PodKey};
use domain::reason::{BudgetSum, DisruptionReason, NotDisruptable, PodUnschedulable};
use domain::snapshot::ClusterSnapshot;
use domain::{SignedDuration, Text, label};

use super::budget::{Allowance, VOLUNTARY};
use super::candidate::{Candidate, pod_block};
use super::candidates::candidates;
use super::evaluation::evaluate;
use super::host_order::prefer_remaining_nodes;
use super::score::Scores;
use super::trial::Trials;
use crate::ids::{NodeIx, PodIx};
use crate::model::Model;
use crate::packing::pack;
use crate::placement::Placer;
use crate::scheduling::claim::Names;
use crate::scheduling::{Scheduling, SchedulingPurpose, unschedulable};

/// What is known of a bound pod that the plan leaves where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResidentExplanation {
    /// The node that it runs on.
    pub node: Text,
    /// Whether the pod could run elsewhere at all, and its node is one that may be disrupted.
    pub situation: Situation,
    /// The node's NodePool.
    pub node_pool: Option<Text>,
    /// PodDisruptionBudgets that guard the pod, by name.
    pub guards: Vec<Guard>,
    /// How the node has drifted.
    pub drifted: Option<DriftReason>,
    /// When the node is disrupted whatever holds it (`expireAfter`, or with graceful expiration
    /// `expire-by` after that), from now.
    pub expires_in: Option<SignedDuration>,
    /// Everything that keeps the node: the pod moves once none of it is left.
    pub holds: Vec<NotDisruptable>,
    /// What consolidating the node would save, where it would be worth it.
    pub saving: Option<UsdPerHour>,
    /// What the plan disrupts first instead, and why.
    pub first: Option<(Text, DisruptionReason)>,
    /// What the NodePool's budgets allow.
    pub budgets: Vec<BudgetLine>,
    /// Where the pod would go if its node went.
    pub destination: Destination,
}

/// Whether a bound pod may move because of its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Situation {
    /// It moves if its node goes.
    Moves,
    /// It belongs to its node: a DaemonSet or a kubelet manages it.
    BelongsToNode,
    /// It is being deleted.
    Terminating,
    /// Its NodePool counts it as expendable: it holds no node, and goes with its own.
    Expendable,
    /// Its node is going away already.
    NodeLeaves,
    /// Its node is going away, and a rollout of its Deployment ends and replaces it.
    RollsOut,
    /// No NodePool manages its node.
    NodeUnmanaged,
}

/// A PodDisruptionBudget that guards a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guard {
    /// The budget.
    pub budget: ObjectKey,
    /// `status.disruptionsAllowed`; `None` without a status.
    pub allowed: Option<u32>,
}

/// What budgets allow for reasons that share a sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetLine {
    /// The reasons.
    pub reasons: Vec<DisruptionReason>,
    /// How many more nodes may go, what the plan takes off included.
    pub left: u32,
    /// How that comes about.
    pub sum: BudgetSum,
}

/// Where a pod would go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// A node that is there has room.
    Node(Text),
    /// It would need a new node.
    NewNode {
        /// The NodePool that would launch it.
        node_pool: Text,
        /// What it would be priced at.
        offering: LaunchOffering,
    },
    /// No node would host it.
    Nowhere(Vec<PodUnschedulable>),
    /// It needs no other place.
    NotNeeded,
}

/// Explains a bound pod of a snapshot, under the plan that was made for it; `None` for a pod that
/// is not bound to a node of the snapshot, or is over.
pub fn explain_resident(
    snapshot: &ClusterSnapshot,
    plan: &Plan,
    key: &PodKey,
) -> Option<ResidentExplanation> {
    let snapshot = &*snapshot.with_default_constraints();
    let virtual_pods = crate::virtual_pods::virtual_pods(snapshot);
    let model = Model::new(snapshot, &virtual_pods);
    let (node, pod_index) = model.nodes.iter_enumerated().find_map(|(index, node)| {
        let own = node.bound.iter().find(|pod| model.pod(**pod).key == *key)?;
        Some((index, *own))
    })?;
    let scheduling = Scheduling::of(&model, SchedulingPurpose::Disruption);
    let candidates = candidates(&model, &scheduling, snapshot.now);
    let candidate = candidates.iter().find(|own| own.node == node);
    let resident = Resident { model: &model, scheduling: &scheduling, plan, node, pod_index };
    let view = &model.nodes[node];
    let situation = resident.situation();
    let mut explanation = ResidentExplanation {
        node: view.name.clone(),
        situation,
        node_pool: view.labels.get(label::NODE_POOL).cloned(),
        guards: guards(snapshot, model.pod(pod_index)),
        drifted: candidate.and_then(|own| own.drifted.clone()),
        expires_in: resident.expires_in(),
        holds: Vec::new(),
        saving: None,
        first: plan
            .disruptions
            .first()
            .and_then(|own| Some((own.nodes.first()?.clone(), own.reason))),
        budgets: Vec::new(),
        destination: Destination::NotNeeded,
    };
    if matches!(
        situation,
        Situation::BelongsToNode
            | Situation::Terminating
            | Situation::Expendable
            | Situation::RollsOut
    ) {
        return Some(explanation);
    }
    explanation.destination = resident.destination();
    if situation == Situation::Moves {
        let allowance = resident.allowance();
        explanation.budgets = resident.budgets(&allowance);
        if let Some(candidate) = candidate {
            (explanation.holds, explanation.saving) =
                resident.holds(&candidates, candidate, &allowance);
        }
    }
    Some(explanation)
}

fn guards(snapshot: &ClusterSnapshot, pod: &Pod) -> Vec<Guard> {
    let budgets = snapshot.objects.pod_disruption_budgets.iter().filter(|own| own.guards(pod));
    let mut guards: Vec<Guard> = budgets
        .map(|own| Guard { budget: own.key.clone(), allowed: own.disruptions_allowed })
        .collect();
    guards.sort();
    guards
}

/// A bound pod and its node.
struct Resident<'r, 'a> {
    model: &'r Model<'a>,
    scheduling: &'r Scheduling,
    plan: &'r Plan,
    node: NodeIx,
    pod_index: PodIx,
}

impl Resident<'_, '_> {
    fn situation(&self) -> Situation {
        let (node, pod) = (&self.model.nodes[self.node], self.model.pod(self.pod_index));
        if pod.is_daemon() || pod.is_static() {
            Situation::BelongsToNode
        } else if !pod.is_reschedulable() {
            Situation::Terminating
        } else if node.has_expendable(pod) {
            Situation::Expendable
        } else if node.rolling().contains(&pod.key) {
            Situation::RollsOut
        } else if node.is_leaving() {
            Situation::NodeLeaves
        } else if !node.is_managed {
            Situation::NodeUnmanaged
        } else {
            Situation::Moves
        }
    }

    fn expires_in(&self) -> Option<SignedDuration> {
        let node = &self.model.nodes[self.node];
        let forced = node.expiration().forced(node.claim?)?;
        Some(forced.duration_since(self.model.snapshot.now).max(SignedDuration::ZERO))
    }

    /// What budgets allow once the plan has taken its nodes.
    fn allowance(&self) -> Allowance {
        let mut allowance = Allowance::of(self.model);
        let voluntary = self.plan.disruptions.iter().filter(|own| own.reason.is_voluntary());
        for name in voluntary.flat_map(|own| &own.nodes) {
            if let Some(node) = self.model.nodes.position(|node| node.name == name) {
                allowance.count(self.model, node);
            }
        }
        allowance
    }

    fn budgets(&self, allowance: &Allowance) -> Vec<BudgetLine> {
        let Some(pool) = self.model.nodes[self.node].labels.get(label::NODE_POOL) else {
            return Vec::new();
        };
        let mut lines: Vec<BudgetLine> = Vec::new();
        for reason in VOLUNTARY {
            let Some((left, sum)) = allowance.left(pool, reason) else { continue };
            match lines.iter_mut().find(|own| own.left == left && own.sum == sum) {
                Some(own) => own.reasons.push(reason),
                None => lines.push(BudgetLine { reasons: vec![reason], left, sum }),
            }
        }
        lines
    }

    /// Everything that keeps the node, and what consolidating it would save where that is worth it.
    fn holds(
        &self,
        candidates: &[Candidate],
        candidate: &Candidate,
        allowance: &Allowance,
    ) -> (Vec<NotDisruptable>, Option<UsdPerHour>) {
        let (model, node) = (self.model, self.node);
        let view = &model.nodes[node];
        let mut holds: Vec<NotDisruptable> = candidate.blocked.iter().cloned().collect();
        let mut pods: Vec<&Pod> = view.bound.iter().map(|pod| model.pod(*pod)).collect();
        pods.sort_by(|a, b| a.key.cmp(&b.key));
        let mut guards = Guards::of(&model.snapshot.objects.pod_disruption_budgets);
        holds.extend(pods.into_iter().filter_map(|pod| pod_block(model, &mut guards, pod)));
        holds.extend(candidate.consolidatable().err());
        let reported = self.plan.blocked.iter().filter(|own| own.node == *view.name);
        holds.extend(reported.map(|own| own.reason.clone()));
        let reason = if candidate.is_empty {
            DisruptionReason::Empty
        } else {
            DisruptionReason::Underutilized
        };
        holds.extend(allowance.check(model, node, reason).err());
        let mut saving = None;
        if view.price().is_none() {
            holds.push(NotDisruptable::UnknownPrice);
        } else if !candidate.is_empty {
            let scores = Scores::of(model);
            let mut trials = Trials::of(model, self.scheduling, model.snapshot.now);
            prefer_remaining_nodes(&mut trials, candidates, &scores);
            trials.close(self.going());
            match evaluate(&mut trials, &scores, &[node]) {
                Ok(found) => saving = Some(found.savings),
                // The plan has said so, maybe with other figures.
                Err(_) if holds.iter().any(is_about_worth) => {}
                Err(reason) => holds.push(reason.into()),
            }
        }
        let mut known = BTreeSet::new();
        holds.retain(|hold| known.insert(hold.clone()));
        (holds, saving)
    }

    /// Nodes that the plan disrupts: no pod goes there.
    fn going(&self) -> impl Iterator<Item = NodeIx> {
        let names: BTreeSet<&Text> =
            self.plan.disruptions.iter().flat_map(|own| &own.nodes).collect();
        let going = self.model.nodes.iter_enumerated();
        going.filter(move |(_, node)| names.contains(node.name)).map(|(index, _)| index)
    }

    /// Where the pod would go if its node went now, whatever holds it there.
    fn destination(&self) -> Destination {
        let (model, nodes) = (self.model, [self.node]);
        let mut trials = Trials::beyond_windows(model, self.scheduling);
        trials.close(self.going());
        let mut trial = trials.try_with_room_for(&[], &nodes);
        let mut limits = trials.limits(&nodes);
        let items = std::mem::take(&mut trial.items);
        trial.packed = pack(trials.scope, &trial.state, &mut limits, &items).nodes;
        if let Some((_, host)) = trial.moved.iter().find(|(pod, _)| *pod == self.pod_index) {
            return Destination::Node(model.nodes[*host].name.clone());
        }
        let key = &model.pod(self.pod_index).key;
        let claims = trials.launch_where_possible(&nodes, &trial, &mut Names::of(model)).claims;
        if let Some(claim) = claims.into_iter().find(|own| own.pods.contains(key)) {
            let (node_pool, offering) = (claim.node_pool, claim.offering);
            return Destination::NewNode { node_pool, offering };
        }
        let Some(shape) = model.shapes.of_pod[self.pod_index] else {
            return Destination::NotNeeded;
        };
        let limits = trials.limits_with(&nodes, &trial);
        let mut placer = Placer::new(trials.scope, trial.state);
        Destination::Nowhere(unschedulable::reasons(model, &mut placer, &limits, shape))
    }
}

/// Whether the reason says what removing the node would be worth.
fn is_about_worth(reason: &NotDisruptable) -> bool {
    matches!(reason, NotDisruptable::Unconsolidatable(_) | NotDisruptable::NotWorthIt(_))
}
