//! What runs on demand, as commitments are applied to it.

use std::collections::BTreeMap;

use crate::Text;
use crate::money::UsdPerHour;

/// What commitments tell on-demand instances apart by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instance {
    /// The instance type.
    pub instance_type: Text,
    /// The zone's name.
    pub zone: Text,
}

/// On-demand instances that run side by side, with their prices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    running: BTreeMap<Instance, Running>,
}

/// Instances that are alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Running {
    /// How many.
    pub(super) count: i64,
    /// What one costs on demand.
    pub(super) price: UsdPerHour,
}

impl Usage {
    /// Nothing.
    pub const fn new() -> Self {
        Self { running: BTreeMap::new() }
    }

    /// One more instance, at its on-demand price. All that are alike cost what the first does.
    pub fn add(&mut self, instance: &Instance, price: UsdPerHour) {
        match self.running.get_mut(instance) {
            Some(own) => own.count += 1,
            None => {
                self.running.insert(instance.clone(), Running { count: 1, price });
            }
        }
    }

    /// One instance less.
    pub fn remove(&mut self, instance: &Instance) {
        if let Some(own) = self.running.get_mut(instance) {
            own.count -= 1;
            if own.count <= 0 {
                self.running.remove(instance);
            }
        }
    }

    /// Each kind of instance that runs, with the price of one, in order.
    pub fn instances(&self) -> impl Iterator<Item = (&Instance, UsdPerHour)> {
        self.running.iter().map(|(instance, own)| (instance, own.price))
    }

    pub(super) fn running(&self) -> impl Iterator<Item = (&Instance, &Running)> {
        self.running.iter()
    }
}
