//! What the catalogue depends on beside node classes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::Text;
use domain::instance_type::{CapacityType, Pricing};
use domain::label;
use domain::money::UsdPerHour;
use domain::node::Node;

use crate::price;

/// Spot prices by instance type, then by the zone's name.
pub type SpotPrices = BTreeMap<Text, BTreeMap<Text, UsdPerHour>>;

/// Share of memory that the hypervisor keeps, in millionths: 7.5 %, as Karpenter's
/// `--vm-memory-overhead-percent` defaults to.
pub const VM_MEMORY_OVERHEAD_PPM: u32 = 75_000;

/// Settings and observations that instance types depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CatalogOptions {
    /// The region. One that the catalogue does not know sells everything in three zones.
    pub region: Text,
    /// Share of an instance's memory that its nodes never see, in millionths, where their
    /// EC2NodeClass says nothing else.
    pub vm_memory_overhead_ppm: u32,
    /// Interfaces of each instance that pods get no addresses from (`--reserved-enis`), where their
    /// EC2NodeClass says nothing else.
    pub reserved_enis: u32,
    /// The smallest memory seen on nodes of a node class, in bytes, by node class and instance
    /// type: what is observed replaces the estimate.
    pub discovered_memory: BTreeMap<(Text, Text), i64>,
    /// Instances that capacity reservations still have, by reservation id.
    pub reservations_remaining: BTreeMap<Text, u32>,
    /// Offerings that EC2 had no capacity for a short while ago.
    pub unavailable: BTreeSet<OfferingKey>,
    /// Types that run in zones in which the catalogue may not list them, by type and zone: what
    /// runs is sold there, whatever the catalogue says. Their offerings are known, and not
    /// available.
    pub running: BTreeSet<(Text, Text)>,
    /// Where prices come from.
    pub pricing: Pricing,
    /// Spot prices as EC2 states them: a type that has none in a zone cannot be had there on spot.
    /// `None` before they were ever asked for: estimates stand in.
    pub spot_prices: Option<Arc<SpotPrices>>,
}

impl CatalogOptions {
    /// Karpenter's defaults for a region, with the embedded catalogue's prices.
    pub fn of(region: &str) -> Self {
        Self {
            region: region.into(),
            vm_memory_overhead_ppm: VM_MEMORY_OVERHEAD_PPM,
            reserved_enis: 0,
            discovered_memory: BTreeMap::new(),
            reservations_remaining: BTreeMap::new(),
            unavailable: BTreeSet::new(),
            running: BTreeSet::new(),
            pricing: price::pricing(region),
            spot_prices: None,
        }
    }

    /// The same where nodes run: what they are is sold in their zones.
    #[must_use]
    pub fn with_running<'n>(mut self, nodes: impl IntoIterator<Item = &'n Node>) -> Self {
        let pairs = nodes.into_iter().filter_map(|node| {
            let own = |key: &str| node.labels.get(key).cloned();
            Some((own(label::INSTANCE_TYPE)?, own(label::ZONE)?))
        });
        self.running.extend(pairs);
        self
    }
}

impl Default for CatalogOptions {
    fn default() -> Self {
        Self::of("us-east-1")
    }
}

/// What names one offering among all.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OfferingKey {
    /// The instance type's name.
    pub instance_type: Text,
    /// The zone's name.
    pub zone: Text,
    /// How it is bought.
    pub capacity_type: CapacityType,
}
