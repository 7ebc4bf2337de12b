//! Builders for tests.

use domain::Timestamp;
use domain::instance_type::{CapacityType, InstanceType, InstanceTypes, Offering};
use domain::label::{self, Labels};
use domain::money::UsdPerHour;
use domain::pod::ObjectKey;
use domain::resource::{CPU, MEMORY, PODS, Resources};
use domain::workload::{DaemonSet, PodTemplate, Workload, WorkloadKind};
use manifests::{DaemonSetObject, PodTraits, PriorityRef, WorkloadObject};
use testkit::{NodeBuilder, PodBuilder};

use crate::ec2::{FleetOverride, FleetRequest, Registration};

pub(crate) const GIB: i64 = 1 << 30;

pub(crate) fn start() -> Timestamp {
    "2026-01-05T09:00:00Z".parse().unwrap()
}

/// A request for an m5.large in zone `a`.
pub(crate) fn fleet_request(token: &str, capacity_type: CapacityType) -> FleetRequest {
    FleetRequest {
        client_token: token.into(),
        capacity_type,
        overrides: vec![FleetOverride {
            instance_type: "m5.large".into(),
            zone: "a".into(),
            reservation: None,
        }],
        node_class: "default".into(),
        image: "ami-1".into(),
        tags: Labels::new(),
        registration: Registration::default(),
    }
}

/// A ready Node of 4 CPU and 16Gi in zone `a`.
pub(crate) fn node(name: &str) -> NodeBuilder {
    let resources = testkit::resources(4000, 16 << 10, 58);
    testkit::node(name)
        .label(label::HOSTNAME, name)
        .zone("a")
        .resources(&resources)
        .ready(Some(start()))
}

/// A pending pod of 1 CPU and 1Gi in namespace `default`.
pub(crate) fn pod(name: &str) -> PodBuilder {
    testkit::pod(name).requests(1000, 1 << 10)
}

/// A workload with a pod as its template.
pub(crate) fn workload(
    pod: PodBuilder,
    kind: WorkloadKind,
    name: &str,
    replicas: u32,
) -> WorkloadObject {
    let pod = pod.build();
    WorkloadObject {
        workload: Workload {
            kind,
            key: ObjectKey::new("default", name),
            replicas,
            template: PodTemplate { labels: pod.labels, spec: pod.spec },
            selector: None,
        },
        uid: "".into(),
        owner: None,
        selector: None,
        claim_templates: Vec::new(),
        priority: PriorityRef::default(),
        traits: traits(),
        job: None,
        rollout: None,
    }
}

/// A DaemonSet with a pod as its template.
pub(crate) fn daemon_set(pod: PodBuilder, name: &str) -> DaemonSetObject {
    let pod = pod.build();
    DaemonSetObject {
        daemon_set: DaemonSet {
            key: ObjectKey::new("default", name),
            template: PodTemplate { labels: pod.labels, spec: pod.spec },
            is_on_host_network: false,
        },
        uid: "".into(),
        deleted: None,
        priority: PriorityRef::default(),
        traits: traits(),
    }
}

fn traits() -> PodTraits {
    PodTraits { do_not_disrupt: None, deletion_cost: None }
}

/// m5.large and m5.xlarge in zones a and b, on-demand and spot; zone b is a little dearer.
pub(crate) fn instance_types() -> InstanceTypes {
    let types = [("m5.large", 2, 96), ("m5.xlarge", 4, 192)].map(|(name, cores, mills)| {
        let resources = Resources::new()
            .with(CPU, cores * 1000)
            .with(MEMORY, cores * 4 * GIB)
            .with(PODS, cores * 14 + 1);
        let mut offerings = Vec::new();
        for (zone, more) in [("a", 0), ("b", 1)] {
            for (capacity_type, share) in [(CapacityType::OnDemand, 10), (CapacityType::Spot, 4)] {
                offerings.push(Offering {
                    zone: zone.into(),
                    capacity_type,
                    price: UsdPerHour::from_nanos((mills + more) * share * 100_000),
                    available: true,
                    reservation: None,
                });
            }
        }
        let labels = [(label::INSTANCE_TYPE, name), (label::ARCH, "amd64"), (label::OS, "linux")];
        InstanceType {
            name: name.into(),
            labels: labels.map(|(key, value)| (key.into(), vec![value.into()])).into(),
            capacity: resources.clone(),
            allocatable: resources,
            offerings,
        }
    });
    InstanceTypes {
        region: Some("us-east-1".into()),
        default: types.into_iter().collect(),
        ..InstanceTypes::default()
    }
}
