//! How the cluster's scheduler is configured, as ConfigMap `kube-system/outrigger` says.
//!
//! Every run reads that ConfigMap before it lists anything, to ask whether it may act: what it says
//! of the scheduler is kept from there, and listings cost no call more.

use controllers::event::Subject;
use controllers::ports::cluster::{ControlsObject, UnreadableObject};
use domain::Text;
use domain::scheduler::SchedulerConfig;
use manifests::{ReadSchedulerConfig, SCHEDULER_CONFIG_KEY, read_scheduler_config};

use crate::item::ObjectProblem;

/// The object that problems name.
const CONFIG_MAP: &str = "ConfigMap kube-system/outrigger";
/// What holds where it cannot be read.
const DEFAULTS: &str = "kube-scheduler's defaults are planned with";

/// What was read of the ConfigMap last.
#[derive(Clone, Debug, Default)]
pub(crate) struct KnownSchedulerConfig {
    /// The value of the key; `None` where there is none.
    pub(crate) text: Option<Text>,
    /// What it says; kube-scheduler's defaults where it cannot be read.
    pub(crate) config: SchedulerConfig,
    /// What is wrong with it, or has no effect.
    pub(crate) problems: Vec<ObjectProblem>,
    /// What its author is shown where it cannot be read.
    pub(crate) unreadable: Option<UnreadableObject>,
}

impl KnownSchedulerConfig {
    /// What the ConfigMap says; `None` where it does not exist.
    pub(crate) fn of(object: Option<&ControlsObject>) -> Self {
        let text = said(object);
        let Some(own) = &text else { return Self::default() };
        let ReadSchedulerConfig { result, warnings } =
            read_scheduler_config(SCHEDULER_CONFIG_KEY, own);
        let problem = |what: String, field: Option<String>| ObjectProblem {
            object: CONFIG_MAP.to_owned(),
            field: Some(match field {
                Some(field) => format!("data.{SCHEDULER_CONFIG_KEY}: {field}"),
                None => format!("data.{SCHEDULER_CONFIG_KEY}"),
            }),
            what,
            is_left_out: false,
        };
        let mut problems: Vec<ObjectProblem> = warnings
            .into_iter()
            .map(|own| problem(own.what, own.place.and_then(|place| place.field)))
            .collect();
        let (config, unreadable) = match result {
            Ok(config) => (config, None),
            Err(errors) => {
                let wrong: Vec<ObjectProblem> = errors
                    .into_iter()
                    .map(|error| {
                        problem(format!("{}: {DEFAULTS}", error.problem), error.place.field)
                    })
                    .collect();
                let unreadable = shown_problem(object, &wrong);
                problems.extend(wrong);
                (SchedulerConfig::default(), unreadable)
            }
        };
        Self { text, config, problems, unreadable }
    }

    /// Whether the ConfigMap still says the same.
    pub(crate) fn is_of(&self, object: Option<&ControlsObject>) -> bool {
        self.text == said(object)
    }

    /// Kube-scheduler's defaults, where the ConfigMap cannot be asked for.
    pub(crate) fn unknown(why: &dyn std::error::Error) -> Self {
        let what = format!("cannot be read ({why}): {DEFAULTS}");
        let object = CONFIG_MAP.to_owned();
        let problems = vec![ObjectProblem { object, field: None, what, is_left_out: false }];
        Self { problems, ..Self::default() }
    }
}

/// What the author of a ConfigMap is shown of what is wrong with it.
fn shown_problem(
    object: Option<&ControlsObject>,
    wrong: &[ObjectProblem],
) -> Option<UnreadableObject> {
    let shown = wrong.iter().map(|own| match &own.field {
        Some(field) => format!("{field}: {}", own.what),
        None => own.what.clone(),
    });
    let problem = shown.collect::<Vec<_>>().join("; ").into();
    Some(UnreadableObject { about: Subject::Controls(object?.uid.clone()), problem })
}

/// The value of the key, if it is not empty.
fn said(object: Option<&ControlsObject>) -> Option<Text> {
    let value = object?.value(SCHEDULER_CONFIG_KEY)?;
    (!value.trim().is_empty()).then(|| value.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::scheduler::scoring::ScoringType;

    fn object(value: &str) -> ControlsObject {
        let data = [(SCHEDULER_CONFIG_KEY.into(), value.into()), ("mode".into(), "active".into())];
        ControlsObject { uid: "u1".into(), data: data.into(), ..ControlsObject::default() }
    }

    fn shown(known: &KnownSchedulerConfig) -> Vec<String> {
        known.problems.iter().map(ToString::to_string).collect()
    }

    const PACKING: &str = "nodeResourcesFit: {scoringStrategy: {type: MostAllocated}}";

    #[test]
    fn the_value_of_the_key_counts_until_it_changes() {
        let object = object(PACKING);
        let known = KnownSchedulerConfig::of(Some(&object));
        assert_eq!(known.config.profiles[0].scoring.kind, ScoringType::MostAllocated);
        assert!(known.problems.is_empty() && known.unreadable.is_none());
        assert!(known.is_of(Some(&object)));
        assert!(!known.is_of(None) && !known.is_of(Some(&ControlsObject::default())));
        assert!(KnownSchedulerConfig::of(None).is_of(Some(&ControlsObject::default())));
    }

    #[test]
    fn what_cannot_be_read_leaves_the_defaults_in_force_and_is_said() {
        let known = KnownSchedulerConfig::of(Some(&object(&PACKING.replace("Most", "Many"))));
        assert_eq!(known.config, SchedulerConfig::default());
        assert_eq!(
            shown(&known),
            ["ConfigMap kube-system/outrigger: data.scheduler-config: \
              nodeResourcesFit.scoringStrategy.type: \"ManyAllocated\" is not one of \
              LeastAllocated, MostAllocated, RequestedToCapacityRatio: kube-scheduler's defaults \
              are planned with"]
        );
        let own = known.unreadable.unwrap();
        assert_eq!(own.about, Subject::Controls("u1".into()));
        assert!(own.problem.starts_with("data.scheduler-config: nodeResourcesFit"), "{own:?}");
        let denied = KnownSchedulerConfig::unknown(&std::io::Error::other("denied"));
        assert_eq!(
            shown(&denied),
            [
                "ConfigMap kube-system/outrigger: cannot be read (denied): kube-scheduler's defaults \
              are planned with"
            ]
        );
    }
}
