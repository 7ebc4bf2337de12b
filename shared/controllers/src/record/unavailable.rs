//! Offerings that could not be launched a moment ago.

use domain::instance_type::CapacityType;
use domain::{SignedDuration, Text, Timestamp};

/// How long an offering that had none left is not tried again.
///
/// Source: Karpenter's cache of insufficient capacity (reference E2.1).
pub const UNAVAILABLE_TTL: SignedDuration = SignedDuration::from_mins(3);

/// An offering that is not tried for a while.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnavailableOffering {
    /// The instance type.
    pub instance_type: Text,
    /// The zone's name.
    pub zone: Text,
    /// How it is bought.
    pub capacity_type: CapacityType,
    /// EC2's error code, or why else.
    pub code: Text,
    /// When it may be tried again.
    pub until: Timestamp,
}
