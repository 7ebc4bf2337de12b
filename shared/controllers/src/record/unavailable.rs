//! Offerings that lacked capacity recently.

use domain::instance_type::CapacityType;
use domain::{SignedDuration, Text, Timestamp};

/// How long an offering that lacked capacity is not tried again, as in Karpenter's cache of
/// insufficient capacity errors.
pub const UNAVAILABLE_TTL: SignedDuration = SignedDuration::from_mins(3);

/// How long nothing of a capacity type is tried after EC2 has said of the account that it gets
/// none: a role that is missing is made by somebody, and quotas recover late.
pub const ACCOUNT_TTL: SignedDuration = SignedDuration::from_mins(10);

/// EC2's code of a type that is not sold in a zone.
pub const NOT_OFFERED: &str = "InvalidFleetConfiguration";

/// How long an offering is not tried again that EC2 does not sell, whatever its catalogue says. It
/// is fetched anew every hour.
pub const NOT_OFFERED_TTL: SignedDuration = SignedDuration::from_hours(1);

/// Stands for every instance type and every zone.
pub const ANY: &str = "*";

/// An offering that is not tried for now.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnavailableOffering {
    /// The instance type, or [`ANY`].
    pub instance_type: Text,
    /// The zone's name, or [`ANY`].
    pub zone: Text,
    /// Its capacity type.
    pub capacity_type: CapacityType,
    /// EC2's error code, or `SpotInterruption` and the like.
    pub code: Text,
    /// When it may be tried again.
    pub until: Timestamp,
}
