use super::*;
use crate::api::ApiError;
use crate::ec2::{FleetRequest, Registration};
use crate::testing::{fleet_request, instance_types, node, pod, start, workload};
use controllers::interruption::NoticeKind;
use domain::instance_type::CapacityType;
use domain::label::{self, Labels};
use domain::pdb::{CountOrPercent, PodDisruptionBudget};
use domain::pod::Pod;
use domain::selector::LabelSelector;
use domain::workload::WorkloadKind;

fn world() -> World {
    World::new(WorldOptions::new(1, start()), Supply::Fixed(instance_types()))
}

fn wait(world: &mut World, seconds: i64) {
    world.advance_to(world.now() + SignedDuration::from_secs(seconds));
}

fn request(capacity_type: CapacityType) -> FleetRequest {
    let labels = Labels::from([("team".into(), "x".into())]);
    let registration = Registration { labels, ..Registration::default() };
    FleetRequest { registration, ..fleet_request("t", capacity_type) }
}

fn launched(world: &mut World, capacity_type: CapacityType) -> Text {
    world.launch(&request(capacity_type)).unwrap().instance.unwrap()
}

fn budget(name: &str, max_unavailable: u32) -> PodDisruptionBudget {
    PodDisruptionBudget {
        key: ObjectKey::new("default", name),
        selector: Some(LabelSelector::of_labels([("app", "web")])),
        max_unavailable: Some(CountOrPercent::Count(max_unavailable)),
        min_available: None,
        always_allow_unhealthy: false,
        disruptions_allowed: None,
        current_healthy: 0,
        desired_healthy: 0,
    }
}

fn running(world: &World) -> Vec<ObjectKey> {
    world.api.list::<Pod>().filter(|pod| pod.is_active()).map(|pod| pod.key.clone()).collect()
}

#[test]
fn a_launched_instance_is_a_ready_node_within_forty_to_sixty_five_seconds() {
    let mut world = world();
    launched(&mut world, CapacityType::OnDemand);
    world.create_pod(pod("waiting").build());
    wait(&mut world, 39);
    assert!(world.api.list::<Node>().all(Node::is_not_ready));
    wait(&mut world, 26);
    let node = world.api.list::<Node>().next().unwrap();
    assert!(!node.is_not_ready() && node.taints.is_empty(), "{node:?}");
    assert_eq!(node.labels.get("team").map(|value| &**value), Some("x"));
    assert_eq!(node.labels.get(label::INSTANCE_TYPE).map(|value| &**value), Some("m5.large"));
    assert_eq!(node.allocatable.get("cpu"), 2000);
    assert_eq!(world.api.list::<Pod>().next().unwrap().node_name.as_ref(), Some(&node.name));
}

#[test]
fn an_instance_ended_while_it_boots_never_joins() {
    let mut world = world();
    let id = launched(&mut world, CapacityType::OnDemand);
    wait(&mut world, 10);
    assert!(world.terminate(&id));
    wait(&mut world, 100);
    assert_eq!(world.api.list::<Node>().count(), 0);
}

#[test]
fn cost_is_the_price_for_the_time_that_an_instance_lived() {
    let mut world = world();
    let id = launched(&mut world, CapacityType::OnDemand);
    wait(&mut world, 1800);
    world.terminate(&id);
    wait(&mut world, 1800);
    assert_eq!(world.cost_nano_usd(), 48_000_000);
}

#[test]
fn a_spot_instance_goes_two_minutes_after_its_warning_with_its_node_and_pods() {
    let mut world = world();
    world.apply(workload(pod("x"), WorkloadKind::Deployment, "web", 1));
    let id = launched(&mut world, CapacityType::Spot);
    wait(&mut world, 90);
    assert!(world.api.list::<Pod>().all(|pod| pod.node_name.is_some()));
    assert!(world.interrupt(&id));
    assert_eq!(world.announcements, [(id, NoticeKind::SpotInterruption)]);
    wait(&mut world, 119);
    assert!(!world.api.list::<Node>().next().unwrap().is_not_ready());
    wait(&mut world, 15);
    assert_eq!(world.api.list::<Node>().count(), 0);
    let pods: Vec<_> = world.api.list::<Pod>().collect();
    assert!(matches!(pods.as_slice(), [pod] if pod.node_name.is_none()), "{pods:?}");
}

#[test]
fn a_node_with_our_finalizer_stays_until_it_is_removed() {
    let mut world = world();
    world.apply(node("a").build());
    world.node_finalizers.insert("a".into());
    world.ask_node_deletion(&"a".into());
    assert!(world.api.get::<Node>(&"a".into()).unwrap().deleted.is_some());
    world.remove_node(&"a".into());
    assert!(world.api.get::<Node>(&"a".into()).is_none());
}

#[test]
fn evictions_stop_where_the_budget_says_and_go_on_once_successors_run() {
    let mut world = world();
    world.apply(node("a").build());
    world.apply(workload(pod("x").label("app", "web"), WorkloadKind::Deployment, "web", 3));
    world.apply(budget("web", 1));
    wait(&mut world, 10);
    let pods = running(&world);
    world.evict(&pods[0], "").unwrap();
    assert!(matches!(world.evict(&pods[1], ""), Err(ApiError::TooManyRequests { .. })));
    wait(&mut world, 10);
    world.evict(&pods[1], "").unwrap();
}

#[test]
fn an_eviction_by_a_stale_uid_or_past_two_budgets_is_refused() {
    let mut world = world();
    world.apply(node("a").build());
    world.create_pod(pod("p").label("app", "web").on("a").build());
    world.settle();
    let key = ObjectKey::new("default", "p");
    assert!(matches!(world.evict(&key, "other"), Err(ApiError::NotFound { .. })));
    world.apply(budget("one", 1));
    world.apply(budget("two", 1));
    world.settle();
    assert!(matches!(world.evict(&key, ""), Err(ApiError::SeveralBudgets { .. })));
}

#[test]
fn a_pod_that_is_not_ready_may_go_while_enough_others_are() {
    let mut world = world();
    world.apply(node("a").build());
    world.apply(workload(pod("x").label("app", "web"), WorkloadKind::Deployment, "web", 2));
    world.apply(budget("web", 1));
    wait(&mut world, 10);
    let pods = running(&world);
    world.api.update::<Pod>(&pods[0], None, |pod| pod.ready = Some(false)).unwrap();
    world.settle();
    assert!(matches!(world.evict(&pods[1], ""), Err(ApiError::TooManyRequests { .. })));
    world.evict(&pods[0], "").unwrap();
}

#[test]
fn a_node_of_a_scenario_is_priced_by_its_labels() {
    let mut world = world();
    let labels = |node: testkit::NodeBuilder| {
        node.label(label::INSTANCE_TYPE, "m5.large").label(label::CAPACITY_TYPE, "on-demand")
    };
    world.adopt_node(labels(node("a")).build());
    assert_eq!(world.ec2.hourly().nanos(), 96_000_000);
    world.adopt_node(labels(node("a")).build());
    assert_eq!(world.ec2.hourly().nanos(), 96_000_000);
    world.adopt_node(node("unknown").build());
    assert_eq!(world.ec2.hourly().nanos(), 96_000_000);
}
