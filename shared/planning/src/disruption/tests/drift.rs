//! Drifted nodes: each way of drifting, and in which order they are replaced.

use std::sync::Arc;

use domain::budget::Budget;
use domain::drift::DriftReason;
use domain::label::{
    HOSTNAME, INSTANCE_TYPE, Labels, NODE_CLASS_HASH, NODE_CLASS_HASH_VERSION, NODE_POOL_HASH,
    NODE_POOL_HASH_VERSION, ON_REBALANCE_RECOMMENDATION, REBALANCE_RECOMMENDED, ZONE,
};
use domain::node_class::{Ec2NodeClass, Ec2NodeClassStatus, ResolvedAmi};
use domain::node_pool::{ConsolidationPolicy, NeverOr};
use domain::pdb::{CountOrPercent, PodDisruptionBudget};
use domain::pod::DoNotDisrupt;
use domain::reason::{DisruptionReason, NotDisruptable};
use domain::requirement::{Operator, Requirement};
use domain::resource::{CPU, Resources};
use domain::{SignedDuration, Text};

use crate::disruption;
use crate::testing::{
    Cluster, NodeMaker, budget, cluster, disrupted_for, instance_type, minutes_ago, near, node,
    node_pool_of, node_pool_with, now, pdb, pod, pod_key, requirement,
};

/// Why the first node of a cluster has drifted.
fn reason(world: &Cluster) -> Option<DriftReason> {
    let name = &world.0.node_claims[0].name;
    disruption::drifted(&world.0).remove(name)
}

fn node_class(ami: &str) -> Ec2NodeClass {
    Ec2NodeClass {
        status: Ec2NodeClassStatus {
            amis: vec![ResolvedAmi {
                id: ami.into(),
                name: None,
                is_deprecated: false,
                requirements: Vec::new(),
            }],
            ..Ec2NodeClassStatus::default()
        },
        ..testkit::node_class("default")
    }
}

fn hashes(hash: &str, of: &str, version: &str, written: &str) -> Labels {
    [(hash, of), (version, written)].map(|(key, value)| (key.into(), value.into())).into()
}

#[test]
fn a_node_like_its_pool_has_not_drifted() {
    assert_eq!(reason(&cluster().node(node("n1"))), None);
}

#[test]
fn a_changed_template_is_drift() {
    let relabelled =
        node_pool_with("default", |template| _ = template.labels.insert("a".into(), "b".into()));
    assert_eq!(
        reason(&cluster().pool(relabelled).node(node("n1"))),
        Some(DriftReason::NodePoolDrifted)
    );
    let graceful = node_pool_with("default", |template| {
        template.termination_grace_period = Some(SignedDuration::from_mins(1));
    });
    assert_eq!(
        reason(&cluster().pool(graceful).node(node("n1"))),
        Some(DriftReason::NodePoolDrifted)
    );
}

#[test]
fn recorded_hashes_count_where_their_versions_agree() {
    let hashed =
        |of: &str, written: &str| hashes(NODE_POOL_HASH, of, NODE_POOL_HASH_VERSION, written);
    let world = |own: Labels| {
        cluster()
            .default_pool(|pool| pool.annotations = hashed("1", "v3"))
            .node(node("n1").with_claim(|claim| claim.annotations = own))
    };
    assert_eq!(reason(&world(hashed("1", "v3"))), None);
    assert_eq!(reason(&world(hashed("2", "v3"))), Some(DriftReason::NodePoolDrifted));
    assert_eq!(reason(&world(hashed("2", "v2"))), None);
}

#[test]
fn a_claim_that_was_stamped_in_part_has_not_drifted() {
    let relabelled =
        node_pool_with("default", |template| _ = template.labels.insert("a".into(), "b".into()));
    for (key, value) in [(NODE_POOL_HASH_VERSION, "v3"), (NODE_POOL_HASH, "1")] {
        let part: Labels = [(key.into(), value.into())].into();
        let own = node("n1").with_claim(|claim| claim.annotations = part);
        assert_eq!(reason(&cluster().pool(relabelled.clone()).node(own)), None, "{key}");
    }
}

#[test]
fn a_label_outside_the_pools_requirements_is_drift() {
    let other =
        node_pool_of("default", &[requirement(INSTANCE_TYPE, Operator::NotIn, &["m.xlarge"])]);
    assert_eq!(
        reason(&cluster().pool(other).node(node("n1"))),
        Some(DriftReason::RequirementsDrifted(INSTANCE_TYPE.into()))
    );
}

#[test]
fn a_type_that_is_no_longer_sold_is_drift_after_an_hour() {
    let old = |minutes| {
        let created = Some(minutes_ago(minutes));
        cluster().node(node("n1").of_type("gone").with_claim(|claim| claim.created = created))
    };
    assert_eq!(reason(&old(60)), Some(DriftReason::InstanceTypeNotFound));
    assert_eq!(reason(&old(59)), None);
}

#[test]
fn a_node_that_no_label_tells_the_type_of_is_drift_after_an_hour() {
    let old = |minutes| {
        let created = Some(minutes_ago(minutes));
        let own = node("n1").with_claim(|claim| claim.created = created);
        cluster().node(own).with(|snapshot| {
            snapshot.objects.nodes[0].labels.remove(INSTANCE_TYPE);
        })
    };
    assert_eq!(reason(&old(60)), Some(DriftReason::InstanceTypeNotFound));
    assert_eq!(reason(&old(59)), None);
}

#[test]
fn a_changed_node_class_is_drift() {
    let hashed = |of: &str| hashes(NODE_CLASS_HASH, of, NODE_CLASS_HASH_VERSION, "v4");
    let world = |own: &str| {
        let class = Ec2NodeClass { annotations: hashed("1"), ..node_class("ami-1") };
        cluster()
            .with(|snapshot| snapshot.objects.node_classes.push(class))
            .node(node("n1").with_claim(|claim| claim.annotations = hashed(own)))
    };
    assert_eq!(reason(&world("1")), None);
    assert_eq!(reason(&world("2")), Some(DriftReason::NodeClassDrift));
}

#[test]
fn an_image_that_is_no_longer_selected_is_drift() {
    let world = |image: &str| {
        let image = Some(Text::from(image));
        cluster()
            .with(|snapshot| snapshot.objects.node_classes.push(node_class("ami-1")))
            .node(node("n1").with_claim(|claim| claim.status.image_id = image))
    };
    assert_eq!(reason(&world("ami-1")), None);
    assert_eq!(reason(&world("ami-0")), Some(DriftReason::AmiDrift));
}

#[test]
fn a_rebalance_recommendation_is_drift_if_the_pool_says_so() {
    let world = |policy: Option<&str>| {
        let policy = policy.map(|policy| (ON_REBALANCE_RECOMMENDATION.into(), policy.into()));
        let recommended = [(REBALANCE_RECOMMENDED.into(), "2026-01-05T09:00:00Z".into())];
        cluster()
            .default_pool(|pool| pool.annotations = policy.into_iter().collect())
            .node(node("n1").with_claim(|claim| claim.annotations = recommended.into()))
    };
    assert_eq!(reason(&world(Some("replace"))), Some(DriftReason::RebalanceRecommended));
    assert_eq!(reason(&world(Some("ignore"))), None);
    assert_eq!(reason(&world(None)), None);
}

/// A node that has drifted.
fn drifted(name: &str) -> NodeMaker {
    node(name).with_claim(|claim| claim.termination_grace_period = None)
}

/// A pool whose nodes have all drifted and that consolidates nothing.
fn drifting() -> Cluster {
    let pool =
        node_pool_with("default", |template| _ = template.labels.insert("a".into(), "b".into()));
    cluster().pool(pool).default_pool(|pool| {
        pool.disruption.consolidation_policy = ConsolidationPolicy::WhenEmpty;
        pool.disruption.consolidate_after = domain::node_pool::NeverOr::Never;
    })
}

#[test]
fn one_drifted_node_with_pods_is_replaced_at_a_time_the_oldest_first() {
    let since = |minutes| {
        move |claim: &mut domain::node_claim::NodeClaim| {
            claim.status.conditions.push(domain::node_claim::Condition {
                kind: domain::node_claim::ConditionType::Drifted,
                status: domain::node_claim::ConditionStatus::True,
                reason: "".into(),
                message: "".into(),
                changed: Some(minutes_ago(minutes)),
            });
        }
    };
    let disruption = drifting()
        .node(drifted("n1").with_claim(since(10)))
        .node(drifted("n2").with_claim(since(20)))
        .pod(pod("a").cpu(3000).on("n1"))
        .pod(pod("b").cpu(3000).on("n2"))
        .disruption();
    assert_eq!(disruption.reason, DisruptionReason::Drifted);
    assert_eq!(&*disruption.nodes[0], "n2");
    assert_eq!(disruption.replacements.len(), 1);
}

#[test]
fn empty_drifted_nodes_come_first_and_need_nothing_new() {
    let plan = drifting().node(drifted("n1")).node(drifted("n2")).pod(pod("a").on("n1")).plan();
    assert_eq!(disrupted_for(&plan, DisruptionReason::Drifted), ["n2"]);
    assert!(plan.disruptions[0].replacements.is_empty());
}

#[test]
fn a_drifted_node_that_waits_for_an_empty_one_is_left_to_drift() {
    let plan = |allowed: u32| {
        let drift_only = Budget {
            reasons: Some(vec![DisruptionReason::Drifted]),
            ..budget(CountOrPercent::Count(allowed))
        };
        drifting()
            .default_pool(|pool| {
                let disruption = &mut pool.disruption;
                disruption.budgets = vec![drift_only, budget(CountOrPercent::Count(9))];
                disruption.consolidation_policy = ConsolidationPolicy::WhenEmptyOrUnderutilized;
                disruption.consolidate_after = NeverOr::After(SignedDuration::ZERO);
            })
            .node(drifted("empty"))
            .node(drifted("oversized"))
            .pod(pod("a").cpu(1500).on("oversized"))
            .plan()
    };
    let waits = plan(9);
    assert_eq!(disrupted_for(&waits, DisruptionReason::Empty), ["empty"]);
    assert_eq!(disrupted_for(&waits, DisruptionReason::Underutilized), [""; 0]);
    let held = plan(0);
    assert_eq!(disrupted_for(&held, DisruptionReason::Underutilized), ["oversized"]);
}

#[test]
fn drift_waits_for_its_budget() {
    let world = drifting()
        .default_pool(|pool| pool.disruption.budgets = vec![budget(CountOrPercent::Count(0))])
        .node(drifted("n1"));
    assert!(matches!(world.blocked("n1"), NotDisruptable::Budget { allowed: 0, .. }));
}

#[test]
fn a_termination_grace_period_lets_drift_override_a_pdb() {
    let world = |grace: Option<SignedDuration>| {
        drifting()
            .default_pool(|pool| {
                Arc::make_mut(&mut pool.template).termination_grace_period = grace;
            })
            .node(node("n1").with_claim(|claim| claim.termination_grace_period = grace))
            .pod(pod("a").label("app", "web").on("n1"))
            .pdb(pdb("web", ("app", "web"), 0))
    };
    assert!(matches!(world(None).blocked("n1"), NotDisruptable::Pdb { .. }));
    let graceful = world(Some(SignedDuration::from_mins(5))).plan();
    assert_eq!(disrupted_for(&graceful, DisruptionReason::Drifted), ["n1"]);
}

#[test]
fn pods_that_are_never_evicted_get_no_replacement_before_their_node_ends() {
    let grace = Some(SignedDuration::from_mins(5));
    let world = |guard: PodDisruptionBudget| {
        let stays = pod("a").cpu(1000).label("app", "web").on("n1");
        let refuses = pod("b").having(|pod| pod.do_not_disrupt = Some(DoNotDisrupt::Always));
        drifting()
            .default_pool(|pool| {
                Arc::make_mut(&mut pool.template).termination_grace_period = grace;
            })
            .node(node("n1").with_claim(|claim| claim.termination_grace_period = grace))
            .pod(stays)
            .pod(refuses.cpu(1000).on("n1"))
            .pdb(guard)
            .disruption()
    };
    let for_now = pdb("web", ("app", "web"), 0);
    let never =
        PodDisruptionBudget { max_unavailable: Some(CountOrPercent::Count(0)), ..for_now.clone() };
    assert!(world(never).replacements.is_empty());
    let disruption = world(for_now);
    assert_eq!(disruption.replacements[0].pods, [pod_key("a")], "it may be evicted any moment");
    assert_eq!(disruption.pods, [pod_key("a"), pod_key("b")]);
}

#[test]
fn a_drifted_node_whose_pods_find_no_place_is_kept() {
    let world = drifting().node(node("n1").of_type("m.2xlarge")).pod(pod("a").cpu(7000).on("n1"));
    let unplaceable = world.with(|snapshot| {
        let types = snapshot.instance_types.default.types_mut();
        types.retain(|own| &*own.name != "m.2xlarge");
        snapshot.now = now();
    });
    assert_eq!(
        unplaceable.blocked("n1"),
        NotDisruptable::DriftWithoutPlace {
            drift: DriftReason::NodePoolDrifted,
            pod: pod_key("a")
        }
    );
}

#[test]
fn a_drifted_node_within_consolidate_after_is_replaced() {
    let unwanted = requirement(INSTANCE_TYPE, Operator::NotIn, &["m.xlarge"]);
    // The only pod of its kind that may be in its zone: as long as it counts there, no other has a
    // place.
    let alone = pod("a")
        .cpu(1500)
        .label("app", "db")
        .anti_affinity(near(ZONE, ("app", "db")))
        .on_nodes_with(ZONE, "a");
    let left = |minutes| {
        let event = Some(minutes_ago(minutes));
        cluster()
            .pool(node_pool_of("default", std::slice::from_ref(&unwanted)))
            .default_pool(|pool| {
                let five_minutes = NeverOr::After(SignedDuration::from_mins(5));
                pool.disruption.consolidate_after = five_minutes;
            })
            .node(node("n1").with_claim(|claim| claim.status.last_pod_event = event))
            .pod(alone.clone().on("n1"))
            .plan()
    };
    for minutes in [60, 1] {
        assert_eq!(disrupted_for(&left(minutes), DisruptionReason::Drifted), ["n1"]);
    }
}

#[test]
fn a_node_whose_replacements_limits_leave_too_few_types_for_is_reported_so() {
    let sold = vec![
        instance_type("m.xlarge", 4, 0.20),
        instance_type("m.2xlarge", 8, 0.40),
        instance_type("x.4xlarge", 16, 0.50),
    ];
    let any = requirement(INSTANCE_TYPE, Operator::In, &["m.xlarge", "m.2xlarge"]);
    let two_types = Requirement { min_values: Some(2), ..any };
    let apart = pod("a").cpu(3000).label("app", "db").anti_affinity(near(HOSTNAME, ("app", "db")));
    let limited = |cpus: i64| {
        cluster()
            .selling(sold.clone())
            .pool(node_pool_of("default", std::slice::from_ref(&two_types)))
            .default_pool(|pool| pool.limits = Resources::new().with(CPU, cpus * 1000))
            .node(node("n1").of_type("x.4xlarge"))
            .pods(2, &apart.clone().on("n1"))
    };
    assert_eq!(limited(16).disruption().replacements.len(), 2);
    assert_eq!(
        limited(13).blocked("n1"),
        NotDisruptable::DriftWithoutPlace {
            drift: DriftReason::RequirementsDrifted(INSTANCE_TYPE.into()),
            pod: pod_key("a-0"),
        }
    );
}
