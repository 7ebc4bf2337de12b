use super::*;
use crate::seed::Seed;
use crate::testing::{GIB, instance_types, start};
use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use domain::{SignedDuration, Timestamp};

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
fn a_call_that_is_refused_as_a_whole_launches_nothing_and_leaves_its_token_unused() {
    let mut cloud = cloud();
    let request = request("t", CapacityType::OnDemand);
    let refusing = |call_refusal| Ec2Behaviour {
        refused_calls_per_mille: 1000,
        call_refusal,
        ..Ec2Behaviour::default()
    };
    cloud.set_behaviour(refusing(Some(CallRefusal::InvalidFleetConfig)));
    let refused = Err(FleetError::Refused(CallRefusal::InvalidFleetConfig));
    assert_eq!(cloud.create_fleet(&request, start()), refused);
    assert_eq!(cloud.instances().count(), 0);
    let other = FleetRequest { image: "ami-2".into(), ..request };
    cloud.set_behaviour(Ec2Behaviour::default());
    assert!(cloud.create_fleet(&other, start()).unwrap().instance.is_some());
    // Each is drawn at some time, and a token whose fleet has an instance is no exception.
    cloud.set_behaviour(refusing(None));
    let mut drawn: Vec<String> = (0..60)
        .map(|second| start() + SignedDuration::from_secs(second))
        .map(|now| cloud.create_fleet(&other, now).unwrap_err().to_string())
        .collect();
    drawn.sort();
    drawn.dedup();
    assert_eq!(drawn.len(), CallRefusal::ALL.len(), "{drawn:?}");
}

#[test]
fn what_has_run_out_is_passed_over_and_named_and_returns_in_time() {
    let mut cloud = cloud();
    let cheapest = pool("m5.large", "a", CapacityType::OnDemand);
    let until = start() + SignedDuration::from_mins(10);
    cloud.exhaust(cheapest.clone(), until);
    let answer = cloud.create_fleet(&request("t1", CapacityType::OnDemand), start()).unwrap();
    assert_eq!(answer.insufficient(), std::slice::from_ref(&cheapest));
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
    assert_eq!((answer.instance, answer.errors.len()), (None, 3));
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

fn cloud_behaving(behaviour: Ec2Behaviour) -> Ec2 {
    let mut cloud = cloud();
    cloud.set_behaviour(behaviour);
    cloud
}

/// Nothing can be had for a minute.
fn exhausted_cloud(behaviour: Ec2Behaviour) -> (Ec2, Timestamp) {
    let mut cloud = cloud_behaving(behaviour);
    let until = start() + SignedDuration::from_mins(1);
    for (instance_type, zone) in [("m5.large", "a"), ("m5.large", "b"), ("m5.xlarge", "a")] {
        cloud.exhaust(pool(instance_type, zone, CapacityType::OnDemand), until);
    }
    (cloud, until)
}

#[test]
fn a_token_with_other_parameters_is_refused_also_where_it_launched_nothing() {
    let (mut cloud, until) = exhausted_cloud(Ec2Behaviour::default());
    cloud.create_fleet(&request("t", CapacityType::OnDemand), start()).unwrap();
    let other = request("t", CapacityType::Spot);
    assert_eq!(cloud.create_fleet(&other, until), Err(FleetError::ParameterMismatch));
    assert_eq!(cloud.instances().count(), 0);
}

#[test]
fn a_token_that_launched_nothing_may_keep_its_answer_or_be_refused() {
    let own = request("t", CapacityType::OnDemand);
    let same = Ec2Behaviour { failed_token: FailedToken::SameAnswer, ..Ec2Behaviour::default() };
    let (mut cloud, until) = exhausted_cloud(same);
    let first = cloud.create_fleet(&own, start()).unwrap();
    assert_eq!(cloud.create_fleet(&own, until), Ok(first));
    let refused = Ec2Behaviour { failed_token: FailedToken::Mismatch, ..Ec2Behaviour::default() };
    let (mut cloud, until) = exhausted_cloud(refused);
    cloud.create_fleet(&own, start()).unwrap();
    assert_eq!(cloud.create_fleet(&own, until), Err(FleetError::ParameterMismatch));
    let next = request("t-2", CapacityType::OnDemand);
    assert!(cloud.create_fleet(&next, until).unwrap().instance.is_some());
}

#[test]
fn a_repetition_may_hide_the_instance_but_never_launches_another() {
    let code = FleetErrorCode::Unfulfillable;
    for repeated_launch in [RepeatedLaunch::Nothing, RepeatedLaunch::Refused(code)] {
        let mut cloud = cloud_behaving(Ec2Behaviour { repeated_launch, ..Ec2Behaviour::default() });
        let own = request("t", CapacityType::OnDemand);
        assert!(cloud.create_fleet(&own, start()).unwrap().instance.is_some());
        let again = cloud.create_fleet(&own, start()).unwrap();
        let expected = usize::from(repeated_launch != RepeatedLaunch::Nothing);
        assert_eq!((again.instance, again.errors.len()), (None, expected));
        assert_eq!(cloud.instances().count(), 1);
    }
}

#[test]
fn a_refusal_names_one_true_cause_among_fillers() {
    let mut cloud = cloud_behaving(Ec2Behaviour {
        refusals_per_mille: 1000,
        refusal: Some(FleetErrorCode::ProfileUnknown),
        has_fillers: true,
        ..Ec2Behaviour::default()
    });
    let answer = cloud.create_fleet(&request("t", CapacityType::OnDemand), start()).unwrap();
    let with = |code| answer.errors.iter().filter(|own| own.code == code).count();
    assert_eq!((answer.instance.as_ref(), answer.errors.len()), (None, 3));
    assert_eq!(with(FleetErrorCode::ProfileUnknown), 1);
    assert_eq!(with(FleetErrorCode::Unfulfillable), 2);
}

#[test]
fn an_answer_may_be_empty_and_a_success_may_hold_an_error() {
    let own = request("t", CapacityType::OnDemand);
    let empty = Ec2Behaviour { empty_answers_per_mille: 1000, ..Ec2Behaviour::default() };
    assert_eq!(cloud_behaving(empty).create_fleet(&own, start()), Ok(FleetAnswer::default()));
    let beside = Ec2Behaviour { errors_beside_success_per_mille: 1000, ..Ec2Behaviour::default() };
    let answer = cloud_behaving(beside).create_fleet(&own, start()).unwrap();
    assert_eq!((answer.instance.is_some(), answer.errors.len()), (true, 1));
}

#[test]
fn without_the_role_for_spot_only_on_demand_is_launched() {
    let lacks = Ec2Behaviour { lacks_spot_role: true, ..Ec2Behaviour::default() };
    let mut cloud = cloud_behaving(lacks);
    let spot = cloud.create_fleet(&request("s", CapacityType::Spot), start()).unwrap();
    assert_eq!(spot.errors[0].code, FleetErrorCode::SpotRoleMissing);
    let on_demand = cloud.create_fleet(&request("o", CapacityType::OnDemand), start()).unwrap();
    assert!(spot.instance.is_none() && on_demand.instance.is_some());
}

#[test]
fn a_new_instance_is_described_late_and_its_tags_later_still() {
    let behaviour = Ec2Behaviour {
        described_after_max: SignedDuration::from_secs(30),
        tags_after_max: SignedDuration::from_secs(15),
        ..Ec2Behaviour::default()
    };
    let mut cloud = cloud_behaving(behaviour);
    let answer = cloud.create_fleet(&request("t", CapacityType::OnDemand), start()).unwrap();
    let id = answer.instance.unwrap();
    let moments: Vec<Timestamp> =
        (0..=45_000).map(|millis| start() + SignedDuration::from_millis(millis)).collect();
    let known = moments.iter().find(|now| cloud.known(&id, **now).is_some());
    let tagged = moments.iter().find(|now| cloud.described(**now).next().is_some());
    assert!(known.is_some() && known < tagged, "{known:?} {tagged:?}");
    assert!(known > Some(&start()), "{known:?}");
}

#[test]
fn a_terminated_instance_may_be_shown_running_for_a_while() {
    let stale_reads_max = SignedDuration::from_secs(10);
    let mut cloud = cloud_behaving(Ec2Behaviour { stale_reads_max, ..Ec2Behaviour::default() });
    let answer = cloud.create_fleet(&request("t", CapacityType::OnDemand), start()).unwrap();
    let id = answer.instance.unwrap();
    assert!(cloud.terminate(&id));
    cloud.note_end(&id, start());
    let shown: Vec<InstanceState> = (0..=10_000)
        .filter_map(|millis| cloud.described(start() + SignedDuration::from_millis(millis)).next())
        .map(|(_, state)| state)
        .collect();
    assert!(shown.contains(&InstanceState::Running));
    assert_eq!(shown.last(), Some(&InstanceState::ShuttingDown));
    let turns_back =
        shown.windows(2).any(|pair| pair == [InstanceState::ShuttingDown, InstanceState::Running]);
    assert!(turns_back, "reads go back and forth");
}
