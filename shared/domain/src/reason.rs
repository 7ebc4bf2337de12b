//! Reasons: why a pod has no place, why a node goes, why a node stays. The command line, the
//! Kubernetes events and the logs print the same values.

mod budget;
mod consolidation;
mod node;
mod requirements;
mod topology;

use std::fmt;

use crate::drift::DriftReason;
use crate::drift_waves::DriftWave;
use crate::label::{EXPENDABLE_BELOW, OFF_SCHEDULE, WELL_KNOWN};
use crate::money::UsdPerHour;
use crate::nearest::{any_of, nearest};
use crate::node_class::NodeClassFault;
use crate::pdb::PdbRefusal;
use crate::pod::PodKey;
use crate::resource::RoundedAmount;
use crate::taint::Taint;
use crate::{SignedDuration, Text, Timestamp};
pub use budget::BudgetSum;
pub use consolidation::Unconsolidatable;
pub use node::{NodeUnfit, NodeUnfitKind};
pub use requirements::{Meant, UnmetRequirement, UnmetRequirements};
use topology::Counts;
pub use topology::DomainCount;

/// Why a node is disrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DisruptionReason {
    /// It holds no pod that would need another place.
    Empty,
    /// Its pods fit elsewhere, or on something cheaper.
    Underutilized,
    /// It no longer matches its NodePool or EC2NodeClass.
    Drifted,
    /// It has lived as long as it may.
    Expired,
    /// It has reported trouble for too long.
    Unhealthy,
    /// EC2 takes it back.
    Interrupted,
    /// Its NodePool is to have fewer nodes than it has (`spec.replicas`).
    ScaledDown,
    /// Its NodePool is off (`outrigger.dev/off-schedule`).
    OffHours,
}

impl DisruptionReason {
    /// The word of the API; `ScaledDown` and `OffHours` are ours, for what upstream does without
    /// giving a reason, or does not do.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Underutilized => "Underutilized",
            Self::Drifted => "Drifted",
            Self::Expired => "Expired",
            Self::Unhealthy => "Unhealthy",
            Self::Interrupted => "Interrupted",
            Self::ScaledDown => "ScaledDown",
            Self::OffHours => "OffHours",
        }
    }

    /// Reads one of the reasons a budget can name.
    pub fn parse_voluntary(text: &str) -> Option<Self> {
        [Self::Underutilized, Self::Empty, Self::Drifted]
            .into_iter()
            .find(|reason| reason.as_str() == text)
    }

    /// Whether budgets, PodDisruptionBudgets and do-not-disrupt hold it back.
    pub const fn is_voluntary(self) -> bool {
        matches!(self, Self::Empty | Self::Underutilized | Self::Drifted)
    }
}

impl fmt::Display for DisruptionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a pod has no place: of the pod itself, or of one NodePool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum PodUnschedulable {
    /// There is no NodePool that may launch nodes.
    #[error("no NodePool can launch nodes")]
    NoNodePool,
    /// It asks not to run on nodes of any NodePool.
    #[error("it asks for a node that no NodePool manages (karpenter.sh/nodepool DoesNotExist)")]
    RefusesManagedNodes,
    /// It selects on a label that nobody may set.
    #[error("it requires label {key}, which users may not set{}", meant_key(key))]
    RestrictedLabel {
        /// The label's key.
        key: Text,
    },
    /// It waits for devices.
    #[error("it has resource claim {claim}, and dynamic resource allocation is not supported yet")]
    DeviceClaim {
        /// The claim's name.
        claim: Text,
    },
    /// It names a node that no new node can be.
    #[error("it names a node by field {field}, which no new node can be")]
    NodeByField {
        /// The field.
        field: Text,
    },
    /// A volume keeps it from running anywhere.
    #[error("volume claim {claim} {problem}")]
    Volume {
        /// The claim's name.
        claim: Text,
        /// What is wrong with it.
        problem: VolumeProblem,
    },
    /// Something that this version does not plan for.
    #[error("it uses {feature}, which is not supported yet")]
    NotSupportedYet {
        /// What.
        feature: Text,
    },
    /// A NodePool cannot host it.
    #[error("NodePool {node_pool}: {reason}")]
    NodePool {
        /// The NodePool.
        node_pool: Text,
        /// Why not.
        reason: NodePoolUnfit,
    },
}

impl PodUnschedulable {
    /// Whether it holds until somebody changes the pod, what the pod refers to, or a NodePool:
    /// neither time nor capacity mends it. `false` in doubt.
    pub const fn is_lasting(&self) -> bool {
        match self {
            Self::RefusesManagedNodes
            | Self::RestrictedLabel { .. }
            | Self::DeviceClaim { .. }
            | Self::NodeByField { .. }
            | Self::NotSupportedYet { .. } => true,
            Self::Volume { problem, .. } => problem.is_lasting(),
            Self::NodePool { reason, .. } => reason.is_lasting(),
            // Whoever runs the cluster has to see to it, not whoever wrote the pod.
            Self::NoNodePool => false,
        }
    }
}

impl VolumeProblem {
    const fn is_lasting(&self) -> bool {
        match self {
            Self::Missing
            | Self::Deleting
            | Self::Lost
            | Self::NoVolume(_)
            | Self::NoStorageClass
            | Self::UnknownStorageClass(_)
            | Self::Incompatible => true,
            Self::Binding | Self::UnboundImmediate | Self::InUse => false,
        }
    }
}

/// `: did you mean karpenter.k8s.aws/instance-family?`, where a well-known key is spelt nearly so.
fn meant_key(key: &str) -> String {
    did_you_mean(&nearest(key, WELL_KNOWN.iter().copied(), 1))
}

/// `: did you mean m7i?`; empty where nothing may have been meant.
fn did_you_mean<T: AsRef<str>>(meant: &[T]) -> String {
    if meant.is_empty() { String::new() } else { format!(": did you mean {}?", any_of(meant)) }
}

/// What is wrong with a volume claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, thiserror::Error)]
pub enum VolumeProblem {
    /// No such claim.
    #[error("does not exist")]
    Missing,
    /// It is being deleted.
    #[error("is being deleted")]
    Deleting,
    /// Its volume is gone.
    #[error("has lost its volume")]
    Lost,
    /// Binding has begun and is not complete.
    #[error("is not bound yet")]
    Binding,
    /// Its PersistentVolume does not exist or is being deleted.
    #[error("is bound to PersistentVolume {0}, which does not exist")]
    NoVolume(Text),
    /// It names no StorageClass and there is no default.
    #[error("is unbound and has no StorageClass")]
    NoStorageClass,
    /// Its StorageClass does not exist.
    #[error("names StorageClass {0}, which does not exist")]
    UnknownStorageClass(Text),
    /// It should have been bound before its pod is scheduled.
    #[error("binds immediately and is not bound yet")]
    UnboundImmediate,
    /// No zone has all its volumes.
    #[error("cannot be used together with the pod's other volumes")]
    Incompatible,
    /// Another pod uses it, and its access mode lets only one.
    #[error("is in use, and only one pod may use it at a time (ReadWriteOncePod)")]
    InUse,
}

/// Why a NodePool cannot host a pod: the first thing that rules it out, with the nearest miss.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodePoolUnfit {
    /// It is being deleted.
    Deleting,
    /// It is not ready.
    NotReady,
    /// Nothing is launched from its EC2NodeClass.
    NodeClass {
        /// The EC2NodeClass.
        node_class: Text,
        /// Why.
        fault: NodeClassFault,
    },
    /// All images of its EC2NodeClass are younger than `outrigger.dev/ami-min-age`.
    ImagesTooYoung {
        /// The EC2NodeClass.
        node_class: Text,
        /// When the first of them is old enough.
        until: Timestamp,
    },
    /// It is off (`outrigger.dev/off-schedule`).
    OffHours {
        /// When it is on again.
        until: Timestamp,
    },
    /// It has a fixed number of nodes.
    Static,
    /// A taint keeps the pod off.
    Taint(Taint),
    /// The pod requires a label that its nodes do not have.
    UndefinedLabel {
        /// The label's key.
        key: Text,
        /// What the pod requires.
        pod: Text,
    },
    /// The pod and the pool require different values of a label.
    Label {
        /// The label's key.
        key: Text,
        /// What the pod requires.
        pod: Text,
        /// What the pool's nodes have.
        pool: Text,
    },
    /// The pod may run in one zone only, in which the node class has no subnet.
    NoSubnet {
        /// The zone.
        zone: Text,
        /// The EC2NodeClass.
        node_class: Text,
        /// Zones in which it has one.
        zones: Vec<Text>,
    },
    /// Where the pod may run, the subnets of the node class have too few free addresses left
    /// (`outrigger.dev/min-free-addresses`).
    NoAddresses {
        /// The EC2NodeClass.
        node_class: Text,
        /// The zone with the most of them.
        zone: Text,
        /// Free addresses there, less those of nodes that are starting and of the plan; may be
        /// negative.
        free: i64,
        /// What a node with one such pod takes.
        needed: i64,
        /// How many stay free.
        min_free: u32,
    },
    /// No instance type meets what the NodePool itself requires.
    UnmetRequirements(Box<UnmetRequirements>),
    /// The pod's own requirements contradict each other.
    PodContradiction,
    /// No instance type is left by the pod's requirements alone.
    NoInstanceType {
        /// The requirement that ruled out the last of them.
        requirement: Text,
        /// What those left until then have of its label.
        offered: Text,
        /// Values that are spelt nearly like those that are required.
        nearest: Vec<Text>,
    },
    /// Instance types would do, but none can be launched where the pod may run.
    NoOffering,
    /// Instance types would do, but all are too small.
    TooSmall {
        /// The resource that rules out the largest.
        resource: Text,
        /// What the pod and the node's DaemonSets request.
        needed: i64,
        /// The most that any allowed type has.
        largest: i64,
        /// Which type that is.
        instance_type: Text,
    },
    /// The pod's priority is too low to buy a node of it (`outrigger.dev/expendable-below`).
    Expendable {
        /// The pod's priority.
        priority: i32,
        /// Pods of a lower priority than this are expendable.
        below: i32,
    },
    /// What is left under the limits of the whole cluster is too small.
    ClusterLimit {
        /// The name of the ClusterLimit.
        name: Text,
        /// What of it is used: [`Self::Limit`] or [`Self::UsdLimit`].
        reason: Box<Self>,
    },
    /// A ClusterLimit cannot be read, so that nothing new is launched.
    ClusterLimitUnreadable {
        /// The name of the ClusterLimit.
        name: Text,
        /// What is wrong, with the field.
        problem: Text,
    },
    /// What is left under the pool's limits is too small.
    Limit {
        /// The resource.
        resource: Text,
        /// The limit.
        limit: i64,
        /// What nodes and claims use of it already.
        used: i64,
    },
    /// What is left under the pool's limit in dollars is too little for any node for the pod.
    UsdLimit {
        /// The limit.
        limit: UsdPerHour,
        /// What nodes and claims cost already.
        used: UsdPerHour,
        /// The least that a node for the pod may come to.
        cheapest: UsdPerHour,
    },
    /// Too few distinct values are left of a key.
    MinValues {
        /// The label's key.
        key: Text,
        /// The fewest values that the NodePool requires.
        wanted: u32,
        /// How many there are.
        found: u32,
    },
    /// DaemonSets open the same host port.
    HostPort(u16),
    /// A topology spread constraint leaves no domain.
    TopologySpread {
        /// The topology key.
        key: Text,
        /// What the constraint allows.
        max_skew: i32,
        /// `minDomains`, where there are fewer and so the emptiest counts as empty.
        min_domains: Option<i32>,
        /// Every domain that it looks at.
        domains: Vec<DomainCount>,
    },
    /// Required pod affinity leaves no domain.
    PodAffinity {
        /// The topology key.
        key: Text,
        /// The selector of the pods that it has to be near.
        selector: Text,
        /// Domains that hold one.
        domains: Vec<DomainCount>,
    },
    /// Pod anti-affinity leaves no domain.
    PodAntiAffinity {
        /// The topology key.
        key: Text,
        /// Which pods it avoids; of other pods' terms, which pods those avoid.
        selector: Text,
        /// Domains that hold one.
        domains: Vec<DomainCount>,
        /// The term is of other pods, which avoid this one.
        is_of_others: bool,
    },
    /// Each constraint leaves domains, and no node is in those of all at once.
    TopologyTogether(Vec<Text>),
    /// A required constraint needs a label that none of its nodes has.
    NoDomain(Text),
    /// The pod's volumes are elsewhere.
    VolumeTopology,
}

/// The text of [`NodePoolUnfit::PodContradiction`].
const POD_MATCHES_NO_NODE: &str = "the pod's own requirements contradict each other, or each term \
                                   of its node affinity is empty";

impl fmt::Display for NodePoolUnfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deleting => write!(f, "it is being deleted"),
            Self::NotReady => write!(f, "it is not ready"),
            Self::NodeClass { node_class, fault } => write!(f, "EC2NodeClass {node_class} {fault}"),
            Self::ClusterLimit { name, reason } => write!(f, "ClusterLimit {name}: {reason}"),
            Self::ClusterLimitUnreadable { name, problem } => write!(
                f,
                "nothing new is launched while ClusterLimit {name} cannot be read: {problem}"
            ),
            Self::OffHours { until } => write!(f, "it is off until {until} ({OFF_SCHEDULE})"),
            Self::ImagesTooYoung { node_class, until } => write!(
                f,
                "all images of EC2NodeClass {node_class} are too young until {until} \
                 (outrigger.dev/ami-min-age)"
            ),
            Self::Static => write!(f, "it keeps a fixed number of nodes (spec.replicas)"),
            Self::Taint(taint) => write!(f, "the pod does not tolerate taint {taint}"),
            Self::UndefinedLabel { key, pod } => {
                let meant = meant_key(key);
                write!(f, "the pod requires label {key} {pod}, which its nodes do not have{meant}")
            }
            Self::Label { key, pod, pool } => {
                write!(f, "the pod requires {key} {pod}, its nodes have {pool}")
            }
            Self::NoSubnet { zone, node_class, zones } => {
                write!(f, "zone {zone} has no subnet: EC2NodeClass {node_class} has them in ")?;
                f.write_str(&zones.join(", "))
            }
            Self::NoAddresses { node_class, zone, free, needed, min_free } => write!(
                f,
                "subnets of EC2NodeClass {node_class} have too few addresses: {free} are free in \
                 {zone}, a node for the pod takes {needed}, and {min_free} stay free"
            ),
            Self::UnmetRequirements(unmet) => unmet.fmt(f),
            Self::PodContradiction => f.write_str(POD_MATCHES_NO_NODE),
            Self::NoInstanceType { requirement, offered, nearest } if nearest.is_empty() => {
                write!(f, "no instance type is left by {requirement}: they have {offered}")
            }
            Self::NoInstanceType { requirement, nearest, .. } => {
                let meant = did_you_mean(nearest);
                write!(f, "no instance type is left by {requirement}{meant}")
            }
            Self::NoOffering => {
                write!(f, "no instance type that would do can be launched where the pod may run")
            }
            Self::TooSmall { resource, needed, largest, instance_type } => {
                too_small(f, resource, instance_type, *needed, *largest)
            }
            Self::Limit { resource, limit, used } => limit_reached(f, resource, *limit, *used),
            Self::Expendable { priority, below } => write!(
                f,
                "the pod buys no node: its priority {priority} is below {below} ({EXPENDABLE_BELOW})"
            ),
            Self::UsdLimit { limit, used, cheapest } => write!(
                f,
                "{used} of {limit} are used, and the cheapest node for the pod may cost {cheapest}"
            ),
            Self::MinValues { key, wanted, found } => {
                write!(f, "minValues of {key} is {wanted}, and {found} are left")
            }
            Self::HostPort(port) => write!(f, "a DaemonSet opens host port {port}"),
            Self::VolumeTopology => write!(f, "the pod's volumes are where it launches nothing"),
            Self::TopologySpread { .. }
            | Self::PodAffinity { .. }
            | Self::PodAntiAffinity { .. }
            | Self::TopologyTogether(_)
            | Self::NoDomain(_) => self.fmt_topology(f),
        }
    }
}

fn limit_reached(
    f: &mut fmt::Formatter<'_>,
    resource: &Text,
    limit: i64,
    used: i64,
) -> fmt::Result {
    let show = |amount| RoundedAmount { name: resource, amount };
    let (limit, used, left) = (show(limit), show(used), limit - used);
    if left <= 0 {
        return write!(f, "limit {resource} {limit} is reached: {used} in use");
    }
    let left = show(left);
    write!(
        f,
        "limit {resource} {limit} leaves {left}, less than any node for the pod: {used} in use"
    )
}

impl NodePoolUnfit {
    const fn is_lasting(&self) -> bool {
        match self {
            Self::Static
            | Self::Taint(_)
            | Self::UndefinedLabel { .. }
            | Self::Label { .. }
            | Self::NoSubnet { .. }
            | Self::UnmetRequirements(_)
            | Self::PodContradiction
            | Self::NoInstanceType { .. }
            | Self::TooSmall { .. }
            | Self::HostPort(_)
            | Self::NoDomain(_) => true,
            // Pools become ready, offerings come back, nodes and pods go.
            Self::Deleting
            | Self::NotReady
            | Self::NodeClass { .. }
            | Self::ImagesTooYoung { .. }
            | Self::OffHours { .. }
            | Self::ClusterLimit { .. }
            | Self::ClusterLimitUnreadable { .. }
            | Self::NoAddresses { .. }
            | Self::NoOffering
            | Self::Expendable { .. }
            | Self::Limit { .. }
            | Self::UsdLimit { .. }
            | Self::MinValues { .. }
            | Self::TopologySpread { .. }
            | Self::PodAffinity { .. }
            | Self::PodAntiAffinity { .. }
            | Self::TopologyTogether(_)
            | Self::VolumeTopology => false,
        }
    }

    fn fmt_topology(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TopologySpread { key, max_skew, min_domains, domains } => {
                write!(
                    f,
                    "one pod more in any {key} it launches in would break maxSkew {max_skew}: {}",
                    Counts(domains)
                )?;
                match min_domains {
                    Some(wanted) => {
                        write!(f, " (minDomains {wanted}: so the emptiest counts as 0)")
                    }
                    None => Ok(()),
                }
            }
            Self::PodAffinity { key, selector, domains } if domains.is_empty() => write!(
                f,
                "the pod must share its {key} with a pod of {selector}, and none has a place"
            ),
            Self::PodAffinity { key, selector, domains } => write!(
                f,
                "the pod must share its {key} with a pod of {selector}: {}",
                Counts(domains)
            ),
            Self::PodAntiAffinity { key, selector, domains, is_of_others: false } => write!(
                f,
                "the pod may not share its {key} with a pod of {selector}: {}",
                Counts(domains)
            ),
            Self::PodAntiAffinity { key, selector, domains, is_of_others: true } => write!(
                f,
                "other pods may not share their {key} with a pod of {selector}, as this one is: {}",
                Counts(domains)
            ),
            Self::TopologyTogether(keys) => write!(
                f,
                "each constraint on {} can be kept, but no node it launches keeps all of them",
                keys.join(", ")
            ),
            Self::NoDomain(key) => {
                write!(f, "a constraint of the pod needs label {key}, which its nodes do not have")
            }
            _ => Ok(()),
        }
    }
}

/// `it needs 9Gi more memory than the largest instance type that it allows, r7i.large: 24Gi of
/// 15Gi`.
fn too_small(
    f: &mut fmt::Formatter<'_>,
    resource: &Text,
    instance_type: &Text,
    needed: i64,
    largest: i64,
) -> fmt::Result {
    let show = |amount| RoundedAmount { name: resource, amount };
    if largest <= 0 {
        return write!(
            f,
            "no instance type that it allows has {resource}, and the pod needs {}",
            show(needed)
        );
    }
    write!(
        f,
        "the pod needs {} more {resource} than the largest instance type that it allows, \
         {instance_type}, can give: {} with DaemonSets, of {}",
        show(needed - largest),
        show(needed),
        show(largest)
    )
}

/// A duration in whole seconds, rounded up: `4m 30s`.
fn whole(duration: SignedDuration) -> String {
    let up = i64::from(duration.subsec_nanos() > 0);
    format!("{:#}", SignedDuration::from_secs(duration.as_secs().saturating_add(up)))
}

/// Why a node is not disrupted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum NotDisruptable {
    /// An annotation of the Node or the NodeClaim.
    #[error("it has karpenter.sh/do-not-disrupt")]
    DoNotDisrupt,
    /// An annotation of a pod.
    #[error("pod {0} has karpenter.sh/do-not-disrupt")]
    PodDoNotDisrupt(PodKey),
    /// A PodDisruptionBudget.
    #[error("PodDisruptionBudget {budget} does not let pod {pod} go: {refusal}")]
    Pdb {
        /// The pod.
        pod: PodKey,
        /// The budget, or two.
        budget: Text,
        /// Why not.
        refusal: PdbRefusal,
    },
    /// It has not finished starting.
    #[error("it is not initialized yet")]
    NotInitialized,
    /// Pods have just been given a place on it.
    #[error("pods are expected on it")]
    Nominated,
    /// Its pool has no disruptions left.
    #[error(
        "the budgets of NodePool {node_pool} allow {allowed} {reason} {} now{}",
        if *allowed == 1 { "disruption" } else { "disruptions" },
        sum.as_ref().map(|sum| format!(": {sum}")).unwrap_or_default()
    )]
    Budget {
        /// The NodePool.
        node_pool: Text,
        /// The reason that was held back.
        reason: DisruptionReason,
        /// How many are allowed, those under way taken off.
        allowed: u32,
        /// How that comes about, where it is known.
        sum: Option<BudgetSum>,
    },
    /// `consolidateAfter` has not passed.
    #[error("consolidateAfter is {}, and since a pod came or went {} of it are left", whole(*wait), whole(*left))]
    ConsolidateAfter {
        /// What the NodePool says.
        wait: SignedDuration,
        /// How long it still takes.
        left: SignedDuration,
    },
    /// Its pool is not consolidated, or only when empty.
    #[error("NodePool {0} does not consolidate it: {1}")]
    Policy(Text, Text),
    /// Its pods request as much of it as its pool's threshold says, or more.
    #[error(
        "its pods request {percent}% of its {resource}, and NodePool {node_pool} consolidates nodes \
         below {threshold}% (outrigger.dev/consolidate-below)"
    )]
    Utilized {
        /// The NodePool.
        node_pool: Text,
        /// The resource of which most is requested, `cpu` or `memory`.
        resource: Text,
        /// How much of it, in percent, rounded down.
        percent: u32,
        /// The threshold, in percent.
        threshold: u32,
    },
    /// Its NodePool is not there.
    #[error("NodePool {0} does not exist or cannot be read")]
    NoNodePool(Text),
    /// Its instance type, zone or capacity type is not in the catalogue.
    #[error(
        "its price is not known: the catalogue lacks its instance type, or has it in other zones \
         or capacity types only"
    )]
    UnknownPrice,
    /// Its pods have no other place, nor on anything cheaper.
    #[error("{0}")]
    NotWorthIt(Text),
    /// Consolidating it is not possible, or not worth it, or comes later.
    #[error(transparent)]
    Unconsolidatable(#[from] Unconsolidatable),
    /// It has drifted, and a pod of its has no other place.
    #[error("it has drifted ({drift}), but pod {pod} finds no other place")]
    DriftWithoutPlace {
        /// How it has drifted.
        drift: DriftReason,
        /// The pod.
        pod: PodKey,
    },
    /// It has drifted, and its replacement cannot be launched.
    #[error("it has drifted ({drift}), but its replacement cannot be launched: {unfit}")]
    DriftWithoutReplacement {
        /// How it has drifted.
        drift: DriftReason,
        /// Why not, of the NodePool that would launch it.
        unfit: NodePoolUnfit,
    },
    /// It has drifted, and another node is replaced first.
    #[error(
        "it has drifted ({drift}): one node is replaced at a time, and {} comes first",
        before.as_deref().unwrap_or("another")
    )]
    DriftLater {
        /// How it has drifted.
        drift: DriftReason,
        /// The node that is replaced first, where this plan replaces one.
        before: Option<Text>,
    },
    /// It has drifted, and as many nodes of its pool have been replaced as the wave allows.
    #[error("it has drifted ({drift}): {wave} (outrigger.dev/drift-waves)")]
    DriftWave {
        /// How it has drifted.
        drift: DriftReason,
        /// The wave.
        wave: DriftWave,
    },
    /// It has drifted, and drift of its pool is halted.
    #[error(
        "it has drifted ({drift}), and drift of NodePool {node_pool} is halted: {cause} \
         (outrigger.dev/drift-halted)"
    )]
    DriftHalted {
        /// How it has drifted.
        drift: DriftReason,
        /// The NodePool.
        node_pool: Text,
        /// What happened.
        cause: Text,
    },
    /// Something that this version does not do yet.
    #[error("{0} is not supported yet")]
    NotSupportedYet(Text),
    /// Too many nodes of its pool are unhealthy already.
    #[error("{unhealthy} of {total} nodes are unhealthy: more than a fifth, so none is repaired")]
    TooManyUnhealthy {
        /// How many are unhealthy.
        unhealthy: u32,
        /// How many there are.
        total: u32,
    },
}
