//! The minimum age of images: `outrigger.dev/ami-min-age` of an EC2NodeClass.

use std::fmt;
use std::str::FromStr;

use crate::{SignedDuration, Text, Timestamp};

/// What annotations of an EC2NodeClass say of the age of its images.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageAge {
    /// Images that were created less than this ago are neither launched nor drifted to.
    pub min: Option<SignedDuration>,
    /// Images that the class selects and that were too young when it was last resolved, by id. A
    /// node that runs one of them keeps it. Empty where there is no minimum.
    pub held_back: Vec<HeldBackImage>,
}

impl ImageAge {
    /// Whether an image is held back.
    pub fn holds_back(&self, image: &str) -> bool {
        self.held_back.iter().any(|own| *own.id == *image)
    }

    /// When the first image that is held back is old enough.
    pub fn next(&self) -> Option<Timestamp> {
        self.held_back.iter().map(|own| own.until).min()
    }
}

/// An image that is too young.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HeldBackImage {
    /// `ami-…`.
    pub id: Text,
    /// When it is old enough.
    pub until: Timestamp,
}

impl fmt::Display for HeldBackImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.id, self.until)
    }
}

/// An entry of annotation `outrigger.dev/amis-held-back` that says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no image with a time, such as ami-1=2026-11-30T00:00:00Z")]
pub struct NoHeldBackImage(String);

impl FromStr for HeldBackImage {
    type Err = NoHeldBackImage;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let own = text
            .split_once('=')
            .and_then(|(id, until)| Some(Self { id: id.into(), until: until.parse().ok()? }));
        own.ok_or_else(|| NoHeldBackImage(text.to_owned()))
    }
}

/// The entries of annotation `outrigger.dev/amis-held-back`.
pub fn held_back_entries(
    annotation: &str,
) -> impl Iterator<Item = Result<HeldBackImage, NoHeldBackImage>> {
    annotation.split(',').map(str::trim).filter(|own| !own.is_empty()).map(str::parse)
}

/// Annotation `outrigger.dev/amis-held-back` of images.
pub fn held_back_annotation(images: &[HeldBackImage]) -> String {
    images.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Until when an image is too young; `None` for one that is old enough.
pub fn too_young_until(
    created: Timestamp,
    min: SignedDuration,
    now: Timestamp,
) -> Option<Timestamp> {
    let until = created.checked_add(min).unwrap_or(Timestamp::MAX);
    (until > now).then_some(until)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_too_young_until_the_minute_it_has_the_age() {
        let at = |hours: i64| Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours);
        let week = SignedDuration::from_hours(168);
        assert_eq!(too_young_until(at(0), week, at(167)), Some(at(168)));
        assert_eq!(too_young_until(at(0), week, at(168)), None);
        assert_eq!(too_young_until(at(0), SignedDuration::MAX, at(1)), Some(Timestamp::MAX));
    }

    #[test]
    fn images_that_are_held_back_are_written_and_read() {
        let until = Timestamp::UNIX_EPOCH;
        let images = ["ami-1", "ami-2"].map(|id| HeldBackImage { id: id.into(), until });
        let text = held_back_annotation(&images);
        assert_eq!(held_back_entries(&text).collect::<Result<Vec<_>, _>>(), Ok(images.to_vec()));
        assert_eq!(held_back_entries("").count(), 0);
        assert!(held_back_entries("ami-1").all(|own| own.is_err()));
    }
}
