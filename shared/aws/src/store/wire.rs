//! Records as they are stored: JSON documents of their own, so that the domain may change without them.
//!
//! A document is read by the version that wrote it and by every later one. A field that is added gets a
//! default; anything else that changes is a new [`FORMAT`], and an older version says so rather than
//! reading half of it.

mod claim;
mod command;
mod launch;
mod node_claim;
mod records;
mod words;

pub(super) use claim::ClaimDocument;
pub(super) use command::CommandDocument;
pub(super) use records::{NominationDocument, PoolDocument, UnavailableDocument};

use domain::pod::PodKey;
use domain::{SignedDuration, Text, Timestamp};
use serde::{Deserialize, Serialize};

/// The format that this version writes, and the newest that it reads.
pub(super) const FORMAT: u32 = 1;

/// A document that does not say what it should.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DocumentError {
    /// A later version of this program wrote it.
    #[error(
        "it has format {0}, and this version reads formats up to {FORMAT}: a later version wrote it"
    )]
    Newer(u32),
    /// It has no format, no body, or the like.
    #[error("attribute {0} is missing or of another type")]
    Attribute(&'static str),
    /// Its body cannot be unpacked or read.
    #[error("its body cannot be read: {0}")]
    Body(String),
    /// A number refers to an entry that its table does not have.
    #[error("{0} refers to an entry that is not there")]
    Reference(&'static str),
}

/// A pod: its namespace and its name.
type Pod = (Text, Text);

fn pods(keys: &[PodKey]) -> Vec<Pod> {
    keys.iter().map(|key| (key.namespace.clone(), key.name.clone())).collect()
}

fn pod_keys(pods: Vec<Pod>) -> Vec<PodKey> {
    pods.into_iter().map(|(namespace, name)| PodKey { namespace, name }).collect()
}

/// A length of time: whole seconds and what is left of them in nanoseconds.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Duration(i64, i32);

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

/// A moment, as RFC 3339 writes it, to the nanosecond.
#[derive(Clone, Copy)]
struct Moment(Timestamp);

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

fn moments(time: Option<Timestamp>) -> Option<Moment> {
    time.map(Moment)
}

fn times(moment: Option<Moment>) -> Option<Timestamp> {
    moment.map(|Moment(time)| time)
}
