//! Topology spread constraints that the scheduler gives to pods without any of their own.

use domain::label::{HOSTNAME, ZONE};
use domain::pod::{ObjectKey, OwnerKind, TopologySpreadConstraint, WhenUnsatisfiable};
use domain::scheduler::{SchedulerConfig, SchedulerProfile};
use domain::selector::LabelSelector;
use domain::workload::{PodTemplate, Service, Workload, WorkloadKind};

use crate::testing::{Cluster, PodMaker, cluster, instance_type, pod, pods_by_zone, spread_over};

const WEB: (&str, &str) = ("app", "web");

fn default_spread(key: &str) -> TopologySpreadConstraint {
    TopologySpreadConstraint { selector: None, ..spread_over(key, WEB) }
}

fn scheduled_by(
    name: Option<&str>,
    default_constraints: Vec<TopologySpreadConstraint>,
) -> SchedulerConfig {
    let scheduler_name = name.map(Into::into);
    let profile =
        SchedulerProfile { scheduler_name, default_constraints, ..SchedulerProfile::default() };
    SchedulerConfig { profiles: vec![profile] }
}

/// Every pod is spread over zones by default.
fn spreading(world: Cluster) -> Cluster {
    with_scheduler(world, scheduled_by(None, vec![default_spread(ZONE)]))
}

fn with_scheduler(world: Cluster, config: SchedulerConfig) -> Cluster {
    world.with(|snapshot| snapshot.objects.scheduler = config)
}

/// A pod of a ReplicaSet that is not among the objects.
fn web() -> PodMaker {
    pod("web").label(WEB.0, WEB.1).owned_by(OwnerKind::ReplicaSet)
}

fn service(name: &str, label: (&str, &str)) -> Service {
    let selector = [(label.0.into(), label.1.into())].into_iter().collect();
    Service { key: ObjectKey::new("default", name), selector }
}

#[test]
fn twenty_pods_without_constraints_get_nodes_in_three_zones() {
    let world = || cluster().pods(20, &web().cpu(1000));
    let by_zone = pods_by_zone(&spreading(world()).plan());
    assert_eq!(by_zone, [7, 7, 6]);
    assert_eq!(pods_by_zone(&world().plan()), [20], "without a configuration one zone does");
}

#[test]
fn by_default_pods_may_be_spread_over_hosts_too() {
    let config = scheduled_by(None, vec![default_spread(ZONE), default_spread(HOSTNAME)]);
    let plan = with_scheduler(cluster().pods(6, &web()), config).plan();
    assert_eq!((pods_by_zone(&plan), plan.node_claims.len()), (vec![2, 2, 2], 6));
}

#[test]
fn pods_with_constraints_of_their_own_have_no_others() {
    let own = TopologySpreadConstraint {
        when_unsatisfiable: WhenUnsatisfiable::ScheduleAnyway,
        ..spread_over(HOSTNAME, WEB)
    };
    let world = spreading(cluster().pods(4, &web().spread(own)));
    assert_eq!(pods_by_zone(&world.plan()), [4]);
}

#[test]
fn pods_that_nothing_selects_have_no_default_constraints() {
    let job = |kind| pod("work").label("app", "work").owned_by(kind);
    for kind in [OwnerKind::Job, OwnerKind::Other] {
        assert_eq!(pods_by_zone(&spreading(cluster().pods(6, &job(kind))).plan()), [6]);
        let selected = cluster()
            .pods(6, &job(kind))
            .with(|snapshot| snapshot.objects.services = vec![service("s", ("app", "work"))]);
        assert_eq!(pods_by_zone(&spreading(selected).plan()), [2, 2, 2]);
        let others = cluster()
            .pods(6, &job(kind))
            .with(|snapshot| snapshot.objects.services = vec![service("s", ("app", "other"))]);
        assert_eq!(pods_by_zone(&spreading(others).plan()), [6]);
    }
}

#[test]
fn pods_of_two_owners_that_one_service_selects_are_counted_apart() {
    // Each ReplicaSet's selector narrows the Service's: three of one do not make up for three of
    // the other.
    let of = |color: &'static str| {
        web().label("color", color).having(|pod| {
            pod.owner.as_mut().unwrap().name = color.into();
            pod.key.name = color.into();
        })
    };
    let replica_set = |color: &'static str| {
        let template = of(color).make();
        Workload {
            kind: WorkloadKind::ReplicaSet,
            key: ObjectKey::new("default", color),
            replicas: 3,
            template: PodTemplate { labels: template.labels, spec: template.spec },
            selector: Some(LabelSelector::of_labels([("color", color)])),
        }
    };
    let world = cluster().pods(3, &of("blue")).pods(3, &of("green")).with(|snapshot| {
        snapshot.objects.services = vec![service("web", WEB)];
        snapshot.objects.workloads = ["blue", "green"].map(replica_set).into();
    });
    let plan = spreading(world).plan();
    let zones = |color: &str| {
        let has = |claim: &&domain::plan::PlannedNodeClaim| {
            claim.pods.iter().any(|pod| pod.name.starts_with(color))
        };
        let zones = plan.node_claims.iter().filter(has).map(|claim| claim.offering.zone.clone());
        zones.collect::<std::collections::BTreeSet<_>>().len()
    };
    assert_eq!((zones("blue"), zones("green")), (3, 3));
}

#[test]
fn what_a_stateful_set_gives_each_pod_selects_none_of_the_others() {
    let world = (0..6).fold(cluster(), |world, index| {
        let name = format!("db-{index}");
        let own = pod(&name)
            .label("app", "db")
            .label("statefulset.kubernetes.io/pod-name", &name)
            .label("apps.kubernetes.io/pod-index", &index.to_string())
            .owned_by(OwnerKind::StatefulSet);
        world.pod(own)
    });
    assert_eq!(pods_by_zone(&spreading(world).plan()), [2, 2, 2]);
}

#[test]
fn a_profile_is_for_the_pods_that_name_it() {
    let named = |name: Option<&str>| {
        let name = name.map(Into::into);
        cluster().pods(6, &web().with(|spec| spec.scheduler_name = name))
    };
    let spread = |world, profile| {
        let config = scheduled_by(Some(profile), vec![default_spread(ZONE)]);
        pods_by_zone(&with_scheduler(world, config).plan()).len() == 3
    };
    assert!(spread(named(Some("spreading")), "spreading"));
    assert!(!spread(named(None), "spreading"));
    assert!(spread(named(None), "default-scheduler"));
    assert!(!spread(named(Some("other")), "default-scheduler"));
}

#[test]
fn without_a_configuration_plans_are_what_they_were() {
    // Pods that differ in their scheduler's name alone are still planned as one group, and nothing
    // that selects pods makes a difference.
    let world = |second: Option<&str>| {
        let second = second.map(Into::into);
        cluster()
            .pods(7, &web().cpu(700))
            .pods(5, &web().cpu(700).with(|spec| spec.scheduler_name = second))
            .selling(vec![instance_type("m.xlarge", 4, 0.20), instance_type("m.large", 2, 0.11)])
    };
    let plain = format!("{:?}", world(None).plan());
    assert_eq!(format!("{:?}", world(Some("volcano")).plan()), plain);
    let selected =
        world(None).with(|snapshot| snapshot.objects.services = vec![service("web", WEB)]);
    assert_eq!(format!("{:?}", selected.plan()), plain);
    let empty = with_scheduler(world(None), scheduled_by(None, Vec::new()));
    assert_eq!(format!("{:?}", empty.plan()), plain);
    assert!(!world(None).plan().node_claims.is_empty());
}
