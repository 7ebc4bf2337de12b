//! What holds a bound pod, and where it would go without its node.

use domain::SignedDuration;
use domain::label::DO_NOT_DISRUPT;
use domain::node_pool::NeverOr;
use domain::pdb::CountOrPercent;
use domain::pod::{DoNotDisrupt, OwnerKind};
use domain::reason::DisruptionReason;

use crate::disruption::{Destination, ResidentExplanation, Situation, explain_resident};
use crate::testing::{Cluster, budget, cluster, minutes_ago, node, pdb, pod, pod_key};

#[track_caller]
fn explained(world: &Cluster, name: &str) -> ResidentExplanation {
    explain_resident(&world.0, &world.plan(), &pod_key(name)).unwrap()
}

fn holds(explanation: &ResidentExplanation) -> Vec<String> {
    explanation.holds.iter().map(ToString::to_string).collect()
}

/// A node with pod `a`, beside one with room for it; budgets keep both.
fn two_nodes() -> Cluster {
    cluster()
        .default_pool(|pool| pool.disruption.budgets = vec![budget(CountOrPercent::Count(0))])
        .node(node("n1"))
        .node(node("n2"))
        .pod(pod("a").label("app", "web").cpu(1000).on("n1"))
        .pod(pod("b").cpu(2000).on("n2"))
}

#[test]
fn everything_that_holds_a_node_is_listed_not_the_first_thing_only() {
    let refusing = pod("c").having(|pod| pod.do_not_disrupt = Some(DoNotDisrupt::Always));
    let world = two_nodes()
        .pod(refusing.cpu(100).on("n1"))
        .pdb(pdb("web", ("app", "web"), 0))
        .default_pool(|pool| {
            pool.disruption.consolidate_after = NeverOr::After(SignedDuration::from_mins(5));
        })
        .with(|snapshot| {
            snapshot.objects.nodes[0].annotations.insert(DO_NOT_DISRUPT.into(), "true".into());
            snapshot.node_claims[0].status.last_pod_event = Some(minutes_ago(2));
        });
    let explanation = explained(&world, "a");
    assert_eq!(
        holds(&explanation),
        [
            "it has karpenter.sh/do-not-disrupt",
            "PodDisruptionBudget default/web does not let pod default/a go: it allows 0 \
             disruptions now (1 healthy, 1 needed)",
            "pod default/c has karpenter.sh/do-not-disrupt",
            "consolidateAfter is 5m, and since a pod came or went 3m of it are left",
            "the budgets of NodePool default allow 0 Underutilized disruptions now: 0 of 2 nodes",
        ]
    );
    assert_eq!(explanation.guards[0].allowed, Some(0));
    let [line] = explanation.budgets.as_slice() else { panic!("{explanation:?}") };
    assert_eq!((line.left, line.sum.total), (0, 2));
    assert!(line.reasons.contains(&DisruptionReason::Drifted));
}

#[test]
fn a_pod_would_go_to_a_node_that_has_room() {
    let explanation = explained(&two_nodes(), "b");
    assert_eq!(explanation.situation, Situation::Moves);
    assert_eq!(explanation.destination, Destination::Node("n1".into()));
}

#[test]
fn a_pod_that_no_other_node_takes_would_get_a_new_one_or_has_no_place() {
    let crowded = two_nodes().pod(pod("big").cpu(1900).on("n2"));
    let Destination::NewNode { node_pool, offering } = explained(&crowded, "big").destination
    else {
        panic!("{:?}", explained(&crowded, "big"))
    };
    assert_eq!(&*node_pool, "default");
    assert!(offering.price.nanos() > 0);
    let without_pools = crowded.with(|snapshot| snapshot.objects.node_pools.clear());
    let nowhere = explained(&without_pools, "big").destination;
    let Destination::Nowhere(reasons) = nowhere else { panic!("{nowhere:?}") };
    assert_eq!(reasons[0].to_string(), "no NodePool can launch nodes");
}

#[test]
fn a_node_that_costs_least_already_says_so() {
    let lone = cluster().node(node("n1").of_type("m.large")).pod(pod("a").cpu(1900).on("n1"));
    let explanation = explained(&lone, "a");
    assert_eq!(explanation.saving, None);
    let text = holds(&explanation).join("; ");
    assert!(text.contains("would need a new node"), "{text}");
}

#[test]
fn a_pod_of_a_daemon_set_and_one_whose_node_leaves_are_no_residents_to_move() {
    let world = two_nodes().pod(pod("d").on("n1").owned_by(OwnerKind::DaemonSet));
    assert_eq!(explained(&world, "d").situation, Situation::BelongsToNode);
    let leaving = two_nodes().with(|snapshot| {
        snapshot.objects.nodes[0].taints.push(domain::taint::Taint::disrupted());
    });
    let explanation = explained(&leaving, "a");
    assert_eq!(explanation.situation, Situation::NodeLeaves);
    assert_eq!(explanation.destination, Destination::Node("n2".into()));
}

#[test]
fn a_pod_that_waits_is_no_resident() {
    let world = two_nodes().pod(pod("waits"));
    assert_eq!(explain_resident(&world.0, &world.plan(), &pod_key("waits")), None);
}
