//! How AWS applies commitments to on-demand instances of one hour.

use std::cmp::Ordering;

use super::usage::{Instance, Usage};
use super::{Commitment, Terms};
use crate::money::UsdPerHour;
use crate::{Text, Timestamp};

/// Commitments that hold, in the order in which AWS applies them: zonal Reserved Instances,
/// regional ones, Savings Plans for one family, those for all; by name among equals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commitments(Vec<Commitment>);

/// What on-demand instances cost, and how much of that commitments cover.
///
/// What commitments cost themselves is no part of it: they are paid for in any case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bill {
    /// What the instances cost at on-demand prices.
    pub on_demand: UsdPerHour,
    /// How much of that is covered.
    pub covered: UsdPerHour,
    /// What is used of each commitment, in the order in which they are applied.
    pub commitments: Vec<CommitmentUse>,
}

/// What is used of a commitment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitmentUse {
    /// Its name.
    pub name: Text,
    /// The word of the API for its type.
    pub kind: &'static str,
    /// The instance family, or the reserved instance type; `None` where it holds for all.
    pub holds_for: Option<Text>,
    /// What this cluster's share of it costs an hour; `None` where that is not said.
    pub hourly: Option<UsdPerHour>,
    /// What there is of it to draw on: billionths of a dollar at the plan's rates, or parts of
    /// instances.
    pub budget: i64,
    /// What is drawn of that.
    pub drawn: i64,
    /// How many parts are one instance of the reserved type; `None` for a Savings Plan, which is
    /// drawn on in dollars.
    pub parts_of_instance: Option<i64>,
    /// How much of the instances' on-demand prices it covers.
    pub covered: UsdPerHour,
}

impl Bill {
    /// What the instances cost beyond what is committed.
    pub fn remaining(&self) -> UsdPerHour {
        self.on_demand - self.covered
    }
}

impl CommitmentUse {
    /// What is left to draw on.
    pub fn left(&self) -> i64 {
        self.budget - self.drawn
    }

    /// How much of it is used, in tenths of a percent, rounded down.
    pub fn per_mille(&self) -> u32 {
        if self.budget <= 0 {
            return 0;
        }
        let per_mille = i128::from(self.drawn) * 1_000 / i128::from(self.budget);
        u32::try_from(per_mille).unwrap_or(0)
    }
}

/// A kind of instance while commitments are applied to it.
struct Left<'u> {
    instance: &'u Instance,
    price: UsdPerHour,
    /// Billionths of a dollar that nothing covers yet.
    nanos: i64,
}

/// Instances that a commitment holds for.
struct Eligible {
    index: usize,
    /// What an hour of one draws.
    drawn: i64,
}

impl Commitments {
    /// Those that hold at a moment; `None` where none does.
    pub fn of(all: &[Commitment], now: Timestamp) -> Option<Self> {
        let mut active: Vec<Commitment> =
            all.iter().filter(|own| own.is_active(now)).cloned().collect();
        active.sort_by(|a, b| (stage(a), &a.name).cmp(&(stage(b), &b.name)));
        (!active.is_empty()).then_some(Self(active))
    }

    /// All of them, in the order in which they are applied.
    pub fn iter(&self) -> impl Iterator<Item = &Commitment> {
        self.0.iter()
    }

    /// Whether any of them holds for such an instance at that on-demand price.
    pub fn hold_for(&self, instance: &Instance, price: UsdPerHour) -> bool {
        self.0.iter().any(|own| own.drawn_by(instance, price).is_some())
    }

    /// What instances come to beyond what is committed.
    ///
    /// More instances never cost less, and no kind of instance is covered better for others that
    /// run beside it: each commitment takes kinds in an order that does not depend on what there is
    /// of them.
    pub fn remaining(&self, usage: &Usage) -> UsdPerHour {
        self.apply(usage).remaining()
    }

    /// Applies them to instances that run side by side for an hour.
    ///
    /// Reserved Instances cover the smallest sizes first, a Savings Plan what it discounts most,
    /// then what has the lower rate. What one leaves of an instance the next may cover.
    pub fn apply(&self, usage: &Usage) -> Bill {
        let mut left: Vec<Left> = usage
            .running()
            .map(|(instance, own)| Left {
                instance,
                price: own.price,
                nanos: own.price.nanos().saturating_mul(own.count),
            })
            .collect();
        let on_demand = left.iter().map(|own| UsdPerHour::from_nanos(own.nanos)).sum();
        let commitments: Vec<CommitmentUse> =
            self.0.iter().map(|own| own.apply_to(&mut left)).collect();
        let covered = commitments.iter().map(|own| own.covered).sum();
        Bill { on_demand, covered, commitments }
    }
}

/// The order in which kinds of commitments are applied.
fn stage(commitment: &Commitment) -> u8 {
    match &commitment.terms {
        Terms::ReservedInstances(own) if own.zone.is_some() => 0,
        Terms::ReservedInstances(_) => 1,
        Terms::SavingsPlan(plan) if plan.family.is_some() => 2,
        Terms::SavingsPlan(_) => 3,
    }
}

impl Commitment {
    /// Covers what it holds for.
    fn apply_to(&self, left: &mut [Left]) -> CommitmentUse {
        let budget = self.budget();
        let (mut drawn, mut covered) = (0_i64, 0_i64);
        for Eligible { index, drawn: each } in self.eligible(left) {
            let Left { price, nanos, .. } = &mut left[index];
            let own = cover(*nanos, price.nanos(), each, budget - drawn);
            *nanos -= own.covered;
            covered = covered.saturating_add(own.covered);
            drawn += own.drawn;
            if drawn >= budget {
                break;
            }
        }
        CommitmentUse {
            name: self.name.clone(),
            kind: self.kind(),
            holds_for: match &self.terms {
                Terms::SavingsPlan(plan) => plan.family.clone(),
                Terms::ReservedInstances(own) => Some(own.instance_type.clone()),
            },
            hourly: self.hourly(),
            budget,
            drawn,
            parts_of_instance: self.parts_of_instance(),
            covered: UsdPerHour::from_nanos(covered),
        }
    }

    /// What it holds for, in the order in which it covers it.
    fn eligible(&self, left: &[Left]) -> Vec<Eligible> {
        let mut eligible: Vec<Eligible> = left
            .iter()
            .enumerate()
            .filter(|(_, own)| own.nanos > 0)
            .filter_map(|(index, own)| {
                let drawn = self.drawn_by(own.instance, own.price)?;
                Some(Eligible { index, drawn })
            })
            .collect();
        let is_plan = matches!(self.terms, Terms::SavingsPlan(_));
        eligible.sort_by(|a, b| {
            let (own, other) = (left[a.index].price.nanos(), left[b.index].price.nanos());
            let by_discount =
                if is_plan { rate_of(a, own).cmp(&rate_of(b, other)) } else { Ordering::Equal };
            by_discount.then_with(|| (a.drawn, a.index).cmp(&(b.drawn, b.index)))
        });
        eligible
    }
}

/// Billionths of a dollar at the plan's rate for a thousand dollars on demand.
fn rate_of(eligible: &Eligible, price: i64) -> i128 {
    i128::from(eligible.drawn) * 1_000_000_000_000 / i128::from(price.max(1))
}

/// What is covered, and drawn for it.
struct Cover {
    covered: i64,
    drawn: i64,
}

/// Covers as much of an amount as the budget allows, where a price draws so much.
fn cover(nanos: i64, price: i64, each: i64, budget: i64) -> Cover {
    let price_of_one = i128::from(price);
    let wanted = (i128::from(nanos) * i128::from(each) + price_of_one - 1) / price_of_one;
    if wanted <= i128::from(budget) {
        return Cover { covered: nanos, drawn: i64::try_from(wanted).unwrap_or(budget) };
    }
    let covered = i128::from(budget.max(0)) * price_of_one / i128::from(each);
    let covered = i64::try_from(covered).unwrap_or(nanos).min(nanos);
    Cover { covered, drawn: budget.max(0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commitment::{ReservedInstances, SavingsPlan};

    fn usd(dollars: f64) -> UsdPerHour {
        UsdPerHour::from_f64(dollars).unwrap()
    }

    fn commitment(name: &str, terms: Terms) -> Commitment {
        Commitment { name: name.into(), terms, share: 100, start: None, end: None }
    }

    /// A Savings Plan of so many dollars an hour, at rates so many percent below on-demand prices.
    fn plan(name: &str, family: Option<&str>, hourly: f64, percent: u32) -> Commitment {
        let family = family.map(Text::from);
        let discount = Some(percent * 100);
        let terms = SavingsPlan { family, hourly: usd(hourly), discount, rates: [].into() };
        commitment(name, Terms::SavingsPlan(terms))
    }

    fn reserved(name: &str, instance_type: &str, count: u32, zone: Option<&str>) -> Commitment {
        let (instance_type, zone) = (instance_type.into(), zone.map(Text::from));
        let terms = ReservedInstances { instance_type, count, zone, hourly: None };
        commitment(name, Terms::ReservedInstances(terms))
    }

    fn usage(instances: &[(&str, &str, f64)]) -> Usage {
        let mut usage = Usage::new();
        for (instance_type, zone, price) in instances {
            let instance =
                Instance { instance_type: (*instance_type).into(), zone: (*zone).into() };
            usage.add(&instance, usd(*price));
        }
        usage
    }

    fn applied(all: &[Commitment], instances: &[(&str, &str, f64)]) -> Bill {
        Commitments::of(all, Timestamp::UNIX_EPOCH).unwrap().apply(&usage(instances))
    }

    #[test]
    fn a_plan_covers_at_its_rates_until_it_is_used_up() {
        // At half the price, $0.15 an hour are $0.30 on demand: three of four.
        let bill = applied(&[plan("own", Some("m7g"), 0.15, 50)], &[("m7g.large", "a", 0.1); 4]);
        assert_eq!((bill.on_demand, bill.covered), (usd(0.4), usd(0.3)));
        assert_eq!(bill.commitments[0].per_mille(), 1_000);
        assert_eq!(bill.remaining(), usd(0.1));
    }

    #[test]
    fn what_is_over_of_an_instance_is_covered_in_part() {
        let bill = applied(&[plan("own", None, 0.02, 50)], &[("m7g.large", "a", 0.1)]);
        assert_eq!(bill.remaining(), usd(0.06));
    }

    #[test]
    fn a_plan_of_a_family_holds_for_no_other() {
        let bill = applied(&[plan("own", Some("m7g"), 1.0, 50)], &[("m7i.large", "a", 0.1)]);
        assert_eq!(bill.covered, UsdPerHour::ZERO);
        assert_eq!(bill.commitments[0].per_mille(), 0);
    }

    #[test]
    fn reserved_instances_come_before_plans_and_narrow_plans_before_wide_ones() {
        let all = [
            plan("compute", None, 1.0, 20),
            plan("family", Some("m7g"), 0.06, 40),
            reserved("reserved", "m7g.large", 1, None),
        ];
        let bill = applied(&all, &[("m7g.large", "a", 0.1); 3]);
        let names: Vec<&str> = bill.commitments.iter().map(|own| &*own.name).collect();
        assert_eq!(names, ["reserved", "family", "compute"]);
        let drawn: Vec<i64> = bill.commitments.iter().map(|own| own.drawn).collect();
        assert_eq!(drawn, [16_000, 60_000_000, 80_000_000]);
        assert_eq!(bill.remaining(), UsdPerHour::ZERO);
    }

    #[test]
    fn a_plan_covers_first_what_it_discounts_most() {
        let mut own = plan("own", None, 0.04, 20);
        let Terms::SavingsPlan(terms) = &mut own.terms else { panic!("{own:?}") };
        terms.rates.insert("c7g.large".into(), usd(0.04));
        let bill = applied(&[own], &[("a1.large", "a", 0.1), ("c7g.large", "a", 0.1)]);
        assert_eq!(bill.covered, usd(0.1), "60 % off the one, 20 % off the other");
    }

    #[test]
    fn regional_reserved_instances_hold_for_all_sizes_of_their_family() {
        let own = reserved("own", "m7g.xlarge", 1, None);
        let two = [("m7g.large", "a", 0.1), ("m7g.large", "b", 0.1)];
        let bill = applied(std::slice::from_ref(&own), &two);
        assert_eq!(bill.remaining(), UsdPerHour::ZERO);
        let bill = applied(&[own], &[("m7g.2xlarge", "a", 0.4)]);
        assert_eq!(bill.remaining(), usd(0.2), "half of it is covered");
    }

    #[test]
    fn zonal_reserved_instances_hold_for_their_type_in_their_zone() {
        let own = reserved("own", "m7g.large", 2, Some("a"));
        let bill = applied(
            &[own],
            &[("m7g.large", "a", 0.1), ("m7g.large", "b", 0.1), ("m7g.medium", "a", 0.05)],
        );
        assert_eq!(bill.covered, usd(0.1));
        assert_eq!(bill.commitments[0].per_mille(), 500);
    }

    #[test]
    fn a_share_is_all_that_a_cluster_counts_on() {
        let own = Commitment { share: 25, ..plan("own", None, 0.2, 50) };
        let bill = applied(&[own], &[("m7g.large", "a", 0.1); 2]);
        assert_eq!(bill.covered, usd(0.1));
        assert_eq!(bill.commitments[0].hourly, Some(usd(0.05)));
    }

    #[test]
    fn what_has_ended_or_not_begun_counts_nothing() {
        let (early, late) = (Timestamp::UNIX_EPOCH, Timestamp::from_second(60).unwrap());
        let ended = Commitment { end: Some(early), ..plan("ended", None, 1.0, 50) };
        let to_come = Commitment { start: Some(late), ..plan("to-come", None, 1.0, 50) };
        assert_eq!(Commitments::of(&[ended, to_come.clone()], early), None);
        assert!(Commitments::of(&[to_come], late).is_some());
    }
}
