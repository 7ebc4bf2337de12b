//! Commitment (`outrigger.dev/v1alpha1`).

use std::collections::BTreeMap;

use domain::Text;
use domain::commitment::{
    COMPUTE_SAVINGS_PLAN, Commitment, EC2_INSTANCE_SAVINGS_PLAN, RESERVED_INSTANCES,
    ReservedInstances, SavingsPlan, Terms,
};
use domain::money::UsdPerHour;

use super::metadata::read_metadata;
use super::price::{PriceError, parse_discount, parse_usd};
use crate::field::Field;

/// Fields of every type.
const FIELDS: [&str; 4] = ["type", "share", "start", "end"];
/// Fields of Savings Plans.
const PLAN_FIELDS: [&str; 4] =
    ["hourlyCommitmentUsd", "instanceFamily", "discountPercent", "rates"];
/// Fields of Reserved Instances.
const RESERVED_FIELDS: [&str; 5] = ["instanceType", "count", "scope", "zone", "hourlyUsd"];

/// `scope` of Reserved Instances, in AWS's words.
pub(super) const SCOPES: [(Scope, &str); 2] =
    [(Scope::Region, "Region"), (Scope::AvailabilityZone, "AvailabilityZone")];

/// `type` of a Commitment.
pub(super) const TYPES: [(CommitmentType, &str); 3] = [
    (CommitmentType::Ec2InstanceSavingsPlan, EC2_INSTANCE_SAVINGS_PLAN),
    (CommitmentType::ComputeSavingsPlan, COMPUTE_SAVINGS_PLAN),
    (CommitmentType::ReservedInstances, RESERVED_INSTANCES),
];

/// What was bought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommitmentType {
    /// Dollars an hour for one family.
    Ec2InstanceSavingsPlan,
    /// Dollars an hour for all.
    ComputeSavingsPlan,
    /// Instances.
    ReservedInstances,
}

/// Where Reserved Instances hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// In the region.
    Region,
    /// In one zone.
    AvailabilityZone,
}

/// Which rule a Commitment breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum CommitmentRule {
    /// A field of another type.
    #[error("a Commitment of type {0} has no such field")]
    OfAnotherType(&'static str),
    /// No way to tell what the plan covers at which price.
    #[error("a Savings Plan needs discountPercent, rates, or both")]
    NoRates,
    /// Nothing is committed.
    #[error("has to be above zero")]
    Zero,
    /// A rate for a type that the plan does not hold for.
    #[error("the plan holds for family {0} only")]
    OfAnotherFamily(Text),
    /// A family with a size, or a type without one.
    #[error("{found:?} is not {expected}")]
    Name {
        /// What stands there.
        found: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// A zonal reservation without its zone, or a regional one with one.
    #[error("zone goes with scope AvailabilityZone, and scope AvailabilityZone needs one")]
    Zone,
    /// A share out of range.
    #[error("share {0} is out of range: it takes 1 to 100, in percent")]
    Share(i64),
    /// It ends before it begins.
    #[error("the end is not after the start")]
    Period,
}

/// Reads a Commitment.
pub(crate) fn read_commitment(root: Field<'_>) -> Option<Commitment> {
    let metadata = read_metadata(root);
    let spec = root.get("spec").required();
    spec.only(&[FIELDS.as_slice(), &PLAN_FIELDS, &RESERVED_FIELDS].concat());
    let kind = spec.get("type").required().choice(&TYPES);
    let share = read_share(spec.get("share"));
    let (start, end) = (spec.get("start").timestamp(), spec.get("end").timestamp());
    if start.zip(end).is_some_and(|(start, end)| end <= start) {
        spec.get("end").note_rule(CommitmentRule::Period);
    }
    let terms = match kind? {
        CommitmentType::ReservedInstances => {
            without(spec, &PLAN_FIELDS, RESERVED_INSTANCES);
            Terms::ReservedInstances(read_reserved(spec)?)
        }
        CommitmentType::Ec2InstanceSavingsPlan => {
            without(spec, &RESERVED_FIELDS, EC2_INSTANCE_SAVINGS_PLAN);
            let family = read_family(spec.get("instanceFamily").required());
            Terms::SavingsPlan(read_plan(spec, Some(family?))?)
        }
        CommitmentType::ComputeSavingsPlan => {
            without(spec, &RESERVED_FIELDS, COMPUTE_SAVINGS_PLAN);
            without(spec, &["instanceFamily"], COMPUTE_SAVINGS_PLAN);
            Terms::SavingsPlan(read_plan(spec, None)?)
        }
    };
    Some(Commitment { name: metadata.name, terms, share: share?, start, end })
}

/// Notes fields that belong to another type.
fn without(spec: Field<'_>, others: &[&'static str], kind: &'static str) {
    for other in others {
        let field = spec.get(other);
        if field.exists() {
            field.note_rule(CommitmentRule::OfAnotherType(kind));
        }
    }
}

fn read_share(field: Field<'_>) -> Option<u8> {
    if !field.exists() {
        return Some(100);
    }
    let share = field.integer()?;
    let fitting = u8::try_from(share).ok().filter(|share| (1..=100).contains(share));
    if fitting.is_none() {
        field.note_rule(CommitmentRule::Share(share));
    }
    fitting
}

fn read_plan(spec: Field<'_>, family: Option<Text>) -> Option<SavingsPlan> {
    let hourly = read_usd(spec.get("hourlyCommitmentUsd").required());
    let discount = spec.get("discountPercent");
    let rates = spec.get("rates");
    if !discount.exists() && rates.entries().next().is_none() {
        spec.note_rule(CommitmentRule::NoRates);
    }
    let of_type = |(name, field): (&str, Field<'_>)| -> Option<(Text, UsdPerHour)> {
        let instance_type = checked_type(field, name)?;
        if let Some(family) = &family
            && family_of(name) != &**family
        {
            field.note_rule(CommitmentRule::OfAnotherFamily(family.clone()));
        }
        Some((instance_type, read_usd(field)?))
    };
    let rates: BTreeMap<Text, UsdPerHour> = rates.entries().filter_map(of_type).collect();
    let discount = read_figure(discount, parse_discount);
    Some(SavingsPlan { family, hourly: hourly?, discount, rates })
}

fn read_reserved(spec: Field<'_>) -> Option<ReservedInstances> {
    let named = spec.get("instanceType").required();
    let instance_type = named.str().and_then(|name| checked_type(named, name));
    let count = spec.get("count").required();
    let number = count.count();
    if number == Some(0) {
        count.note_rule(CommitmentRule::Zero);
    }
    let scope = spec.get("scope").required().choice(&SCOPES);
    let zone = spec.get("zone");
    if scope.is_some_and(|scope| (scope == Scope::AvailabilityZone) != zone.exists()) {
        zone.note_rule(CommitmentRule::Zone);
    }
    let hourly = spec.get("hourlyUsd");
    Some(ReservedInstances {
        instance_type: instance_type?,
        count: number?,
        zone: zone.text(),
        hourly: read_figure(hourly, parse_usd),
    })
}

/// Dollars an hour, more than none.
fn read_usd(field: Field<'_>) -> Option<UsdPerHour> {
    let usd = read_figure(field, parse_usd)?;
    if usd <= UsdPerHour::ZERO {
        field.note_rule(CommitmentRule::Zero);
    }
    Some(usd)
}

/// A decimal figure, as text or as a number.
fn read_figure<T>(
    field: Field<'_>,
    parse: impl FnOnce(&str) -> Result<T, PriceError>,
) -> Option<T> {
    let figure = field.decimal()?;
    match parse(&figure) {
        Ok(value) => Some(value),
        Err(error) => {
            field.note_rule(error);
            None
        }
    }
}

fn read_family(field: Field<'_>) -> Option<Text> {
    let name = field.str()?;
    if !is_word(name) {
        let expected = "an instance family, such as m7g";
        field.note_rule(CommitmentRule::Name { found: name.to_owned(), expected });
        return None;
    }
    field.text()
}

fn checked_type(field: Field<'_>, name: &str) -> Option<Text> {
    if !name.split_once('.').is_some_and(|(family, size)| is_word(family) && is_word(size)) {
        let expected = "an instance type, such as m7g.large";
        field.note_rule(CommitmentRule::Name { found: name.to_owned(), expected });
        return None;
    }
    Some(field.reader().interner().text(name))
}

fn family_of(instance_type: &str) -> &str {
    instance_type.split_once('.').map_or(instance_type, |(family, _)| family)
}

/// Letters, digits and hyphens: what families and sizes are named by.
fn is_word(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.bytes().all(is_letter)
}
