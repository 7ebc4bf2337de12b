//! How much of a workload may be on one spot offering.

use crate::Text;
use crate::label::{Labels, SPOT_OFFERING_SHARE};

/// At most this share of a workload's replicas on one spot offering: annotation
/// `outrigger.dev/spot-offering-share` of a NodePool or a pod, such as `30%`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpotOfferingShare {
    /// 1 to 100.
    pub percent: u32,
}

/// Why an annotation says no share.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is no share of a workload's replicas, such as 30%: it takes whole percent from 1 to 100"
)]
pub struct SpotOfferingShareError(pub Text);

impl SpotOfferingShare {
    /// From an annotation's text.
    pub fn parse(text: &str) -> Result<Self, SpotOfferingShareError> {
        let wrong = || SpotOfferingShareError(text.into());
        let digits = text.strip_suffix('%').ok_or_else(wrong)?;
        let is_plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let percent = digits.parse().ok().filter(|own| is_plain && (1..=100).contains(own));
        Ok(Self { percent: percent.ok_or_else(wrong)? })
    }

    /// What annotations say; what is no share says nothing.
    pub fn of(annotations: &Labels) -> Option<Self> {
        Self::parse(annotations.get(SPOT_OFFERING_SHARE)?).ok()
    }

    /// The most replicas on one offering, of so many: rounded down, and one at the least.
    pub fn most_of(self, replicas: u32) -> u32 {
        let most = u64::from(replicas) * u64::from(self.percent) / 100;
        u32::try_from(most).unwrap_or(u32::MAX).max(1)
    }
}
