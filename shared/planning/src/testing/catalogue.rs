//! The catalogue: instance types and offerings.

use domain::instance_type::{CapacityType, InstanceType, Offering, Reservation};
use domain::label;
use domain::resource::{CPU, MEMORY, PODS, Resources};

use super::values::{texts, usd};

const GIB: i64 = 1 << 30;

/// An instance type with `cpus` CPUs and 4 GiB each, sold on demand in three zones.
pub(crate) fn instance_type(name: &str, cpus: i64, price: f64) -> InstanceType {
    let resources =
        Resources::new().with(CPU, cpus * 1000).with(MEMORY, cpus * 4 * GIB).with(PODS, 50);
    InstanceType {
        name: name.into(),
        labels: [
            (label::INSTANCE_TYPE.into(), texts(&[name])),
            (label::ARCH.into(), texts(&["amd64"])),
            (label::OS.into(), texts(&["linux"])),
        ]
        .into(),
        capacity: resources.clone(),
        allocatable: resources,
        offerings: ["a", "b", "c"].map(|zone| offering(zone, CapacityType::OnDemand, price)).into(),
    }
}

pub(crate) fn offering(zone: &str, capacity_type: CapacityType, price: f64) -> Offering {
    Offering {
        zone: zone.into(),
        capacity_type,
        price: usd(price),
        available: true,
        reservation: None,
    }
}

/// An offering of a reservation with `remaining` instances left.
pub(crate) fn reserved(zone: &str, id: &str, remaining: u32) -> Offering {
    Offering {
        reservation: Some(Box::new(Reservation {
            remaining: Some(remaining),
            ..Reservation::of_id(id)
        })),
        ..offering(zone, CapacityType::Reserved, 0.000_001)
    }
}

/// The type, also sold as spot in zone `a`.
pub(crate) fn with_spot(mut instance_type: InstanceType, price: f64) -> InstanceType {
    instance_type.offerings.push(offering("a", CapacityType::Spot, price));
    instance_type
}

/// What the catalogue sells.
pub(super) fn catalogue() -> Vec<InstanceType> {
    let mut arm = instance_type("a.xlarge", 4, 0.24);
    arm.labels.insert(label::ARCH.into(), texts(&["arm64"]));
    vec![
        instance_type("m.2xlarge", 8, 0.40),
        instance_type("m.large", 2, 0.10),
        instance_type("m.xlarge", 4, 0.20),
        arm,
    ]
}
