//! Builders for tests.

use std::sync::Arc;

use domain::instance_type::{CapacityType, InstanceType, InstanceTypes, Offering};
use domain::label::{self, Labels};
use domain::money::UsdPerHour;
use domain::node::{Node, NodeCondition};
use domain::node_claim::ConditionStatus;
use domain::pod::{
    ObjectKey, Pod, PodAffinityTerm, PodPhase, PodSpec, TopologySpreadConstraint, WhenUnsatisfiable,
};
use domain::resource::{CPU, MEMORY, PODS, Resources};
use domain::selector::LabelSelector;
use domain::taint::{Taint, TaintEffect};
use domain::workload::{DaemonSet, PodTemplate, Workload, WorkloadKind};
use domain::{Text, Timestamp};
use manifests::{DaemonSetObject, PodTraits, PriorityRef, WorkloadObject};

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

/// A Node of 4 CPU and 16Gi in zone `a`, ready.
pub(crate) struct NodeBuilder(Node);

pub(crate) fn node(name: &str) -> NodeBuilder {
    let resources = Resources::new().with(CPU, 4000).with(MEMORY, 16 * GIB).with(PODS, 58);
    NodeBuilder(Node {
        name: name.into(),
        uid: "".into(),
        created: None,
        deleted: None,
        labels: Labels::from([
            (label::HOSTNAME.into(), name.into()),
            (label::ZONE.into(), "a".into()),
        ]),
        annotations: Labels::new(),
        taints: Vec::new(),
        provider_id: None,
        capacity: resources.clone(),
        allocatable: resources,
        conditions: vec![NodeCondition {
            kind: "Ready".into(),
            status: ConditionStatus::True,
            changed: Some(start()),
        }],
    })
}

impl NodeBuilder {
    pub(crate) fn zone(self, zone: &str) -> Self {
        self.label(label::ZONE, zone)
    }

    pub(crate) fn label(mut self, key: &str, value: &str) -> Self {
        self.0.labels.insert(key.into(), value.into());
        self
    }

    pub(crate) fn cpu(mut self, millis: i64) -> Self {
        self.0.allocatable = self.0.allocatable.with(CPU, millis);
        self
    }

    pub(crate) fn taint(mut self, key: &str, effect: TaintEffect) -> Self {
        self.0.taints.push(Taint { key: key.into(), value: "".into(), effect });
        self
    }

    pub(crate) fn cordoned(mut self) -> Self {
        self.0.taints.push(Node::cordon());
        self
    }

    pub(crate) fn build(self) -> Node {
        self.0
    }
}

/// A pending pod of 1 CPU and 1Gi in namespace `default`.
#[derive(Clone)]
pub(crate) struct PodBuilder {
    pod: Pod,
    spec: PodSpec,
}

pub(crate) fn pod(name: &str) -> PodBuilder {
    let requests = Resources::new().with(CPU, 1000).with(MEMORY, GIB).with(PODS, 1);
    PodBuilder {
        spec: PodSpec { requests, ..PodSpec::default() },
        pod: Pod {
            key: ObjectKey::new("default", name),
            uid: "".into(),
            created: None,
            deleted: None,
            labels: Arc::new(Labels::new()),
            owner: None,
            spec: Arc::default(),
            node_name: None,
            nominated_node_name: None,
            phase: PodPhase::Pending,
            started: None,
            ready: None,
            marked_unschedulable: false,
            do_not_disrupt: None,
            deletion_cost: None,
            is_mirror: false,
            virtual_of: None,
        },
    }
}

impl PodBuilder {
    pub(crate) fn label(mut self, key: &str, value: &str) -> Self {
        Arc::make_mut(&mut self.pod.labels).insert(key.into(), value.into());
        self
    }

    pub(crate) fn cpu(mut self, millis: i64) -> Self {
        self.spec.requests = self.spec.requests.with(CPU, millis);
        self
    }

    pub(crate) fn on(mut self, node: &str) -> Self {
        self.pod.node_name = Some(node.into());
        self.pod.phase = PodPhase::Running;
        self.pod.ready = Some(true);
        self
    }

    pub(crate) fn priority(mut self, priority: i32) -> Self {
        self.spec.priority = priority;
        self
    }

    pub(crate) fn selects_node(mut self, key: &str, value: &str) -> Self {
        self.spec.node_selector.push((key.into(), value.into()));
        self
    }

    pub(crate) fn spread(mut self, key: &str, max_skew: i32, hard: WhenUnsatisfiable) -> Self {
        self.spec.topology_spread.push(TopologySpreadConstraint {
            max_skew,
            topology_key: key.into(),
            when_unsatisfiable: hard,
            selector: Some(self.selector()),
            min_domains: None,
            node_affinity_policy: domain::pod::NodeInclusionPolicy::Honor,
            node_taints_policy: domain::pod::NodeInclusionPolicy::Ignore,
        });
        self
    }

    pub(crate) fn near(mut self, key: &str, labels: (&str, &str)) -> Self {
        self.spec.pod_affinity.push(term(key, labels));
        self
    }

    pub(crate) fn apart_from(mut self, key: &str, labels: (&str, &str)) -> Self {
        self.spec.pod_anti_affinity.push(term(key, labels));
        self
    }

    pub(crate) fn with_spec(mut self, change: impl FnOnce(&mut PodSpec)) -> Self {
        change(&mut self.spec);
        self
    }

    pub(crate) fn build(mut self) -> Pod {
        self.pod.spec = Arc::new(self.spec);
        self.pod
    }

    fn selector(&self) -> LabelSelector {
        LabelSelector::of_labels(self.pod.labels.iter().map(|(key, value)| (&**key, &**value)))
    }

    /// A workload with this pod as its template.
    pub(crate) fn workload(self, kind: WorkloadKind, name: &str, replicas: u32) -> WorkloadObject {
        let pod = self.build();
        WorkloadObject {
            workload: Workload {
                kind,
                key: ObjectKey::new("default", name),
                replicas,
                template: PodTemplate { labels: pod.labels, spec: pod.spec },
            },
            uid: "".into(),
            owner: None,
            selector: None,
            claim_templates: Vec::new(),
            priority: PriorityRef::default(),
            traits: traits(),
        }
    }

    /// A DaemonSet with this pod as its template.
    pub(crate) fn daemon_set(self, name: &str) -> DaemonSetObject {
        let pod = self.build();
        DaemonSetObject {
            daemon_set: DaemonSet {
                key: ObjectKey::new("default", name),
                template: PodTemplate { labels: pod.labels, spec: pod.spec },
            },
            uid: "".into(),
            deleted: None,
            priority: PriorityRef::default(),
            traits: traits(),
        }
    }
}

fn traits() -> PodTraits {
    PodTraits { do_not_disrupt: None, deletion_cost: None }
}

fn term(key: &str, labels: (&str, &str)) -> PodAffinityTerm {
    PodAffinityTerm {
        topology_key: key.into(),
        selector: Some(LabelSelector::of_labels([labels])),
        namespaces: vec![Text::from("default")],
        namespace_selector: None,
    }
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
        default: Arc::new(types.into()),
        ..InstanceTypes::default()
    }
}
