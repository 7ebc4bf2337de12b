//! What a process remembers to save calls. All of it is right when empty.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use aws::freshness::is_fresh;
use controllers::ports::cloud::NodeClassResolution;
use domain::node_class::{Ec2NodeClass, Ec2NodeClassSpec};
use domain::{SignedDuration, Text, Timestamp};
use uuid::Uuid;

/// How long an instance profile is taken to have the role that it had.
const PROFILE_TTL: SignedDuration = SignedDuration::from_mins(15);
/// How long a node class that passed its dry runs is not tried again while it stays unchanged.
const VALIDATION_TTL: SignedDuration = SignedDuration::from_mins(30);
/// How often old launch templates of a class are looked for.
const CLEAN_UP_INTERVAL: SignedDuration = SignedDuration::from_hours(1);

/// How long a class whose every part was found is not resolved again while it stays unchanged: five
/// minutes, as Karpenter waits for images and security groups, less what schedules vary by.
const RESOLUTION_TTL: SignedDuration = SignedDuration::from_secs(270);

/// What node classes resolved to, of those whose every part was found.
#[derive(Debug, Default)]
pub(super) struct KnownResolutions(Mutex<BTreeMap<Text, KnownResolution>>);

#[derive(Debug)]
struct KnownResolution {
    uid: Text,
    spec: Ec2NodeClassSpec,
    resolution: NodeClassResolution,
    at: Timestamp,
}

impl KnownResolutions {
    /// What the class resolved to lately.
    pub(super) fn get(&self, class: &Ec2NodeClass) -> Option<NodeClassResolution> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = known.get(&class.name)?;
        let is_same = own.uid == class.uid && own.spec == class.spec && !moves(class);
        let counts = is_same && is_fresh(own.at, RESOLUTION_TTL, Timestamp::now());
        counts.then(|| own.resolution.clone())
    }

    /// Remembers what the class resolves to now, every part of it.
    pub(super) fn insert(&self, class: &Ec2NodeClass, resolution: &NodeClassResolution) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = KnownResolution {
            uid: class.uid.clone(),
            spec: class.spec.clone(),
            resolution: resolution.clone(),
            at: Timestamp::now(),
        };
        known.insert(class.name.clone(), own);
    }
}

/// Whether what the class resolves to changes from minute to minute: it counts free addresses,
/// waits for images to grow old enough, or has capacity reservations, which end.
fn moves(class: &Ec2NodeClass) -> bool {
    class.addresses.is_some()
        || class.image_age.min.is_some()
        || !class.spec.capacity_reservation_selector_terms.is_empty()
}

/// Instance profiles and the role that each was last known to have.
#[derive(Debug, Default)]
pub(super) struct KnownProfiles(Mutex<BTreeMap<Text, (Text, Timestamp)>>);

impl KnownProfiles {
    /// Whether the profile had the role lately.
    pub(super) fn has_role(&self, name: &Text, role: &Text) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Timestamp::now();
        known.get(name).is_some_and(|(of, at)| of == role && is_fresh(*at, PROFILE_TTL, now))
    }

    /// Remembers that the profile has the role now.
    pub(super) fn insert(&self, name: Text, role: Text) {
        let entry = (role, Timestamp::now());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name, entry);
    }
}

/// Node classes that passed their dry runs, with a hash of what they were then.
#[derive(Debug, Default)]
pub(super) struct PassedValidations(Mutex<BTreeMap<Text, (Uuid, Timestamp)>>);

impl PassedValidations {
    /// Whether the class passed lately with this content.
    pub(super) fn contains(&self, class: &Text, content: Uuid) -> bool {
        let passed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Timestamp::now();
        let counts =
            |(of, at): &(Uuid, Timestamp)| *of == content && is_fresh(*at, VALIDATION_TTL, now);
        passed.get(class).is_some_and(counts)
    }

    /// Remembers that the class passes now.
    pub(super) fn insert(&self, class: Text, content: Uuid) {
        let entry = (content, Timestamp::now());
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(class, entry);
    }
}

/// When old launch templates of each class were last looked for.
#[derive(Debug, Default)]
pub(super) struct CleanUpTimes(Mutex<BTreeMap<Text, Timestamp>>);

impl CleanUpTimes {
    /// Whether a clean-up is due. Asking counts as having done it.
    pub(super) fn is_due(&self, class: &Text) -> bool {
        let mut done = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Timestamp::now();
        let is_due = done.get(class).is_none_or(|at| !is_fresh(*at, CLEAN_UP_INTERVAL, now));
        if is_due {
            done.insert(class.clone(), now);
        }
        is_due
    }
}
