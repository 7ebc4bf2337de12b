//! How the scheduler of a cluster is configured, as far as plans depend on it.
//!
//! Only what decides where pods may go, or go, is kept of a `KubeSchedulerConfiguration`: the
//! default constraints of the plugin PodTopologySpread, and the scoring strategy of
//! NodeResourcesFit.
//!
//! Source: <https://kubernetes.io/docs/reference/config-api/kube-scheduler-config.v1/>.

pub mod scoring;

use crate::Text;
use crate::pod::{PodSpec, TopologySpreadConstraint};
use scoring::ScoringStrategy;

/// The scheduler of pods that name none.
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// How the schedulers of a cluster are configured.
///
/// Without a profile every pod is scheduled by kube-scheduler's defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedulerConfig {
    /// Profiles; no two are for the same scheduler name.
    pub profiles: Vec<SchedulerProfile>,
}

/// How pods of one scheduler name are scheduled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SchedulerProfile {
    /// `schedulerName`: whose pods it is for; `None` where it is for all.
    pub scheduler_name: Option<Text>,
    /// `defaultConstraints` of PodTopologySpread, without selectors: those of pods that have no
    /// constraint of their own. Empty with `defaultingType: System`, whose constraints only score.
    pub default_constraints: Vec<TopologySpreadConstraint>,
    /// `scoringStrategy` of NodeResourcesFit.
    pub scoring: ScoringStrategy,
}

impl SchedulerConfig {
    /// The profile that schedules a pod; `None` where kube-scheduler's defaults do. Of two that
    /// would, the first.
    pub fn profile_of(&self, spec: &PodSpec) -> Option<&SchedulerProfile> {
        let name = spec.scheduler_name.as_deref().unwrap_or(DEFAULT_SCHEDULER);
        self.profiles.iter().find(|own| own.scheduler_name.as_deref().is_none_or(|of| of == name))
    }

    /// The scoring strategy by which a pod is scheduled; `None` for kube-scheduler's default.
    pub fn scoring_of(&self, spec: &PodSpec) -> Option<&ScoringStrategy> {
        let scoring = self.profile_of(spec).map(|profile| &profile.scoring)?;
        (*scoring != ScoringStrategy::default()).then_some(scoring)
    }

    /// Whether pods of some profile have default constraints.
    pub fn has_default_constraints(&self) -> bool {
        self.profiles.iter().any(|profile| !profile.default_constraints.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::scoring::ScoringType;
    use super::*;

    fn packing(scheduler_name: Option<&str>) -> SchedulerProfile {
        SchedulerProfile {
            scheduler_name: scheduler_name.map(Text::from),
            scoring: ScoringStrategy {
                kind: ScoringType::MostAllocated,
                ..ScoringStrategy::default()
            },
            ..SchedulerProfile::default()
        }
    }

    fn of_scheduler(name: Option<&str>) -> PodSpec {
        PodSpec { scheduler_name: name.map(Text::from), ..PodSpec::default() }
    }

    #[test]
    fn pods_choose_their_profile_by_the_name_of_their_scheduler() {
        let config = SchedulerConfig { profiles: vec![packing(Some("packing"))] };
        assert!(config.scoring_of(&of_scheduler(Some("packing"))).is_some());
        assert!(config.scoring_of(&of_scheduler(None)).is_none());
        let config = SchedulerConfig { profiles: vec![packing(Some(DEFAULT_SCHEDULER))] };
        assert!(config.scoring_of(&of_scheduler(None)).is_some());
    }

    #[test]
    fn a_profile_without_a_name_is_for_every_pod() {
        let config = SchedulerConfig { profiles: vec![packing(None)] };
        assert!(config.scoring_of(&of_scheduler(None)).is_some());
        assert!(config.scoring_of(&of_scheduler(Some("other"))).is_some());
        assert!(SchedulerConfig::default().profile_of(&of_scheduler(None)).is_none());
    }
}
