//! Times, durations and keys as documents hold them.

use domain::pod::PodKey;
use domain::{SignedDuration, Text, Timestamp};
use serde::{Deserialize, Serialize};

/// A pod: its namespace and its name.
pub(super) type Pod = (Text, Text);

pub(super) fn pods(keys: &[PodKey]) -> Vec<Pod> {
    keys.iter().map(|key| (key.namespace.clone(), key.name.clone())).collect()
}

pub(super) fn pod_keys(pods: Vec<Pod>) -> Vec<PodKey> {
    pods.into_iter().map(|(namespace, name)| PodKey { namespace, name }).collect()
}

/// A duration: whole seconds, and the rest in nanoseconds.
#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct Duration(i64, i32);

impl From<SignedDuration> for Duration {
    fn from(duration: SignedDuration) -> Self {
        Self(duration.as_secs(), duration.subsec_nanos())
    }
}

impl From<Duration> for SignedDuration {
    fn from(Duration(seconds, nanoseconds): Duration) -> Self {
        Self::new(seconds, nanoseconds)
    }
}

/// A time in RFC 3339, to the nanosecond.
#[derive(Clone, Copy)]
pub(super) struct Moment(pub(super) Timestamp);

impl Serialize for Moment {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Moment {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
        text.parse().map(Self).map_err(serde::de::Error::custom)
    }
}

pub(super) fn moment(time: Option<Timestamp>) -> Option<Moment> {
    time.map(Moment)
}

pub(super) fn timestamp(moment: Option<Moment>) -> Option<Timestamp> {
    moment.map(|Moment(time)| time)
}
