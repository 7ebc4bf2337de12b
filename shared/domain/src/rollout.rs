//! Rollouts: how a Deployment replaces its pods, and whether one may take the place of evictions
//! (`outrigger.dev/evict-by`).
//!
//! Source: <https://kubernetes.io/docs/concepts/workloads/controllers/deployment/#strategy>.

use std::fmt;

use crate::pdb::CountOrPercent;
use crate::pod::ObjectKey;
use crate::{SignedDuration, Text, Timestamp};

/// How pods of a Deployment leave a node that goes by choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EvictBy {
    /// By the Eviction API.
    #[default]
    Eviction,
    /// By a rollout of their Deployment, which makes new pods before the old ones end.
    Rollout,
}

impl EvictBy {
    /// Reads annotation `outrigger.dev/evict-by`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "eviction" => Some(Self::Eviction),
            "rollout" => Some(Self::Rollout),
            _ => None,
        }
    }
}

/// Pods that rollouts replace, of annotation `outrigger.dev/pods-rolling`.
pub fn pods_rolling(annotation: &str) -> impl Iterator<Item = ObjectKey> {
    let keys = annotation.split(',').filter_map(|own| own.split_once('/'));
    keys.map(|(namespace, name)| ObjectKey::new(namespace, name))
}

/// How a Deployment replaces its pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutSpec {
    /// What its annotation says of evictions; `None` leaves it to its Namespace.
    pub evict_by: Option<EvictBy>,
    /// `spec.strategy.type: Recreate`: old pods end before new ones are made.
    pub is_recreate: bool,
    /// `spec.strategy.rollingUpdate.maxSurge`.
    pub max_surge: CountOrPercent,
    /// `spec.strategy.rollingUpdate.maxUnavailable`.
    pub max_unavailable: CountOrPercent,
    /// `spec.paused`.
    pub is_paused: bool,
    /// `spec.progressDeadlineSeconds`.
    pub progress_deadline: SignedDuration,
    /// Annotation `kubectl.kubernetes.io/restartedAt` of its pods' template.
    pub restarted_at: Option<Text>,
    /// Annotation `outrigger.dev/restarted-at`: the rollout that Outrigger asked for last, by that
    /// time.
    pub asked_at: Option<Text>,
}

impl Default for RolloutSpec {
    /// What the API server makes of a Deployment that says nothing.
    fn default() -> Self {
        Self {
            evict_by: None,
            is_recreate: false,
            max_surge: CountOrPercent::Percent(25),
            max_unavailable: CountOrPercent::Percent(25),
            is_paused: false,
            progress_deadline: SignedDuration::from_mins(10),
            restarted_at: None,
            asked_at: None,
        }
    }
}

impl RolloutSpec {
    /// How many pods a rollout may make beyond so many replicas.
    pub const fn surge(&self, replicas: u32) -> u32 {
        self.max_surge.of(replicas)
    }

    /// How many of so many replicas may lack during a rollout: a percentage rounded down, and at
    /// least one where there is no surge.
    pub const fn unavailable(&self, replicas: u32) -> u32 {
        let own = match self.max_unavailable {
            CountOrPercent::Count(count) => count,
            CountOrPercent::Percent(percent) => replicas * percent / 100,
        };
        if own == 0 && self.surge(replicas) == 0 { 1 } else { own }
    }
}

/// A Deployment, as far as rollouts are concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deployment {
    /// Namespace and name.
    pub key: ObjectKey,
    /// `metadata.uid`.
    pub uid: Text,
    /// `metadata.resourceVersion`.
    pub resource_version: Text,
    /// `spec.replicas`.
    pub replicas: u32,
    /// How it replaces its pods.
    pub spec: RolloutSpec,
    /// How far it is.
    pub status: RolloutStatus,
}

/// `status` of a Deployment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RolloutStatus {
    /// Its controller has seen the latest specification.
    pub is_observed: bool,
    /// `status.replicas`: all its pods.
    pub replicas: u32,
    /// `status.updatedReplicas`: those of the latest template.
    pub updated: u32,
    /// `status.availableReplicas`.
    pub available: u32,
    /// Condition Progressing is False: `progressDeadlineSeconds` have passed.
    pub is_stuck: bool,
}

impl Deployment {
    /// Whether a rollout is under way: what `kubectl rollout status` waits for.
    pub const fn is_rolling(&self) -> bool {
        let RolloutStatus { is_observed, replicas, updated, available, .. } = self.status;
        !is_observed || updated < self.replicas || replicas > updated || available < updated
    }

    /// Whether the latest rollout is one that Outrigger asked for.
    pub fn is_asked_for(&self) -> bool {
        self.spec.asked_at.is_some() && self.spec.asked_at == self.spec.restarted_at
    }

    /// When Outrigger asked for the latest rollout, if it did.
    pub fn asked_at(&self) -> Option<Timestamp> {
        self.spec.asked_at.as_ref().filter(|_| self.is_asked_for())?.parse().ok()
    }

    /// Why pods cannot be moved by a rollout; `None` where they can.
    pub fn obstacle(&self) -> Option<RolloutObstacle> {
        if self.spec.is_paused {
            Some(RolloutObstacle::Paused)
        } else if self.spec.is_recreate {
            Some(RolloutObstacle::Recreate)
        } else if self.spec.surge(self.replicas) == 0 {
            Some(RolloutObstacle::NoSurge)
        } else if self.is_rolling() && self.status.is_observed && self.status.is_stuck {
            Some(RolloutObstacle::DeadlinePassed)
        } else if self.is_rolling() && !self.is_asked_for() {
            Some(RolloutObstacle::InFlight)
        } else {
            None
        }
    }
}

/// Why pods of a Deployment are evicted although it asks for rollouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RolloutObstacle {
    /// `spec.paused`.
    Paused,
    /// `spec.strategy.type: Recreate`.
    Recreate,
    /// `maxSurge` comes to none.
    NoSurge,
    /// Somebody else's rollout is under way.
    InFlight,
    /// `progressDeadlineSeconds` have passed.
    DeadlinePassed,
    /// A rollout is over, and the pod is still there.
    NotReplaced,
}

impl fmt::Display for RolloutObstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Paused => "it is paused",
            Self::Recreate => "its strategy is Recreate, which ends pods before it makes new ones",
            Self::NoSurge => "its maxSurge allows no pod beyond its replicas",
            Self::InFlight => "another rollout of it is under way",
            Self::DeadlinePassed => "its rollout has not finished within progressDeadlineSeconds",
            Self::NotReplaced => "its rollout is over, and the pod is still there",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settled() -> Deployment {
        Deployment {
            key: ObjectKey::new("shop", "web"),
            uid: "u".into(),
            resource_version: "1".into(),
            replicas: 1,
            spec: RolloutSpec::default(),
            status: RolloutStatus {
                is_observed: true,
                replicas: 1,
                updated: 1,
                available: 1,
                is_stuck: false,
            },
        }
    }

    #[test]
    fn one_replica_surges_by_one_and_lacks_none() {
        let spec = RolloutSpec::default();
        assert_eq!((spec.surge(1), spec.unavailable(1)), (1, 0));
        assert_eq!((spec.surge(10), spec.unavailable(10)), (3, 2));
        let neither = RolloutSpec {
            max_surge: CountOrPercent::Count(0),
            max_unavailable: CountOrPercent::Percent(10),
            ..RolloutSpec::default()
        };
        assert_eq!((neither.surge(1), neither.unavailable(1)), (0, 1));
    }

    #[test]
    fn a_rollout_is_under_way_until_all_pods_are_new_and_available() {
        let rolling = |change: fn(&mut RolloutStatus)| {
            let mut own = settled();
            change(&mut own.status);
            own.is_rolling()
        };
        assert!(!rolling(|_| {}));
        assert!(rolling(|own| own.is_observed = false));
        assert!(rolling(|own| own.updated = 0));
        assert!(rolling(|own| own.replicas = 2));
        assert!(rolling(|own| own.available = 0));
    }

    #[test]
    fn what_keeps_a_rollout_from_taking_the_place_of_evictions() {
        let obstacle = |change: fn(&mut Deployment)| {
            let mut own = settled();
            change(&mut own);
            own.obstacle()
        };
        assert_eq!(obstacle(|_| {}), None);
        assert_eq!(obstacle(|own| own.spec.is_paused = true), Some(RolloutObstacle::Paused));
        assert_eq!(obstacle(|own| own.spec.is_recreate = true), Some(RolloutObstacle::Recreate));
        let no_surge = |own: &mut Deployment| own.spec.max_surge = CountOrPercent::Count(0);
        assert_eq!(obstacle(no_surge), Some(RolloutObstacle::NoSurge));
        assert_eq!(obstacle(|own| own.status.updated = 0), Some(RolloutObstacle::InFlight));
        let asked: fn(&mut Deployment) = |own| {
            own.spec.restarted_at = Some("2026-01-05T09:00:00Z".into());
            own.spec.asked_at.clone_from(&own.spec.restarted_at);
            own.status.updated = 0;
        };
        assert_eq!(obstacle(asked), None);
        let stuck: fn(&mut Deployment) = |own| {
            own.spec.restarted_at = Some("2026-01-05T09:00:00Z".into());
            own.spec.asked_at.clone_from(&own.spec.restarted_at);
            own.status.updated = 0;
            own.status.is_stuck = true;
        };
        assert_eq!(obstacle(stuck), Some(RolloutObstacle::DeadlinePassed));
    }
}
