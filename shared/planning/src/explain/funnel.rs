//! How many of a NodePool's instance types are left after each filter, and which ones it dropped.

use std::fmt;

use domain::Text;
use domain::instance_type::{CapacityType, InstanceType};
use domain::money::UsdPerHour;
use domain::pod::HostPort;
use domain::resource::RoundedAmount;

use crate::feasibility::limits::Limits;
use crate::ids::{PoolIx, TypeIx, TypeSet};
use crate::model::Model;
use crate::model::intern::{KeyKind, KeyRule};
use crate::model::interruption::INTERRUPTION_FIELD;
use crate::model::memo::Memo;
use crate::model::pool::{Compatible, Pool, PricedType};

/// What decides which instance types are left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Everything that the node class can see.
    Catalogue(Text),
    /// A requirement of the NodePool.
    NodePool(Text),
    /// An offering that can be launched, in the NodePool's zones and capacity types.
    Offering,
    /// A requirement of the pods' node selectors, affinity or volumes.
    Pods(Text),
    /// A label that constraints between pods determine.
    Topology(Text),
    /// Host ports that DaemonSets leave free.
    HostPorts,
    /// Room for what pods request of a resource, beside DaemonSets.
    Room {
        /// The resource.
        resource: Text,
        /// What the pods request.
        needed: i64,
    },
    /// What is left under the NodePool's limits.
    Limits,
    /// A price near the cheapest, and no more types than a launch takes.
    Price,
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Catalogue(class) => write!(f, "the catalogue, as EC2NodeClass {class} sees it"),
            Self::NodePool(requirement) => write!(f, "the NodePool requires {requirement}"),
            Self::Offering => f.write_str("one can be launched in its zones and capacity types"),
            Self::Pods(requirement) => write!(f, "required with the pods: {requirement}"),
            Self::Topology(requirement) => {
                write!(f, "settled by constraints between pods: {requirement}")
            }
            Self::HostPorts => f.write_str("DaemonSets leave the host ports free"),
            Self::Room { resource, needed } => {
                let needed = RoundedAmount { name: resource, amount: *needed };
                write!(f, "room for {resource} {needed} beside DaemonSets")
            }
            Self::Limits => f.write_str("the limits of the NodePool have room for it"),
            Self::Price => f.write_str("a price near the cheapest"),
        }
    }
}

/// One filter and what it left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The filter.
    pub filter: Filter,
    /// How many instance types were left.
    pub left: usize,
    /// The dropped types, by name.
    pub dropped: Vec<Text>,
}

/// An instance type with its cheapest offering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The instance type.
    pub instance_type: Text,
    /// The zone.
    pub zone: Text,
    /// How it is bought.
    pub capacity_type: CapacityType,
    /// The price.
    pub price: UsdPerHour,
}

/// Instance types of one NodePool on their way through the filters.
pub(super) struct Funnel<'m, 'a> {
    model: &'m Model<'a>,
    memo: &'m Memo,
    pool: &'m Pool<'a>,
    pub(super) steps: Vec<Step>,
    left: Compatible,
}

impl<'m, 'a> Funnel<'m, 'a> {
    /// From the catalogue to what the pool may launch at all.
    pub(super) fn of(model: &'m Model<'a>, memo: &'m Memo, pool: &'m Pool<'a>) -> Self {
        let class = &pool.node_pool.template.node_class_ref.name;
        let offered = model.snapshot.instance_types.of(class);
        let mut left: Vec<&InstanceType> = offered.iter().collect();
        let mut steps = vec![Step {
            filter: Filter::Catalogue(class.clone()),
            left: left.len(),
            dropped: Vec::new(),
        }];
        for (key, own) in pool.own.iter() {
            if !matches!(model.key_kinds.get(key), Some(KeyKind::InstanceType { .. })) {
                continue;
            }
            let (kept, dropped) =
                left.into_iter().partition(|one: &&InstanceType| match one.labels.get(key) {
                    Some(values) => values.iter().any(|value| own.values.contains(value)),
                    None => own.may_be_absent,
                });
            left = kept;
            let filter = Filter::NodePool(format!("{key} {}", own.values).into());
            steps.push(step(filter, left.len(), dropped));
        }
        let is_kept = |one: &&InstanceType| {
            pool.types
                .as_slice()
                .binary_search_by(|own| own.instance_type.name.cmp(&one.name))
                .is_ok()
        };
        let (kept, dropped): (Vec<_>, _) = left.into_iter().partition(is_kept);
        steps.push(step(Filter::Offering, kept.len(), dropped));
        Self { model, memo, pool, steps, left: pool.everything() }
    }

    /// Filters by rules on labels; stops at one that leaves nothing.
    pub(super) fn require(&mut self, rules: &[KeyRule], filter: impl Fn(&KeyRule, Text) -> Filter) {
        for rule in rules {
            let before = self.names();
            let mut next = self.left.clone();
            let text: Text = format!("{} {}", rule.key, self.memo.sets().get(rule.set)).into();
            if self.pool.narrow(&mut next, rule, &self.model.key_kinds, self.memo).is_ok() {
                next.types.intersect_with(&self.memo.viable(self.pool, next.zones, next.purchases));
            } else {
                next.types = TypeSet::empty(self.pool.types.len());
            }
            self.left = next;
            if &*rule.key == INTERRUPTION_FIELD {
                continue; // it chooses among prices, and leaves every type
            }
            self.record(filter(rule, text), &before);
            if self.left.types.is_empty() {
                return;
            }
        }
    }

    /// Keeps types on which DaemonSets open none of the ports in some zone.
    pub(super) fn free_ports(&mut self, ports: &[HostPort]) {
        if ports.is_empty() {
            return;
        }
        let zones = self.left.zones;
        self.keep(Filter::HostPorts, |pool, index| {
            let open = &pool.types[index].overhead.ports;
            let is_taken = |zone| {
                ports.iter().any(|port| open.iter().any(|other| other.conflicts_in(zone, port)))
            };
            pool.zones_in(zones).any(|(_, zone)| !is_taken(zone))
        });
    }

    /// Keeps types with room, one resource after the other.
    pub(super) fn room(&mut self, requests: &[i64]) {
        for (resource, needed) in requests.iter().enumerate().filter(|(_, needed)| **needed > 0) {
            let name = self.model.resources.name(resource).clone();
            self.keep(Filter::Room { resource: name, needed: *needed }, |pool, index| {
                pool.types[index].room[resource] >= *needed
            });
        }
    }

    /// Keeps types that the limits have room for.
    pub(super) fn limits(&mut self, limits: &Limits, pool: PoolIx) {
        self.keep(Filter::Limits, |own, index| {
            limits.exceeded(pool, &own.types[index].capacity).is_none()
        });
    }

    /// Keeps the types named.
    pub(super) fn listed(&mut self, names: &[Text]) {
        self.keep(Filter::Price, |pool, index| {
            names.contains(&pool.types[index].instance_type.name)
        });
    }

    /// What is left, each with its cheapest offering, cheapest first.
    pub(super) fn offers(&self) -> Vec<Offer> {
        let offer = |priced: &PricedType| Offer {
            instance_type: self.pool.types[priced.index].instance_type.name.clone(),
            zone: self.pool.zone(priced.offering.zone).clone(),
            capacity_type: self.pool.purchases[priced.offering.purchase].capacity_type,
            price: priced.offering.cost,
        };
        self.memo
            .cheapest(self.pool, self.left.zones, self.left.purchases)
            .iter()
            .filter(|priced| self.left.types.contains(priced.index))
            .map(offer)
            .collect()
    }

    fn keep(&mut self, filter: Filter, is_kept: impl Fn(&Pool, TypeIx) -> bool) {
        let before = self.names();
        self.left.types.retain(|index| is_kept(self.pool, index));
        self.record(filter, &before);
    }

    fn names(&self) -> Vec<Text> {
        self.left
            .types
            .iter()
            .map(|index| self.pool.types[index].instance_type.name.clone())
            .collect()
    }

    fn record(&mut self, filter: Filter, before: &[Text]) {
        let now = self.names();
        let dropped: Vec<Text> =
            before.iter().filter(|name| now.binary_search(name).is_err()).cloned().collect();
        self.steps.push(Step { filter, left: now.len(), dropped });
    }
}

fn step(filter: Filter, left: usize, dropped: Vec<&InstanceType>) -> Step {
    Step { filter, left, dropped: dropped.into_iter().map(|one| one.name.clone()).collect() }
}
