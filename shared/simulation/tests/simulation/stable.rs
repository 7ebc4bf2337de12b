//! Clusters that are left to the functions until nothing changes, and what each thing that holds
//! them back costs: without it, the cluster costs as much less as was said.

use std::sync::Arc;

use catalog::CatalogOptions;
use domain::budget::{Budget, BudgetWindow, WindowZone};
use domain::instance_type::InstanceTypes;
use domain::label;
use domain::money::UsdPerHour;
use domain::node::Node;
use domain::node_claim::{ConditionType, NodeClaim, NodeClaimStatus};
use domain::node_pool::{ConsolidationPolicy, NeverOr, NodePool};
use domain::off_hours::OffHours;
use domain::pdb::{CountOrPercent, PodDisruptionBudget};
use domain::pod::{DoNotDisrupt, ObjectKey, OwnerKind, Pod, PodPhase};
use domain::requirement::Requirement;
use domain::schedule::time_zone;
use domain::selector::LabelSelector;
use domain::settings::{SearchEffort, Settings};
use domain::snapshot::{ClusterObjects, ClusterSnapshot};
use domain::stamp::{NODE_POOL_RULES, Stamp};
use domain::workload::{DaemonSet, PodTemplate, Workload, WorkloadKind};
use domain::{SignedDuration, Text, Timestamp};
use simulation::report::Happening;
use simulation::scenario::Scenario;
use simulation::stable::blocker::{self, Blocker, BlockerCost, Kind};
use simulation::stable::{StableRun, until_stable};

const ZONES: [&str; 3] = ["us-east-1a", "us-east-1b", "us-east-1c"];

fn now() -> Timestamp {
    "2026-01-05T09:00:00Z".parse().unwrap()
}

/// A cluster under construction: nodes with their claims, and pods on them.
struct Cluster(ClusterSnapshot);

impl Cluster {
    /// Without nodes, with NodePool `default`: on demand, of the usual families, all of whose
    /// nodes may go at once.
    fn new() -> Self {
        let pool = testkit::node_pool("default")
            .without_budgets()
            .require(Requirement::is_in(label::CAPACITY_TYPE, ["on-demand".into()]))
            .require(Requirement::is_in(label::INSTANCE_TYPE, TYPES.map(Text::from)))
            .require(Requirement::is_in(label::ZONE, ZONES.map(Text::from)))
            .with(|pool| {
                pool.disruption.consolidate_after = NeverOr::After(SignedDuration::ZERO);
                Arc::make_mut(&mut pool.template).expire_after = NeverOr::Never;
            })
            .build();
        let classes = vec![testkit::node_class("default")];
        let types = catalog::embedded_in("us-east-1")
            .unwrap()
            .instance_types(&classes, &CatalogOptions::of("us-east-1"));
        Self(ClusterSnapshot {
            settings: Settings { search_effort: SearchEffort::Quick, ..Settings::default() },
            objects: ClusterObjects {
                node_pools: vec![pool],
                node_classes: classes,
                ..ClusterObjects::default()
            },
            instance_types: types,
            ..ClusterSnapshot::empty(now())
        })
    }

    fn pool(mut self, change: impl FnOnce(&mut NodePool)) -> Self {
        change(&mut self.0.objects.node_pools[0]);
        self
    }

    /// Nodes of a type, one a zone in turn.
    fn nodes(mut self, names: &[&str], instance_type: &str, capacity_type: &str) -> Self {
        for (name, zone) in names.iter().zip(ZONES.iter().cycle()) {
            let types = self.0.instance_types.of("default");
            let own = types.iter().find(|own| &*own.name == instance_type).unwrap();
            let (capacity, allocatable) = (own.capacity.clone(), own.allocatable.clone());
            let node = node(name, zone, instance_type, capacity_type);
            let node = Node { capacity, allocatable, ..node };
            self.0.node_claims.push(claim(&node));
            self.0.objects.nodes.push(node);
        }
        self
    }

    /// A running pod of a ReplicaSet on a node.
    fn pod(mut self, owner: &str, node: &str, cpu: i64, change: impl FnOnce(&mut Pod)) -> Self {
        let serial = self.0.objects.pods.len();
        let mut pod = testkit::pod(format!("{owner}-{serial}"))
            .requests(cpu, 256)
            .label("app", owner)
            .owned_by(OwnerKind::ReplicaSet, owner)
            .on(node)
            .build();
        pod.uid = format!("uid-{serial}").into();
        pod.created = Some(now() - SignedDuration::from_hours(48));
        pod.started = pod.created;
        pod.phase = PodPhase::Running;
        pod.ready = Some(true);
        change(&mut pod);
        self.0.objects.pods.push(pod);
        self
    }

    fn objects(mut self, change: impl FnOnce(&mut ClusterObjects)) -> Self {
        change(&mut self.0.objects);
        self
    }
}

const CATEGORY: &str = "karpenter.k8s.aws/instance-category";
const TYPES: [&str; 4] = ["m5.large", "m5.xlarge", "m5.2xlarge", "m5.4xlarge"];

fn node(name: &str, zone: &str, instance_type: &str, capacity_type: &str) -> Node {
    testkit::node(name)
        .labels([
            (label::NODE_POOL, "default"),
            (label::NODE_CLASS, "default"),
            (label::INSTANCE_TYPE, instance_type),
            (label::CAPACITY_TYPE, capacity_type),
            (label::HOSTNAME, name),
            (label::ARCH, "amd64"),
            (CATEGORY, "m"),
            (label::OS, "linux"),
            (label::REGISTERED, "true"),
            (label::INITIALIZED, "true"),
        ])
        .zone(zone)
        .created(now() - SignedDuration::from_hours(48))
        .ready(Some(now() - SignedDuration::from_hours(48)))
        .with(|node| node.provider_id = Some(format!("aws:///{zone}/i-{name}").into()))
        .build()
}

fn claim(node: &Node) -> NodeClaim {
    let conditions = [
        ConditionType::Launched,
        ConditionType::Registered,
        ConditionType::Initialized,
        ConditionType::Ready,
    ];
    let since = Some(now() - SignedDuration::from_hours(48));
    testkit::node_claim(format!("claim-{}", node.name))
        .uid(format!("uid-{}", node.name))
        .created(now() - SignedDuration::from_hours(48))
        .with(|claim| {
            claim.labels = node.labels.clone();
            claim.status = NodeClaimStatus {
                node_name: Some(node.name.clone()),
                provider_id: node.provider_id.clone(),
                capacity: node.capacity.clone(),
                allocatable: node.allocatable.clone(),
                conditions: conditions
                    .map(|kind| domain::node_claim::Condition {
                        changed: since,
                        ..testkit::condition(kind)
                    })
                    .into(),
                ..NodeClaimStatus::default()
            };
        })
        .build()
}

/// From an hour in Seoul, for some hours.
fn seoul(opens: u8, hours: i64) -> BudgetWindow {
    BudgetWindow {
        schedule: format!("0 {opens} * * *").parse().unwrap(),
        duration: SignedDuration::from_hours(hours),
        zone: WindowZone::Known(time_zone("Asia/Seoul").unwrap()),
    }
}

fn budget(name: &str) -> PodDisruptionBudget {
    PodDisruptionBudget {
        key: ObjectKey::new("default", name),
        selector: Some(LabelSelector::of_labels([("app", name)])),
        max_unavailable: Some(CountOrPercent::Count(0)),
        min_available: None,
        always_allow_unhealthy: false,
        disruptions_allowed: Some(0),
        current_healthy: 1,
        desired_healthy: 1,
    }
}

fn run(snapshot: &ClusterSnapshot) -> StableRun {
    let run = until_stable(snapshot, &|_| {}).unwrap();
    assert!(run.is_stable, "{:#?}", run.report.timeline);
    assert!(run.report.violations.is_empty(), "{:?}", run.report.violations);
    run
}

fn price(run: &StableRun) -> UsdPerHour {
    run.report.cost.final_hourly
}

/// The blocker of a kind is named as expected, is said to cost something, and without it the
/// cluster ends as much cheaper as was said, within a percent of what it cost.
#[track_caller]
fn check(cluster: Cluster, kind: Kind, name: &str, remove: impl FnOnce(&mut ClusterSnapshot)) {
    let mut snapshot = cluster.0;
    let held = run(&snapshot);
    let costs = blocker::costs(&held.end, &held.owners).costs;
    let own = costs.iter().find(|cost| cost.blocker.kind == kind);
    assert!(own.is_some(), "{kind:?} is not among {costs:#?}");
    let BlockerCost { blocker: Blocker { names, .. }, saving, is_at_least } = own.unwrap();
    let names: Vec<&str> = names.iter().map(|own| &**own).collect();
    assert_eq!(names.join(" "), name);
    assert!(*saving > UsdPerHour::ZERO && !is_at_least, "{costs:#?}");
    remove(&mut snapshot);
    let free = run(&snapshot);
    let saved = price(&held) - price(&free);
    let off = (saved.nanos() - saving.nanos()).abs();
    assert!(
        off * 100 <= price(&held).nanos(),
        "said {saving}, saved {saved}: {} to {}",
        price(&held),
        price(&free)
    );
}

fn two_half_empty_nodes() -> Cluster {
    Cluster::new().nodes(&["a", "b"], "m5.xlarge", "on-demand").pod("web", "a", 1500, |_| {}).pod(
        "web",
        "b",
        1500,
        |_| {},
    )
}

#[test]
fn a_cluster_that_is_left_alone_comes_to_rest_and_nothing_is_said_to_hold_it() {
    let cluster = two_half_empty_nodes().pool(|pool| {
        let template = Arc::make_mut(&mut pool.template);
        template.requirements.retain(|own| &*own.key != label::CAPACITY_TYPE);
    });
    let run = run(&cluster.0);
    assert!(price(&run) < UsdPerHour::from_f64(2.0 * 0.192).unwrap());
    assert!(run.evictions() > 0);
    let elapsed = run.last_change.duration_since(now());
    assert!(elapsed > SignedDuration::ZERO && elapsed < SignedDuration::from_mins(20), "{elapsed}");
    let costs = blocker::costs(&run.end, &run.owners);
    let others: Vec<_> = costs.costs.iter().map(|own| own.blocker.kind).collect();
    assert!(!others.contains(&Kind::PodDisruptionBudget), "{costs:?}");
}

#[test]
fn a_pod_disruption_budget() {
    let cluster = two_half_empty_nodes()
        .objects(|objects| objects.pod_disruption_budgets = vec![budget("web")]);
    check(cluster, Kind::PodDisruptionBudget, "default/web", |snapshot| {
        snapshot.objects.pod_disruption_budgets.clear();
    });
}

#[test]
fn pods_with_do_not_disrupt() {
    let keep = |pod: &mut Pod| pod.do_not_disrupt = Some(DoNotDisrupt::Always);
    let cluster = Cluster::new()
        .nodes(&["a", "b"], "m5.xlarge", "on-demand")
        .pod("batch", "a", 1500, keep)
        .pod("batch", "b", 1500, keep);
    check(cluster, Kind::DoNotDisruptPods, "ReplicaSet default/batch", |snapshot| {
        for pod in &mut snapshot.objects.pods {
            pod.do_not_disrupt = None;
        }
    });
}

#[test]
fn a_pod_of_a_stateful_set_that_is_not_there_is_named_by_it() {
    let keep = |pod: &mut Pod| {
        pod.do_not_disrupt = Some(DoNotDisrupt::Always);
        pod.owner.as_mut().unwrap().kind = OwnerKind::StatefulSet;
    };
    let cluster = Cluster::new()
        .nodes(&["a", "b"], "m5.xlarge", "on-demand")
        .pod("db", "a", 1500, keep)
        .pod("db", "b", 1500, keep);
    check(cluster, Kind::DoNotDisruptPods, "StatefulSet default/db", |snapshot| {
        for pod in &mut snapshot.objects.pods {
            pod.do_not_disrupt = None;
        }
    });
}

fn stateful_set(replicas: u32, pod: &Pod) -> Workload {
    Workload {
        kind: WorkloadKind::StatefulSet,
        key: ObjectKey::new("default", "db"),
        replicas,
        template: PodTemplate { labels: pod.labels.clone(), spec: pod.spec.clone() },
        selector: None,
    }
}

#[test]
fn a_pod_of_a_stateful_set_that_moves_keeps_its_name() {
    let of_set = |pod: &mut Pod| pod.owner.as_mut().unwrap().kind = OwnerKind::StatefulSet;
    let cluster = Cluster::new()
        .nodes(&["a", "b"], "m5.2xlarge", "on-demand")
        .pod("db", "a", 1500, of_set)
        .pod("db", "b", 1500, of_set);
    let cluster = cluster.objects(|own| own.workloads = vec![stateful_set(2, &own.pods[0])]);
    let run = run(&cluster.0);
    assert!(run.evictions() > 0);
    let names: Vec<&str> = run.end.objects.pods.iter().map(|pod| &*pod.key.name).collect();
    assert_eq!(names, ["db-0", "db-1"]);
}

#[test]
fn a_stateful_set_with_other_numbers_gets_no_more_pods() {
    let of_set = |pod: &mut Pod| {
        pod.owner.as_mut().unwrap().kind = OwnerKind::StatefulSet;
        pod.key.name = "db-7".into();
    };
    let cluster =
        Cluster::new().nodes(&["a"], "m5.xlarge", "on-demand").pod("db", "a", 3000, of_set);
    let cluster = cluster.objects(|own| own.workloads = vec![stateful_set(1, &own.pods[0])]);
    let run = run(&cluster.0);
    assert_eq!(run.end.objects.pods.len(), 1);
}

#[test]
fn a_node_that_another_autoscaler_drains_is_gone_in_the_end() {
    let mut cluster =
        Cluster::new().nodes(&["a"], "m5.xlarge", "on-demand").pod("web", "a", 3000, |_| {});
    let before = cluster.0.node_claims.len();
    cluster = cluster.nodes(&["b"], "m5.4xlarge", "on-demand").pod("web", "b", 500, |_| {});
    cluster.0.node_claims[before].deleted = Some(now() - SignedDuration::from_mins(3));
    let run = run(&cluster.0);
    let nodes: Vec<&str> = run.end.objects.nodes.iter().map(|own| &*own.name).collect();
    assert_eq!(nodes, ["a"]);
    assert_eq!(run.end.objects.pods.iter().filter(|pod| pod.node_name.is_some()).count(), 2);
}

#[test]
fn nodes_with_do_not_disrupt() {
    let mut cluster = two_half_empty_nodes().nodes(&["c"], "m5.4xlarge", "on-demand");
    for node in &mut cluster.0.objects.nodes {
        if &*node.name == "c" {
            node.annotations.insert(label::DO_NOT_DISRUPT.into(), "true".into());
        }
    }
    check(cluster, Kind::DoNotDisruptNode, "c", |snapshot| {
        for node in &mut snapshot.objects.nodes {
            node.annotations.remove(label::DO_NOT_DISRUPT);
        }
    });
}

#[test]
fn a_node_pool_that_forbids_spot() {
    let mut cluster = Cluster::new().nodes(&["a", "b", "c", "d"], "m5.2xlarge", "on-demand");
    for name in ["a", "b", "c", "d"] {
        for _ in 0..4 {
            cluster = cluster.pod("web", name, 1800, |_| {});
        }
    }
    check(cluster, Kind::OnDemandOnly, "default", |snapshot| {
        let template = Arc::make_mut(&mut snapshot.objects.node_pools[0].template);
        template.requirements.retain(|own| &*own.key != label::CAPACITY_TYPE);
        let types = ["spot", "on-demand"].map(Text::from);
        template.requirements.push(Requirement::is_in(label::CAPACITY_TYPE, types));
    });
}

#[test]
fn spot_that_may_not_replace_spot() {
    let cluster = Cluster::new()
        .pool(|pool| {
            let template = Arc::make_mut(&mut pool.template);
            template.requirements = vec![
                Requirement::is_in(label::CAPACITY_TYPE, ["spot".into()]),
                Requirement::is_in(CATEGORY, ["c", "m", "r"].map(Text::from)),
                Requirement::is_in(label::ARCH, ["amd64".into()]),
            ];
        })
        .nodes(&["a"], "m5.4xlarge", "spot")
        .pod("web", "a", 1500, |_| {});
    check(cluster, Kind::SpotToSpotOff, "", |snapshot| {
        snapshot.settings.feature_gates.spot_to_spot_consolidation = true;
    });
}

#[test]
fn a_node_pool_that_consolidates_only_empty_nodes() {
    let cluster = two_half_empty_nodes()
        .pool(|pool| pool.disruption.consolidation_policy = ConsolidationPolicy::WhenEmpty);
    check(cluster, Kind::WhenEmpty, "default", |snapshot| {
        snapshot.objects.node_pools[0].disruption.consolidation_policy =
            ConsolidationPolicy::WhenEmptyOrUnderutilized;
    });
}

#[test]
fn a_node_pool_that_never_consolidates() {
    let cluster =
        two_half_empty_nodes().pool(|pool| pool.disruption.consolidate_after = NeverOr::Never);
    check(cluster, Kind::NeverConsolidated, "default", |snapshot| {
        snapshot.objects.node_pools[0].disruption.consolidate_after =
            NeverOr::After(SignedDuration::ZERO);
    });
}

#[test]
fn a_budget_that_lets_no_node_go() {
    let none =
        domain::budget::Budget { nodes: CountOrPercent::Count(0), reasons: None, window: None };
    let cluster = two_half_empty_nodes().pool(|pool| pool.disruption.budgets = vec![none]);
    check(cluster, Kind::NoBudget, "default", |snapshot| {
        snapshot.objects.node_pools[0].disruption.budgets.clear();
    });
}

#[test]
fn a_spread_over_zones() {
    let spread = |pod: &mut Pod| {
        let spread = testkit::spread(label::ZONE, ("app", "web"));
        Arc::make_mut(&mut pod.spec).topology_spread = vec![spread];
    };
    let cluster = Cluster::new()
        .nodes(&["a", "b", "c"], "m5.large", "on-demand")
        .pod("web", "a", 400, spread)
        .pod("web", "b", 400, spread)
        .pod("web", "c", 400, spread);
    check(cluster, Kind::ZoneSpread, "ReplicaSet default/web", |snapshot| {
        for pod in &mut snapshot.objects.pods {
            Arc::make_mut(&mut pod.spec).topology_spread.clear();
        }
    });
}

#[test]
fn a_daemon_set_that_takes_its_share_of_every_node() {
    let names = ["a", "b"];
    let agent = testkit::pod("agent").requests(1500, 256).label("app", "agent").build();
    let daemon_set = DaemonSet {
        key: ObjectKey::new("default", "agent"),
        template: PodTemplate { labels: agent.labels, spec: agent.spec },
        is_on_host_network: false,
    };
    let mut cluster = Cluster::new().nodes(&names, "m5.xlarge", "on-demand");
    for name in names {
        cluster = cluster.pod("web", name, 1700, |_| {}).pod("agent", name, 1500, |pod| {
            pod.owner.as_mut().unwrap().kind = OwnerKind::DaemonSet;
        });
    }
    let cluster = cluster.objects(|objects| objects.daemon_sets = vec![daemon_set]);
    check(cluster, Kind::DaemonSet, "default/agent", |snapshot| {
        snapshot.objects.daemon_sets.clear();
        snapshot.objects.pods.retain(|pod| !pod.is_daemon());
    });
}

#[test]
fn two_budgets_that_hold_the_same_nodes_are_named_together_where_one_alone_saves_nothing() {
    let mut cluster = Cluster::new().nodes(&["a", "b"], "m5.xlarge", "on-demand");
    for name in ["a", "b"] {
        for owner in ["web", "api", "job"] {
            cluster = cluster.pod(owner, name, 500, |_| {});
        }
    }
    let cluster = cluster.objects(|objects| {
        objects.pod_disruption_budgets = ["web", "api", "job"].map(budget).into();
    });
    let held = run(&cluster.0);
    let costs = blocker::costs(&held.end, &held.owners).costs;
    let own = costs.iter().find(|cost| cost.blocker.kind == Kind::PodDisruptionBudget).unwrap();
    assert_eq!(own.blocker.names.len(), 3, "{costs:#?}");
    assert!(own.saving > UsdPerHour::ZERO, "{costs:#?}");
}

#[test]
fn a_window_that_opens_later_is_waited_for() {
    let closed = Budget {
        nodes: CountOrPercent::Count(0),
        reasons: None,
        window: Some(BudgetWindow {
            schedule: "0 8 * * *".parse().unwrap(),
            duration: SignedDuration::from_hours(10),
            zone: WindowZone::default(),
        }),
    };
    let cluster = two_half_empty_nodes().pool(|pool| pool.disruption.budgets = vec![closed]);
    let run = run(&cluster.0);
    let elapsed = run.last_change.duration_since(now());
    assert!(elapsed > SignedDuration::from_hours(9), "{elapsed}");
    assert!(elapsed < SignedDuration::from_hours(10), "{elapsed}");
    assert_eq!(run.end.objects.nodes.len(), 1);
}

#[test]
fn a_window_opens_by_the_clocks_of_its_zone() {
    // Five in the afternoon in Seoul is eight in the morning, UTC.
    let closed =
        Budget { nodes: CountOrPercent::Count(0), reasons: None, window: Some(seoul(17, 10)) };
    let cluster = two_half_empty_nodes().pool(|pool| pool.disruption.budgets = vec![closed]);
    let run = run(&cluster.0);
    let elapsed = run.last_change.duration_since(now());
    assert!(elapsed > SignedDuration::from_hours(9), "{elapsed}");
    assert!(elapsed < SignedDuration::from_hours(10), "{elapsed}");
}

#[test]
fn nodes_that_expire_later_are_waited_for() {
    let mut cluster = two_half_empty_nodes();
    for claim in &mut cluster.0.node_claims {
        let age = now().duration_since(claim.created.unwrap());
        claim.expire_after = NeverOr::After(age + SignedDuration::from_hours(5));
    }
    let expire_after = cluster.0.node_claims[0].expire_after;
    let cluster = cluster.pool(|pool| {
        pool.disruption.consolidation_policy = ConsolidationPolicy::WhenEmpty;
        Arc::make_mut(&mut pool.template).expire_after = expire_after;
    });
    let run = run(&cluster.0);
    let elapsed = run.last_change.duration_since(now());
    assert!(run.is_stable && elapsed > SignedDuration::from_hours(5), "{elapsed}");
    assert!(elapsed < SignedDuration::from_hours(6), "{elapsed}");
}

#[test]
fn a_pool_that_goes_off_later_by_the_clocks_of_its_zone_is_waited_for() {
    // Eight in the evening in Seoul is eleven in the morning, UTC.
    let off_hours = OffHours {
        window: seoul(20, 8),
        grace: Some(SignedDuration::from_mins(10)),
        awake_until: None,
    };
    let cluster = two_half_empty_nodes().pool(|pool| pool.options.off_hours = Some(off_hours));
    let run = run(&cluster.0);
    let elapsed = run.last_change.duration_since(now());
    assert!(elapsed > SignedDuration::from_hours(2), "{elapsed}");
    assert!(elapsed < SignedDuration::from_hours(3), "{elapsed}");
    assert_eq!(run.end.objects.nodes.len(), 0);
}

#[test]
fn a_move_after_a_pause_takes_place_when_the_functions_would_make_it() {
    // It does not pay for its evictions before the pods are two hours old.
    let came = now() - SignedDuration::from_mins(7);
    let mut cluster = Cluster::new().nodes(&["a"], "r5.xlarge", "on-demand").pool(|pool| {
        let template = Arc::make_mut(&mut pool.template);
        template.requirements.retain(|own| &*own.key != label::INSTANCE_TYPE);
        let types = ["m5.xlarge", "r5.xlarge"].map(Text::from);
        template.requirements.push(Requirement::is_in(label::INSTANCE_TYPE, types));
    });
    for _ in 0..4 {
        cluster = cluster.pod("web", "a", 700, |pod| {
            pod.created = Some(came);
            pod.started = pod.created;
        });
    }
    let run = run(&cluster.0);
    assert_eq!(run.evictions(), 4);
    let disrupted = |what: &Happening| matches!(what, Happening::Disrupting { .. });
    let moved = run.report.timeline.iter().find(|entry| disrupted(&entry.what)).unwrap();
    let age = moved.at.duration_since(came);
    // Ages count in steps of ten minutes by the clock, from nine o'clock on.
    let two_hours = SignedDuration::from_hours(2) + SignedDuration::from_mins(7);
    assert!(age >= two_hours && age < two_hours + SignedDuration::from_mins(2), "{age}");
}

#[test]
fn a_recorded_hash_that_no_template_has_is_no_drift_as_in_a_plan() {
    let recorded = |hash: &str| {
        Stamp { hash: hash.into(), version: NODE_POOL_RULES.into() }.node_pool_annotations()
    };
    let of_nodes = |hash: &str| {
        let mut cluster = Cluster::new()
            .pool(|pool| {
                pool.annotations = recorded("77");
                Arc::make_mut(&mut pool.template).hash = Some("1".into());
            })
            .nodes(&["n1"], "m5.large", "on-demand")
            .pod("web", "n1", 1500, |_| {});
        cluster.0.node_claims[0].annotations = recorded(hash);
        cluster.0
    };
    assert_eq!(run(&of_nodes("77")).evictions(), 0);
    assert_eq!(run(&of_nodes("5")).evictions(), 1);
}

#[test]
fn nothing_changes_in_an_empty_cluster() {
    let run = run(&Cluster::new().0);
    assert_eq!((run.last_change, run.evictions()), (now(), 0));
    assert_eq!(blocker::costs(&run.end, &run.owners).costs, []);
    assert_eq!(run.end.objects.nodes.len(), 0);
}

/// The dump among the examples of the command line, as a scenario applies it.
#[test]
fn it_ends_where_a_simulation_of_the_same_dump_ends() {
    let path =
        format!("{}/../../functions/cli/examples/karpenter.yaml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let source = manifests::Source { name: path.clone(), text };
    let objects = manifests::read(&[source]);
    assert!(objects.errors.is_empty(), "{:?}", objects.errors);
    let settings = Settings { search_effort: SearchEffort::Quick, ..Settings::default() };
    let (mut snapshot, _) =
        manifests::snapshot(objects, now(), settings.clone(), InstanceTypes::default());
    snapshot.instance_types = catalog::embedded_in("us-east-1")
        .unwrap()
        .instance_types(&snapshot.objects.node_classes, &CatalogOptions::of("us-east-1"));
    let own = run(&snapshot);

    let scenario = format!(
        "apiVersion: outrigger.dev/v1alpha1\n\
         kind: Scenario\n\
         metadata: {{name: dump}}\n\
         spec:\n  \
           about: The same dump, for hours.\n  \
           start: {}\n  \
           duration: 3h\n  \
           jobDuration: 25h\n  \
           region: us-east-1\n  \
           timeline:\n  \
           - {{at: 0s, apply: [{path}]}}\n",
        now()
    );
    let scenario = Scenario::read("dump.yaml", &scenario).unwrap();
    let simulated = simulation::run(scenario, &settings).unwrap();
    let own = price(&own);
    assert_eq!(own, simulated.cost.final_hourly);
    assert!(own < UsdPerHour::from_f64(2.5).unwrap(), "{own}: nothing was saved");
}
