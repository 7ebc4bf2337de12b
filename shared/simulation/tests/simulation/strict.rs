//! Short days on an EC2 that is as unkind as it may be: each behaviour alone, and all together as
//! drawn from a seed. Whatever it answers, no claim has two instances, no instance is left without
//! a claim, none that lives is taken for gone, and no pod waits over ten minutes.
//!
//! All two hundred seeds, or those that `OUTRIGGER_STRICT=FROM..TO` names: `cargo test --release -p
//! outrigger-simulation --test simulation strict:: -- --ignored`.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex};

use crate::report_text::report_text;
use crate::small_scenario::{SmallScenario, deployment};
use catalog::CatalogOptions;
use domain::SignedDuration;
use domain::instance_type::{InstanceType, InstanceTypes};
use domain::node_pool::ConsolidationPolicy;
use domain::settings::{FeatureGates, Settings};
use simulation::day::{MORNING, day};
use simulation::ec2::{CallRefusal, Ec2Behaviour, FailedToken, FleetErrorCode, RepeatedLaunch};
use simulation::invariant::Violation;
use simulation::report::{Happening, Report};
use simulation::scenario::{CatalogChoice, Scenario};

/// Seeds of a behaviour in the ordinary run.
const SEEDS: Range<u64> = 0..3;
/// Of everything at once: between them they have every variant.
const STRICT_SEEDS: [u64; 4] = [0, 16, 32, 47];
/// The seeds of the long run, where `OUTRIGGER_STRICT` does not say.
const ALL_SEEDS: Range<u64> = 0..200;
/// The longest that a pod may wait, whatever EC2 answers.
const WAIT_MAX: SignedDuration = SignedDuration::from_mins(10);

const FAMILIES: [&str; 6] = ["c5", "c6i", "m5", "m6i", "r5", "r6i"];
const SIZES: [&str; 2] = ["large", "xlarge"];

/// Answers are lost, processes die and events come twice, so that launches are repeated.
const REPEATING: &str = "{answersLostPerMille: 200, crashesPerMille: 2, \
                         eventsDoubledPerMille: 50, callMillisMax: 50}";

/// What happens to them.
const TIMELINE: &str = "  - at: 7m
    scale: {kind: Deployment, name: web-2, replicas: 10}
  - at: 12m
    interrupt: {count: 1}
  - at: 15m
    outOfCapacity: {cheapest: 4, for: 5m}
  - at: 16m
    scale: {kind: Deployment, name: web-1, replicas: 12}
  - at: 22m
    scale: {kind: Deployment, name: web-2, replicas: 2}
  - at: 28m
    scale: {kind: Deployment, name: web-0, replicas: 14}
";

/// Three Deployments, each with larger requests than the one before, grow and shrink; spot
/// instances are taken back, capacity runs out.
fn scenario(seed: u64, ec2: Ec2Behaviour) -> Scenario {
    let pool = format!(
        "    - apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {{name: default}}
      spec:
        template:
          spec:
            nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
            requirements:
            - {{key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}}
            - {{key: karpenter.k8s.aws/instance-family, operator: In, values: [{families}]}}
            - {{key: karpenter.k8s.aws/instance-size, operator: In, values: [{sizes}]}}
        disruption: {{consolidateAfter: 30s, budgets: [{{nodes: '2'}}]}}
",
        families = FAMILIES.join(", "),
        sizes = SIZES.join(", "),
    );
    let deployments = (0..3).map(|index| deployment(&format!("web-{index}"), 5, 500 + 600 * index));
    let scenario = SmallScenario {
        name: "strict",
        spec: &format!("duration: 45m\nfaults: {REPEATING}"),
        class_annotations: "",
        objects: &[pool, deployments.collect::<Vec<_>>().concat(), TIMELINE.to_owned()].concat(),
        expect: "[{pods: {pending: 0, running: 28}}]",
    };
    let scenario = scenario.read();
    let catalog = CatalogChoice::Given(Box::new(SOLD.clone()));
    Scenario { seed, ec2, catalog, ..scenario }
}

/// What the NodePool allows: all else would only make each plan slower.
static SOLD: LazyLock<InstanceTypes> = LazyLock::new(|| {
    let mut sold =
        catalog::embedded().unwrap().instance_types(&[], &CatalogOptions::of("us-east-1"));
    let is_allowed = |own: &&InstanceType| {
        let (family, size) = own.name.split_once('.').unwrap();
        FAMILIES.contains(&family) && SIZES.contains(&size)
    };
    sold.default = sold.default.iter().filter(is_allowed).cloned().collect();
    sold
});

fn run(seed: u64, ec2: Ec2Behaviour) -> Report {
    simulation::run(scenario(seed, ec2), &Settings::default()).unwrap()
}

/// A drawn morning of a cluster of about a hundred nodes. Its timeline takes spot instances back,
/// so there must be some.
fn morning(seed: u64, ec2: Ec2Behaviour) -> Report {
    let gates = FeatureGates::default();
    let policy = ConsolidationPolicy::WhenEmptyOrUnderutilized;
    let mut scenario = day(seed, MORNING, policy, gates).unwrap();
    scenario.ec2 = Ec2Behaviour { lacks_spot_role: false, ..ec2 };
    simulation::run(scenario, &Settings::default()).unwrap()
}

/// The promises that were broken. One is left out, which EC2 has no part in: the scheduler may put
/// pods elsewhere than a plan did, so that one of several that move finds its place taken.
fn broken(report: &Report) -> Vec<String> {
    let violations = report
        .violations
        .iter()
        .filter(|own| !matches!(own.violation, Violation::EvictedWithoutReplacement { .. }))
        .map(|own| format!("{} {}", own.at, own.violation));
    let unmet = report
        .expectations
        .iter()
        .filter(|outcome| !outcome.holds())
        .map(|outcome| format!("expected {}: {:?}", outcome.expected, outcome.found));
    let waited = report.waiting.longest;
    let late =
        (waited > WAIT_MAX).then(|| format!("a pod waited {} s for a node", waited.as_secs()));
    violations.chain(unmet).chain(late).collect()
}

fn launches(report: &Report) -> usize {
    let is_launch =
        |own: &&simulation::report::Entry| matches!(own.what, Happening::Launched { .. });
    report.timeline.iter().filter(is_launch).count()
}

#[track_caller]
fn holds(ec2: Ec2Behaviour) {
    for seed in SEEDS {
        holds_for(seed, ec2);
    }
}

#[track_caller]
fn holds_for(seed: u64, ec2: Ec2Behaviour) {
    let report = run(seed, ec2);
    let broken = broken(&report);
    let broken = broken.join("\n");
    assert!(broken.is_empty(), "seed {seed} {ec2:?}\n{broken}\n{}", report_text(&report));
}

/// Every fifth fleet is refused for one reason.
fn refusing(code: FleetErrorCode) -> Ec2Behaviour {
    Ec2Behaviour { refusals_per_mille: 200, refusal: Some(code), ..Ec2Behaviour::default() }
}

/// Half of all fleets are refused for one reason; what their tokens are still good for varies.
fn refusing_half(failed_token: FailedToken, code: FleetErrorCode) -> Ec2Behaviour {
    Ec2Behaviour { failed_token, refusals_per_mille: 500, ..refusing(code) }
}

#[test]
fn an_ec2_that_is_kind_keeps_every_promise() {
    holds(Ec2Behaviour::default());
}

#[test]
fn instances_may_be_described_late() {
    let described_after_max = SignedDuration::from_secs(30);
    holds(Ec2Behaviour { described_after_max, ..Ec2Behaviour::default() });
}

#[test]
fn tags_may_be_later_than_their_instance() {
    holds(Ec2Behaviour {
        described_after_max: SignedDuration::from_secs(30),
        tags_after_max: SignedDuration::from_secs(15),
        ..Ec2Behaviour::default()
    });
}

#[test]
fn terminated_instances_may_be_shown_as_running() {
    let stale_reads_max = SignedDuration::from_secs(10);
    holds(Ec2Behaviour { stale_reads_max, ..Ec2Behaviour::default() });
}

#[test]
fn a_repeated_launch_may_be_answered_with_nothing() {
    let repeated_launch = RepeatedLaunch::Nothing;
    holds(Ec2Behaviour { repeated_launch, ..Ec2Behaviour::default() });
}

#[test]
fn a_repeated_launch_may_be_answered_with_nothing_while_its_instance_is_not_shown() {
    let hidden = Ec2Behaviour {
        repeated_launch: RepeatedLaunch::Nothing,
        described_after_max: SignedDuration::from_secs(30),
        ..Ec2Behaviour::default()
    };
    holds(hidden);
    holds(Ec2Behaviour { failed_token: FailedToken::Mismatch, refusals_per_mille: 200, ..hidden });
    // A repeat may launch what the first call did not, and its answer may be lost too.
    let failed_token = FailedToken::NewAttempt;
    let refused_calls_per_mille = 200;
    let refusals_per_mille = 400;
    holds(Ec2Behaviour { failed_token, refusals_per_mille, refused_calls_per_mille, ..hidden });
    holds_for(159, Ec2Behaviour::strict(159));
}

#[test]
fn a_repeated_launch_may_be_answered_with_an_internal_error() {
    let repeated_launch = RepeatedLaunch::Refused(FleetErrorCode::Internal);
    holds(Ec2Behaviour { repeated_launch, ..Ec2Behaviour::default() });
}

#[test]
fn a_repeated_launch_may_be_answered_with_want_of_capacity() {
    let repeated_launch = RepeatedLaunch::Refused(FleetErrorCode::Unfulfillable);
    holds(Ec2Behaviour { repeated_launch, ..Ec2Behaviour::default() });
}

#[test]
fn a_launch_may_be_throttled_inside_the_answer() {
    holds(refusing(FleetErrorCode::Throttled));
    holds(refusing_half(FailedToken::NewAttempt, FleetErrorCode::Throttled));
}

#[test]
fn a_throttled_launch_may_keep_its_answer() {
    holds(refusing_half(FailedToken::SameAnswer, FleetErrorCode::Throttled));
}

#[test]
fn the_token_of_a_throttled_launch_may_be_refused() {
    holds(refusing_half(FailedToken::Mismatch, FleetErrorCode::Throttled));
}

#[test]
fn a_launch_may_fail_inside_ec2() {
    holds(refusing(FleetErrorCode::Internal));
}

#[test]
fn a_failure_inside_ec2_may_stay_with_its_token() {
    holds(refusing_half(FailedToken::SameAnswer, FleetErrorCode::Internal));
}

#[test]
fn an_instance_profile_may_not_be_known_everywhere() {
    holds(refusing(FleetErrorCode::ProfileUnknown));
}

#[test]
fn rights_may_not_be_known_everywhere() {
    holds(refusing(FleetErrorCode::Denied));
}

/// Calls of CreateFleet are refused as a whole, for one reason.
fn refusing_calls(refusal: CallRefusal, per_mille: u32) -> Ec2Behaviour {
    Ec2Behaviour {
        refused_calls_per_mille: per_mille,
        call_refusal: Some(refusal),
        ..Ec2Behaviour::default()
    }
}

#[test]
fn calls_may_be_refused_as_a_whole() {
    for refusal in CallRefusal::ALL {
        holds(refusing_calls(refusal, 300));
    }
    // Repetitions are refused too, while the instance of the first call is not shown yet.
    holds(Ec2Behaviour {
        described_after_max: SignedDuration::from_secs(30),
        repeated_launch: RepeatedLaunch::Nothing,
        failed_token: FailedToken::Mismatch,
        ..refusing_calls(CallRefusal::Throttled, 500)
    });
}

#[test]
fn quotas_may_be_reached_and_other_pools_named_beside() {
    let has_fillers = true;
    holds(Ec2Behaviour { has_fillers, ..refusing(FleetErrorCode::VcpuLimit) });
    holds(Ec2Behaviour { has_fillers, ..refusing(FleetErrorCode::SubnetFull) });
}

#[test]
fn an_answer_may_be_empty() {
    holds(Ec2Behaviour { empty_answers_per_mille: 200, ..Ec2Behaviour::default() });
}

#[test]
fn errors_may_stand_beside_an_instance() {
    holds(Ec2Behaviour { errors_beside_success_per_mille: 500, ..Ec2Behaviour::default() });
}

#[test]
fn the_role_for_spot_may_be_missing() {
    holds(Ec2Behaviour { lacks_spot_role: true, ..Ec2Behaviour::default() });
    holds(Ec2Behaviour { lacks_spot_role: true, has_fillers: true, ..Ec2Behaviour::default() });
}

#[test]
fn instances_may_end_right_after_their_launch() {
    holds(Ec2Behaviour { early_ends_per_mille: 200, ..Ec2Behaviour::default() });
}

#[test]
fn everything_may_be_so_at_once() {
    for seed in STRICT_SEEDS {
        holds_for(seed, Ec2Behaviour::strict(seed));
    }
}

#[test]
fn behaviours_are_really_taken_on() {
    // Each is drawn, and not on each day; a token is repeated only where an answer was lost.
    let is_seen = |ec2: Ec2Behaviour, what: &str| {
        let says =
            |report: Report| report.timeline.iter().any(|own| own.what.to_string().contains(what));
        (0..8).any(|seed| says(run(seed, ec2)))
    };
    assert!(is_seen(refusing(FleetErrorCode::Throttled), "RequestLimitExceeded inside"));
    let empty = Ec2Behaviour { empty_answers_per_mille: 300, ..Ec2Behaviour::default() };
    assert!(is_seen(empty, "neither an instance nor an error"));
    let calls = refusing_calls(CallRefusal::InvalidFleetConfig, 300);
    assert!(is_seen(calls, "InvalidFleetConfig"));
    let early = Ec2Behaviour { early_ends_per_mille: 200, ..Ec2Behaviour::default() };
    assert!(is_seen(early, "EC2 has no room, and ends"));
    let refused = refusing_half(FailedToken::Mismatch, FleetErrorCode::Internal);
    assert!(is_seen(refused, "IdempotentParameterMismatch"));
}

/// The seeds that `OUTRIGGER_STRICT` names, as `FROM..TO`.
fn seeds() -> Range<u64> {
    let Ok(given) = std::env::var("OUTRIGGER_STRICT") else { return ALL_SEEDS };
    let (from, to) = given.split_once("..").unwrap();
    from.parse().unwrap()..to.parse().unwrap()
}

/// Runs all seeds, shared among the machine's threads.
fn broken_by_seed(run: fn(u64, Ec2Behaviour) -> Report) -> Vec<String> {
    let seeds = seeds();
    let next = AtomicU64::new(seeds.start);
    let failures = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let ec2 = Ec2Behaviour::strict(seed);
                    let report = run(seed, ec2);
                    let broken = broken(&report);
                    if !broken.is_empty() {
                        let launches = launches(&report);
                        let broken = broken.join("\n  ");
                        let failure =
                            format!("seed {seed}, {launches} launches, {ec2:?}\n  {broken}");
                        failures.lock().unwrap().push(failure);
                    }
                }
            });
        }
    });
    failures.into_inner().unwrap()
}

#[test]
#[ignore = "two hundred seeds, two minutes: see above"]
fn whatever_ec2_answers_in_a_short_day_every_promise_is_kept() {
    let failures = broken_by_seed(run);
    assert!(failures.is_empty(), "{} seeds\n{}", failures.len(), failures.join("\n"));
}

#[test]
#[ignore = "two hundred seeds, half an hour: see above"]
fn whatever_ec2_answers_in_a_morning_every_promise_is_kept() {
    let failures = broken_by_seed(morning);
    assert!(failures.is_empty(), "{} seeds\n{}", failures.len(), failures.join("\n"));
}
