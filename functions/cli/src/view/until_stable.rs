//! What comes of a cluster that is left to the functions until nothing changes: what it cost and
//! costs, the steps, and what holds more back.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use domain::plan::Plan;
use domain::reason::DisruptionReason;
use domain::snapshot::ClusterSnapshot;
use domain::{SignedDuration, Text, Timestamp};
use simulation::report::{Entry, Happening};
use simulation::stable::StableRun;
use simulation::stable::blocker::{BlockerCost, BlockerCosts, Kind};

use super::cluster_use::ClusterUse;
use super::pod_names::counted;

/// The whole answer.
#[derive(Debug)]
pub(crate) struct UntilStable {
    /// The nodes as they are.
    pub(crate) from: ClusterUse,
    /// The nodes in the end.
    pub(crate) to: ClusterUse,
    /// Until the last change.
    pub(crate) elapsed: SignedDuration,
    /// Whether nothing would change any more; else the run was given up.
    pub(crate) is_stable: bool,
    /// Pods that are evicted on the way.
    pub(crate) evictions: usize,
    /// What happens, in order.
    pub(crate) steps: Vec<StepRow>,
    /// What holds more back, the costliest first.
    pub(crate) blockers: BlockerCosts,
    /// Rules that the run broke: each is a defect.
    pub(crate) violations: Vec<String>,
    /// What was taken for granted of nodes that no NodePool manages.
    pub(crate) assumptions: Vec<String>,
}

impl UntilStable {
    /// Of a cluster, its run and what holds it back.
    pub(crate) fn of(
        snapshot: &ClusterSnapshot,
        run: &StableRun,
        blockers: BlockerCosts,
        assumptions: Vec<String>,
    ) -> Self {
        let from = ClusterUse::of(snapshot, &Plan::default());
        let to = ClusterUse::of(&run.end, &Plan::default());
        Self {
            elapsed: run.last_change.duration_since(run.report.started),
            is_stable: run.is_stable,
            evictions: run.evictions(),
            steps: steps(run),
            blockers,
            violations: run.report.violations.iter().map(|own| own.violation.to_string()).collect(),
            assumptions,
            from,
            to,
        }
    }

    /// What is saved in the end beyond commitments; negative where pods that wait get nodes and
    /// more is not saved.
    pub(crate) fn savings(&self) -> UsdPerHour {
        self.from.remaining() - self.to.remaining()
    }
}

/// Why nodes come or go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    /// They are launched for pods that wait.
    PodsWait,
    /// They are disrupted.
    Disrupted(DisruptionReason),
    /// They were on their way out before the start.
    LeavingAlready,
}

/// Nodes that go together, or are launched together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepRow {
    /// When, from the start.
    pub(crate) at: SignedDuration,
    /// Why.
    pub(crate) cause: Cause,
    /// Nodes that go.
    pub(crate) went: Vec<Text>,
    /// Those of them that are still there in the end, since something holds their pods.
    pub(crate) held: Vec<Text>,
    /// Nodes that come.
    pub(crate) came: Vec<CameRow>,
    /// Pods that are evicted, or that wait.
    pub(crate) pods: usize,
    /// What it saves in the end, so that all steps together save what the run does; negative where
    /// it costs something.
    pub(crate) savings: UsdPerHour,
}

impl StepRow {
    /// Why nodes are disrupted, where they are.
    pub(crate) fn reason(&self) -> Option<DisruptionReason> {
        match self.cause {
            Cause::Disrupted(reason) => Some(reason),
            Cause::PodsWait | Cause::LeavingAlready => None,
        }
    }

    /// Why, how many pods it is about, and how many nodes do not get away: `Underutilized, 5 pods
    /// evicted`, `Pods wait: 1 pod`, `Expired, 1 still there in the end`.
    pub(crate) fn summary(&self) -> String {
        let why = match self.cause {
            Cause::PodsWait => return format!("Pods wait: {}", counted(self.pods, "pod")),
            Cause::Disrupted(reason) => reason.as_str(),
            Cause::LeavingAlready => "leaving already",
        };
        let mut parts = vec![why.to_owned()];
        if self.pods > 0 {
            parts.push(format!("{} evicted", counted(self.pods, "pod")));
        }
        if !self.held.is_empty() {
            parts.push(format!("{} still there in the end", self.held.len()));
        }
        parts.join(", ")
    }
}

/// A node that is launched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CameRow {
    /// Its NodeClaim.
    pub(crate) claim: Text,
    /// Its type.
    pub(crate) instance_type: Text,
    /// Its zone.
    pub(crate) zone: Text,
    /// How it is bought.
    pub(crate) capacity_type: CapacityType,
    /// Its price.
    pub(crate) price: UsdPerHour,
}

/// What the timeline of a run says of nodes.
struct Facts<'a> {
    launched: BTreeMap<&'a Text, CameRow>,
    /// What nodes cost that go away.
    removed: BTreeMap<&'a Text, UsdPerHour>,
    evicted: BTreeMap<&'a Text, Vec<(Timestamp, usize)>>,
    replaces: BTreeSet<&'a Text>,
}

impl<'a> Facts<'a> {
    fn of(timeline: &'a [Entry]) -> Self {
        let mut facts = Self {
            launched: BTreeMap::new(),
            removed: BTreeMap::new(),
            evicted: BTreeMap::new(),
            replaces: BTreeSet::new(),
        };
        for Entry { at, what, .. } in timeline {
            match what {
                Happening::Launched {
                    claim, instance_type, zone, capacity_type, price, ..
                } => {
                    let row = CameRow {
                        claim: claim.clone(),
                        instance_type: instance_type.clone(),
                        zone: zone.clone(),
                        capacity_type: *capacity_type,
                        price: *price,
                    };
                    facts.launched.insert(claim, row);
                }
                Happening::NodeRemoved { node, price, .. } => {
                    facts.removed.insert(node, *price);
                }
                Happening::PodsEvicted { node, pods } => {
                    facts.evicted.entry(node).or_default().push((*at, pods.len()));
                }
                Happening::Disrupting { replacements, .. } => facts.replaces.extend(replacements),
                _ => {}
            }
        }
        facts
    }

    fn came(&self, claims: &[Text]) -> Vec<CameRow> {
        let mut came: Vec<CameRow> =
            claims.iter().filter_map(|claim| self.launched.get(claim).cloned()).collect();
        came.sort_by(|a, b| b.price.cmp(&a.price).then_with(|| a.claim.cmp(&b.claim)));
        came
    }

    /// Nodes that go in a step, and nothing that comes.
    fn removal(
        &self,
        at: SignedDuration,
        cause: Cause,
        nodes: &[Text],
        since: Timestamp,
    ) -> StepRow {
        let mut went = nodes.to_vec();
        went.sort();
        StepRow {
            at,
            cause,
            held: went.iter().filter(|own| !self.removed.contains_key(own)).cloned().collect(),
            came: Vec::new(),
            pods: self.evicted(nodes, since),
            savings: went.iter().filter_map(|node| self.removed.get(node).copied()).sum(),
            went,
        }
    }

    fn evicted(&self, nodes: &[Text], since: Timestamp) -> usize {
        let own = nodes.iter().filter_map(|node| self.evicted.get(node)).flatten();
        own.filter(|(at, _)| *at >= since).map(|(_, count)| count).sum()
    }
}

/// Reasons for which nodes go at once, where nothing replaces them: no disruption is announced.
const UNANNOUNCED_REASONS: [DisruptionReason; 5] = [
    DisruptionReason::Unhealthy,
    DisruptionReason::Interrupted,
    DisruptionReason::Expired,
    DisruptionReason::ScaledDown,
    DisruptionReason::OffHours,
];

fn steps(run: &StableRun) -> Vec<StepRow> {
    let timeline = &run.report.timeline;
    let facts = Facts::of(timeline);
    let mut steps: Vec<StepRow> = Vec::new();
    let mut known: HashSet<&Text> = HashSet::new();
    for Entry { at, what, why } in timeline {
        let since_start = at.duration_since(run.report.started);
        match what {
            Happening::Disrupting { reason, nodes, replacements } => {
                let came = facts.came(replacements);
                known.extend(nodes);
                let cause = Cause::Disrupted(*reason);
                let mut step = facts.removal(since_start, cause, nodes, *at);
                step.savings = step.savings - came.iter().map(|own| own.price).sum();
                steps.push(StepRow { came, ..step });
            }
            Happening::NodeClaimCreated { claim, pods, .. } if !facts.replaces.contains(claim) => {
                let came = facts.came(std::slice::from_ref(claim));
                // A claim that is adopted is there already.
                if came.is_empty() {
                    continue;
                }
                let price: UsdPerHour = came.iter().map(|own| own.price).sum();
                match steps.last_mut() {
                    Some(last) if (last.at, last.cause) == (since_start, Cause::PodsWait) => {
                        last.came.extend(came);
                        last.pods += pods;
                        last.savings = last.savings - price;
                    }
                    _ => steps.push(StepRow {
                        at: since_start,
                        cause: Cause::PodsWait,
                        went: Vec::new(),
                        held: Vec::new(),
                        came,
                        pods: *pods,
                        savings: UsdPerHour::ZERO - price,
                    }),
                }
            }
            Happening::Draining(node) if !known.contains(node) => {
                if let Some(reason) = unannounced_reason(why.as_deref()) {
                    known.insert(node);
                    let (cause, node) = (Cause::Disrupted(reason), std::slice::from_ref(node));
                    add_removal(&mut steps, facts.removal(since_start, cause, node, *at));
                }
            }
            Happening::NodeRemoved { node, .. } if known.insert(node) => {
                let (cause, node) = (Cause::LeavingAlready, std::slice::from_ref(node));
                let step = facts.removal(since_start, cause, node, run.report.started);
                add_removal(&mut steps, step);
            }
            _ => {}
        }
    }
    steps
}

fn unannounced_reason(why: Option<&str>) -> Option<DisruptionReason> {
    UNANNOUNCED_REASONS.into_iter().find(|own| why == Some(own.as_str()))
}

/// Adds a node that goes: to the last step, where others go at that moment for the same reason.
fn add_removal(steps: &mut Vec<StepRow>, step: StepRow) {
    match steps.last_mut() {
        Some(last) if (last.at, last.cause) == (step.at, step.cause) => {
            last.went.extend(step.went);
            last.held.extend(step.held);
            last.pods += step.pods;
            last.savings += step.savings;
        }
        _ => steps.push(step),
    }
}

/// What holds back, in words: `PodDisruptionBudget shop/web allows no disruption`.
/// `shown` says how names of nodes are.
pub(crate) fn sentence<'n>(cost: &'n BlockerCost, shown: impl Fn(&'n str) -> &'n str) -> String {
    let BlockerCost { blocker, .. } = cost;
    let names = &blocker.names;
    let named = |kind: &str| match names.as_slice() {
        [only] if kind == "node" => format!("{kind} {}", shown(only)),
        [only] => format!("{kind} {only}"),
        _ => format!("{} together", counted(names.len(), kind)),
    };
    let nodes = counted(blocker.nodes, "node");
    match (blocker.kind, names.as_slice()) {
        (Kind::PodDisruptionBudget, _) => {
            let verb = if names.len() == 1 { "allows" } else { "allow" };
            format!("{} {verb} no disruption, on {nodes}", named("PodDisruptionBudget"))
        }
        (Kind::DoNotDisruptPods, [only]) => {
            format!("karpenter.sh/do-not-disrupt on pods of {only}, on {nodes}")
        }
        (Kind::DoNotDisruptPods, _) => {
            format!("karpenter.sh/do-not-disrupt on pods of {} owners together", names.len())
        }
        (Kind::DoNotDisruptNode, _) => format!("karpenter.sh/do-not-disrupt on {}", named("node")),
        (Kind::OnDemandOnly, _) => format!("{} forbids spot, {nodes}", named("NodePool")),
        (Kind::SpotToSpotOff, _) => {
            format!("feature gate SpotToSpotConsolidation is off, {nodes} on spot")
        }
        (Kind::WhenEmpty, _) => {
            format!("{} consolidates only WhenEmpty, {nodes}", named("NodePool"))
        }
        (Kind::NeverConsolidated, _) => {
            format!("{} has consolidateAfter: Never, {nodes}", named("NodePool"))
        }
        (Kind::NoBudget, _) => format!("{} has a budget of 0 nodes, {nodes}", named("NodePool")),
        (Kind::ZoneSpread, [only]) => format!("spread over zones of {only}, on {nodes}"),
        (Kind::ZoneSpread, _) => format!("spread over zones of {} workloads together", names.len()),
        (Kind::DaemonSet, _) => {
            let share = blocker.share_permille.unwrap_or(0);
            let takes = if names.len() == 1 { "takes" } else { "take" };
            format!("{} {takes} {}.{}% of {nodes}", named("DaemonSet"), share / 10, share % 10)
        }
    }
}
