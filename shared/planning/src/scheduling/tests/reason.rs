//! Why a pod has no place, in the words that users read.

use domain::instance_type::CapacityType;
use domain::label::{
    ARCH, CAPACITY_TYPE, HOSTNAME, NODE_POOL, REGION, RESERVATION_INTERRUPTIBLE, ZONE,
};
use domain::node_class::Ec2NodeClass;
use domain::node_pool::NodePool;
use domain::reason::{NodePoolUnfit, PodUnschedulable};
use domain::requirement::{Operator, Requirement};
use domain::resource::{CPU, Resources};
use domain::taint::TaintEffect;

use crate::testing::{
    Cluster, PodMaker, cluster, instance_type, is, near, node, node_pool_of, node_pool_with,
    offering, pod, reasons, requirement, taint, unfit,
};

/// Why pool `default` cannot host the pod.
#[track_caller]
fn check(world: Cluster, pod: PodMaker, text: &str) {
    let plan = world.pod(pod).plan();
    assert_eq!(unfit(&plan, "a", "default").to_string(), text);
}

#[test]
fn a_pool_that_serves_nobody_says_why() {
    let serving = |change: fn(&mut NodePool)| cluster().default_pool(change);
    check(serving(|pool| pool.is_deleting = true), pod("a"), "it is being deleted");
    check(serving(|pool| pool.ready = Some(false)), pod("a"), "it is not ready");
    check(
        serving(|pool| pool.replicas = Some(3)),
        pod("a"),
        "it keeps a fixed number of nodes (spec.replicas)",
    );
}

#[test]
fn a_pool_whose_class_launches_nothing_says_why() {
    let with_class = |change: fn(&mut Ec2NodeClass)| {
        let mut class = testkit::node_class("default");
        change(&mut class);
        cluster().with(|snapshot| snapshot.objects.node_classes.push(class))
    };
    check(
        with_class(|class| class.is_deleting = true),
        pod("a"),
        "EC2NodeClass default is being deleted",
    );
    check(
        with_class(|class| class.status.ready = Some(false)),
        pod("a"),
        "EC2NodeClass default is not ready",
    );
    let unresolved = with_class(|class| class.status.ready = None).pod(pod("a")).plan();
    assert_eq!(unresolved.node_claims.len(), 1);
}

#[test]
fn a_taint_is_named() {
    let tainted = node_pool_with("default", |template| {
        template.taints.push(taint("team", TaintEffect::NoSchedule));
    });
    check(cluster().pool(tainted), pod("a"), "the pod does not tolerate taint team:NoSchedule");
}

#[test]
fn labels_are_named_with_what_both_sides_want() {
    check(
        cluster(),
        pod("a").on_nodes_with("team", "blue"),
        "the pod requires label team In blue, which its nodes do not have",
    );
    check(
        cluster().pool(node_pool_of("default", &[is(ZONE, "a")])),
        pod("a").on_nodes_with(ZONE, "b"),
        "the pod requires topology.kubernetes.io/zone In b, its nodes have In [a]",
    );
    check(
        cluster(),
        pod("a").on_nodes_with(CAPACITY_TYPE, "spot"),
        "the pod requires karpenter.sh/capacity-type In spot, its nodes have In [on-demand]",
    );
    check(
        cluster(),
        pod("a").on_nodes_with(NODE_POOL, "other"),
        "the pod requires karpenter.sh/nodepool In other, its nodes have In default",
    );
}

#[test]
fn the_requirement_that_leaves_no_type_is_named() {
    check(
        cluster(),
        pod("a").on_nodes_with(ARCH, "riscv64"),
        "no instance type is left by kubernetes.io/arch In riscv64: they have amd64, arm64",
    );
    check(
        cluster(),
        pod("a").on_nodes_with(ARCH, "amd46"),
        "no instance type is left by kubernetes.io/arch In amd46: did you mean amd64?",
    );
}

/// Why pool `default` with these requirements cannot host any pod.
#[track_caller]
fn check_own(requirements: &[Requirement], text: &str) {
    let types = [("m7i.large", "m7i", "2"), ("m7i.xlarge", "m7i", "4"), ("c7g.large", "c7g", "2")];
    let types = types.map(|(name, family, cpus)| {
        let mut one = instance_type(name, cpus.parse().unwrap(), 0.10);
        let arch = if family == "c7g" { "arm64" } else { "amd64" };
        let labels = [("family", family), ("category", &family[..1]), ("cpu", cpus), (ARCH, arch)];
        for (key, value) in labels {
            one.labels.insert(key.into(), vec![value.into()]);
        }
        one.labels.insert("bursts".into(), vec!["true".into()]);
        one
    });
    let world = cluster()
        .selling(types.into())
        .pool(node_pool_of("default", requirements))
        .with(|snapshot| snapshot.instance_types.region = Some("us-test-1".into()));
    check(world, pod("a"), text);
}

#[test]
fn a_pools_requirement_that_no_type_meets_is_named_with_what_comes_nearest() {
    let own = |key, values: &[&str]| [requirement(key, Operator::In, values)];
    check_own(&own("cpu", &["c", "m"]), "no instance type has cpu c or m: did you mean category?");
    check_own(&own("family", &["m7ii"]), "no instance type has family m7ii: did you mean m7i?");
    check_own(&own("cpu", &["3"]), "no instance type has cpu 3: the nearest are 2 and 4");
    check_own(
        &[requirement("cpu", Operator::Gt, &["16"])],
        "no instance type has cpu Gt 16: the nearest is 4",
    );
    check_own(
        &own(ARCH, &["riscv64"]),
        "no instance type has kubernetes.io/arch riscv64: there is amd64 and arm64",
    );
    check_own(
        &own(RESERVATION_INTERRUPTIBLE, &["true"]),
        "nothing is sold with karpenter.k8s.aws/capacity-reservation-interruptible true: none has \
         that label",
    );
    check_own(
        &own(ZONE, &["eu-west-1a"]),
        "region us-test-1 has no zone eu-west-1a: there is a, b and c",
    );
    check_own(
        &own(CAPACITY_TYPE, &["ondemand"]),
        "nothing is sold with karpenter.sh/capacity-type ondemand: did you mean on-demand?",
    );
    check_own(
        &own(REGION, &["eu-west-1"]),
        "region us-test-1 is planned for, and it requires topology.kubernetes.io/region eu-west-1",
    );
}

#[test]
fn a_pools_requirements_that_exclude_each_other_are_named() {
    check_own(
        &[is("family", "m7i"), is(ARCH, "arm64")],
        "its requirements leave no instance type: it requires kubernetes.io/arch In arm64, and \
         those left by family In m7i have amd64",
    );
    check_own(
        &[is("family", "m7i"), is("family", "c7g")],
        "its requirements leave no value of family: In m7i and In c7g",
    );
    check_own(
        &[requirement("rank", Operator::Gt, &["9223372036854775807"])],
        "its requirements leave no value of rank: Gt 9223372036854775807",
    );
    check_own(
        &[requirement(CAPACITY_TYPE, Operator::DoesNotExist, &[])],
        "every node has karpenter.sh/capacity-type, and it requires DoesNotExist",
    );
    check_own(
        &[requirement(ZONE, Operator::DoesNotExist, &[])],
        "every node has topology.kubernetes.io/zone, and it requires DoesNotExist",
    );
    check_own(
        &[is(HOSTNAME, "n1")],
        "it requires kubernetes.io/hostname, which no node has before it is launched",
    );
    check_own(
        &[is("family", "m7i"), is(CAPACITY_TYPE, "on-demand"), is(ZONE, "d")],
        "region us-test-1 has no zone d: there is a, b and c",
    );
}

#[test]
fn types_that_are_not_sold_where_the_pod_may_run_are_no_use() {
    let mut split = instance_type("m.large", 2, 0.10);
    split.offerings =
        vec![offering("a", CapacityType::OnDemand, 0.10), offering("b", CapacityType::Spot, 0.03)];
    check(
        cluster().selling(vec![split]),
        pod("a").on_nodes_with(ZONE, "a").on_nodes_with(CAPACITY_TYPE, "spot"),
        "no instance type that would do can be launched where the pod may run",
    );
}

#[test]
fn the_nearest_miss_is_the_type_that_comes_closest() {
    check(
        cluster(),
        pod("a").cpu(9000),
        "the pod needs 1 more cpu than the largest instance type that it allows, m.2xlarge, can give: \
         9 with DaemonSets, of 8",
    );
    check(
        cluster(),
        pod("a").cpu(4500).on_nodes_with(ARCH, "arm64"),
        "the pod needs 500m more cpu than the largest instance type that it allows, a.xlarge, can give: \
         4.5 with DaemonSets, of 4",
    );
}

#[test]
fn a_limit_is_named_with_what_is_used() {
    let limited = cluster().default_pool(|pool| pool.limits = Resources::new().with(CPU, 1000));
    check(limited, pod("a"), "limit cpu 1 leaves 1, less than any node for the pod: 0 in use");
}

#[test]
fn what_concerns_the_pod_alone_names_no_pool() {
    let refusing = pod("a").requiring(requirement(NODE_POOL, Operator::DoesNotExist, &[]));
    assert_eq!(
        reasons(&cluster().pod(refusing).plan(), "a"),
        [PodUnschedulable::RefusesManagedNodes]
    );
    let devices = pod("a").with(|spec| spec.resource_claims.push("gpu".into()));
    assert_eq!(
        reasons(&cluster().pod(devices).plan(), "a"),
        [PodUnschedulable::DeviceClaim { claim: "gpu".into() }]
    );
    let without_pools = cluster().with(|snapshot| snapshot.objects.node_pools.clear());
    assert_eq!(reasons(&without_pools.pod(pod("a")).plan(), "a"), [PodUnschedulable::NoNodePool]);
}

#[test]
fn each_pool_gives_its_own_reason() {
    let tainted = node_pool_with("other", |template| {
        template.taints.push(taint("team", TaintEffect::NoSchedule));
    });
    let plan = cluster().pool(tainted).pod(pod("a").on_nodes_with(HOSTNAME, "n1")).plan();
    assert!(matches!(unfit(&plan, "a", "other"), NodePoolUnfit::Taint(_)));
    assert!(matches!(unfit(&plan, "a", "default"), NodePoolUnfit::Label { .. }));
}

#[test]
fn pending_pods_are_counted_by_the_zone_that_they_may_go_to() {
    let db = pod("db").label("app", "db").on("n1");
    let plan = cluster()
        .node(node("n1").in_zone("c"))
        .pod(db)
        .pod(pod("free"))
        .pods(2, &pod("pinned").requiring(is(ZONE, "a")))
        .pod(pod("near").affinity(near(ZONE, ("app", "db"))))
        .pod(pod("torn").requiring(is(ZONE, "a")).affinity(near(ZONE, ("app", "db"))))
        .plan();
    let pending: Vec<(&str, u32)> =
        plan.figures.pending_by_zone.iter().map(|(zone, pods)| (&**zone, *pods)).collect();
    assert_eq!(pending, [("a", 2), ("c", 1), ("flexible", 1), ("none", 1)]);
}
