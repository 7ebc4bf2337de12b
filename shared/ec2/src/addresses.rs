//! The subnet of a zone with most free addresses: as EC2 last reported them, less those of launches
//! that it does not count yet.
//!
//! Karpenter chooses subnets likewise
//! (<https://karpenter.sh/docs/concepts/nodeclasses/#specsubnetselectorterms>).

use std::collections::BTreeMap;

use aws::freshness::is_fresh;
use domain::node_class::ResolvedSubnet;
use domain::{SignedDuration, Text, Timestamp};

/// How long addresses of a launch stay reserved: until its network interfaces exist and EC2 counts
/// them.
const IN_FLIGHT_TTL: SignedDuration = SignedDuration::from_mins(1);
/// How long a subnet without free addresses is avoided.
const FULL_TTL: SignedDuration = SignedDuration::from_mins(3);

/// Free addresses of subnets.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    free: BTreeMap<Text, i64>,
    in_flight: Vec<InFlight>,
    full_since: BTreeMap<Text, Timestamp>,
}

#[derive(Debug)]
struct InFlight {
    subnet: Text,
    addresses: i64,
    since: Timestamp,
}

impl InFlight {
    fn is_under_way(&self, now: Timestamp) -> bool {
        is_fresh(self.since, IN_FLIGHT_TTL, now)
    }
}

impl Addresses {
    /// Sets the free addresses that EC2 reports of a subnet.
    pub(super) fn set_free(&mut self, subnet: Text, free: i64) {
        self.free.insert(subnet, free);
    }

    /// The subnet of the zone with most free addresses, by id among equals. A full subnet is chosen
    /// only where all are full.
    pub(super) fn best<'s>(
        &self,
        subnets: &'s [ResolvedSubnet],
        zone: &str,
        now: Timestamp,
    ) -> Option<&'s ResolvedSubnet> {
        let of_zone = || subnets.iter().filter(|subnet| &*subnet.zone == zone);
        let rank = |subnet: &&ResolvedSubnet| {
            (self.is_full(&subnet.id, now), -self.left(&subnet.id, now), subnet.id.clone())
        };
        of_zone().min_by_key(rank)
    }

    /// Reserves addresses for a launch in progress.
    pub(super) fn reserve(&mut self, subnet: &Text, addresses: i64, now: Timestamp) {
        self.in_flight.retain(|own| own.is_under_way(now));
        self.in_flight.push(InFlight { subnet: subnet.clone(), addresses, since: now });
    }

    /// Releases what was reserved for a launch that did not use this subnet.
    pub(super) fn release(&mut self, subnet: &Text, addresses: i64) {
        let taken = |own: &InFlight| own.subnet == *subnet && own.addresses == addresses;
        if let Some(index) = self.in_flight.iter().rposition(taken) {
            self.in_flight.remove(index);
        }
    }

    /// Marks a subnet as full.
    pub(super) fn mark_full(&mut self, subnet: &Text, now: Timestamp) {
        self.full_since.insert(subnet.clone(), now);
    }

    /// Whether no subnet of the zone has an address left.
    pub(super) fn is_zone_full(
        &self,
        subnets: &[ResolvedSubnet],
        zone: &str,
        now: Timestamp,
    ) -> bool {
        subnets.iter().filter(|subnet| &*subnet.zone == zone).all(|own| self.is_full(&own.id, now))
    }

    fn is_full(&self, subnet: &Text, now: Timestamp) -> bool {
        self.full_since.get(subnet).is_some_and(|since| is_fresh(*since, FULL_TTL, now))
    }

    fn left(&self, subnet: &Text, now: Timestamp) -> i64 {
        let taken =
            self.in_flight.iter().filter(|own| own.is_under_way(now) && own.subnet == *subnet);
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
        addresses.set_free("subnet-1".into(), 100);
        addresses.set_free("subnet-2".into(), 120);
        addresses
    }

    #[test]
    fn launches_under_way_count_until_ec2_counts_them() {
        let (mut addresses, subnets, now) = (addresses(), subnets(), Timestamp::now());
        let best = |own: &Addresses, at| own.best(&subnets, "a", at).unwrap().id.clone();
        assert_eq!(&*best(&addresses, now), "subnet-2");
        addresses.reserve(&"subnet-2".into(), 29, now);
        assert_eq!(&*best(&addresses, now), "subnet-1");
        assert_eq!(&*best(&addresses, now + IN_FLIGHT_TTL), "subnet-2");
        addresses.release(&"subnet-2".into(), 29);
        assert_eq!(&*best(&addresses, now), "subnet-2");
    }

    #[test]
    fn a_zone_is_full_when_all_of_its_subnets_are() {
        let (mut addresses, subnets, now) = (addresses(), subnets(), Timestamp::now());
        addresses.mark_full(&"subnet-2".into(), now);
        assert_eq!(&*addresses.best(&subnets, "a", now).unwrap().id, "subnet-1");
        assert!(!addresses.is_zone_full(&subnets, "a", now));
        addresses.mark_full(&"subnet-1".into(), now);
        assert!(addresses.is_zone_full(&subnets, "a", now));
        assert!(!addresses.is_zone_full(&subnets, "a", now + FULL_TTL));
        assert!(!addresses.is_zone_full(&subnets, "b", now));
    }

    #[test]
    fn a_zone_without_subnet_has_none() {
        assert_eq!(addresses().best(&subnets(), "c", Timestamp::now()), None);
    }
}
