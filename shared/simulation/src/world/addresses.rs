//! Addresses of simulated subnets: as many are free as the class's annotation says, less what
//! instances and their pods have taken since.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::addresses::{AddressPolicy, FreeAddresses};
use domain::label;
use domain::node_class::Ec2NodeClass;
use domain::node_pool::NodePool;
use domain::pod::{Pod, PodKey};
use domain::workload::DaemonSet;
use manifests::DaemonSetObject;

use super::World;
use crate::ec2::Instance;

impl World {
    /// Takes what a scenario says of a class's subnets: so many addresses are free now.
    pub(super) fn note_addresses(&mut self, class: &Ec2NodeClass) {
        let Some(policy) = &class.addresses else { return };
        let taken = self.addresses_taken();
        for own in &policy.free {
            let taken = taken.get(&own.subnet).copied().unwrap_or_default();
            let all = u64::from(own.count).saturating_add(taken);
            self.subnet_addresses.insert((class.name.clone(), own.subnet.clone()), all);
        }
    }

    /// What EC2 counts in the subnets of a class.
    pub(crate) fn free_addresses(&self, class: &Ec2NodeClass) -> Vec<FreeAddresses> {
        let Some(policy) = &class.addresses else { return Vec::new() };
        let taken = self.addresses_taken();
        let mut free = policy.free.clone();
        for own in &mut free {
            let taken = taken.get(&own.subnet).copied().unwrap_or_default();
            let all = self.subnet_addresses.get(&(class.name.clone(), own.subnet.clone()));
            // A class that came into the world otherwise keeps what it says.
            if let Some(all) = all {
                own.count = u32::try_from(all.saturating_sub(taken)).unwrap_or(u32::MAX);
            }
        }
        free
    }

    /// Whether EC2 counts otherwise now than some class says.
    pub(crate) fn addresses_changed(&self) -> bool {
        let changed = |class: &Ec2NodeClass| {
            let policy = class.addresses.as_ref();
            policy.is_some_and(|policy| policy.free != self.free_addresses(class))
        };
        self.api.list::<Ec2NodeClass>().any(changed)
    }

    /// Addresses that instances and their pods have, by subnet: each zone's subnets of a class
    /// share them evenly.
    fn addresses_taken(&self) -> BTreeMap<Text, u64> {
        let classes: BTreeMap<&Text, &AddressPolicy> = self
            .api
            .list::<Ec2NodeClass>()
            .filter_map(|class| Some((&class.name, class.addresses.as_ref()?)))
            .collect();
        let pods = self.pods_with_addresses();
        let mut taken: BTreeMap<Text, u64> = BTreeMap::new();
        for instance in self.ec2.billed() {
            let Some(policy) = self.class_of(instance).and_then(|class| classes.get(class)) else {
                continue;
            };
            let subnets: Vec<&FreeAddresses> = policy.in_zone(&instance.pool.zone).collect();
            let pods = pods.get(&instance.registration.node_name).copied().unwrap_or_default();
            let mut rest = 1 + pods * u64::from(policy.per_pod);
            for (index, own) in subnets.iter().enumerate() {
                let left = u64::try_from(subnets.len() - index).unwrap_or(1);
                let share = rest.div_ceil(left);
                *taken.entry(own.subnet.clone()).or_default() += share;
                rest -= share;
            }
        }
        taken
    }

    /// The EC2NodeClass that an instance was launched from, by its NodePool.
    fn class_of(&self, instance: &Instance) -> Option<&Text> {
        let pool = self.api.get::<NodePool>(instance.tags.get(label::NODE_POOL)?)?;
        Some(&pool.template.node_class_ref.name)
    }

    /// Pods with an address of their own, by their Node: not those of DaemonSets on its network.
    fn pods_with_addresses(&self) -> BTreeMap<Text, u64> {
        let daemon_sets = self.api.list::<DaemonSetObject>().map(|own| &own.daemon_set);
        let on_host_network: BTreeSet<PodKey> = daemon_sets
            .filter(|own| own.is_on_host_network)
            .map(|DaemonSet { key, .. }| key.clone())
            .collect();
        let has_address = |pod: &&Pod| {
            let owner = pod.owner.as_ref().filter(|_| pod.is_daemon());
            let owner = owner.map(|own| PodKey::new(pod.key.namespace.clone(), own.name.clone()));
            !pod.is_terminal() && !owner.is_some_and(|own| on_host_network.contains(&own))
        };
        let mut counts: BTreeMap<Text, u64> = BTreeMap::new();
        for pod in self.api.list::<Pod>().filter(has_address) {
            if let Some(node) = &pod.node_name {
                *counts.entry(node.clone()).or_default() += 1;
            }
        }
        counts
    }
}
