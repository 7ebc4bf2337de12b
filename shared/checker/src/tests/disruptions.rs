//! Disruptions: who may go, how many at once, and where pods go.

use domain::SignedDuration;
use domain::budget::{Budget, BudgetWindow, WindowZone};
use domain::expiration::Expiration;
use domain::instance_type::CapacityType;
use domain::label::{CAPACITY_TYPE, DO_NOT_DISRUPT, HOSTNAME, INITIALIZED, NODE_POOL, ZONE};
use domain::node::Node;
use domain::node_claim::{Condition, ConditionStatus, ConditionType, NodeClaim};
use domain::node_pool::{ConsolidationPolicy, Disruption, NeverOr, NodePool};
use domain::pdb::{CountOrPercent, PodDisruptionBudget};
use domain::plan::{Plan, PlannedDisruption, PlannedNodeClaim};
use domain::pod::{DoNotDisrupt, OwnerKind, PodPhase};
use domain::reason::DisruptionReason::{self, Drifted, Empty, Expired, Underutilized};
use domain::resource::{CPU, Resources};
use domain::selector::LabelSelector;
use domain::snapshot::ClusterSnapshot;
use domain::spot::InterruptionCost;
use domain::taint::Taint;

use crate::Rule;
use crate::testing::*;

fn big() -> Node {
    node("e", "big", "a")
}

fn free(nodes: Vec<Node>, pods: impl IntoIterator<Item = PodMaker>) -> ClusterSnapshot {
    cluster(pods).with_node_pools([free_pool()]).with_nodes(nodes)
}

/// Big node `e` with pods, and small node `f`.
fn half_used(pods: impl IntoIterator<Item = PodMaker>) -> ClusterSnapshot {
    free(vec![big(), node("f", "small", "a")], pods)
}

fn emptying(nodes: &[&str], savings: f64) -> Plan {
    disrupting([PlannedDisruption { savings: usd(savings), ..disruption(Empty, nodes) }])
}

/// Node `e` goes, its pods move to `f`.
fn moving(reason: DisruptionReason, pods: &[&str]) -> PlannedDisruption {
    PlannedDisruption {
        pods: pods.iter().map(|name| key(name)).collect(),
        moves: pods.iter().map(|name| placement(name, "f")).collect(),
        savings: usd(0.2),
        ..disruption(reason, &["e"])
    }
}

/// Node `e` goes, its pods go to a replacement.
fn replacing(pods: &[&str], replacement: PlannedNodeClaim) -> PlannedDisruption {
    PlannedDisruption {
        pods: pods.iter().map(|name| key(name)).collect(),
        savings: usd(0.2) - replacement.offering.price,
        replacements: vec![replacement],
        ..disruption(Underutilized, &["e"])
    }
}

#[test]
fn an_empty_node_goes() {
    let cluster = free(vec![node("e", "small", "a")], []);
    allows(&cluster, &emptying(&["e"], 0.05));
    breaks(&cluster, &emptying(&["e"], 0.5), &[Rule::Savings]);
}

#[test]
fn daemon_set_pods_and_ended_pods_leave_a_node_empty() {
    let daemon = pod("d").on("e").owned_by(OwnerKind::DaemonSet);
    let mut ended = pod("r").on("e");
    ended.pod.phase = PodPhase::Succeeded;
    allows(&free(vec![node("e", "small", "a")], [daemon, ended]), &emptying(&["e"], 0.05));
    let used = free(vec![node("e", "small", "a")], [pod("r").on("e")]);
    breaks(&used, &emptying(&["e"], 0.05), &[Rule::NotEmpty]);
}

#[test]
fn pods_whose_eviction_costs_nothing_leave_a_node_empty() {
    let holding = |priority, deletion_cost| {
        let mut cheap = pod("r").on("e");
        cheap.spec.priority = priority;
        cheap.pod.deletion_cost = deletion_cost;
        free(vec![big()], [cheap])
    };
    let empty = emptying(&["e"], 0.2);
    allows(&holding(-(1 << 25), None), &empty);
    breaks(&holding(1 - (1 << 25), None), &empty, &[Rule::NotEmpty]);
    allows(&holding(0, Some(-(1 << 27))), &empty);
    breaks(&holding(0, Some(1 - (1 << 27))), &empty, &[Rule::NotEmpty]);
    allows(&holding(-(1 << 24), Some(-(1 << 26))), &empty);
    breaks(&holding(1 - (1 << 24), Some(-(1 << 26))), &empty, &[Rule::NotEmpty]);
}

#[test]
fn a_disruption_names_nodes_that_are_there_once() {
    let cluster = free(vec![node("e", "small", "a")], []);
    breaks(&cluster, &emptying(&[], 0.0), &[Rule::DisruptionEmpty]);
    breaks(&cluster, &emptying(&["x"], 0.0), &[Rule::DisruptionUnknown]);
    let mut twice = emptying(&["e"], 0.05);
    twice.disruptions.push(disruption(Drifted, &["e"]));
    breaks(&cluster, &twice, &[Rule::DisruptionTwice]);
}

#[test]
fn nodes_without_a_pool_and_nodes_on_their_way_out_are_left_alone() {
    let mut foreign = node("e", "small", "a");
    foreign.labels.remove(NODE_POOL);
    let plan = disrupting([disruption(Expired, &["e"])]);
    breaks(&free(vec![foreign], []), &plan, &[Rule::DisruptionUnmanaged]);
    let going = Node { deleted: Some(now()), ..node("e", "small", "a") };
    breaks(&free(vec![going], []), &plan, &[Rule::DisruptionDeleting]);
}

#[test]
fn a_pod_is_not_placed_on_a_node_that_goes() {
    let cluster = free(vec![node("e", "small", "a")], [pod("p")]);
    let plan = Plan { placements: vec![placement("p", "e")], ..emptying(&["e"], 0.05) };
    breaks(&cluster, &plan, &[Rule::PlacedOnDisrupted]);
}

#[test]
fn a_starting_node_is_not_disrupted_by_choice() {
    let mut starting = node("e", "small", "a");
    starting.labels.remove(INITIALIZED);
    let cluster = free(vec![starting], []);
    breaks(&cluster, &emptying(&["e"], 0.05), &[Rule::DisruptionUninitialized]);
    allows(&cluster, &disrupting([disruption(Expired, &["e"])]));
}

#[test]
fn do_not_disrupt_protects_nodes_claims_and_pods() {
    let protected = || labels(&[(DO_NOT_DISRUPT, "true")]);
    let by_node = Node { annotations: protected(), ..node("e", "small", "a") };
    breaks(&free(vec![by_node], []), &emptying(&["e"], 0.05), &[Rule::DoNotDisrupt]);
    let mut claim = NodeClaim { annotations: protected(), ..claim_object("c") };
    claim.status.node_name = Some("e".into());
    let by_claim = free(vec![node("e", "small", "a")], []).with_node_claims([claim]);
    breaks(&by_claim, &emptying(&["e"], 0.05), &[Rule::DoNotDisrupt]);
    let mut guarded = pod("r").on("e");
    guarded.pod.do_not_disrupt = Some(DoNotDisrupt::Always);
    let by_pod = half_used([guarded]);
    breaks(&by_pod, &disrupting([moving(Underutilized, &["r"])]), &[Rule::DoNotDisrupt]);
    allows(&by_pod, &disrupting([moving(Expired, &["r"])]));
}

#[test]
fn do_not_disrupt_may_pass() {
    let started_three_hours_ago = |hours| {
        let mut pod = pod("r").on("e");
        pod.pod.do_not_disrupt = Some(DoNotDisrupt::For(SignedDuration::from_hours(hours)));
        pod.pod.started = Some(now() - SignedDuration::from_hours(3));
        half_used([pod])
    };
    let plan = disrupting([moving(Underutilized, &["r"])]);
    allows(&started_three_hours_ago(2), &plan);
    breaks(&started_three_hours_ago(4), &plan, &[Rule::DoNotDisrupt]);
}

#[test]
fn consolidation_follows_the_pools_policy() {
    let with = |disruption: Disruption| {
        half_used([pod("r").on("e")]).with_node_pools([NodePool { disruption, ..free_pool() }])
    };
    let free = || free_pool().disruption;
    let plan = disrupting([moving(Underutilized, &["r"])]);
    allows(&with(free()), &plan);
    let never = Disruption { consolidate_after: NeverOr::Never, ..free() };
    breaks(&with(never), &plan, &[Rule::ConsolidationPolicy]);
    let when_empty = Disruption { consolidation_policy: ConsolidationPolicy::WhenEmpty, ..free() };
    breaks(&with(when_empty.clone()), &plan, &[Rule::ConsolidationPolicy]);
    allows(&with(when_empty), &disrupting([moving(Drifted, &["r"])]));
}

fn pdb(name: &str, allowed: Option<u32>) -> PodDisruptionBudget {
    PodDisruptionBudget {
        key: key(name),
        selector: Some(LabelSelector::of_labels([("app", "x")])),
        max_unavailable: None,
        min_available: None,
        always_allow_unhealthy: false,
        disruptions_allowed: allowed,
        current_healthy: 0,
        desired_healthy: 0,
    }
}

#[test]
fn a_pod_disruption_budget_lets_pods_go_or_not() {
    let guarded =
        |budgets| half_used([pod("r").app().on("e")]).with_pod_disruption_budgets(budgets);
    let plan = disrupting([moving(Underutilized, &["r"])]);
    allows(&guarded(vec![pdb("b", Some(1))]), &plan);
    breaks(&guarded(vec![pdb("b", Some(0))]), &plan, &[Rule::PodDisruptionBudget]);
    allows(&guarded(vec![pdb("z/b", Some(0))]), &plan);
    let never =
        PodDisruptionBudget { max_unavailable: Some(CountOrPercent::Count(0)), ..pdb("b", None) };
    breaks(&guarded(vec![never]), &plan, &[Rule::PodDisruptionBudget]);
    // The Eviction API refuses a pod that two budgets guard.
    breaks(
        &guarded(vec![pdb("b", Some(1)), pdb("c", Some(1))]),
        &plan,
        &[Rule::PodDisruptionBudget],
    );
}

#[test]
fn a_pod_that_is_not_ready_may_go_where_the_budget_says_so() {
    let mut unready = pod("r").app().on("e");
    unready.pod.ready = Some(false);
    let cluster = |always_allow_unhealthy| {
        half_used([unready.clone()]).with_pod_disruption_budgets([PodDisruptionBudget {
            always_allow_unhealthy,
            ..pdb("b", Some(0))
        }])
    };
    let plan = disrupting([moving(Underutilized, &["r"])]);
    allows(&cluster(true), &plan);
    breaks(&cluster(false), &plan, &[Rule::PodDisruptionBudget]);
}

#[test]
fn drift_goes_ahead_where_a_node_is_sure_to_end() {
    let cluster = |grace| {
        let mut claim = NodeClaim { termination_grace_period: grace, ..claim_object("c") };
        claim.status.node_name = Some("e".into());
        half_used([pod("r").app().on("e")])
            .with_node_claims([claim])
            .with_pod_disruption_budgets([pdb("b", Some(0))])
    };
    let plan = disrupting([moving(Drifted, &["r"])]);
    allows(&cluster(Some(SignedDuration::from_hours(1))), &plan);
    breaks(&cluster(None), &plan, &[Rule::PodDisruptionBudget]);
}

#[test]
fn a_pod_that_is_never_evicted_needs_no_place_before_its_drifted_node_ends() {
    let cluster = |budget: PodDisruptionBudget| {
        let grace = Some(SignedDuration::from_hours(1));
        let mut claim = NodeClaim { termination_grace_period: grace, ..claim_object("c") };
        claim.status.node_name = Some("e".into());
        half_used([pod("r").app().on("e")])
            .with_node_claims([claim])
            .with_pod_disruption_budgets([budget])
    };
    let without_place = PlannedDisruption { moves: Vec::new(), ..moving(Drifted, &["r"]) };
    let plan = disrupting([without_place]);
    let never = PodDisruptionBudget {
        max_unavailable: Some(CountOrPercent::Count(0)),
        ..pdb("b", Some(0))
    };
    allows(&cluster(never.clone()), &plan);
    breaks(&cluster(pdb("b", Some(0))), &plan, &[Rule::MoveMissing]);
    let unready = |always_allow_unhealthy| {
        let mut world = cluster(PodDisruptionBudget { always_allow_unhealthy, ..never.clone() });
        world.objects.pods[0].ready = Some(false);
        world
    };
    breaks(&unready(true), &plan, &[Rule::MoveMissing]);
    allows(&unready(false), &plan);
}

/// Four small nodes `e0` to `e3` of a pool with budgets.
fn four(budgets: Vec<Budget>) -> ClusterSnapshot {
    let disruption = Disruption { budgets, ..Disruption::default() };
    cluster([])
        .with_node_pools([NodePool { disruption, ..pool() }])
        .with_nodes((0..4).map(|index| node(&format!("e{index}"), "small", "a")))
}

fn emptying_first(count: u8) -> Plan {
    let names: Vec<String> = (0..count).map(|index| format!("e{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    emptying(&names, 0.05 * f64::from(count))
}

fn count(nodes: u32) -> Budget {
    Budget { nodes: CountOrPercent::Count(nodes), ..Budget::default_budget() }
}

#[test]
fn budgets_are_kept_with_percentages_rounded_up() {
    allows(&four(vec![Budget::default_budget()]), &emptying_first(1));
    breaks(&four(vec![Budget::default_budget()]), &emptying_first(2), &[Rule::Budget]);
    let third = Budget { nodes: CountOrPercent::Percent(30), ..Budget::default_budget() };
    allows(&four(vec![third.clone()]), &emptying_first(2));
    breaks(&four(vec![third]), &emptying_first(3), &[Rule::Budget]);
    allows(&four(vec![]), &emptying_first(4));
}

#[test]
fn budgets_hold_for_their_reasons_and_windows() {
    let for_reason = |reason| Budget { reasons: Some(vec![reason]), ..count(0) };
    allows(&four(vec![for_reason(Drifted), count(3)]), &emptying_first(3));
    breaks(&four(vec![for_reason(Empty), count(3)]), &emptying_first(1), &[Rule::Budget]);
    let at = |schedule: &str| Budget {
        window: Some(BudgetWindow {
            schedule: schedule.parse().unwrap(),
            duration: SignedDuration::from_hours(8),
            zone: WindowZone::default(),
        }),
        ..count(0)
    };
    breaks(&four(vec![at("0 9 * * mon-fri")]), &emptying_first(1), &[Rule::Budget]);
    allows(&four(vec![at("0 9 * * sat,sun")]), &emptying_first(4));
    let expiring = disrupting([disruption(Expired, &["e0", "e1"])]);
    allows(&four(vec![count(0)]), &expiring);
}

#[test]
fn nodes_that_are_not_ready_or_going_use_up_the_budget() {
    let mut cluster = four(vec![count(1)]);
    allows(&cluster, &emptying_first(1));
    cluster.objects.nodes[3].conditions[0].status = ConditionStatus::Unknown;
    breaks(&cluster, &emptying_first(1), &[Rule::Budget]);
    let mut cluster = four(vec![count(1)]);
    cluster.objects.nodes[3].deleted = Some(now());
    breaks(&cluster, &emptying_first(1), &[Rule::Budget]);
}

#[test]
fn a_node_whose_instance_is_ending_counts_no_more() {
    let mut cluster = four(vec![count(1)]);
    cluster.objects.nodes[3].deleted = Some(now());
    let mut claim = claim_object("e3");
    cluster.objects.nodes[3].provider_id = Some("aws:///a/i-3".into());
    claim.status.provider_id.clone_from(&cluster.objects.nodes[3].provider_id);
    claim.status.conditions = vec![Condition {
        kind: ConditionType::InstanceTerminating,
        status: ConditionStatus::True,
        reason: "InstanceTerminating".into(),
        message: "".into(),
        changed: Some(now()),
    }];
    cluster.node_claims = vec![claim];
    allows(&cluster, &emptying_first(1));
}

#[test]
fn reasons_share_the_budget() {
    let mut both = emptying(&["e0"], 0.05);
    both.disruptions.push(disruption(Drifted, &["e1"]));
    breaks(&four(vec![count(1)]), &both, &[Rule::Budget]);
    allows(&four(vec![count(2)]), &both);
}

#[test]
fn a_disruption_names_the_pods_that_have_to_move() {
    let cluster = half_used([pod("r").on("e")]);
    allows(&cluster, &disrupting([moving(Underutilized, &["r"])]));
    let unnamed = PlannedDisruption { pods: vec![], ..moving(Underutilized, &["r"]) };
    breaks(&cluster, &disrupting([unnamed]), &[Rule::DisruptionPods]);
    let mut stranger = moving(Underutilized, &["r"]);
    stranger.pods.push(key("s"));
    breaks(&cluster, &disrupting([stranger]), &[Rule::DisruptionPods]);
}

#[test]
fn every_pod_that_has_to_move_has_a_place_to_go_to() {
    let cluster = half_used([pod("r").on("e")]);
    let stuck = |reason| PlannedDisruption { moves: vec![], ..moving(reason, &["r"]) };
    breaks(&cluster, &disrupting([stuck(Underutilized)]), &[Rule::MoveMissing]);
    breaks(&cluster, &disrupting([stuck(Drifted)]), &[Rule::MoveMissing]);
    allows(&cluster, &disrupting([stuck(Expired)]));
}

#[test]
fn moves_are_of_the_nodes_pods_to_places_that_stay() {
    let cluster = half_used([pod("r").on("e"), pod("s").on("f")]);
    let to = |node: &str| {
        let moves = vec![placement("r", node)];
        disrupting([PlannedDisruption { moves, ..moving(Underutilized, &["r"]) }])
    };
    allows(&cluster, &to("f"));
    breaks(&cluster, &to("e"), &[Rule::MoveUnknown]);
    breaks(&cluster, &to("x"), &[Rule::MoveUnknown]);
    let mut foreign = to("f");
    foreign.disruptions[0].moves.push(placement("s", "f"));
    breaks(&cluster, &foreign, &[Rule::MovePods]);
    let mut twice = to("f");
    twice.disruptions[0].moves.push(placement("r", "f"));
    breaks(&cluster, &twice, &[Rule::MovePods]);
}

#[test]
fn pods_may_move_to_new_claims_as_far_as_there_is_room() {
    let cluster = |cpu| half_used([pod("p").cpu(1000), pod("r").cpu(cpu).on("e")]);
    let moves = vec![placement("r", "n")];
    let plan = Plan {
        disruptions: vec![PlannedDisruption { moves, ..moving(Underutilized, &["r"]) }],
        ..plan([claim("n", &["p"])])
    };
    allows(&cluster(1000), &plan);
    breaks(&cluster(1001), &plan, &[Rule::Fit]);
}

fn pod_of_f() -> PodMaker {
    pod("s").app().on("f")
}

#[test]
fn moved_pods_obey_every_rule_where_they_go() {
    let plan = disrupting([moving(Underutilized, &["r"])]);
    let resident = |pod: PodMaker| half_used([pod.on("e"), pod_of_f().cpu(1500)]);
    allows(&resident(pod("r").cpu(500)), &plan);
    breaks(&resident(pod("r").cpu(501)), &plan, &[Rule::Fit]);
    breaks(&resident(pod("r").selecting(ZONE, "b")), &plan, &[Rule::NodeAffinity]);
    breaks(&resident(pod("r").avoiding(HOSTNAME)), &plan, &[Rule::AntiAffinity]);
    breaks(&resident(pod("r").mounting("c")), &plan, &[Rule::Volume]);
    let ports = [pod("r").opening("0.0.0.0", 80).on("e"), pod_of_f().opening("0.0.0.0", 80)];
    breaks(&half_used(ports), &plan, &[Rule::HostPort]);
    let mut tainted = half_used([pod("r").on("e")]);
    tainted.objects.nodes[1].taints = vec![taint()];
    breaks(&tainted, &plan, &[Rule::Taint]);
}

#[test]
fn moved_pods_fit_together_and_beside_pods_that_were_just_placed() {
    let cluster = |cpu| half_used(pods("r", 2, |pod| pod.cpu(cpu).on("e")));
    let plan = disrupting([moving(Underutilized, &["r0", "r1"])]);
    allows(&cluster(1000), &plan);
    breaks(&cluster(1100), &plan, &[Rule::Fit]);
    let with_placement = Plan {
        placements: vec![placement("p", "f")],
        ..disrupting([moving(Underutilized, &["r"])])
    };
    let cluster = |cpu| half_used([pod("p").cpu(1000), pod("r").cpu(cpu).on("e")]);
    allows(&cluster(1000), &with_placement);
    breaks(&cluster(1001), &with_placement, &[Rule::Fit]);
}

#[test]
fn moved_pods_keep_their_spread() {
    let spreading = |name: &str| pod(name).app().spreading(ZONE).cpu(100);
    let nodes = |zone: &str| vec![big(), node("f", "small", zone), node("g", "small", "b")];
    let pods = || [spreading("r").on("e"), spreading("s").on("g")];
    let plan = disrupting([moving(Underutilized, &["r"])]);
    allows(&free(nodes("a"), pods()), &plan);
    breaks(&free(nodes("b"), pods()), &plan, &[Rule::Spread]);
}

#[test]
fn a_replacement_saves_money_and_obeys_the_rules_of_claims() {
    let cluster = |pod: PodMaker| half_used([pod.on("e")]);
    let replaced = |claim| disrupting([replacing(&["r"], claim)]);
    allows(&cluster(pod("r")), &replaced(claim("x", &["r"])));
    let as_dear = claim_in("x", &["r"], &["big"], "a", CapacityType::OnDemand);
    breaks(&cluster(pod("r")), &replaced(as_dear), &[Rule::NoSaving]);
    breaks(&cluster(pod("r").cpu(3000)), &replaced(claim("x", &["r"])), &[Rule::Fit]);
    let elsewhere = pod("r").selecting(ZONE, "b");
    breaks(&cluster(elsewhere), &replaced(claim("x", &["r"])), &[Rule::NodeAffinity]);
}

#[test]
fn a_replacement_holds_pods_of_the_nodes_it_replaces() {
    let cluster = half_used([pod("r").on("e"), pod("s").on("f")]);
    let foreign = disrupting([replacing(&["r"], claim("x", &["r", "s"]))]);
    breaks(&cluster, &foreign, &[Rule::ReplacementPods]);
    let mut twice = replacing(&["r"], claim("x", &["r"]));
    twice.replacements.push(claim("y", &["r"]));
    twice.savings = usd(0.16);
    breaks(&cluster, &disrupting([twice]), &[Rule::ReplacementPods]);
}

#[test]
fn pods_of_two_nodes_are_not_merged_against_their_will() {
    let lonely = |name: &str, node: &str| pod(name).app().avoiding(HOSTNAME).on(node);
    let cluster = free(vec![big(), node("f", "big", "a")], [lonely("r", "e"), lonely("s", "f")]);
    let merged = |replacements: Vec<PlannedNodeClaim>, savings| {
        disrupting([PlannedDisruption {
            nodes: vec!["e".into(), "f".into()],
            pods: vec![key("r"), key("s")],
            replacements,
            savings: usd(savings),
            ..disruption(Underutilized, &[])
        }])
    };
    let one = merged(vec![claim("x", &["r", "s"])], 0.38);
    breaks(&cluster, &one, &[Rule::AntiAffinity]);
    let two = merged(vec![claim("x", &["r"]), claim("y", &["s"])], 0.36);
    allows(&cluster, &two);
}

#[test]
fn limits_hold_once_replacements_are_there() {
    let limited = |cpu| {
        half_used([pod("r").on("e")])
            .with_node_pools([NodePool { limits: Resources::new().with(CPU, cpu), ..free_pool() }])
    };
    // What goes makes room: 2 cpu of node f and up to 8 of the replacement.
    let types = claim_in("x", &["r"], &["small", "big"], "a", CapacityType::Spot);
    let plan = disrupting([replacing(&["r"], types)]);
    allows(&limited(10_000), &plan);
    breaks(&limited(9_999), &plan, &[Rule::Limits]);
    // So does what an earlier command takes: the 2 cpu of node f.
    let mut earlier = limited(8000);
    earlier.objects.nodes[1].taints = vec![Taint::disrupted()];
    allows(&earlier, &plan);
}

#[test]
fn a_node_that_expires_gracefully_goes_by_force_at_its_last_date_only() {
    let aged = |hours: i64, expire_by| {
        let mut pool = free_pool();
        pool.options.expiration = Expiration { is_graceful: true, spread_percent: 0, expire_by };
        let mut claim = claim_object("c");
        claim.created = Some(now() - SignedDuration::from_hours(hours));
        claim.expire_after = NeverOr::After(SignedDuration::from_hours(720));
        claim.status.node_name = Some("e".into());
        let world = free(vec![node("e", "small", "a")], []).with_node_claims([claim]);
        world.with_node_pools([pool])
    };
    let (plan, two_days) =
        (disrupting([disruption(Expired, &["e"])]), SignedDuration::from_hours(48));
    breaks(&aged(767, Some(two_days)), &plan, &[Rule::Expiration]);
    allows(&aged(768, Some(two_days)), &plan);
    breaks(&aged(10_000, None), &plan, &[Rule::Expiration]);
}

#[test]
fn a_node_at_its_utilization_threshold_is_not_consolidated() {
    let requested = pod("r").on("e");
    let cpu = requested.spec.requests.get(CPU);
    let all = big().allocatable.get(CPU);
    let percent = u8::try_from(cpu * 100 / all).unwrap();
    assert!(percent > 0);
    let held = |threshold| {
        let mut pool = free_pool();
        pool.options.consolidate_below = Some(threshold);
        half_used([pod("r").on("e")]).with_node_pools([pool])
    };
    let plan = disrupting([moving(Underutilized, &["r"])]);
    breaks(&held(percent), &plan, &[Rule::Utilization]);
    allows(&held(percent + 1), &plan);
}

#[test]
fn pods_do_not_move_to_spot_where_their_interruptions_cost_more_than_that_saves() {
    let world = |cost: &str| {
        let mut spot = node("f", "small", "a");
        spot.labels.insert(CAPACITY_TYPE.into(), "spot".into());
        let mut own = big();
        own.labels.insert(CAPACITY_TYPE.into(), "on-demand".into());
        let cost = InterruptionCost::parse(cost).unwrap();
        let pod = pod("r").on("e").with(|spec| spec.spot_interruption_cost = Some(cost));
        free(vec![own, spot], [pod])
    };
    let moved = disrupting([moving(Underutilized, &["r"])]);
    allows(&world("100h"), &moved);
    breaks(&world("2000h"), &moved, &[Rule::DearInterruptions]);
}
