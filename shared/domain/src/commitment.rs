//! Commitment (`outrigger.dev/v1alpha1`): Savings Plans and Reserved Instances, which are paid for
//! whether they are used or not, and how AWS applies them to on-demand instances.
//!
//! Sources: AWS, "Understanding how Savings Plans apply to your usage" (Savings Plans User Guide)
//! and "How Reserved Instance discounts are applied" (EC2 User Guide).

mod bill;
mod size;
mod usage;

use std::collections::BTreeMap;

pub use bill::{Bill, CommitmentUse, Commitments};
pub use usage::{Instance, Usage};

use crate::money::UsdPerHour;
use crate::{Text, Timestamp};

/// A hundredth of a percent: in this many parts discounts are counted.
pub const DISCOUNT_PARTS: i64 = 10_000;

/// Shares are counted in percent.
const SHARE_PARTS: i64 = 100;

/// A Commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commitment {
    /// The name.
    pub name: Text,
    /// What was committed to.
    pub terms: Terms,
    /// The percentage, from 1 to 100, that this cluster counts on: an account's commitments serve
    /// everything in it.
    pub share: u8,
    /// When it begins; `None` if it has begun.
    pub start: Option<Timestamp>,
    /// When it ends; `None` if that is not known.
    pub end: Option<Timestamp>,
}

/// What was committed to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Terms {
    /// Dollars an hour.
    SavingsPlan(SavingsPlan),
    /// Instances.
    ReservedInstances(ReservedInstances),
}

/// A Savings Plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavingsPlan {
    /// The instance family of an EC2 Instance Savings Plan, such as `m7g`; `None` for a Compute
    /// Savings Plan, which holds for all.
    pub family: Option<Text>,
    /// What is spent an hour at the plan's rates, whether used or not.
    pub hourly: UsdPerHour,
    /// By how much rates are below on-demand prices, in hundredths of a percent; between 1 and
    /// 9,999. `None` where only `rates` says what is covered.
    pub discount: Option<u32>,
    /// Rates of instance types, which hold in place of the discount. Each is above zero.
    pub rates: BTreeMap<Text, UsdPerHour>,
}

/// Reserved Instances of one type, for Linux with default tenancy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservedInstances {
    /// The instance type.
    pub instance_type: Text,
    /// How many.
    pub count: u32,
    /// The zone of a zonal reservation; `None` for a regional one.
    pub zone: Option<Text>,
    /// What one costs an hour, whether used or not; `None` where that is not said.
    pub hourly: Option<UsdPerHour>,
}

impl Commitment {
    /// Whether it holds at a moment.
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.start.is_none_or(|start| start <= now) && self.end.is_none_or(|end| now < end)
    }

    /// The word of the API for its type.
    pub fn kind(&self) -> &'static str {
        match &self.terms {
            Terms::SavingsPlan(SavingsPlan { family: Some(_), .. }) => EC2_INSTANCE_SAVINGS_PLAN,
            Terms::SavingsPlan(SavingsPlan { family: None, .. }) => COMPUTE_SAVINGS_PLAN,
            Terms::ReservedInstances(_) => RESERVED_INSTANCES,
        }
    }

    /// What this cluster's share of it costs an hour, whether used or not; `None` where that is not
    /// said.
    pub fn hourly(&self) -> Option<UsdPerHour> {
        let whole = match &self.terms {
            Terms::SavingsPlan(plan) => plan.hourly,
            Terms::ReservedInstances(own) => own.hourly? * i64::from(own.count),
        };
        Some(UsdPerHour::from_nanos(self.shared(whole.nanos())))
    }

    /// What this cluster may draw of it an hour: billionths of a dollar at the plan's rates, or
    /// parts of instances.
    pub fn budget(&self) -> i64 {
        match &self.terms {
            Terms::SavingsPlan(plan) => self.shared(plan.hourly.nanos()),
            Terms::ReservedInstances(own) => {
                self.shared(i64::from(own.count).saturating_mul(own.parts()))
            }
        }
    }

    /// What an hour of one on-demand instance draws of the budget where that covers all of its
    /// price; always above zero. `None` where the commitment does not hold for such an instance.
    pub fn drawn_by(&self, instance: &Instance, price: UsdPerHour) -> Option<i64> {
        let drawn = match &self.terms {
            Terms::SavingsPlan(plan) => plan.rate(&instance.instance_type, price)?.nanos(),
            Terms::ReservedInstances(own) => own.parts_of(instance)?,
        };
        (drawn > 0 && price > UsdPerHour::ZERO).then_some(drawn)
    }

    /// How many parts of the budget are one instance of the reserved type; `None` for a Savings
    /// Plan, whose budget is in dollars.
    fn parts_of_instance(&self) -> Option<i64> {
        match &self.terms {
            Terms::SavingsPlan(_) => None,
            Terms::ReservedInstances(own) => Some(own.parts()),
        }
    }

    fn shared(&self, whole: i64) -> i64 {
        let own = i128::from(whole) * i128::from(self.share) / i128::from(SHARE_PARTS);
        i64::try_from(own).unwrap_or(i64::MAX)
    }
}

/// `spec.type` of a Savings Plan for one family.
pub const EC2_INSTANCE_SAVINGS_PLAN: &str = "EC2InstanceSavingsPlan";
/// `spec.type` of a Savings Plan for all families.
pub const COMPUTE_SAVINGS_PLAN: &str = "ComputeSavingsPlan";
/// `spec.type` of Reserved Instances.
pub const RESERVED_INSTANCES: &str = "ReservedInstances";

impl SavingsPlan {
    /// What an hour of an instance type costs by the plan; `None` where the plan does not hold.
    fn rate(&self, instance_type: &str, price: UsdPerHour) -> Option<UsdPerHour> {
        if self.family.as_deref().is_some_and(|family| family != size::family(instance_type)) {
            return None;
        }
        if let Some(rate) = self.rates.get(instance_type) {
            return Some(*rate);
        }
        let parts = DISCOUNT_PARTS - i64::from(self.discount?);
        let nanos = i128::from(price.nanos()) * i128::from(parts) / i128::from(DISCOUNT_PARTS);
        // However low a price is, it is not covered for nothing.
        Some(UsdPerHour::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX).max(1)))
    }
}

/// So many parts of a reservation that holds for one size are one instance.
const PARTS_OF_INSTANCE: i64 = 1_000;

impl ReservedInstances {
    /// Whether it holds for all sizes of its family.
    fn is_size_flexible(&self) -> bool {
        self.zone.is_none() && size::is_flexible(&self.instance_type)
    }

    /// How many parts one reserved instance is.
    fn parts(&self) -> i64 {
        match size::units(&self.instance_type) {
            Some(units) if self.is_size_flexible() => units * PARTS_OF_INSTANCE,
            _ => PARTS_OF_INSTANCE,
        }
    }

    /// How many parts an instance draws; `None` where the reservation does not hold for it.
    fn parts_of(&self, instance: &Instance) -> Option<i64> {
        let is_same = instance.instance_type == self.instance_type;
        if self.is_size_flexible() {
            let own = size::family(&self.instance_type);
            let is_of_family = size::family(&instance.instance_type) == own;
            let units = size::units(&instance.instance_type).filter(|_| is_of_family)?;
            return Some(units * PARTS_OF_INSTANCE);
        }
        let is_there = self.zone.as_ref().is_none_or(|zone| *zone == instance.zone);
        (is_same && is_there).then_some(PARTS_OF_INSTANCE)
    }
}
