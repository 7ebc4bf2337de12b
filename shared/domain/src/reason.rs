//! Reasons: why a pod has no place, why a node goes, why a node stays. The command line, the
//! Kubernetes events and the logs print the same values.

use std::fmt;

use crate::Text;
use crate::pod::PodKey;
use crate::resource::ShownAmount;
use crate::taint::Taint;

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
}

impl DisruptionReason {
    /// The word of the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Underutilized => "Underutilized",
            Self::Drifted => "Drifted",
            Self::Expired => "Expired",
            Self::Unhealthy => "Unhealthy",
            Self::Interrupted => "Interrupted",
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
    #[error("it requires label {key}, which users may not set")]
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
    /// It has a fixed number of nodes.
    Static,
    /// A taint keeps the pod off.
    Taint(Taint),
    /// The pod requires a label that its nodes do not have.
    UndefinedLabel(Text),
    /// The pod and the pool require different values of a label.
    Label {
        /// The label's key.
        key: Text,
        /// What the pod requires.
        pod: Text,
        /// What the pool's nodes have.
        pool: Text,
    },
    /// No instance type is left by the requirements alone.
    NoInstanceType {
        /// The pod's requirement that ruled out the last of them, if it was one.
        requirement: Option<Text>,
    },
    /// Instance types would do, but none can be launched where the pod may run.
    NoOffering,
    /// Instance types would do, but all are too small.
    TooSmall {
        /// The resource that rules out the largest.
        resource: Text,
        /// What the pod and the node's DaemonSets ask for.
        needed: i64,
        /// The most that any allowed type has.
        largest: i64,
        /// Which type that is.
        instance_type: Text,
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
    /// Too few distinct values are left of a key.
    MinValues {
        /// The label's key.
        key: Text,
        /// How many the pool asks for.
        wanted: u32,
        /// How many there are.
        found: u32,
    },
    /// DaemonSets open the same host port.
    HostPort(u16),
    /// Topology spread leaves no domain.
    TopologySpread(Text),
    /// Required pod affinity leaves no domain.
    PodAffinity(Text),
    /// Pod anti-affinity leaves no domain.
    PodAntiAffinity(Text),
    /// The pod's volumes are elsewhere.
    VolumeTopology,
}

impl fmt::Display for NodePoolUnfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deleting => write!(f, "it is being deleted"),
            Self::NotReady => write!(f, "it is not ready"),
            Self::Static => write!(f, "it keeps a fixed number of nodes (spec.replicas)"),
            Self::Taint(taint) => write!(f, "the pod does not tolerate taint {taint}"),
            Self::UndefinedLabel(key) => {
                write!(f, "the pod requires label {key}, which its nodes do not have")
            }
            Self::Label { key, pod, pool } => {
                write!(f, "the pod requires {key} {pod}, its nodes have {pool}")
            }
            Self::NoInstanceType { requirement: Some(requirement) } => {
                write!(f, "no instance type is left by {requirement}")
            }
            Self::NoInstanceType { requirement: None } => {
                write!(f, "no instance type meets its own requirements")
            }
            Self::NoOffering => {
                write!(f, "no instance type that would do can be launched where the pod may run")
            }
            Self::TooSmall { resource, needed, largest, instance_type } => {
                let show = |amount| ShownAmount { name: resource, amount };
                write!(
                    f,
                    "no instance type has {resource} {}: the largest allowed, {instance_type}, has {}",
                    show(*needed),
                    show(*largest)
                )
            }
            Self::Limit { resource, limit, used } => {
                let show = |amount| ShownAmount { name: resource, amount };
                write!(f, "limit {resource} {} is reached: {} in use", show(*limit), show(*used))
            }
            Self::MinValues { key, wanted, found } => {
                write!(f, "minValues of {key} is {wanted}, and {found} are left")
            }
            Self::HostPort(port) => write!(f, "a DaemonSet opens host port {port}"),
            Self::TopologySpread(key) => {
                write!(f, "no {key} is left by the pod's topology spread constraints")
            }
            Self::PodAffinity(key) => {
                write!(f, "no {key} is left by the pod's required pod affinity")
            }
            Self::PodAntiAffinity(key) => write!(f, "no {key} is left by pod anti-affinity"),
            Self::VolumeTopology => write!(f, "the pod's volumes are where it launches nothing"),
        }
    }
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
    #[error("PodDisruptionBudget {budget} does not let pod {pod} go")]
    Pdb {
        /// The pod.
        pod: PodKey,
        /// The budget, or two.
        budget: Text,
    },
    /// It has not finished starting.
    #[error("it is not initialized yet")]
    NotInitialized,
    /// Pods have just been given a place on it.
    #[error("pods are expected on it")]
    Nominated,
    /// Its pool has no disruptions left.
    #[error("the budgets of NodePool {node_pool} allow {allowed} {reason} disruptions now")]
    Budget {
        /// The NodePool.
        node_pool: Text,
        /// The reason that was held back.
        reason: DisruptionReason,
        /// How many are allowed, those under way taken off.
        allowed: u32,
    },
    /// `consolidateAfter` has not passed.
    #[error("a pod came or went less than {0} ago (consolidateAfter)")]
    ConsolidateAfter(Text),
    /// Its pool is not consolidated, or only when empty.
    #[error("NodePool {0} does not consolidate it: {1}")]
    Policy(Text, Text),
    /// Its NodePool is not there.
    #[error("NodePool {0} does not exist")]
    NoNodePool(Text),
    /// Its instance type, zone or capacity type is not in the catalogue.
    #[error("its price is not known: {0}")]
    UnknownPrice(Text),
    /// Its pods have no other place, nor on anything cheaper.
    #[error("{0}")]
    NotWorthIt(Text),
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
