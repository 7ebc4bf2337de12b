use super::*;
use crate::seed::Seed;
use crate::testing::{GIB, instance_types, start};
use domain::SignedDuration;
use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;

fn cloud() -> Ec2 {
    cloud_with(Faults::default())
}

fn cloud_with(faults: Faults) -> Ec2 {
    Ec2::new(Seed::new(1), Supply::Fixed(instance_types()), faults)
}

fn pool(instance_type: &str, zone: &str, capacity_type: CapacityType) -> CapacityPool {
    CapacityPool { instance_type: instance_type.into(), zone: zone.into(), capacity_type }
}

fn request(token: &str, capacity_type: CapacityType) -> FleetRequest {
    let over = |instance_type: &str, zone: &str| FleetOverride {
        instance_type: instance_type.into(),
        zone: zone.into(),
        ..FleetOverride::default()
    };
    FleetRequest {
        client_token: token.into(),
        capacity_type,
        overrides: vec![over("m5.xlarge", "a"), over("m5.large", "b"), over("m5.large", "a")],
        node_class: "default".into(),
        image: "ami-1".into(),
        tags: domain::label::Labels::new(),
        registration: Registration::default(),
    }
}

#[test]
fn on_demand_launches_the_cheapest_with_its_price_and_size() {
    let mut cloud = cloud();
    let answer = cloud.create_fleet(&request("t", CapacityType::OnDemand), start()).unwrap();
    let instance = cloud.instance(&answer.instance.unwrap()).unwrap();
    assert_eq!(instance.pool, pool("m5.large", "a", CapacityType::OnDemand));
    assert_eq!(instance.price, UsdPerHour::from_nanos(96_000_000));
    assert_eq!(instance.capacity.get("memory"), 8 * GIB);
    assert_eq!(cloud.hourly(), UsdPerHour::from_nanos(96_000_000));
}

#[test]
fn one_token_is_one_instance_even_when_the_answer_was_lost() {
    let mut cloud = cloud_with(Faults { answers_lost_per_mille: 1000, ..Faults::default() });
    let request = request("t", CapacityType::OnDemand);
    assert_eq!(cloud.create_fleet(&request, start()), Err(FleetError::AnswerLost));
    let again = cloud.create_fleet(&request, start()).unwrap();
    assert_eq!(cloud.instances().count(), 1);
    assert_eq!(again.instance, cloud.instances().next().map(|own| own.id.clone()));
}

#[test]
fn what_has_run_out_is_passed_over_and_named_and_returns_in_time() {
    let mut cloud = cloud();
    let cheapest = pool("m5.large", "a", CapacityType::OnDemand);
    let until = start() + SignedDuration::from_mins(10);
    cloud.exhaust(cheapest.clone(), until);
    let answer = cloud.create_fleet(&request("t1", CapacityType::OnDemand), start()).unwrap();
    assert_eq!(answer.insufficient, std::slice::from_ref(&cheapest));
    let second = cloud.instance(&answer.instance.unwrap()).unwrap();
    assert_eq!(second.pool, pool("m5.large", "b", CapacityType::OnDemand));
    let later = cloud.create_fleet(&request("t2", CapacityType::OnDemand), until).unwrap();
    assert_eq!(cloud.instance(&later.instance.unwrap()).unwrap().pool, cheapest);
}

#[test]
fn nothing_left_is_no_instance_and_asking_again_later_may_succeed() {
    let mut cloud = cloud();
    let until = start() + SignedDuration::from_mins(1);
    for (instance_type, zone) in [("m5.large", "a"), ("m5.large", "b"), ("m5.xlarge", "a")] {
        cloud.exhaust(pool(instance_type, zone, CapacityType::OnDemand), until);
    }
    let request = request("t", CapacityType::OnDemand);
    let answer = cloud.create_fleet(&request, start()).unwrap();
    assert_eq!((answer.instance, answer.insufficient.len()), (None, 3));
    assert!(cloud.create_fleet(&request, until).unwrap().instance.is_some());
}

#[test]
fn an_ended_instance_is_not_billed() {
    let mut cloud = cloud();
    let answer = cloud.create_fleet(&request("t", CapacityType::Spot), start()).unwrap();
    assert!(cloud.terminate(&answer.instance.unwrap()));
    assert_eq!(cloud.hourly(), UsdPerHour::ZERO);
    assert!(!cloud.terminate("i-unknown"));
}

#[test]
fn throttling_is_drawn_for_each_call() {
    let mut cloud = cloud_with(Faults { throttled_per_mille: 500, ..Faults::default() });
    let refused = (0..100).filter(|_| cloud.is_throttled()).count();
    assert!((30..70).contains(&refused), "{refused}");
}

#[test]
fn names_of_nodes_are_nobody_elses() {
    let mut cloud = cloud();
    for index in 0..300 {
        let request = request(&format!("t{index}"), CapacityType::OnDemand);
        cloud.create_fleet(&request, start()).unwrap();
    }
    let names: std::collections::BTreeSet<_> =
        cloud.instances().map(|own| own.registration.node_name.clone()).collect();
    assert_eq!(names.len(), 300);
}
