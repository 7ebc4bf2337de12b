//! Which pods a plan has to name.

use domain::pod::Pod;

use crate::place::Place;

/// The uid of pods that a schedule will add, which have no object yet. No real uid has spaces.
pub(crate) const ADDED_BY_SCHEDULE: &str = "added by a schedule";

/// Whether a plan has to name a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlanObligation {
    /// The pod is pending: the plan names it.
    Required,
    /// The plan may name the pod: it waits for something other than a node, its node is going away,
    /// or a schedule is about to add it.
    Optional,
    /// The pod needs no place.
    NotPending,
}

impl PlanObligation {
    /// The obligation for a pod; `place` is the node that the pod is bound to, if it is there.
    pub(crate) fn of(pod: &Pod, place: Option<&Place<'_>>) -> Self {
        if pod.node_name.is_some() {
            // Of a StatefulSet's pod that is being deleted too: its successor waits for its end.
            return if pod.is_reschedulable() && place.is_some_and(Place::is_leaving) {
                Self::Optional
            } else {
                Self::NotPending
            };
        }
        if !pod.is_active() {
            return Self::NotPending;
        }
        let stays_with_node = pod.is_daemon() || pod.is_static();
        let waits_for_no_node =
            stays_with_node || is_gated(pod) || pod.nominated_node_name.is_some();
        if waits_for_no_node || &*pod.uid == ADDED_BY_SCHEDULE {
            Self::Optional
        } else {
            Self::Required
        }
    }
}

/// Whether the pod has scheduling gates, so that kube-scheduler does not consider it.
pub(crate) fn is_gated(pod: &Pod) -> bool {
    !pod.spec.scheduling_gates.is_empty()
}
