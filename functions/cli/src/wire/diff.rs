//! What a change of manifests does to a cluster, as JSON: `kind: Diff`.

use domain::Text;
use domain::drift::DriftReason;
use domain::money::{HOURS_PER_MONTH, UsdPerHour};
use domain::node_offering::NodeCapacityType;
use domain::plan::UnschedulablePod;
use domain::reason::{DisruptionReason, PodUnschedulable};
use manifests::Identity;
use schemars::JsonSchema;
use serde::Serialize;

use super::basis::BasisDocument;
use super::code::{DisruptionCode, DriftCode, ThresholdCode, UnschedulableCode};
use super::{API_VERSION, word};
use crate::change::{Difference, ObjectChange};
use crate::view::diff::{ClusterDiff, NewlyUnschedulable, Pair, When};
use crate::view::outcome::{Group, NodePlace, Outcome};
use crate::view::share::Share;
use crate::view::threshold::Exceeded;

/// What a change of manifests does to a cluster: the document of `outrigger diff OLD NEW -o json`.
///
/// Every figure stands twice: by the old manifests and by the new ones. Lists are sorted, so that
/// the same input gives the same bytes.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Diff")]
pub(crate) struct DiffDocument {
    /// The version of the document.
    #[schemars(extend("const" = API_VERSION))]
    api_version: &'static str,
    /// What the document is.
    #[schemars(extend("const" = Self::KIND))]
    kind: &'static str,
    /// What the old manifests are: files, a folder, or a revision.
    old: String,
    /// What the new manifests are.
    new: String,
    /// What matters most, in one sentence for people.
    headline: String,
    /// Objects that differ as far as nodes depend on them.
    changes: Vec<ChangeDocument>,
    /// Nodes that are there, whatever the manifests are, without those on their way out.
    nodes_now: NodesDocument,
    /// How many nodes are on their way out.
    nodes_leaving: usize,
    /// What the same pods need once every node of a NodePool is launched anew: where the cluster
    /// ends if nothing else changes, whatever is there now and however long that takes.
    all_replaced: PairDocument,
    /// What one tick leaves of the nodes that are there.
    next_tick: PairDocument,
    /// Pods that lose their place by the change, or are new and have none.
    newly_unschedulable: Vec<NewlyUnschedulableDocument>,
    /// Pods that had no place and get one.
    #[schemars(with = "Vec<word::PodName>")]
    newly_scheduled: Vec<String>,
    /// Nodes that the change makes drift.
    newly_drifted: Vec<DriftedDocument>,
    /// What is worse than a `--max-…` option allows: exit status 3 where there is anything.
    exceeded: Vec<ExceededDocument>,
    #[serde(flatten)]
    basis: BasisDocument,
    /// What cannot be known before the change is made.
    open: Vec<String>,
    /// What the input left open, as standard error says it.
    warnings: Vec<String>,
    /// Invalid objects of the cluster and of the new manifests, which were left out, as standard
    /// error says it.
    errors: Vec<String>,
    /// Rules that a plan behind the figures breaks; none, unless the planner has a defect.
    violations: Vec<String>,
}

/// What stands in the document beside the diff.
#[derive(Debug)]
pub(crate) struct Remarks {
    /// What it was worked out from.
    pub(crate) basis: BasisDocument,
    /// What cannot be known before the change is made.
    pub(crate) open: Vec<String>,
    /// What the input left open.
    pub(crate) warnings: Vec<String>,
    /// Invalid objects of the input.
    pub(crate) errors: Vec<String>,
    /// Rules that a plan breaks.
    pub(crate) violations: Vec<String>,
}

impl DiffDocument {
    /// `kind` of the document.
    pub(crate) const KIND: &'static str = "Diff";

    /// The document of a diff.
    pub(crate) fn new(diff: &ClusterDiff, remarks: Remarks) -> Self {
        let ClusterDiff {
            old_name,
            new_name,
            changes,
            now,
            leaving,
            has_managed_nodes: _,
            next_tick,
            all_replaced,
            newly_unschedulable,
            newly_scheduled,
            newly_drifted,
            exceeded,
        } = diff;
        let Remarks { basis, open, warnings, errors, violations } = remarks;
        Self {
            api_version: API_VERSION,
            kind: Self::KIND,
            old: old_name.clone(),
            new: new_name.clone(),
            headline: diff.headline(),
            changes: changes.iter().map(ChangeDocument::from).collect(),
            nodes_now: now.into(),
            nodes_leaving: *leaving,
            all_replaced: all_replaced.into(),
            next_tick: next_tick.into(),
            newly_unschedulable: newly_unschedulable.iter().map(Into::into).collect(),
            newly_scheduled: newly_scheduled.iter().map(ToString::to_string).collect(),
            newly_drifted: newly_drifted.iter().map(DriftedDocument::new).collect(),
            exceeded: exceeded.iter().map(ExceededDocument::from).collect(),
            basis,
            open,
            warnings,
            errors,
            violations,
        }
    }
}

/// An object that differs between the old and the new manifests.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ObjectChange")]
struct ChangeDocument {
    /// Its kind.
    kind: &'static str,
    /// Its namespace; absent of kinds that live outside namespaces.
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<Text>,
    /// Its name.
    name: Text,
    /// How it differs.
    difference: DifferenceWord,
}

/// How an object differs between the old and the new manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Difference")]
enum DifferenceWord {
    /// Only the new manifests have it.
    Added,
    /// Both have it, and not alike.
    Changed,
    /// Only the old manifests have it.
    Removed,
    /// The new manifests have it, and it is invalid: it stays as it was.
    Invalid,
}

impl From<&ObjectChange> for ChangeDocument {
    fn from(change: &ObjectChange) -> Self {
        let ObjectChange { identity: Identity { kind, namespace, name }, difference } = change;
        Self {
            kind,
            namespace: namespace.clone(),
            name: name.clone(),
            difference: match difference {
                Difference::Added => DifferenceWord::Added,
                Difference::Changed => DifferenceWord::Changed,
                Difference::Removed => DifferenceWord::Removed,
                Difference::Invalid => DifferenceWord::Invalid,
            },
        }
    }
}

/// The same figures by the old and by the new manifests.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "OldAndNew")]
struct PairDocument {
    /// By the old manifests.
    old: OutcomeDocument,
    /// By the new manifests.
    new: OutcomeDocument,
}

impl From<&Pair> for PairDocument {
    fn from(pair: &Pair) -> Self {
        let Pair { old, new } = pair;
        Self { old: old.into(), new: new.into() }
    }
}

/// A cluster as a plan leaves it, and what the plan does.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Outcome")]
struct OutcomeDocument {
    /// Nodes that stay or are launched.
    nodes: NodesDocument,
    /// Them by zone and by how they are bought.
    by_place: Vec<PlaceDocument>,
    /// Them by NodePool.
    by_node_pool: Vec<NodePoolDocument>,
    /// Pods with a place, without those of DaemonSets and static pods.
    pods_placed: i64,
    /// Pods that nothing can host.
    unschedulable: Vec<UnschedulableDocument>,
    /// How much an interruption of spot nodes could reach.
    spot: SpotDocument,
    /// Nodes that are launched, replacements included.
    nodes_launched: usize,
    /// Nodes that are taken away, by reason.
    nodes_disrupted: Vec<DisruptedDocument>,
    /// Pods that have to move for that.
    pods_moved: usize,
}

impl From<&Outcome> for OutcomeDocument {
    fn from(outcome: &Outcome) -> Self {
        let Outcome {
            rows: _,
            nodes,
            leaving: _,
            by_place,
            by_node_pool,
            spot_pods,
            spot_cpu,
            spot_memory,
            unschedulable,
            launched,
            disrupted,
            moved,
        } = outcome;
        Self {
            nodes: nodes.into(),
            by_place: by_place.iter().map(PlaceDocument::new).collect(),
            by_node_pool: by_node_pool
                .iter()
                .map(|(node_pool, group)| NodePoolDocument {
                    node_pool: node_pool.clone(),
                    nodes: group.into(),
                })
                .collect(),
            pods_placed: outcome.pods_placed(),
            unschedulable: unschedulable.iter().map(UnschedulableDocument::from).collect(),
            spot: SpotDocument {
                pods: (*spot_pods).into(),
                cpu_millis: (*spot_cpu).into(),
                memory_bytes: (*spot_memory).into(),
            },
            nodes_launched: *launched,
            nodes_disrupted: disrupted.iter().map(DisruptedDocument::new).collect(),
            pods_moved: *moved,
        }
    }
}

/// Some nodes together.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Nodes")]
struct NodesDocument {
    /// How many.
    count: usize,
    /// What they cost, in US dollars an hour.
    hourly_usd: f64,
    /// What they cost in a month of 730 hours, in US dollars.
    monthly_usd: f64,
    /// How many of them no price is known of: no dollar figure counts them.
    without_price: usize,
}

impl From<&Group> for NodesDocument {
    fn from(group: &Group) -> Self {
        let Group { count, price, unpriced } = group;
        Self {
            count: *count,
            hourly_usd: price.to_f64(),
            monthly_usd: monthly(*price),
            without_price: *unpriced,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "output only")]
fn monthly(price: UsdPerHour) -> f64 {
    (i128::from(price.nanos()) * i128::from(HOURS_PER_MONTH)) as f64 / 1e9
}

/// Nodes of one zone, bought one way.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Place")]
struct PlaceDocument {
    /// The zone; `null` where the nodes do not say.
    zone: Option<Text>,
    /// How they are bought; `null` where they do not say.
    #[schemars(with = "Option<word::NodeCapacityTypeWord>")]
    capacity_type: Option<&'static str>,
    /// The nodes.
    nodes: NodesDocument,
}

impl PlaceDocument {
    fn new((NodePlace { zone, capacity_type }, group): (&NodePlace, &Group)) -> Self {
        Self {
            zone: zone.clone(),
            capacity_type: capacity_type.map(NodeCapacityType::as_str),
            nodes: group.into(),
        }
    }
}

/// Nodes of one NodePool.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "NodesOfNodePool")]
struct NodePoolDocument {
    /// The NodePool; `null` for nodes that none manages.
    node_pool: Option<Text>,
    /// The nodes.
    nodes: NodesDocument,
}

/// A pod that nothing can host.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Unschedulable")]
struct UnschedulableDocument {
    /// The pod.
    #[schemars(with = "word::PodName")]
    pod: String,
    /// Why not: of the pod itself, or one reason a NodePool.
    reasons: Vec<String>,
    /// The code of each of `reasons`, in the same order.
    codes: Vec<UnschedulableCode>,
}

impl From<&UnschedulablePod> for UnschedulableDocument {
    fn from(unschedulable: &UnschedulablePod) -> Self {
        let UnschedulablePod { pod, reasons } = unschedulable;
        let (reasons, codes) = reasons_and_codes(reasons);
        Self { pod: pod.to_string(), reasons, codes }
    }
}

fn reasons_and_codes(reasons: &[PodUnschedulable]) -> (Vec<String>, Vec<UnschedulableCode>) {
    reasons.iter().map(|reason| (reason.to_string(), UnschedulableCode::from(reason))).unzip()
}

/// How much an interruption of spot nodes could reach.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "Spot")]
struct SpotDocument {
    /// Pods with a place, without those of DaemonSets and static pods.
    pods: ShareDocument,
    /// CPU that they request, in millicores.
    cpu_millis: ShareDocument,
    /// Memory that they request, in bytes.
    memory_bytes: ShareDocument,
}

/// How much is on spot nodes, of how much.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "OnSpot")]
struct ShareDocument {
    /// What is on spot nodes.
    on_spot: i64,
    /// All of it.
    total: i64,
    /// The share on spot nodes, from 0 to 1; 0 where there is nothing.
    share: f64,
}

impl From<Share> for ShareDocument {
    fn from(share: Share) -> Self {
        Self { on_spot: share.part, total: share.whole, share: share.to_f64() }
    }
}

/// Nodes that are taken away for one reason.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Disrupted")]
struct DisruptedDocument {
    /// Why.
    reason: DisruptionCode,
    /// How many nodes.
    nodes: usize,
}

impl DisruptedDocument {
    fn new((reason, nodes): (&DisruptionReason, &usize)) -> Self {
        Self { reason: (*reason).into(), nodes: *nodes }
    }
}

/// A pod that loses its place by the change, or is new and has none.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "NewlyUnschedulable")]
struct NewlyUnschedulableDocument {
    /// The pod.
    #[schemars(with = "word::PodName")]
    pod: String,
    /// When that shows.
    when: WhenWord,
    /// Why: of the pod itself, or one reason a NodePool.
    reasons: Vec<String>,
    /// The code of each of `reasons`, in the same order.
    codes: Vec<UnschedulableCode>,
}

/// When a pod is without a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "When")]
enum WhenWord {
    /// With the next tick.
    NextTick,
    /// Once its node goes, whatever makes it go.
    NodeGone,
}

impl From<&NewlyUnschedulable> for NewlyUnschedulableDocument {
    fn from(own: &NewlyUnschedulable) -> Self {
        let NewlyUnschedulable { pod, reasons, when } = own;
        let (reasons, codes) = reasons_and_codes(reasons);
        let when = match when {
            When::NextTick => WhenWord::NextTick,
            When::NodeGone => WhenWord::NodeGone,
        };
        Self { pod: pod.to_string(), when, reasons, codes }
    }
}

/// A node that the change makes drift.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Drifted")]
struct DriftedDocument {
    /// The Node's name; the NodeClaim's where there is no Node yet.
    node: Text,
    /// How it differs.
    reason: String,
    /// The code of `reason`.
    code: DriftCode,
}

impl DriftedDocument {
    fn new((node, reason): (&Text, &DriftReason)) -> Self {
        Self { node: node.clone(), reason: reason.to_string(), code: reason.into() }
    }
}

/// What is worse than is allowed.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Exceeded")]
struct ExceededDocument {
    /// What, with how much is allowed.
    what: String,
    /// The code of `what`.
    code: ThresholdCode,
}

impl From<&Exceeded> for ExceededDocument {
    fn from(exceeded: &Exceeded) -> Self {
        let Exceeded { threshold, what } = exceeded;
        Self { what: what.clone(), code: (*threshold).into() }
    }
}
