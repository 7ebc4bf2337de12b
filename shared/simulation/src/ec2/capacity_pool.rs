//! Capacity pools.

use domain::Text;
use domain::instance_type::CapacityType;

/// A capacity pool of EC2: an instance type in a zone, bought in one way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CapacityPool {
    /// The instance type.
    pub instance_type: Text,
    /// The zone's name.
    pub zone: Text,
    /// How it is bought.
    pub capacity_type: CapacityType,
}

impl std::fmt::Display for CapacityPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.instance_type, self.capacity_type, self.zone)
    }
}
