//! Whether a pod leaves a node that goes by choice through a rollout of its Deployment, and when
//! that is asked for (`outrigger.dev/evict-by: rollout`).

use domain::Timestamp;
use domain::pod::{OwnerKind, Pod};
use domain::rollout::{Deployment, EvictBy, RolloutObstacle};

use crate::ports::cluster::NamespacedRef;

/// What to do about a pod that is due for eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RolloutStep {
    /// Nothing asks for a rollout: it is evicted.
    NotMeant,
    /// A rollout of its Deployment is to be asked for.
    Ask,
    /// One that was asked for ends it.
    Wait,
    /// It is evicted, although its Deployment asks for rollouts.
    Evict(RolloutObstacle),
}

/// The ReplicaSet that owns a pod, by which its Deployment is found.
pub fn replica_set_of(pod: &Pod) -> Option<NamespacedRef> {
    let owner = pod.owner.as_ref().filter(|owner| owner.kind == OwnerKind::ReplicaSet)?;
    let key = domain::pod::ObjectKey::new(pod.key.namespace.clone(), owner.name.clone());
    Some(NamespacedRef { key, uid: owner.uid.clone() })
}

/// What to do about a pod of a Deployment. `of_namespace` is what its Namespace says where the
/// Deployment does not.
///
/// A rollout replaces all pods of its Deployment, so it is asked for once however many of them are
/// to go. Pods that are made while it is under way, and go to nodes that leave later, are moved by
/// another one after it.
pub fn rollout_step(
    pod: &Pod,
    deployment: &Deployment,
    of_namespace: Option<EvictBy>,
    now: Timestamp,
) -> RolloutStep {
    let evict_by = deployment.spec.evict_by.or(of_namespace).unwrap_or_default();
    if evict_by == EvictBy::Eviction {
        return RolloutStep::NotMeant;
    }
    if let Some(obstacle) = deployment.obstacle() {
        return RolloutStep::Evict(obstacle);
    }
    if deployment.is_rolling() {
        return RolloutStep::Wait;
    }
    let asked_at = deployment.asked_at();
    // Listed before the rollout ended, the pod is gone by now, or about to be. One that stays is
    // none that the Deployment replaces.
    match asked_at.filter(|asked| pod.created.is_none_or(|created| created < *asked)) {
        Some(asked) if now.duration_since(asked) < deployment.spec.progress_deadline => {
            RolloutStep::Wait
        }
        Some(_) if pod.created.is_some() => RolloutStep::Evict(RolloutObstacle::NotReplaced),
        _ => RolloutStep::Ask,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::at;
    use domain::pod::ObjectKey;
    use domain::rollout::{RolloutSpec, RolloutStatus};

    fn deployment() -> Deployment {
        let spec = RolloutSpec { evict_by: Some(EvictBy::Rollout), ..RolloutSpec::default() };
        Deployment {
            key: ObjectKey::new("default", "web"),
            uid: "u".into(),
            resource_version: "1".into(),
            replicas: 1,
            spec,
            status: RolloutStatus {
                is_observed: true,
                replicas: 1,
                updated: 1,
                available: 1,
                is_stuck: false,
            },
        }
    }

    fn asked(mut own: Deployment, seconds: i64) -> Deployment {
        own.spec.restarted_at = Some(at(seconds).to_string().into());
        own.spec.asked_at.clone_from(&own.spec.restarted_at);
        own
    }

    fn pod(created: i64) -> Pod {
        Pod { created: Some(at(created)), ..crate::testing::pending_pod("web") }
    }

    fn step(pod: &Pod, deployment: &Deployment, now: i64) -> RolloutStep {
        rollout_step(pod, deployment, None, at(now))
    }

    #[test]
    fn a_rollout_is_asked_for_once_and_awaited() {
        let mut own = deployment();
        assert_eq!(step(&pod(0), &own, 100), RolloutStep::Ask);
        own = asked(own, 100);
        own.status.is_observed = false;
        assert_eq!(step(&pod(0), &own, 101), RolloutStep::Wait);
        own.status = RolloutStatus { is_observed: true, replicas: 2, updated: 1, ..own.status };
        assert_eq!(step(&pod(0), &own, 110), RolloutStep::Wait);
        // It is over, and the list of pods is a little older.
        own.status.replicas = 1;
        assert_eq!(step(&pod(0), &own, 150), RolloutStep::Wait);
        assert_eq!(
            step(&pod(0), &own, 100 + 600),
            RolloutStep::Evict(RolloutObstacle::NotReplaced)
        );
        // A new pod on a node that goes later.
        assert_eq!(step(&pod(110), &own, 1000), RolloutStep::Ask);
    }

    #[test]
    fn the_namespace_says_what_the_deployment_does_not() {
        let mut own = deployment();
        own.spec.evict_by = None;
        let of = |own: &Deployment, namespace| rollout_step(&pod(0), own, namespace, at(100));
        assert_eq!(of(&own, None), RolloutStep::NotMeant);
        assert_eq!(of(&own, Some(EvictBy::Rollout)), RolloutStep::Ask);
        own.spec.evict_by = Some(EvictBy::Eviction);
        assert_eq!(of(&own, Some(EvictBy::Rollout)), RolloutStep::NotMeant);
    }

    #[test]
    fn somebody_elses_rollout_leaves_evictions() {
        let mut own = asked(deployment(), 10);
        own.spec.restarted_at = Some(at(90).to_string().into());
        own.status.updated = 0;
        assert_eq!(step(&pod(0), &own, 100), RolloutStep::Evict(RolloutObstacle::InFlight));
    }
}
