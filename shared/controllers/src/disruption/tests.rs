use domain::instance_type::CapacityType;
use domain::node_claim::ConditionType;
use domain::node_pool::NeverOr;
use domain::plan::{Plan, PlannedDisruption, VALIDATION_WAIT};
use domain::reason::{DisruptionReason, NotDisruptable};
use domain::snapshot::ClusterSnapshot;
use domain::stamp::{NODE_POOL_RULES, Stamp};
use domain::taint::Taint;
use domain::{SignedDuration, Timestamp};
use pollster::block_on;

use super::*;
use crate::core::Core;
use crate::event::{EventReason, Subject};
use crate::lifecycle::advance;
use crate::ports::{ClaimStore, Clock};
use crate::record::claim::EndReason;
use crate::record::nomination::Nomination;
use crate::record::unavailable::UnavailableOffering;
use crate::testing::core::{DRIFTED, REPLACE};
use crate::testing::world::{Launch, World, crash};
use crate::testing::{at, initialized_record, instance, node_of, pod_on};

/// A world with an initialized, empty node.
fn world_with_an_empty_node() -> World {
    let world = World::new();
    add_node(&world, "old");
    world
}

fn add_node(world: &World, name: &str) {
    let record = initialized_record(name, at(0));
    let mut node = node_of(&record);
    node.taints.clear();
    let own = instance(&format!("i-{name}"), &record, at(0));
    world.cloud.instances.borrow_mut().insert(record.launch.token.clone(), own);
    world.cluster.listing.borrow_mut().objects.nodes.push(node);
    world.store.put(record);
}

/// A world with a node with one pod, to be replaced for a reason.
fn world_with_a_node_to_replace(reason: &str) -> World {
    let world = world_with_an_empty_node();
    world.cluster.add_pods([pod_on("web-0", &world.node())]);
    world.cluster.change_node(|node| {
        node.labels.insert(REPLACE.into(), reason.into());
    });
    world
}

#[track_caller]
fn run_once(world: &World, id: &str) -> DisruptionReport {
    let outcome = block_on(disrupt(world, &world.run(id))).unwrap();
    outcome.ran().expect("no other run holds the lease")
}

fn what(report: &DisruptionReport) -> Vec<&CommandEvent> {
    report.changes.iter().map(|change| &change.what).collect()
}

fn old(world: &World) -> crate::record::claim::ClaimRecord {
    let records = world.store.records();
    records.into_iter().find(|record| &*record.claim.name == "old").unwrap()
}

fn replacement(world: &World) -> Option<crate::record::claim::ClaimRecord> {
    world.store.records().into_iter().find(|record| record.replaces.is_some())
}

/// The replacement's Node joins and is initialized.
fn boot_replacement(world: &World) {
    world.boot();
    for _ in 0..2 {
        let _report = block_on(advance(world, &world.run("lifecycle"))).unwrap();
    }
}

fn is_tainted(world: &World) -> bool {
    world.node().is_disrupted()
}

#[test]
fn an_empty_node_is_proposed_validated_after_fifteen_seconds_and_ended() {
    let world = world_with_an_empty_node();
    let report = run_once(&world, "run-1");
    assert_eq!(what(&report), [&CommandEvent::Proposed]);
    assert_eq!(report.requeue_after, Some(VALIDATION_WAIT));
    assert!(!is_tainted(&world));
    world.advance(14);
    let report = run_once(&world, "run-2");
    assert!(report.changes.is_empty(), "one proposal at a time, and it waits");
    assert_eq!(report.requeue_after, Some(SignedDuration::from_secs(1)));
    world.advance(1);
    let report = run_once(&world, "run-3");
    assert_eq!(what(&report), [&CommandEvent::Started(vec![]), &CommandEvent::Ended]);
    assert!(is_tainted(&world));
    let ending = old(&world).ending.unwrap();
    assert_eq!(ending.reason, EndReason::Disrupted(DisruptionReason::Empty));
    assert!(world.store.command_records().is_empty());
    world.advance(5);
    assert!(run_once(&world, "run-4").changes.is_empty(), "an ending node is not proposed again");
}

#[test]
fn while_replacements_start_an_invocation_looks_through_an_unchanged_cluster_once() {
    let world = world_with_a_node_to_replace("Underutilized");
    add_node(&world, "other");
    let other = world.cluster.listing.borrow().objects.nodes[1].clone();
    world.cluster.add_pods([pod_on("db-0", &other)]);
    let _report = run_once(&world, "run-1");
    world.advance(15);
    let report = run_once(&world, "run-2");
    assert!(matches!(what(&report)[0], CommandEvent::Started(_)));
    let last = LastProposal::default();
    let looks = |last: &LastProposal| {
        world.advance(5);
        let core = Core { propose: |_| Plan::default(), ..crate::testing::core::core() };
        let run = Run { core, ..world.run("run-3") };
        let report = block_on(disrupt_after(&world, &run, last)).unwrap().ran().unwrap();
        report.figures.is_some()
    };
    assert_eq!([looks(&last), looks(&last), looks(&last)], [true, false, false]);
    world.cluster.add_pods([pod_on("db-1", &other)]);
    assert_eq!([looks(&last), looks(&last)], [true, false], "a pod has come");
    assert!(looks(&LastProposal::default()), "what time brings is left to the next invocation");
}

#[test]
fn between_scheduled_runs_only_news_is_planned_for() {
    let world = world_with_an_empty_node();
    world.advance(600);
    let run_by_message = |id| {
        let token = block_on(world.store.last_token(FunctionName::Disruption)).unwrap();
        let run = Run { wakes: true, continues: token.or(Some(0)), ..world.run(id) };
        block_on(disrupt(&world, &run)).unwrap().ran().expect("nobody else has run")
    };
    block_on(world.store.acquire_lease(
        FunctionName::Disruption,
        "before",
        world.clock.now(),
        SignedDuration::ZERO,
    ))
    .unwrap();
    let report = run_by_message("run-1");
    assert!(report.changes.is_empty(), "nothing has changed for ten minutes");
    assert_eq!(report.requeue_after, None, "the schedule is enough");
    world.cluster.add_pods([pod_on("web-0", &world.node())]);
    let report = run_by_message("run-2");
    assert_eq!(report.requeue_after, Some(RUN_INTERVAL), "a pod has come");
    world.cluster.listing.borrow_mut().objects.pods.clear();
    assert_eq!(what(&run_by_message("run-3")), [&CommandEvent::Proposed], "a pod has gone");
}

#[test]
fn a_node_brings_a_run_when_it_is_about_to_become_consolidatable() {
    let seconds = SignedDuration::from_secs;
    let world = world_with_an_empty_node();
    world.cluster.add_pods([pod_on("web-0", &world.node())]);
    for pool in &mut world.cluster.listing.borrow_mut().objects.node_pools {
        pool.disruption.consolidate_after = NeverOr::After(seconds(60));
    }
    assert_eq!(run_once(&world, "run-1").requeue_after, Some(seconds(60) - VALIDATION_WAIT));
    for (past, next) in [(30, Some(15)), (14, Some(1)), (1, None), (15, None)] {
        world.advance(past);
        let report = run_once(&world, &format!("run after {past}"));
        assert_eq!(report.requeue_after, next.map(seconds), "after {past} s more");
    }
}

#[test]
fn nodes_that_become_consolidatable_within_ten_seconds_are_proposed_together() {
    let seconds = SignedDuration::from_secs;
    let world = world_with_an_empty_node();
    for name in ["soon", "later"] {
        add_node(&world, name);
    }
    for pool in &mut world.cluster.listing.borrow_mut().objects.node_pools {
        pool.disruption.consolidate_after = NeverOr::After(seconds(60));
    }
    let nodes = world.cluster.listing.borrow().objects.nodes.clone();
    for (number, node) in nodes.iter().enumerate() {
        world.cluster.add_pods([pod_on(&format!("web-{number}"), node)]);
        let _report = run_once(&world, &format!("run-{number}"));
        world.advance(8);
    }
    // The first in 21 seconds, the others in 29 and in 37.
    assert_eq!(run_once(&world, "run-3").requeue_after, Some(seconds(29)));
}

#[test]
fn what_plans_have_had_go_for_long_is_validated_at_once() {
    for (marked, wait) in [(60, 0), (15, 0), (5, 10), (0, 15)] {
        let world = world_with_an_empty_node();
        world.advance(100);
        let since = at(100 - marked);
        world.cluster.change_node(|node| node.taints.push(Taint::candidate(since)));
        let report = run_once(&world, "run-1");
        assert_eq!(what(&report), [&CommandEvent::Proposed], "marked for {marked} s");
        assert_eq!(report.requeue_after, Some(SignedDuration::from_secs(wait)), "{marked} s");
        world.advance(wait);
        let report = run_once(&world, "run-2");
        assert_eq!(what(&report), [&CommandEvent::Started(vec![]), &CommandEvent::Ended]);
    }
}

#[test]
fn what_was_just_rejected_waits_again_though_plans_have_had_it_go_for_long() {
    let world = world_with_a_node_to_replace("Underutilized");
    world.advance(100);
    world.cluster.change_node(|node| node.taints.push(Taint::candidate(at(0))));
    let refuse = |_: &ClusterSnapshot, _: &PlannedDisruption| Err(NotDisruptable::Nominated);
    let going = |snapshot: &ClusterSnapshot| {
        let plan = (crate::testing::core::core().propose)(snapshot);
        Plan {
            candidates: plan.disruptions.iter().flat_map(|own| own.nodes.clone()).collect(),
            ..plan
        }
    };
    let core = Core { propose: going, validate: refuse, ..crate::testing::core::core() };
    let mut waits = Vec::new();
    for id in ["run-1", "run-2"] {
        let run = Run { core, ..world.run(id) };
        let report = block_on(disrupt(&world, &run)).unwrap().ran().unwrap();
        assert_eq!(what(&report).last(), Some(&&CommandEvent::Proposed), "{id}");
        waits.push(report.requeue_after.unwrap());
    }
    assert_eq!(waits, [SignedDuration::ZERO, VALIDATION_WAIT]);
}

#[test]
fn a_proposal_that_no_longer_holds_is_forgotten() {
    let world = world_with_an_empty_node();
    let _report = run_once(&world, "run-1");
    world.cluster.add_pods([pod_on("web-0", &world.node())]);
    world.advance(15);
    let report = run_once(&world, "run-2");
    assert!(matches!(what(&report)[0], CommandEvent::Rejected(NotDisruptable::NotWorthIt(_))));
    assert!(world.store.command_records().is_empty() && old(&world).ending.is_none());
}

#[test]
fn a_node_that_was_nominated_meanwhile_is_not_disrupted() {
    let world = world_with_an_empty_node();
    let _report = run_once(&world, "run-1");
    world.advance(15);
    let nomination = Nomination { node: world.node().name, pods: Vec::new(), until: at(30) };
    world.store.nominations.borrow_mut().push(nomination);
    let report = run_once(&world, "run-2");
    assert_eq!(what(&report)[0], &CommandEvent::Rejected(NotDisruptable::Nominated));
}

#[test]
fn of_several_empty_nodes_those_that_still_are_go() {
    let world = world_with_an_empty_node();
    add_node(&world, "busy");
    let _report = run_once(&world, "run-1");
    let busy = world.cluster.listing.borrow().objects.nodes[1].clone();
    world.cluster.add_pods([pod_on("web-0", &busy)]);
    world.advance(15);
    let report = run_once(&world, "run-2");
    assert_eq!(report.changes.last().unwrap().nodes, ["node-old".into()]);
    let ending: Vec<bool> =
        world.store.records().iter().map(|record| record.ending.is_some()).collect();
    assert_eq!(ending, [false, true], "busy, old");
}

#[test]
fn a_node_ends_only_once_its_replacement_takes_pods() {
    let world = world_with_a_node_to_replace("Underutilized");
    let _report = run_once(&world, "run-1");
    world.advance(15);
    let report = run_once(&world, "run-2");
    assert!(matches!(what(&report)[0], CommandEvent::Started(names) if names.len() == 1));
    assert!(is_tainted(&world) && old(&world).ending.is_none());
    assert!(old(&world).claim.is(ConditionType::DisruptionReason));
    world.advance(5);
    assert_eq!(what(&run_once(&world, "run-3")), [&CommandEvent::Waiting(1)]);
    boot_replacement(&world);
    assert_eq!(what(&run_once(&world, "run-4")), [&CommandEvent::Ended]);
    assert!(old(&world).ending.is_some());
    assert_eq!(world.cloud.instances.borrow().len(), 2);
}

#[test]
fn an_interrupted_start_is_resumed_with_the_same_replacement() {
    for death in [Launch::Hangs, Launch::LaunchesAndHangs] {
        let world = world_with_a_node_to_replace("Underutilized");
        let _report = run_once(&world, "run-1");
        world.advance(15);
        world.cloud.next(death);
        crash(disrupt(&world, &world.run("run-2")));
        let name = replacement(&world).unwrap().claim.name;
        world.advance(71);
        let report = run_once(&world, "run-3");
        assert_eq!(what(&report), [&CommandEvent::Started(vec![name])], "{death:?}");
        assert_eq!(world.store.records().len(), 2, "{death:?}");
        assert_eq!(world.cloud.instances.borrow().len(), 2, "{death:?}");
    }
}

#[test]
fn a_replacement_without_capacity_cancels_the_command() {
    let world = world_with_a_node_to_replace("Underutilized");
    let _report = run_once(&world, "run-1");
    world.advance(15);
    world.cloud.next(Launch::HasNone);
    let _report = run_once(&world, "run-2");
    assert!(is_tainted(&world));
    let report = run_once(&world, "run-3");
    assert!(matches!(what(&report)[0], CommandEvent::Cancelled(_)));
    assert!(!is_tainted(&world) && !old(&world).claim.is(ConditionType::DisruptionReason));
    assert!(old(&world).ending.is_none());
}

#[test]
fn a_command_whose_replacement_nothing_can_be_launched_for_is_cancelled_with_the_reason() {
    let world = world_with_a_node_to_replace("Expired");
    let _report = run_once(&world, "run-1");
    let none_left = ["c5.large", "m5.large"].map(|instance_type| UnavailableOffering {
        instance_type: instance_type.into(),
        zone: "a".into(),
        capacity_type: CapacityType::Spot,
        code: "InsufficientInstanceCapacity".into(),
        until: at(600),
    });
    block_on(world.store.mark_unavailable(&none_left)).unwrap();
    let report = run_once(&world, "run-2");
    let [CommandEvent::Cancelled(why)] = what(&report)[..] else { panic!("{report:?}") };
    assert!(why.contains("instance types can be launched now"), "{why}");
    assert!(!is_tainted(&world) && replacement(&world).is_none());
}

#[test]
fn a_node_that_is_gone_before_the_start_is_not_replaced() {
    let world = world_with_a_node_to_replace("Underutilized");
    let _report = run_once(&world, "run-1");
    world.advance(15);
    world.store.delete("old");
    let report = run_once(&world, "run-2");
    assert!(matches!(what(&report)[0], CommandEvent::Cancelled(_)));
    assert!(world.cloud.tokens.borrow().is_empty(), "nothing was launched");
    let ending = replacement(&world).unwrap().ending.unwrap();
    assert_eq!(ending.reason, EndReason::ReplacementNotNeeded);
    assert!(world.store.command_records().is_empty());
}

#[test]
fn replacements_that_take_over_ten_minutes_cancel_the_command() {
    let world = world_with_a_node_to_replace("Underutilized");
    let _report = run_once(&world, "run-1");
    world.advance(15);
    let _report = run_once(&world, "run-2");
    world.advance(599);
    assert_eq!(what(&run_once(&world, "run-3"))[0], &CommandEvent::Waiting(1));
    world.advance(1);
    let report = run_once(&world, "run-4");
    assert!(matches!(what(&report)[0], CommandEvent::Cancelled(_)));
    assert!(!is_tainted(&world));
}

#[test]
fn an_expired_node_is_replaced_without_validation() {
    let world = world_with_a_node_to_replace("Expired");
    let report = run_once(&world, "run-1");
    assert_eq!(report.requeue_after, Some(SignedDuration::ZERO));
    let report = run_once(&world, "run-2");
    assert!(matches!(what(&report)[0], CommandEvent::Started(_)));
}

#[test]
fn a_taint_without_a_command_is_removed() {
    let world = world_with_an_empty_node();
    world.cluster.change_node(|node| node.taints.push(domain::taint::Taint::disrupted()));
    let report = run_once(&world, "run-1");
    assert_eq!(report.untainted, ["node-old".into()]);
    assert!(!is_tainted(&world));
}

/// Another run holds provisioning's lease for this many seconds.
fn provisioning_is_at_work(world: &World, seconds: i64) {
    let term = SignedDuration::from_secs(seconds);
    let now = world.clock.now();
    let held = world.store.acquire_lease(FunctionName::Provisioning, "provisioning", now, term);
    assert!(matches!(block_on(held), Ok(LeaseAnswer::Acquired(_))));
}

#[test]
fn nothing_starts_while_provisioning_is_at_work() {
    let world = world_with_an_empty_node();
    let _report = run_once(&world, "run-1");
    world.advance(15);
    provisioning_is_at_work(&world, 60);
    assert_eq!(what(&run_once(&world, "run-2")), [&CommandEvent::StartDelayed]);
    assert!(!is_tainted(&world));
    world.advance(61);
    let report = run_once(&world, "run-3");
    assert_eq!(what(&report).last(), Some(&&CommandEvent::Ended));
}

#[test]
fn a_proposal_that_is_not_validated_is_dropped_after_ten_minutes() {
    let world = world_with_an_empty_node();
    let _report = run_once(&world, "run-1");
    world.advance(600);
    let report = run_once(&world, "run-2");
    assert_eq!(what(&report)[0], &CommandEvent::Forgotten);
    let proposed: Vec<Timestamp> =
        world.store.command_records().iter().map(|command| command.proposed).collect();
    assert_eq!(proposed, [at(600)], "and proposed anew");
}

#[test]
fn a_start_waits_for_a_round_of_provisioning_that_began_in_the_same_second() {
    let world = world_with_an_empty_node();
    let _report = run_once(&world, "run-1");
    world.advance(15);
    provisioning_is_at_work(&world, 2);
    let report = run_once(&world, "run-2");
    assert!(!what(&report).contains(&&CommandEvent::StartDelayed), "{:?}", what(&report));
}

#[test]
fn a_claim_says_that_it_has_drifted_until_it_has_not() {
    let world = world_with_a_node_to_replace(DRIFTED);
    let _report = run_once(&world, "run-1");
    let shown = old(&world).claim.condition(ConditionType::Drifted).cloned().unwrap();
    assert_eq!((&*shown.reason, shown.changed), ("AMIDrift", Some(at(0))));
    world.advance(60);
    let _report = run_once(&world, "run-2");
    let kept = old(&world).claim.condition(ConditionType::Drifted).cloned();
    assert_eq!(kept, Some(shown), "since when it has drifted stands");
    world.cluster.change_node(|node| _ = node.labels.remove(REPLACE));
    let _report = run_once(&world, "run-3");
    assert_eq!(old(&world).claim.condition(ConditionType::Drifted), None);
}

#[test]
fn hashes_by_older_rules_are_renewed_and_a_drifted_claim_stays_drifted() {
    let world = world_with_a_node_to_replace(DRIFTED);
    add_node(&world, "other");
    let stamp = |hash: &str, version: &str| Stamp { hash: hash.into(), version: version.into() };
    for name in ["old", "other"] {
        let mut record = world.store.records().into_iter().find(|own| &*own.claim.name == name);
        let record = record.as_mut().unwrap();
        record.claim.annotations = stamp("1", "v2").node_pool_annotations();
        world.store.put(record.clone());
    }
    world.cluster.listing.borrow_mut().objects.node_pools = vec![{
        let mut pool = crate::testing::node_pool("default");
        std::sync::Arc::make_mut(&mut pool.template).hash = Some("9".into());
        pool
    }];
    for run in ["run-1", "run-2"] {
        let _report = run_once(&world, run);
    }
    let stamp_of = |name: &str| {
        let records = world.store.records();
        let record = records.iter().find(|own| &*own.claim.name == name).unwrap();
        Stamp::of_node_pool(&record.claim.annotations)
    };
    assert_eq!(stamp_of("old"), Some(stamp("1", NODE_POOL_RULES)));
    assert_eq!(stamp_of("other"), Some(stamp("9", NODE_POOL_RULES)));
    assert!(old(&world).claim.is(ConditionType::Drifted));
}

/// A core that proposes nothing now, `old` once budgets allow it, and names it as a candidate.
fn looking_ahead() -> Core {
    let propose = |snapshot: &ClusterSnapshot| {
        let now = (crate::testing::core::core().propose)(snapshot);
        let candidates = now.disruptions.iter().flat_map(|own| own.nodes.clone()).collect();
        Plan { awaiting_budget: now.disruptions, candidates, ..Plan::default() }
    };
    Core { propose, ..crate::testing::core::core() }
}

#[test]
fn nodes_that_go_next_are_marked_and_those_that_do_not_are_unmarked() {
    let world = world_with_an_empty_node();
    let marked = |world: &World| world.node().taints.contains(&Taint::candidate(at(0)));
    let run = Run { core: looking_ahead(), ..world.run("run-1") };
    let report = block_on(disrupt(&world, &run)).unwrap().ran().unwrap();
    assert_eq!(what(&report), [&CommandEvent::Proposed], "ahead of the budget");
    assert!(marked(&world));
    let nothing = Core { propose: |_| Plan::default(), ..crate::testing::core::core() };
    world.advance(601);
    let run = Run { core: nothing, ..world.run("run-2") };
    let _report = block_on(disrupt(&world, &run)).unwrap();
    assert!(!marked(&world));
}

#[test]
fn what_waits_for_its_budget_holds_nothing_else_up_for_more_than_a_minute() {
    let world = world_with_a_node_to_replace("Underutilized");
    let run = Run { core: looking_ahead(), ..world.run("run-1") };
    let _report = block_on(disrupt(&world, &run)).unwrap();
    add_node(&world, "other");
    {
        let other = &mut world.cluster.listing.borrow_mut().objects.nodes[1];
        other.taints.push(Taint::disrupted());
        other.deleted = Some(at(0));
    }
    let blocked = |_: &ClusterSnapshot, own: &PlannedDisruption| {
        let node_pool = "default".into();
        Err(NotDisruptable::Budget { node_pool, reason: own.reason, allowed: 0, sum: None })
    };
    let mut proposed = Vec::new();
    for seconds in [30, 40] {
        world.advance(seconds);
        let core = Core { validate: blocked, ..crate::testing::core::core() };
        let run = Run { core, ..world.run("run-2") };
        let report = block_on(disrupt(&world, &run)).unwrap().ran().unwrap();
        proposed.push(report.changes.len());
    }
    assert_eq!(proposed, [0, 1]);
}

#[test]
fn a_proposal_waits_for_its_budget_as_long_as_other_nodes_are_leaving() {
    let blocked = |_: &ClusterSnapshot, own: &PlannedDisruption| {
        let node_pool = "default".into();
        Err(NotDisruptable::Budget { node_pool, reason: own.reason, allowed: 0, sum: None })
    };
    let events_with = |other_leaves: bool| {
        let world = world_with_an_empty_node();
        let _report = run_once(&world, "run-1");
        if other_leaves {
            add_node(&world, "other");
            let nodes = &mut world.cluster.listing.borrow_mut().objects.nodes;
            nodes[1].taints.push(Taint::disrupted());
        }
        world.advance(15);
        let core = Core {
            validate: blocked,
            propose: |_| Plan::default(),
            ..crate::testing::core::core()
        };
        let run = Run { core, ..world.run("run-2") };
        let report = block_on(disrupt(&world, &run)).unwrap().ran().unwrap();
        (report.changes.len(), block_on(world.store.commands()).unwrap().len())
    };
    assert_eq!(events_with(true), (0, 1));
    assert_eq!(events_with(false), (1, 0), "no budget will be freed: it is rejected");
}

#[test]
fn a_move_that_a_pool_approved_is_announced_on_its_claim() {
    let world = world_with_a_node_to_replace("Underutilized");
    let _report = run_once(&world, "run-1");
    let events = world.cluster.events.borrow();
    let approved: Vec<_> =
        events.iter().filter(|own| own.reason == EventReason::ConsolidationApproved).collect();
    assert_eq!(approved.len(), 1);
    assert_eq!(approved[0].about, Subject::NodeClaim("old".into()));
    assert_eq!(&*approved[0].message, "score 2.00 >= threshold 0.50");
}
