//! What a running node was bought as: its capacity type and its offering, by its labels; for a node
//! of Fargate, what its pod comes to.
//!
//! Nodes of Karpenter and Outrigger say it with `karpenter.sh/capacity-type`, those of EKS managed
//! node groups with `eks.amazonaws.com/capacityType`
//! (<https://docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html>), those of older
//! tools with `node.kubernetes.io/lifecycle`.

use crate::fargate::{FargateRates, FargateSize, is_fargate};
use crate::instance_type::{CapacityType, InstanceType, Offering};
use crate::label::{self, Labels};
use crate::money::UsdPerHour;
use crate::pod::Pod;

/// How a node is paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NodeCapacityType {
    /// As an instance of EC2.
    Instance(CapacityType),
    /// As a node of Fargate, by the size of its pod.
    Fargate,
}

impl NodeCapacityType {
    /// How a node with these labels is paid for; `None` where they do not say.
    pub fn of(labels: &Labels) -> Option<Self> {
        if is_fargate(labels) {
            return Some(Self::Fargate);
        }
        capacity_type_of(labels).map(Self::Instance)
    }

    /// `spot`, `on-demand`, `reserved` or `fargate`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Instance(own) => own.as_str(),
            Self::Fargate => label::FARGATE,
        }
    }
}

/// How a node was bought; `None` where its labels do not say.
pub fn capacity_type_of(labels: &Labels) -> Option<CapacityType> {
    let own = labels.get(label::CAPACITY_TYPE).and_then(|word| CapacityType::parse(word));
    own.or_else(|| match &**labels.get(label::NODE_GROUP_CAPACITY_TYPE)? {
        "ON_DEMAND" => Some(CapacityType::OnDemand),
        "SPOT" => Some(CapacityType::Spot),
        "CAPACITY_BLOCK" => Some(CapacityType::Reserved),
        _ => None,
    })
    .or_else(|| match &**labels.get(label::LIFECYCLE)? {
        "spot" | "Ec2Spot" => Some(CapacityType::Spot),
        "on-demand" | "normal" | "OnDemand" => Some(CapacityType::OnDemand),
        _ => None,
    })
}

/// The offering that a node of the type was launched from. `None` where the labels leave it open,
/// or the type is not sold so.
///
/// In a zone in which the type is not listed, such as a Local Zone, or one that a catalogue lacks,
/// an on-demand node is priced like those in other zones: on-demand prices are the same in all of a
/// region's. An offering that is not available at no price stands for one whose price is not known,
/// and prices no node.
pub fn offering_of<'a>(labels: &Labels, instance_type: &'a InstanceType) -> Option<&'a Offering> {
    let zone = labels.get(label::ZONE)?;
    let capacity_type = capacity_type_of(labels)?;
    let is_own = |offering: &&Offering| {
        offering.capacity_type == capacity_type
            && (offering.available || offering.price > UsdPerHour::ZERO)
            && match (&offering.reservation, labels.get(label::RESERVATION_ID)) {
                (Some(reservation), Some(id)) => reservation.id == *id,
                _ => true,
            }
    };
    let mut own = instance_type.offerings.iter().filter(is_own);
    let elsewhere = (capacity_type == CapacityType::OnDemand).then(|| own.clone().next()).flatten();
    own.find(|offering| offering.zone == *zone).or(elsewhere)
}

/// What a Fargate node costs by the pod on it: the size that the pod says it was given, or else the
/// one that its requests come to. `None` without the pod, and with several, which no node of
/// Fargate has.
pub fn fargate_price<'p>(
    labels: &Labels,
    pods: impl IntoIterator<Item = &'p Pod>,
    rates: &FargateRates,
) -> Option<UsdPerHour> {
    let mut pods = pods.into_iter().filter(|pod| !pod.is_terminal());
    let pod = pods.next()?;
    if pods.next().is_some() {
        return None;
    }
    let size = pod
        .capacity_provisioned
        .as_deref()
        .copied()
        .or_else(|| FargateSize::for_requests(&pod.spec.requests))?;
    let is_arm = labels.get(label::ARCH).is_some_and(|arch| &**arch == "arm64");
    Some(if is_arm { rates.arm64 } else { rates.amd64 }.price(size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Text;

    fn labels(own: &[(&str, &str)]) -> Labels {
        own.iter().map(|(key, value)| (Text::from(*key), Text::from(*value))).collect()
    }

    #[test]
    fn every_kind_of_node_says_how_it_was_bought_in_its_own_words() {
        let of = |key: &str, value: &str| capacity_type_of(&labels(&[(key, value)]));
        assert_eq!(of("karpenter.sh/capacity-type", "spot"), Some(CapacityType::Spot));
        assert_eq!(of("eks.amazonaws.com/capacityType", "SPOT"), Some(CapacityType::Spot));
        assert_eq!(of("eks.amazonaws.com/capacityType", "ON_DEMAND"), Some(CapacityType::OnDemand));
        assert_eq!(of("node.kubernetes.io/lifecycle", "normal"), Some(CapacityType::OnDemand));
        assert_eq!(of("eks.amazonaws.com/capacityType", "BORROWED"), None);
        assert_eq!(capacity_type_of(&Labels::new()), None);
    }

    #[test]
    fn nodes_of_fargate_are_no_instances() {
        let fargate = labels(&[("eks.amazonaws.com/compute-type", "fargate")]);
        assert_eq!(NodeCapacityType::of(&fargate), Some(NodeCapacityType::Fargate));
        assert_eq!(capacity_type_of(&fargate), None);
        let spot = labels(&[(label::CAPACITY_TYPE, "spot"), (label::COMPUTE_TYPE, "auto")]);
        assert_eq!(NodeCapacityType::of(&spot).map(NodeCapacityType::as_str), Some("spot"));
        assert_eq!(NodeCapacityType::of(&Labels::new()), None);
    }

    #[test]
    fn on_demand_nodes_are_priced_in_zones_that_the_catalogue_lacks_too() {
        let offering = |zone: &str, capacity_type| Offering {
            zone: zone.into(),
            capacity_type,
            price: UsdPerHour::from_nanos(1),
            available: true,
            reservation: None,
        };
        let instance_type = InstanceType {
            offerings: vec![
                offering("test-1a", CapacityType::OnDemand),
                offering("test-1b", CapacityType::OnDemand),
                offering("test-1a", CapacityType::Spot),
            ],
            ..InstanceType::default()
        };
        let zone_of = |zone: &str, capacity_type: &str| {
            let labels = labels(&[(label::ZONE, zone), (label::CAPACITY_TYPE, capacity_type)]);
            offering_of(&labels, &instance_type).map(|own| own.zone.to_string())
        };
        assert_eq!(zone_of("test-1b", "on-demand").as_deref(), Some("test-1b"));
        assert_eq!(zone_of("test-1-lax-1a", "on-demand").as_deref(), Some("test-1a"));
        assert_eq!(zone_of("test-1-lax-1a", "spot"), None, "its price is that zone's own");
    }

    #[test]
    fn a_price_that_is_not_known_is_not_none_at_all() {
        let free = |available| InstanceType {
            offerings: vec![Offering {
                zone: "test-1a".into(),
                capacity_type: CapacityType::Spot,
                price: UsdPerHour::ZERO,
                available,
                reservation: None,
            }],
            ..InstanceType::default()
        };
        let labels = labels(&[(label::ZONE, "test-1a"), (label::CAPACITY_TYPE, "spot")]);
        assert_eq!(offering_of(&labels, &free(false)), None);
        assert!(offering_of(&labels, &free(true)).is_some());
    }
}
