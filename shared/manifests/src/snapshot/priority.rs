//! Priorities of pods, once the PriorityClasses are known.

use std::collections::BTreeSet;
use std::sync::Arc;

use domain::Text;
use domain::pod::PodSpec;
use rustc_hash::FxHashMap;

use crate::error::Warning;
use crate::kubernetes::{PriorityClass, PriorityRef, SYSTEM_CLASSES};

/// The classes of a cluster, and the specifications settled so far.
pub(super) struct Priorities {
    classes: FxHashMap<Text, i32>,
    global_default: i32,
    /// By the address of the specification before, and the priority after: shared ones stay shared.
    settled: FxHashMap<(*const PodSpec, i32), Settled>,
    missing: BTreeSet<Text>,
}

/// A specification before and after it was given its priority. The one before is held so that its
/// address is not given to another.
struct Settled {
    _before: Arc<PodSpec>,
    after: Arc<PodSpec>,
}

impl Priorities {
    pub(super) fn of(classes: Vec<PriorityClass>) -> Self {
        // Of several global defaults the smallest counts, as in the API server.
        let default =
            classes.iter().filter(|class| class.is_global_default).map(|class| class.value);
        Self {
            global_default: default.min().unwrap_or_default(),
            classes: SYSTEM_CLASSES
                .into_iter()
                .map(|(name, value)| (Text::from(name), value))
                .chain(classes.into_iter().map(|class| (class.name, class.value)))
                .collect(),
            settled: FxHashMap::default(),
            missing: BTreeSet::new(),
        }
    }

    /// Gives a specification the priority that it refers to.
    pub(super) fn settle(&mut self, spec: &mut Arc<PodSpec>, reference: &PriorityRef) {
        let priority = self.priority(reference);
        if spec.priority == priority {
            return;
        }
        let settled = self.settled.entry((Arc::as_ptr(spec), priority)).or_insert_with(|| {
            let after = Arc::new(PodSpec { priority, ..PodSpec::clone(spec) });
            Settled { _before: spec.clone(), after }
        });
        *spec = settled.after.clone();
    }

    fn priority(&mut self, reference: &PriorityRef) -> i32 {
        match (reference.own, &reference.class) {
            (Some(own), _) => own,
            (None, None) => self.global_default,
            (None, Some(class)) => self.classes.get(class).copied().unwrap_or_else(|| {
                self.missing.insert(class.clone());
                0
            }),
        }
    }

    /// What the references name that is not there.
    pub(super) fn into_warnings(self) -> impl Iterator<Item = Warning> {
        self.missing.into_iter().map(|class| Warning {
            what: format!("PriorityClass {class} is not in the input: its pods have priority 0"),
            place: None,
        })
    }
}
