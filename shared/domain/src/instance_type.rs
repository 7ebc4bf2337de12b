//! Instance types and their offerings, as the scheduler sees them.

mod list;

use std::collections::BTreeMap;
use std::fmt;

use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::Text;
use crate::fargate::FargateRates;
use crate::label;
use crate::money::UsdPerHour;
use crate::resource::Resources;
pub use list::{InstanceTypeList, LabelColumn, Summary};

/// How capacity is bought.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[strum(serialize_all = "kebab-case")]
pub enum CapacityType {
    /// Paid for already.
    Reserved,
    /// Spare capacity that EC2 may take back.
    Spot,
    /// At list price.
    OnDemand,
}

impl CapacityType {
    /// All of them, in the order in which a launch tries them.
    pub const ALL: [Self; 3] = [Self::Reserved, Self::Spot, Self::OnDemand];

    /// The word of the API.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Reads the word of the API.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl fmt::Display for CapacityType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where and how an instance type can be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offering {
    /// The zone's name.
    pub zone: Text,
    /// How it is bought.
    pub capacity_type: CapacityType,
    /// The price; for a reservation, a token one that keeps the order among reservations.
    pub price: UsdPerHour,
    /// Whether it can be launched now. Offerings that cannot stay listed: drift needs them.
    pub available: bool,
    /// The capacity reservation, for `reserved`: boxed, since catalogues hold tens of thousands of
    /// offerings, hardly one of which has any.
    pub reservation: Option<Box<Reservation>>,
}

impl Offering {
    /// Whether a launch may use it: available, and not a reservation that is used up.
    pub fn is_usable(&self) -> bool {
        self.available
            && self.reservation.as_ref().is_none_or(|reservation| reservation.remaining != Some(0))
    }
}

/// A capacity reservation behind an offering.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reservation {
    /// `cr-…`.
    pub id: Text,
    /// `default` or `capacity-block`.
    pub reservation_type: Text,
    /// It may be taken back.
    pub is_interruptible: bool,
    /// Instances it still has; `None` when that is not known.
    pub remaining: Option<u32>,
}

impl Reservation {
    /// A reservation of which the id alone is known: the usual kind.
    pub fn of_id(id: impl Into<Text>) -> Self {
        Self {
            id: id.into(),
            reservation_type: "default".into(),
            is_interruptible: false,
            remaining: None,
        }
    }

    /// What nodes in it have of one of [`label::OF_RESERVATION`]; `None` of other labels.
    pub fn label(&self, key: &str) -> Option<&str> {
        match key {
            label::RESERVATION_ID => Some(&self.id),
            label::RESERVATION_TYPE => Some(&self.reservation_type),
            label::RESERVATION_INTERRUPTIBLE if self.is_interruptible => Some("true"),
            label::RESERVATION_INTERRUPTIBLE => Some("false"),
            _ => None,
        }
    }
}

/// An instance type as a node class offers it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceType {
    /// The name, such as `m7i.large`.
    pub name: Text,
    /// Labels of its nodes; several values mean that a launch decides (operating systems). The
    /// instance type, architecture and operating system are among them; zone and capacity type are
    /// not.
    pub labels: BTreeMap<Text, Vec<Text>>,
    /// What the instance has.
    pub capacity: Resources,
    /// What pods may use of it.
    pub allocatable: Resources,
    /// Where it can be had, by zone, capacity type and reservation.
    pub offerings: Vec<Offering>,
}

/// How much prices can be relied on.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, EnumString, IntoStaticStr,
)]
#[strum(serialize_all = "lowercase")]
pub enum PriceSource {
    /// The region's list prices, as they are part of the program.
    Listed,
    /// Derived from other prices: those of another region, or, for spot, on-demand prices.
    Estimated,
    /// Given with the catalogue: by AWS, or by whoever wrote it and answers for it.
    #[default]
    Imported,
}

/// What is known of all prices together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pricing {
    /// How much on-demand prices can be relied on.
    pub source: PriceSource,
    /// How much spot prices can: [`PriceSource::Imported`], or [`PriceSource::Estimated`] where
    /// they are a share of on-demand prices.
    pub spot: PriceSource,
    /// The day or month that they are of, as ISO 8601 writes it; `None` where that is not known.
    pub as_of: Option<Text>,
}

/// The instance types on offer: for one region, as one node class or another sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceTypes {
    /// The region, which every node is labelled with.
    pub region: Option<Text>,
    /// Where prices come from.
    pub pricing: Pricing,
    /// What Fargate charges in the region; `None` where that is not known.
    pub fargate: Option<FargateRates>,
    /// Zone ids by zone name, where they are known.
    pub zone_ids: BTreeMap<Text, Text>,
    /// What node classes see that are not listed apart, by type name.
    pub default: InstanceTypeList,
    /// What a node class sees, by type name.
    pub by_node_class: BTreeMap<Text, InstanceTypeList>,
}

impl InstanceTypes {
    /// What a node class sees.
    pub fn of(&self, node_class: &str) -> &InstanceTypeList {
        self.by_node_class.get(node_class).unwrap_or(&self.default)
    }
}
