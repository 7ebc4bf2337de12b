//! Which subnet of a zone has most room: free addresses as EC2 last told, less those of launches that it
//! does not count yet.
//!
//! Source: reference E7.1, E2.2.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use domain::Text;
use domain::node_class::ResolvedSubnet;

/// How long a launch counts by our own reckoning: until its network interfaces are there and EC2 counts
/// them itself.
const IN_FLIGHT_LASTS: Duration = Duration::from_mins(1);
/// How long a subnet that had no address left is not tried again.
const FULL_LASTS: Duration = Duration::from_mins(3);

/// Free addresses of subnets.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    free: BTreeMap<Text, i64>,
    in_flight: Vec<InFlight>,
    full_until: BTreeMap<Text, Instant>,
}

#[derive(Debug)]
struct InFlight {
    subnet: Text,
    addresses: i64,
    until: Instant,
}

impl Addresses {
    /// Takes what EC2 tells of a subnet.
    pub(super) fn learn(&mut self, subnet: Text, free: i64) {
        self.free.insert(subnet, free);
    }

    /// The subnet of the zone with most free addresses, by id among equals. A subnet that is known to be
    /// full is no choice, unless all are.
    pub(super) fn best<'s>(
        &self,
        subnets: &'s [ResolvedSubnet],
        zone: &str,
        now: Instant,
    ) -> Option<&'s ResolvedSubnet> {
        let of_zone = || subnets.iter().filter(|subnet| &*subnet.zone == zone);
        let rank = |subnet: &&ResolvedSubnet| {
            (self.is_full(&subnet.id, now), -self.left(&subnet.id, now), subnet.id.clone())
        };
        of_zone().min_by_key(rank)
    }

    /// Counts addresses of a launch that is under way.
    pub(super) fn take(&mut self, subnet: &Text, addresses: i64, now: Instant) {
        self.in_flight.retain(|own| own.until > now);
        let until = now + IN_FLIGHT_LASTS;
        self.in_flight.push(InFlight { subnet: subnet.clone(), addresses, until });
    }

    /// Gives back what was taken for a launch that did not come about in this subnet.
    pub(super) fn give_back(&mut self, subnet: &Text, addresses: i64) {
        let taken = |own: &InFlight| own.subnet == *subnet && own.addresses == addresses;
        if let Some(index) = self.in_flight.iter().rposition(taken) {
            self.in_flight.remove(index);
        }
    }

    /// Marks a subnet that had no address left.
    pub(super) fn mark_full(&mut self, subnet: &Text, now: Instant) {
        self.full_until.insert(subnet.clone(), now + FULL_LASTS);
    }

    /// Whether no subnet of the zone has an address left.
    pub(super) fn is_zone_full(
        &self,
        subnets: &[ResolvedSubnet],
        zone: &str,
        now: Instant,
    ) -> bool {
        subnets.iter().filter(|subnet| &*subnet.zone == zone).all(|own| self.is_full(&own.id, now))
    }

    fn is_full(&self, subnet: &Text, now: Instant) -> bool {
        self.full_until.get(subnet).is_some_and(|until| *until > now)
    }

    fn left(&self, subnet: &Text, now: Instant) -> i64 {
        let taken = self.in_flight.iter().filter(|own| own.until > now && own.subnet == *subnet);
        self.free.get(subnet).copied().unwrap_or(0) - taken.map(|own| own.addresses).sum::<i64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subnet(id: &str, zone: &str) -> ResolvedSubnet {
        ResolvedSubnet { id: id.into(), zone: zone.into(), zone_id: None }
    }

    fn subnets() -> [ResolvedSubnet; 3] {
        [subnet("subnet-1", "a"), subnet("subnet-2", "a"), subnet("subnet-3", "b")]
    }

    fn addresses() -> Addresses {
        let mut addresses = Addresses::default();
        addresses.learn("subnet-1".into(), 100);
        addresses.learn("subnet-2".into(), 120);
        addresses
    }

    #[test]
    fn launches_under_way_count_until_ec2_counts_them() {
        let (mut addresses, subnets, now) = (addresses(), subnets(), Instant::now());
        let best = |own: &Addresses, at| own.best(&subnets, "a", at).unwrap().id.clone();
        assert_eq!(&*best(&addresses, now), "subnet-2");
        addresses.take(&"subnet-2".into(), 29, now);
        assert_eq!(&*best(&addresses, now), "subnet-1");
        assert_eq!(&*best(&addresses, now + IN_FLIGHT_LASTS), "subnet-2");
        addresses.give_back(&"subnet-2".into(), 29);
        assert_eq!(&*best(&addresses, now), "subnet-2");
    }

    #[test]
    fn a_zone_is_full_when_all_of_its_subnets_are() {
        let (mut addresses, subnets, now) = (addresses(), subnets(), Instant::now());
        addresses.mark_full(&"subnet-2".into(), now);
        assert_eq!(&*addresses.best(&subnets, "a", now).unwrap().id, "subnet-1");
        assert!(!addresses.is_zone_full(&subnets, "a", now));
        addresses.mark_full(&"subnet-1".into(), now);
        assert!(addresses.is_zone_full(&subnets, "a", now));
        assert!(!addresses.is_zone_full(&subnets, "a", now + FULL_LASTS));
        assert!(!addresses.is_zone_full(&subnets, "b", now));
    }

    #[test]
    fn a_zone_without_subnet_has_none() {
        assert_eq!(addresses().best(&subnets(), "c", Instant::now()), None);
    }
}
