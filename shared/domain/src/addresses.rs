//! Free addresses of subnets: `outrigger.dev/addresses-per-pod` and `min-free-addresses` of an
//! EC2NodeClass.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::Text;

/// What annotations of an EC2NodeClass say of addresses, and how many its subnets have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressPolicy {
    /// Addresses that a pod takes beside the node's own (`outrigger.dev/addresses-per-pod`).
    pub per_pod: u32,
    /// Addresses that stay free in each zone (`outrigger.dev/min-free-addresses`).
    pub min_free: u32,
    /// Pods of DaemonSets on each of its nodes that have addresses of their own. Annotations do not
    /// say it: [`crate::address_ledger::AddressLedger`] counts them.
    pub daemon_pods: u32,
    /// Free addresses of its subnets, as EC2 last counted them
    /// (`outrigger.dev/free-addresses`). A zone that is not among them is taken to have enough.
    pub free: Vec<FreeAddresses>,
}

impl AddressPolicy {
    /// What a pod takes where no annotation says it: one, as with the VPC CNI without prefixes.
    pub const PER_POD: u32 = 1;

    /// Addresses that a new node takes with so many pods beside those of DaemonSets.
    pub fn needed(&self, pods: usize) -> u64 {
        let pods = u64::try_from(pods).unwrap_or(u64::MAX).saturating_add(self.daemon_pods.into());
        pods.saturating_mul(self.per_pod.into()).saturating_add(1)
    }

    /// The subnets of a zone, with their counts.
    pub fn in_zone<'p>(&'p self, zone: &'p str) -> impl Iterator<Item = &'p FreeAddresses> {
        self.free.iter().filter(move |own| *own.zone == *zone)
    }

    /// Zones whose addresses are known.
    pub fn zones(&self) -> BTreeSet<&Text> {
        self.free.iter().map(|own| &own.zone).collect()
    }
}

/// Free addresses of one subnet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FreeAddresses {
    /// The zone of the subnet.
    pub zone: Text,
    /// `subnet-…`.
    pub subnet: Text,
    /// Addresses that nothing has.
    pub count: u32,
}

impl fmt::Display for FreeAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}={}", self.zone, self.subnet, self.count)
    }
}

/// An entry of annotation `outrigger.dev/free-addresses` that says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no subnet with a count, such as us-east-1a/subnet-1=120")]
pub struct NoFreeAddresses(String);

impl FromStr for FreeAddresses {
    type Err = NoFreeAddresses;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts = || {
            let (place, count) = text.split_once('=')?;
            let (zone, subnet) = place.split_once('/')?;
            let is_named = !zone.is_empty() && !subnet.is_empty();
            let count = count.parse().ok().filter(|_| is_named)?;
            Some(Self { zone: zone.into(), subnet: subnet.into(), count })
        };
        parts().ok_or_else(|| NoFreeAddresses(text.to_owned()))
    }
}

/// The entries of annotation `outrigger.dev/free-addresses`.
pub fn free_addresses_entries(
    annotation: &str,
) -> impl Iterator<Item = Result<FreeAddresses, NoFreeAddresses>> {
    annotation.split(',').map(str::trim).filter(|own| !own.is_empty()).map(str::parse)
}

/// Annotation `outrigger.dev/free-addresses` of subnets.
pub fn free_addresses_annotation(subnets: &[FreeAddresses]) -> String {
    subnets.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_addresses_are_written_as_they_are_read() {
        let text = "us-east-1a/subnet-1=120,us-east-1b/subnet-2=5";
        let read: Vec<FreeAddresses> =
            free_addresses_entries(text).collect::<Result<_, _>>().unwrap();
        assert_eq!(
            (read[0].count, &*read[1].zone, &*read[1].subnet),
            (120, "us-east-1b", "subnet-2")
        );
        assert_eq!(free_addresses_annotation(&read), text);
        for wrong in ["us-east-1a=120", "us-east-1a/subnet-1", "/subnet-1=1", "a/=1", "a/b=-1"] {
            assert!(wrong.parse::<FreeAddresses>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_node_takes_one_address_and_what_its_pods_take() {
        let policy = AddressPolicy { per_pod: 2, min_free: 0, daemon_pods: 0, free: Vec::new() };
        assert_eq!((policy.needed(0), policy.needed(10)), (1, 21));
        let with_agents = AddressPolicy { daemon_pods: 3, ..policy };
        assert_eq!((with_agents.needed(0), with_agents.needed(10)), (7, 27));
    }
}
