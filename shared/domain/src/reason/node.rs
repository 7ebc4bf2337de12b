//! Why a node that is there does not take a pod.

use std::fmt;

use crate::Text;
use crate::resource::RoundedAmount;
use crate::taint::Taint;

/// Why an existing node, or a claim in flight, does not take a pod: the first thing that rules it
/// out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeUnfit {
    /// It is going away.
    Leaving,
    /// A taint keeps the pod off.
    Taint(Taint),
    /// The pod requires other labels.
    Label {
        /// The label's key.
        key: Text,
        /// What the pod requires.
        pod: Text,
        /// What the node has; `None` where it has no such label.
        node: Option<Text>,
    },
    /// Too little of a resource is free.
    Room {
        /// The resource.
        resource: Text,
        /// What the pod requests.
        needed: i64,
        /// What is free once the pods that are there or on their way, and DaemonSets, have theirs.
        free: i64,
    },
    /// Another pod has the host port.
    HostPort(u16),
    /// It can attach no more volumes.
    AttachLimit {
        /// The CSI driver.
        driver: Text,
        /// How many volumes of it the node can attach.
        limit: u32,
    },
    /// A volume claim that only one pod may use at a time is in use.
    VolumeInUse,
    /// A spread constraint would be broken.
    TopologySpread {
        /// The topology key.
        key: Text,
        /// What the constraint allows.
        max_skew: i32,
        /// Pods in the node's domain.
        here: u32,
        /// Pods in the emptiest domain.
        least: u32,
    },
    /// The topology key of a required constraint is no label of it.
    NoDomain(Text),
    /// No pod that the pod's affinity selects is there.
    PodAffinity(Text),
    /// A pod is there that the pod's anti-affinity avoids, or that avoids the pod.
    PodAntiAffinity(Text),
}

impl NodeUnfit {
    /// What nodes with the same kind of reason have in common, so that many can be reported as one.
    pub fn kind(&self) -> NodeUnfitKind<'_> {
        let (rule, of): (u8, &str) = match self {
            Self::Leaving => (0, ""),
            Self::Taint(taint) => (1, &taint.key),
            Self::Label { key, .. } => (2, key),
            Self::Room { resource, .. } => (3, resource),
            Self::HostPort(_) => (4, ""),
            Self::AttachLimit { driver, .. } => (5, driver),
            Self::VolumeInUse => (6, ""),
            Self::TopologySpread { key, .. } => (7, key),
            Self::NoDomain(key) => (8, key),
            Self::PodAffinity(key) => (9, key),
            Self::PodAntiAffinity(key) => (10, key),
        };
        NodeUnfitKind { rule, of }
    }

    /// How near it comes to taking the pod: of two reasons of one kind, the greater is the nearer
    /// miss.
    pub fn nearness(&self) -> i64 {
        match self {
            Self::Room { needed, free, .. } => free - needed,
            Self::TopologySpread { here, least, .. } => i64::from(*least) - i64::from(*here),
            _ => 0,
        }
    }
}

/// What nodes with the same kind of reason have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeUnfitKind<'a> {
    rule: u8,
    of: &'a str,
}

impl fmt::Display for NodeUnfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leaving => write!(f, "it is going away"),
            Self::Taint(taint) => write!(f, "the pod does not tolerate taint {taint}"),
            Self::Label { key, pod, node: Some(node) } => {
                write!(f, "the pod requires {key} {pod}, it has {node}")
            }
            Self::Label { key, pod, node: None } => {
                write!(f, "the pod requires {key} {pod}, it has no such label")
            }
            Self::Room { resource, needed, free } => {
                let show = |amount| RoundedAmount { name: resource, amount };
                write!(f, "{resource} {} of {} are free", show((*free).max(0)), show(*needed))
            }
            Self::HostPort(port) => write!(f, "host port {port} is taken"),
            Self::AttachLimit { driver, limit } => {
                write!(f, "it can attach {limit} volumes of {driver}, and that many are attached")
            }
            Self::VolumeInUse => {
                write!(f, "a volume claim that one pod may use at a time is in use")
            }
            Self::TopologySpread { key, max_skew, here, least } => write!(
                f,
                "its {key} has {here} pods, the emptiest has {least}, and maxSkew is {max_skew}"
            ),
            Self::NoDomain(key) => write!(f, "it has no label {key}, which a constraint needs"),
            Self::PodAffinity(key) => {
                write!(f, "no pod that the pod's affinity asks for is in its {key}")
            }
            Self::PodAntiAffinity(key) => {
                write!(f, "anti-affinity between pods keeps the pod out of its {key}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::{CPU, MEMORY};

    #[test]
    fn room_is_told_in_amounts_that_people_read() {
        let unfit =
            NodeUnfit::Room { resource: MEMORY.into(), needed: 4 << 30, free: 2_790_000_000 };
        assert_eq!(unfit.to_string(), "memory 2.6Gi of 4Gi are free");
    }

    #[test]
    fn reasons_of_one_kind_are_ranked_by_how_near_they_come() {
        let room = |free| NodeUnfit::Room { resource: CPU.into(), needed: 1000, free };
        assert_eq!(room(100).kind(), room(900).kind());
        assert!(room(900).nearness() > room(100).nearness());
        assert_ne!(room(1).kind(), NodeUnfit::Leaving.kind());
    }
}
