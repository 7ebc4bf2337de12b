//! The state of the cloud: instances, their price, and the capacity that is left.

use std::collections::{BTreeMap, BTreeSet};

use catalog::{Catalog, CatalogOptions};
use domain::instance_type::{InstanceType, InstanceTypes, Offering};
use domain::label::Labels;
use domain::money::UsdPerHour;
use domain::node_class::Ec2NodeClass;
use domain::{Text, Timestamp};

use super::behaviour::Ec2Behaviour;
use super::capacity_pool::CapacityPool;
use super::fleet_request::{FleetAnswer, FleetRequest};
use super::instance::{Instance, InstanceState};
use crate::seed::Seed;

/// What goes wrong, mostly in cases of a thousand. Nothing by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Any call is refused with RequestLimitExceeded.
    pub throttled_per_mille: u32,
    /// A fleet is done, whether or not it launched anything, but its answer is lost.
    pub answers_lost_per_mille: u32,
    /// A launch is refused with an internal error.
    pub launches_failed_per_mille: u32,
    /// A process dies after a call: the request took effect, and nothing more is done.
    pub crashes_per_mille: u32,
    /// The process that makes the call of this number, counted over the whole run, dies after it.
    pub crash_after_call: Option<u64>,
    /// A function's event (its tick, a notice) comes twice.
    pub events_doubled_per_mille: u32,
    /// A function's event comes up to a minute late.
    pub events_late_per_mille: u32,
    /// A call is up to so many milliseconds on its way, while everything else goes on.
    pub call_millis_max: u32,
}

/// A client token that was used.
#[derive(Clone, Debug)]
pub(super) struct UsedToken {
    /// With which parameters.
    pub(super) request: FleetRequest,
    /// What was answered.
    pub(super) answer: FleetAnswer,
}

/// What came of the announcement that EC2 takes an instance back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reclaim {
    /// It was announced before.
    Announced,
    /// It is news; the Node's name.
    New(Text),
}

/// Where the facts about instance types come from.
#[derive(Debug)]
pub enum Supply {
    /// They are given, the same for every node class that is not listed apart.
    Fixed(InstanceTypes),
    /// From EC2's catalogue, as each node class sees it.
    Catalog(Box<Catalog>, Box<CatalogOptions>),
}

impl Supply {
    fn types(&self, node_classes: &[Ec2NodeClass]) -> InstanceTypes {
        match self {
            Self::Fixed(types) => types.clone(),
            Self::Catalog(catalog, options) => catalog.instance_types(node_classes, options),
        }
    }
}

/// The cloud.
#[derive(Debug)]
pub struct Ec2 {
    pub(super) seed: Seed,
    supply: Supply,
    node_classes: Vec<Ec2NodeClass>,
    pub(super) types: InstanceTypes,
    pub(super) instances: BTreeMap<Text, Instance>,
    /// Ids of instances that are billed.
    billed: BTreeSet<Text>,
    /// What those cost together.
    hourly: UsdPerHour,
    /// How often an instance was launched, tagged or ended.
    changes: u64,
    pub(super) used_tokens: BTreeMap<Text, UsedToken>,
    /// When instances were terminated or taken back.
    ended: BTreeMap<Text, Timestamp>,
    exhausted: BTreeMap<CapacityPool, Timestamp>,
    pub(super) faults: Faults,
    pub(super) behaviour: Ec2Behaviour,
    calls: u64,
}

impl Ec2 {
    pub(crate) fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    pub(crate) fn set_behaviour(&mut self, behaviour: Ec2Behaviour) {
        self.behaviour = behaviour;
    }

    /// With what it offers; everything is available, and it behaves as is documented.
    pub fn new(seed: Seed, supply: Supply, faults: Faults) -> Self {
        Self {
            seed,
            types: supply.types(&[]),
            supply,
            node_classes: Vec::new(),
            instances: BTreeMap::new(),
            billed: BTreeSet::new(),
            hourly: UsdPerHour::ZERO,
            changes: 0,
            used_tokens: BTreeMap::new(),
            ended: BTreeMap::new(),
            exhausted: BTreeMap::new(),
            faults,
            behaviour: Ec2Behaviour::default(),
            calls: 0,
        }
    }

    /// What it offers, as its catalogue says: what has run out is only found out by requesting it.
    pub fn types(&self) -> &InstanceTypes {
        &self.types
    }

    /// What node classes see of it, computed anew only when they have changed.
    pub fn types_for(&mut self, node_classes: &[Ec2NodeClass]) -> &InstanceTypes {
        if self.node_classes != node_classes {
            self.types = self.supply.types(node_classes);
            self.node_classes = node_classes.to_vec();
        }
        &self.types
    }

    /// All instances that ever were, by id.
    pub fn instances(&self) -> impl Iterator<Item = &Instance> {
        self.instances.values()
    }

    /// All instances that are billed, by id.
    pub fn billed(&self) -> impl Iterator<Item = &Instance> {
        self.billed.iter().filter_map(|id| self.instances.get(id))
    }

    /// An instance by id.
    pub fn instance(&self, id: &str) -> Option<&Instance> {
        self.instances.get(id)
    }

    /// The instance that was launched with a token.
    pub(crate) fn launched_for(&self, token: &str) -> Option<&Text> {
        self.used_tokens.get(token)?.answer.instance.as_ref()
    }

    /// Changes the state of an instance. False if there is none by that id.
    pub(crate) fn set_state(&mut self, id: &str, state: InstanceState) -> bool {
        let Some(own) = self.instances.get_mut(id) else { return false };
        self.changes += 1;
        own.state = state;
        if !own.is_billed() && self.billed.remove(id) {
            self.hourly = self.hourly - own.price;
        }
        true
    }

    /// Notes that an instance is terminated or taken back at a moment; the first one stays.
    pub(crate) fn note_end(&mut self, id: &Text, at: Timestamp) {
        self.ended.entry(id.clone()).or_insert(at);
    }

    /// When an instance was terminated or taken back.
    pub(super) fn ended_at(&self, id: &str) -> Option<Timestamp> {
        self.ended.get(id).copied()
    }

    /// Notes when EC2 takes an instance back. `None` if there is none that is billed.
    pub(crate) fn reclaim(&mut self, id: &str, at: Timestamp) -> Option<Reclaim> {
        let own = self.instances.get_mut(id).filter(|own| own.is_billed())?;
        if own.reclaimed_at.is_some() {
            return Some(Reclaim::Announced);
        }
        own.reclaimed_at = Some(at);
        Some(Reclaim::New(own.registration.node_name.clone()))
    }

    /// What all instances that are billed cost.
    pub fn hourly(&self) -> UsdPerHour {
        self.hourly
    }

    /// Moves on whenever an instance is launched, tagged or ended.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Takes note of an instance that is billed from now on.
    pub(super) fn bill(&mut self, instance: Instance) {
        self.changes += 1;
        if self.billed.insert(instance.id.clone()) {
            self.hourly += instance.price;
        }
        self.instances.insert(instance.id.clone(), instance);
    }

    /// Takes capacity of a pool away until a moment.
    pub fn exhaust(&mut self, pool: CapacityPool, until: Timestamp) {
        self.exhausted.insert(pool, until);
    }

    /// Whether a pool has nothing left at a moment.
    pub fn is_exhausted(&self, pool: &CapacityPool, now: Timestamp) -> bool {
        self.exhausted.get(pool).is_some_and(|until| now < *until)
    }

    /// Takes note of an instance that was there before.
    pub(crate) fn adopt(&mut self, instance: Instance) {
        self.bill(instance);
    }

    /// Sets tags of an instance. False if it is not there any more.
    pub(crate) fn tag(&mut self, id: &str, tags: &Labels) -> bool {
        self.changes += 1;
        let own = self.instances.get_mut(id).filter(|own| own.state != InstanceState::Terminated);
        own.is_some_and(|own| {
            own.tags.extend(tags.clone());
            true
        })
    }

    /// Whether EC2 ends an instance soon after its launch; drawn for each.
    pub(crate) fn ends_early(&self, id: &Text) -> bool {
        let most = self.behaviour.early_ends_per_mille;
        most > 0 && self.seed.draw("ends-early", id).happens(most)
    }

    /// Sets the image that an instance runs.
    pub(crate) fn set_image(&mut self, id: &str, image: Text) {
        if let Some(own) = self.instances.get_mut(id) {
            own.image = image;
        }
    }

    /// A type as a node class sees it, and one of its offerings.
    pub fn offering(
        &self,
        node_class: &str,
        pool: &CapacityPool,
    ) -> Option<(&InstanceType, &Offering)> {
        let types = self.types.of(node_class);
        let own = types.iter().find(|own| own.name == pool.instance_type)?;
        let offering = own.offerings.iter().find(|offering| {
            offering.zone == pool.zone && offering.capacity_type == pool.capacity_type
        })?;
        Some((own, offering))
    }

    /// Whether this launch is throttled; each draws anew.
    pub(crate) fn is_throttled(&mut self) -> bool {
        self.calls += 1;
        let mut draw = self.seed.draw("throttle-fleet", &self.calls.to_string());
        draw.happens(self.faults.throttled_per_mille)
    }
}
