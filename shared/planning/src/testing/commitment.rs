//! Makers of Commitments.

use domain::commitment::{Commitment, ReservedInstances, SavingsPlan, Terms};

use super::values::usd;

/// An EC2 Instance Savings Plan for family `m` of so many dollars an hour, at half the price.
pub(crate) fn savings_plan(hourly: f64) -> Commitment {
    let (family, hourly, discount) = (Some("m".into()), usd(hourly), Some(5_000));
    let terms = SavingsPlan { family, hourly, discount, rates: [].into() };
    committed("plan", Terms::SavingsPlan(terms))
}

/// Reserved Instances of a type: in a zone, or in the region.
pub(crate) fn reserved_instances(
    instance_type: &str,
    count: u32,
    zone: Option<&str>,
) -> Commitment {
    let (instance_type, zone) = (instance_type.into(), zone.map(Into::into));
    let terms = ReservedInstances { instance_type, count, zone, hourly: None };
    committed("reserved", Terms::ReservedInstances(terms))
}

fn committed(name: &str, terms: Terms) -> Commitment {
    Commitment { name: name.into(), terms, share: 100, start: None, end: None }
}
