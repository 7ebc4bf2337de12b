//! Why a node refuses a pod.

use std::fmt;

use domain::Text;
use domain::taint::Taint;

/// Why a node does not take a pod, in kube-scheduler's words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is one of kube-scheduler's messages, printed below")]
pub enum Unfit {
    Insufficient(Text),
    TooManyPods,
    Unschedulable,
    Taint(Taint),
    NotReady,
    NodeAffinity,
    HostPorts,
    TopologySpread,
    TopologySpreadLabel,
    PodAffinity,
    PodAntiAffinity,
    ExistingPodAntiAffinity,
    VolumeNodeAffinity,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Insufficient(resource) => return write!(f, "Insufficient {resource}"),
            Self::Taint(taint) => {
                return write!(
                    f,
                    "node(s) had untolerated taint {{{}: {}}}",
                    taint.key, taint.value
                );
            }
            Self::TooManyPods => "Too many pods",
            Self::Unschedulable => "node(s) were unschedulable",
            Self::NotReady => "node(s) were not ready",
            Self::NodeAffinity => "node(s) didn't match Pod's node affinity/selector",
            Self::HostPorts => "node(s) didn't have free ports for the requested pod ports",
            Self::TopologySpread => "node(s) didn't match pod topology spread constraints",
            Self::TopologySpreadLabel => {
                "node(s) didn't match pod topology spread constraints (missing required label)"
            }
            Self::PodAffinity => "node(s) didn't match pod affinity rules",
            Self::PodAntiAffinity => "node(s) didn't match pod anti-affinity rules",
            Self::ExistingPodAntiAffinity => {
                "node(s) didn't satisfy existing pods anti-affinity rules"
            }
            Self::VolumeNodeAffinity => "node(s) had volume node affinity conflict",
        };
        f.write_str(text)
    }
}
