use domain::buffer::{CronTrigger, PrewarmSchedule, PrewarmTarget, ScaledObject};
use domain::reason::NotDisruptable;
use domain::schedule::time_zone;
use domain::workload::{PodTemplate, Workload, WorkloadKind};
use domain::{SignedDuration, Timestamp};

use crate::testing::{Cluster, PodMaker, cluster, node, pod, pod_key};
use crate::virtual_pods::virtual_pods;

fn replica(name: &str) -> PodMaker {
    pod(name).cpu(1000).label("app", "web")
}

fn template() -> PodTemplate {
    let like = replica("like").make();
    PodTemplate { labels: like.labels, spec: like.spec }
}

/// Five replicas from 21:00 to 23:00 in Seoul.
fn evening() -> CronTrigger {
    CronTrigger {
        timezone: time_zone("Asia/Seoul").unwrap(),
        start: "0 21 * * *".parse().unwrap(),
        end: "0 23 * * *".parse().unwrap(),
        desired_replicas: 5,
    }
}

fn scaled_object(lead_time: Option<SignedDuration>) -> ScaledObject {
    ScaledObject {
        key: pod_key("evening"),
        uid: "u".into(),
        target: (WorkloadKind::Deployment, "web".into()),
        min_replicas: 0,
        max_replicas: 100,
        cooldown_period: SignedDuration::from_mins(5),
        triggers: vec![evening()],
        lead_time,
    }
}

/// A Deployment with a ScaledObject, at a time of day in Seoul.
fn scheduled(world: Cluster, clock: &str) -> Cluster {
    let now: Timestamp = format!("2026-01-05T{clock}+09:00").parse().unwrap();
    world.with(|snapshot| {
        snapshot.now = now;
        snapshot.objects.workloads.push(Workload {
            kind: WorkloadKind::Deployment,
            key: pod_key("web"),
            replicas: 0,
            template: template(),
            selector: None,
        });
        snapshot.objects.scaled_objects.push(scaled_object(Some(SignedDuration::from_mins(3))));
    })
}

fn launched(world: &Cluster) -> usize {
    world.plan().node_claims.len()
}

#[test]
fn nodes_are_launched_from_the_lead_time_on() {
    assert_eq!(launched(&scheduled(cluster(), "20:56:59")), 0);
    assert!(launched(&scheduled(cluster(), "20:57:00")) > 0);
}

#[test]
fn an_unset_lead_time_follows_the_start_time_of_nodes() {
    let unset = |clock| {
        scheduled(cluster(), clock)
            .with(|snapshot| snapshot.objects.scaled_objects[0].lead_time = None)
    };
    assert_eq!(launched(&unset("20:57:29")), 0);
    assert!(launched(&unset("20:57:30")) > 0, "90 s for a node, 60 s of margin");
}

#[test]
fn only_missing_replicas_become_virtual_pods() {
    let pods = |count| {
        let world = scheduled(cluster(), "21:30:00").pods(count, &replica("web"));
        virtual_pods(&world.0).len()
    };
    assert_eq!((pods(0), pods(3), pods(5), pods(9)), (5, 2, 0, 0));
}

#[test]
fn a_node_is_held_while_the_schedule_is_due_and_no_longer() {
    let held = |clock| scheduled(cluster().node(node("n1")), clock);
    assert_eq!(held("22:59:59").blocked("n1"), NotDisruptable::Nominated);
    assert_eq!(held("23:00:00").disruption().nodes, ["n1".into()]);
}

#[test]
fn a_prewarm_schedule_with_a_template_needs_no_workload() {
    let world = cluster().with(|snapshot| {
        snapshot.now = "2026-01-05T21:30:00+09:00".parse().unwrap();
        snapshot.objects.prewarm_schedules.push(PrewarmSchedule {
            key: pod_key("evening"),
            uid: "u".into(),
            target: PrewarmTarget::Template(template()),
            min_replicas: 0,
            max_replicas: 3,
            triggers: vec![evening()],
            lead_time: None,
        });
    });
    assert_eq!(virtual_pods(&world.0).len(), 3);
    assert!(launched(&world) > 0);
}

#[test]
fn a_workload_that_does_not_exist_needs_nothing() {
    let world =
        scheduled(cluster(), "21:30:00").with(|snapshot| snapshot.objects.workloads.clear());
    assert_eq!(launched(&world), 0);
}

#[test]
fn real_pods_have_the_last_room_under_a_limit() {
    let world = scheduled(cluster(), "21:30:00")
        .default_pool(|pool| pool.limits = domain::resource::Resources::new().with("nodes", 1))
        .pods(4, &pod("job").cpu(3000));
    let plan = world.plan();
    let placed: usize = plan.node_claims.iter().map(|claim| claim.pods.len()).sum();
    assert!(plan.node_claims.len() == 1 && placed > 0);
}
