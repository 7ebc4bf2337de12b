//! Makers of small clusters and plans for the renderers' tests.

use crate::view::pricing::{PriceNote, SaidBy};
use domain::instance_type::{
    CapacityType, InstanceType, InstanceTypes, Offering, PriceSource, Pricing,
};
use domain::label;
use domain::money::UsdPerHour;
use domain::node::Node;
use domain::plan::{
    BlockedNode, LaunchOffering, Placement, Plan, PlanFigures, PlannedDisruption, PlannedNodeClaim,
    PlannedVirtualPod, Totals, UnschedulablePod,
};
use domain::pod::{Pod, PodKey, PodPhase, VirtualPodSource};
use domain::reason::{DisruptionReason, NodePoolUnfit, NotDisruptable, PodUnschedulable};
use domain::requirement::Requirement;
use domain::resource::{CPU, MEMORY, PODS, Resources};
use domain::snapshot::{ClusterObjects, ClusterSnapshot};
use domain::{SignedDuration, Text, Timestamp};
use simulation::history::{Bound, Came, History, HowEnded, NodeLife, PodLife, Sample};
use simulation::report::{
    Cost, Entry, ExpectationOutcome, Happening, Moment, NodeRow, NodeState, Report, Usage, View,
    Waiting,
};

pub(crate) fn now() -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * 365)
}

pub(crate) fn usd(dollars: f64) -> UsdPerHour {
    UsdPerHour::from_f64(dollars).unwrap()
}

pub(crate) fn requests(cpu_millis: i64, memory_mebibytes: i64, pods: i64) -> Resources {
    Resources::new().with(CPU, cpu_millis).with(MEMORY, memory_mebibytes << 20).with(PODS, pods)
}

/// A running pod, bound to the node if one is given.
pub(crate) fn pod(name: &str, node: Option<&str>) -> Pod {
    let pod = testkit::pod(name).requests(500, 512).build();
    Pod { node_name: node.map(Text::from), phase: PodPhase::Running, ..pod }
}

/// An on-demand m7i.large of NodePool `default`, 90 minutes old.
pub(crate) fn node(name: &str) -> Node {
    let node = testkit::node(name)
        .label(label::NODE_POOL, "default")
        .label(label::INSTANCE_TYPE, "m7i.large")
        .zone("us-east-1a")
        .label(label::CAPACITY_TYPE, "on-demand")
        .created(now() - SignedDuration::from_mins(90))
        .build();
    Node { capacity: requests(2000, 8192, 29), allocatable: requests(1900, 7168, 29), ..node }
}

fn instance_type(name: &str, price: f64) -> InstanceType {
    let offering = |capacity_type, price| Offering {
        zone: "us-east-1a".into(),
        capacity_type,
        price,
        available: true,
        reservation: None,
    };
    InstanceType {
        name: name.into(),
        labels: [(label::INSTANCE_TYPE.into(), vec![name.into()])].into(),
        capacity: requests(2000, 8192, 29),
        allocatable: requests(1900, 7168, 29),
        offerings: vec![
            offering(CapacityType::Spot, usd(price * 0.4)),
            offering(CapacityType::OnDemand, usd(price)),
        ],
    }
}

/// Two nodes with two pods, and two pending pods.
pub(crate) fn snapshot() -> ClusterSnapshot {
    ClusterSnapshot {
        objects: ClusterObjects {
            nodes: vec![node("ip-10-0-0-7"), node("ip-10-0-0-1")].into(),
            pods: vec![
                pod("web-0", Some("ip-10-0-0-1")),
                pod("web-1", Some("ip-10-0-0-7")),
                pod("web-2", None),
                pod("api-0", None),
            ]
            .into(),
            ..ClusterObjects::default()
        },
        instance_types: InstanceTypes {
            default: vec![instance_type("c7i.large", 0.08925), instance_type("m7i.large", 0.1008)]
                .into(),
            ..InstanceTypes::default()
        },
        ..ClusterSnapshot::empty(now())
    }
}

pub(crate) fn claim(name: &str, pods: &[&str]) -> PlannedNodeClaim {
    let count = i64::try_from(pods.len()).unwrap();
    let offering = LaunchOffering {
        instance_type: "c7i.large".into(),
        zone: "us-east-1a".into(),
        capacity_type: CapacityType::Spot,
        price: usd(0.0357),
        reservation_id: None,
    };
    PlannedNodeClaim {
        name: name.into(),
        node_pool: "default".into(),
        node_class: "default".into(),
        instance_types: vec!["c7i.large".into(), "m7i.large".into()],
        requirements: vec![Requirement::is_in(label::ZONE, ["us-east-1a".into()])],
        offerings: vec![offering.clone()],
        offering,
        labels: [(label::NODE_POOL.into(), "default".into())].into(),
        taints: Vec::new(),
        startup_taints: Vec::new(),
        requests: requests(500 * count, 512 * count, count),
        pods: pods.iter().map(|name| PodKey::new("default", *name)).collect(),
    }
}

/// A plan with one launch, one placement, one disruption with a replacement, one blocked node and
/// one unschedulable pod.
pub(crate) fn plan() -> Plan {
    let key = |name: &str| PodKey::new("default", name);
    Plan {
        committed: None,
        node_claims: vec![claim("default-x7k2p", &["api-0"])],
        placements: vec![Placement { pod: key("web-2"), node: "ip-10-0-0-1".into() }],
        unschedulable: vec![UnschedulablePod {
            pod: key("huge"),
            reasons: vec![PodUnschedulable::NodePool {
                node_pool: "default".into(),
                reason: NodePoolUnfit::TooSmall {
                    resource: "cpu".into(),
                    needed: 512_000,
                    largest: 1900,
                    instance_type: "m7i.large".into(),
                },
            }],
        }],
        disruptions: vec![PlannedDisruption {
            reason: DisruptionReason::Underutilized,
            nodes: vec!["ip-10-0-0-7".into()],
            pods: vec![key("web-1")],
            replacements: vec![claim("default-b2c3d", &["web-1"])],
            moves: Vec::new(),
            savings: usd(0.0651),
        }],
        blocked: vec![BlockedNode {
            node: "ip-10-0-0-1".into(),
            reason: NotDisruptable::PodDoNotDisrupt(key("web-0")),
        }],
        awaiting_budget: Vec::new(),
        candidates: Vec::new(),
        virtual_pods: Vec::new(),
        totals: Totals {
            pending_pods: 3,
            hourly_before: usd(0.2016),
            hourly_after: usd(0.1722),
            lower_bound: Some(usd(0.0357)),
        },
        figures: PlanFigures::default(),
    }
}

/// [`plan`] with virtual pods: on the launched node, on an existing one, and one that is
/// unschedulable.
pub(crate) fn plan_with_virtual_pods() -> Plan {
    let key = |name: &str| PodKey::new("default", name);
    let evening = VirtualPodSource::ScaledObject(key("evening"));
    let spare = VirtualPodSource::CapacityBuffer(key("spare"));
    let own = |pod, source: &VirtualPodSource, place: Option<&str>| PlannedVirtualPod {
        pod: key(pod),
        source: source.clone(),
        place: place.map(Text::from),
    };
    let mut plan = plan();
    plan.node_claims[0].requests = requests(1800, 2048, 4);
    plan.virtual_pods = vec![
        own("capacity-buffer-spare-0", &spare, Some("default-x7k2p")),
        own("capacity-buffer-spare-1", &spare, None),
        own("scaledobject-evening-0", &evening, Some("default-x7k2p")),
        own("scaledobject-evening-1", &evening, Some("default-x7k2p")),
        own("scaledobject-evening-2", &evening, Some("ip-10-0-0-1")),
    ];
    plan
}

/// A spot m7i.large with two pods.
fn row(name: &str, used_cpu_millis: i64) -> NodeRow {
    NodeRow {
        name: name.into(),
        state: NodeState::Ready,
        node_pool: Some("default".into()),
        instance_type: "m7i.large".into(),
        zone: "us-east-1a".into(),
        capacity_type: Some(CapacityType::Spot),
        cpu: Usage { used: used_cpu_millis, allocatable: 1900 },
        memory: Usage { used: 512 << 20, allocatable: 7168 << 20 },
        pods: Usage { used: 2, allocatable: 29 },
        age: SignedDuration::from_secs(100),
        price: Some(usd(0.0403)),
    }
}

/// List prices, and spot estimated from them.
fn listed() -> Pricing {
    Pricing {
        source: PriceSource::Listed,
        spot: PriceSource::Estimated,
        as_of: Some("2026-07".into()),
    }
}

/// A short run in which a node is disrupted.
pub(crate) fn report() -> Report {
    let at = |seconds| now() + SignedDuration::from_secs(seconds);
    let entry = |seconds, what, why: Option<&str>| Entry {
        at: at(seconds),
        what,
        why: why.map(Text::from),
    };
    let view = |moment, seconds, nodes: Vec<NodeRow>| View {
        moment,
        at: at(seconds),
        hourly: usd(0.0403) * i64::try_from(nodes.len()).unwrap(),
        nodes,
        pods_running: 3,
        pods_pending: 0,
    };
    Report {
        scenario: "shrink".into(),
        about: "Two nodes become one.".into(),
        seed: 7,
        started: now(),
        ended: at(900),
        timeline: vec![
            entry(0, Happening::Applied(vec!["Deployment default/web".into()]), None),
            entry(
                600,
                Happening::Disrupting {
                    reason: DisruptionReason::Underutilized,
                    nodes: vec!["ip-10-0-0-7".into()],
                    replacements: Vec::new(),
                },
                Some("its pods fit elsewhere"),
            ),
        ],
        views: vec![
            view(Moment::Peak, 300, vec![row("ip-10-0-0-1", 900), row("ip-10-0-0-7", 500)]),
            view(Moment::End, 900, vec![row("ip-10-0-0-1", 1400)]),
        ],
        region: Some("us-east-1".into()),
        region_said_by: SaidBy::Scenario,
        pricing: listed(),
        cost: Cost {
            total_nano_usd: 16_000_000,
            covered_nano_usd: None,
            peak_hourly: usd(0.0806),
            percent_of_bound: None,
            final_hourly: usd(0.0403),
        },
        is_replay: false,
        interruptions: simulation::report::Interruptions::default(),
        needed: None,
        waiting: Waiting {
            pods_bound: 4,
            total: SignedDuration::from_secs(100),
            longest: SignedDuration::from_secs(52),
            median: SignedDuration::from_secs(49),
            percentile_95: SignedDuration::from_secs(50),
            longest_after_eviction: SignedDuration::ZERO,
        },
        expectations: vec![
            ExpectationOutcome { at: at(900), expected: "1 node".into(), found: None },
            ExpectationOutcome {
                at: at(900),
                expected: "2 pods".into(),
                found: Some("3 pods".into()),
            },
        ],
        violations: Vec::new(),
    }
}

/// What became of the nodes and of two pods of [`report`].
pub(crate) fn history() -> History {
    let at = |seconds| now() + SignedDuration::from_secs(seconds);
    let node = |name: &str, claim: &str, launched| NodeLife {
        name: name.into(),
        claim: Some(claim.into()),
        node_pool: Some("default".into()),
        instance_type: "m7i.large".into(),
        zone: "us-east-1a".into(),
        capacity_type: Some(CapacityType::Spot),
        price: Some(usd(0.0403)),
        cpu: 1900,
        memory: 7168 << 20,
        launched: at(launched),
        joined: Some(at(launched + 40)),
        ready: Some(at(launched + 55)),
        draining: None,
        gone: None,
        came: Came::ForPods(2),
        went: None,
    };
    let pod = |name: &str, bound, node| PodLife {
        key: PodKey::new("default", name),
        is_daemon: false,
        cpu: 500,
        memory: 512 << 20,
        created: at(0),
        bound: Some((at(bound), node)),
        ended: None,
        unschedulable: None,
    };
    History {
        nodes: vec![
            node("ip-10-0-0-1", "default-x7k2p", 2),
            NodeLife {
                draining: Some(at(600)),
                gone: Some(at(700)),
                went: Some("Underutilized: it saves $0.0403/h".into()),
                ..node("ip-10-0-0-7", "default-b2c3d", 3)
            },
        ],
        pods: vec![
            pod("web-0", 57, 0),
            PodLife { ended: Some((at(610), HowEnded::Evicted)), ..pod("web-1", 58, 1) },
        ],
        samples: vec![
            Sample { at: at(0), hourly: usd(0.0), pending: 2, bound: 0 },
            Sample { at: at(3), hourly: usd(0.0806), pending: 2, bound: 0 },
            Sample { at: at(58), hourly: usd(0.0806), pending: 0, bound: 2 },
            Sample { at: at(700), hourly: usd(0.0403), pending: 0, bound: 1 },
        ],
        bounds: vec![Bound { at: at(0), hourly: usd(0.0403) }],
        bound_interval: SignedDuration::from_secs(10),
    }
}

/// What is said beside the dollars of a plan.
pub(crate) fn price_note() -> PriceNote {
    PriceNote::of(&snapshot().instance_types, SaidBy::Catalog)
}
