//! Launching claims: the record is written first, then EC2 is called, then the outcome is recorded.
//! A run that stops anywhere in between is resumed by the next one, which sends the same request
//! with the same token. An attempt to which EC2 answered without an instance is over: the next one
//! is recorded, with a token of its own, before it is made.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use domain::instance_type::InstanceTypes;
use domain::node_class::Ec2NodeClass;
use domain::pod::PodKey;
use domain::spot::SpotEventKind;
use domain::{Text, Timestamp};

use crate::event::{Event, EventReason, Subject};
use crate::ports::cloud::{Instance, LaunchCall, LaunchOutcome};
use crate::ports::error::{ErrorKind, PortError};
use crate::ports::{ClaimStore, Clock, Cloud, Cluster, Lease, Ports, Versioned};
use crate::record::claim::ClaimRecord;
use crate::record::launch::LaunchRequest;
use crate::record::spot::Sighting;
use crate::run::{Problems, Run, change_claim, is_over};
use crate::spot;
use crate::steps::launch_outcome::{
    AfterLaunch, GiveUp, LaunchVerdict, after_launch, attempt_over, attempt_unanswered,
    launch_failed, launched, next_attempt,
};

/// Requests in one call, between two checks of the deadline.
const BATCH_MAX: usize = 100;
/// Attempts that one run makes at a launch.
const ATTEMPTS_MAX: u32 = 3;

/// The result of launching claims.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct LaunchReport {
    /// Outcomes, in the order of the claims.
    pub launches: Vec<ClaimLaunch>,
    /// Claims left to the next run because the deadline was near.
    pub left: usize,
    /// Calls that failed without stopping the run.
    pub problems: Problems,
}

/// The result of launching one claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimLaunch {
    /// The claim.
    pub claim: Text,
    /// Its NodePool.
    pub node_pool: Text,
    /// Pods it was planned for.
    pub pods: Vec<PodKey>,
    /// The outcome.
    pub result: LaunchResult,
}

/// The outcome of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchResult {
    /// It has an instance.
    Launched(Instance),
    /// The claim was deleted; its pods are scheduled again.
    GaveUp(GiveUp),
    /// Unknown, or refused for now: tried again by a later run.
    WillRetry(PortError),
    /// The claim was deleted by another run; its instance, if any, is terminated as an orphan.
    ClaimGone,
}

/// Records what the cloud chooses for launches, before any of them is asked for.
pub(crate) async fn choose<E: Cloud>(
    cloud: &E,
    records: &mut [ClaimRecord],
    node_classes: &[Ec2NodeClass],
) {
    let requests: Vec<Arc<LaunchRequest>> =
        records.iter().map(|record| record.launch.clone()).collect();
    if requests.is_empty() {
        return;
    }
    let chosen = cloud.launch_choices(&requests, &classes_of(&requests, node_classes)).await;
    for (record, choices) in records.iter_mut().zip(chosen) {
        Arc::make_mut(&mut record.launch).attempt.choices = choices;
    }
}

/// The classes that requests name.
fn classes_of(requests: &[Arc<LaunchRequest>], all: &[Ec2NodeClass]) -> Vec<Ec2NodeClass> {
    let names: BTreeSet<&Text> = requests.iter().map(|request| &request.node_class).collect();
    all.iter().filter(|class| names.contains(&class.name)).cloned().collect()
}

/// Creates claims. A claim that an earlier attempt at the same step created is taken as it is; one
/// that could not be created is left out and planned again.
///
/// # Errors
///
/// When the lease has passed to another run, which plans by now.
pub(crate) async fn write_claims<S: ClaimStore>(
    store: &S,
    records: Vec<ClaimRecord>,
    lease: &Lease,
    problems: &mut Problems,
) -> Result<Vec<Versioned<ClaimRecord>>, PortError> {
    let mut written = Vec::with_capacity(records.len());
    for record in records {
        match store.create_claim(&record, lease).await {
            Ok(version) => written.push(Versioned { record, version }),
            Err(error) if error.kind == ErrorKind::Conflict => {
                match store.claim(&record.claim.name).await? {
                    Some(own) if own.record.claim.uid == record.claim.uid => written.push(own),
                    Some(_) => {
                        let operation = || format!("write claim {}", record.claim.name);
                        problems.record(operation, Err::<(), _>(error));
                    }
                    None => return Err(error),
                }
            }
            Err(error) => {
                let operation = || format!("write claim {}", record.claim.name);
                problems.record(operation, Err::<(), _>(error));
            }
        }
    }
    Ok(written)
}

/// Whether a claim is to be launched now: it has no instance, is not ending, and is not backing
/// off.
pub(crate) fn is_due(record: &ClaimRecord, now: Timestamp) -> bool {
    record.instance.is_none()
        && record.ending.is_none()
        && record.launch_not_before.is_none_or(|not_before| now >= not_before)
}

/// What launching reads besides the claims.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchContext<'a> {
    /// When the run began to look: attempts recorded earlier may have been made.
    pub(crate) now: Timestamp,
    pub(crate) node_classes: &'a [Ec2NodeClass],
    pub(crate) instance_types: &'a InstanceTypes,
}

/// Launches claims that are recorded, and records the outcomes.
pub(crate) async fn launch<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    claims: Vec<Versioned<ClaimRecord>>,
    context: LaunchContext<'_>,
) -> LaunchReport {
    let mut report = LaunchReport::default();
    let mut seen = Vec::new();
    let mut rest: VecDeque<Attempt> =
        claims.into_iter().map(|claim| Attempt { claim, number: 1 }).collect();
    while !rest.is_empty() {
        if is_over(ports, run) {
            report.left = rest.len();
            break;
        }
        let batch: Vec<Attempt> = rest.drain(..rest.len().min(BATCH_MAX)).collect();
        let batch = begin_attempts(ports, batch, context, &mut report.problems).await;
        let outcomes = request_launches(ports.cloud(), &batch, context).await;
        let mut events = Vec::new();
        for (Attempt { claim, number }, mut outcome) in batch.into_iter().zip(outcomes) {
            if let LaunchOutcome::Refused { is_mended, .. } = &mut outcome {
                // What keeps failing backs off, whatever was done about it.
                *is_mended &= number < ATTEMPTS_MAX;
            }
            let settled = settle(ports, claim, outcome, context, &mut report.problems).await;
            seen.extend(settled.seen);
            if let Some(claim) = settled.again {
                rest.push_back(Attempt { claim, number: number + 1 });
            } else {
                events.extend(event_of(&settled.launch));
                report.launches.push(settled.launch);
            }
        }
        crate::run::record_events(ports.cluster(), &events, &mut report.problems).await;
    }
    let counted = spot::count(ports.store(), &seen, ports.clock().now()).await;
    report.problems.record(|| "count launches of spot offerings".to_owned(), counted);
    report
}

/// Records the next attempt of claims whose last one is over, before it is made. A claim for which
/// that fails is left to the next run.
async fn begin_attempts<P: Ports>(
    ports: &P,
    batch: Vec<Attempt>,
    context: LaunchContext<'_>,
    problems: &mut Problems,
) -> Vec<Attempt> {
    let is_over = |own: &&Attempt| own.claim.record.launch.attempt.is_over;
    let over: Vec<Arc<LaunchRequest>> =
        batch.iter().filter(is_over).map(|own| own.claim.record.launch.clone()).collect();
    if over.is_empty() {
        return batch;
    }
    let classes = classes_of(&over, context.node_classes);
    let mut chosen = ports.cloud().launch_choices(&over, &classes).await.into_iter();
    let mut begun = Vec::with_capacity(batch.len());
    for Attempt { claim, number } in batch {
        if !claim.record.launch.attempt.is_over {
            begun.push(Attempt { claim, number });
            continue;
        }
        let choices = chosen.next().flatten();
        let (name, now) = (claim.record.claim.name.clone(), ports.clock().now());
        let change = |record: ClaimRecord| {
            let is_over = record.instance.is_none() && record.launch.attempt.is_over;
            if is_over { next_attempt(record, choices.clone(), now) } else { record }
        };
        let changed = change_claim(ports.store(), claim, change).await;
        let operation = || format!("record the next attempt to launch claim {name}");
        let changed = problems.record(operation, changed).flatten();
        // Another run may have found its instance, or have begun the attempt.
        let is_ours = |own: &Versioned<ClaimRecord>| {
            own.record.instance.is_none() && own.record.launch.attempt.since == now
        };
        begun.extend(changed.filter(is_ours).map(|claim| Attempt { claim, number }));
    }
    begun
}

/// A claim to launch, and how often this run has come to that.
struct Attempt {
    claim: Versioned<ClaimRecord>,
    number: u32,
}

/// What came of an attempt.
struct Settled {
    launch: ClaimLaunch,
    /// The claim with its next attempt, which may be made at once.
    again: Option<Versioned<ClaimRecord>>,
    /// What it says of spot offerings.
    seen: Vec<Sighting>,
}

async fn request_launches<E: Cloud>(
    cloud: &E,
    batch: &[Attempt],
    context: LaunchContext<'_>,
) -> Vec<LaunchOutcome> {
    let requests: Vec<Arc<LaunchRequest>> =
        batch.iter().map(|attempt| attempt.claim.record.launch.clone()).collect();
    let classes = classes_of(&requests, context.node_classes);
    let calls: Vec<LaunchCall> = requests
        .into_iter()
        .map(|request| LaunchCall { is_repeat: request.attempt.since < context.now, request })
        .collect();
    match cloud.launch(&calls, &classes).await {
        Ok(mut outcomes) => {
            // A response with too few outcomes says nothing about the rest, as if it had timed out.
            outcomes.resize_with(calls.len(), || {
                let what = "the response has no outcome for this request";
                LaunchOutcome::failed(PortError::new(ErrorKind::Unknown, "launch", what))
            });
            outcomes
        }
        Err(error) => calls.iter().map(|_| LaunchOutcome::failed(error.clone())).collect(),
    }
}

/// The launch of a spot instance, to be counted.
fn launch_seen(verdict: &LaunchVerdict) -> Option<Sighting> {
    let LaunchVerdict::Launched(instance) = verdict else { return None };
    spot::sighting(instance, SpotEventKind::Launch, instance.launched)
}

/// Records an outcome, unavailable offerings first, so that the next plan knows of them.
async fn settle<P: Ports>(
    ports: &P,
    claim: Versioned<ClaimRecord>,
    outcome: LaunchOutcome,
    context: LaunchContext<'_>,
    problems: &mut Problems,
) -> Settled {
    let now = ports.clock().now();
    let AfterLaunch { verdict, unavailable } = after_launch(&claim.record, outcome, now);
    let (name, uid) = (claim.record.claim.name.clone(), claim.record.claim.uid.clone());
    let node_pool = claim.record.launch.node_pool.clone();
    let pods = claim.record.pods.clone();
    if !unavailable.is_empty() {
        let operation = || format!("mark {} offerings unavailable", unavailable.len());
        problems.record(operation, ports.store().mark_unavailable(&unavailable).await);
    }
    let attempt = format!("{uid} {}", claim.record.launch.attempt.number);
    let shortages = spot::shortages(&unavailable, &attempt, now);
    let seen: Vec<Sighting> = shortages.chain(launch_seen(&verdict)).collect();
    let mut again = None;
    let result = match verdict {
        LaunchVerdict::Launched(instance) => {
            let change = |record: ClaimRecord| match record.instance {
                Some(_) => record,
                None => launched(record, instance.clone(), context.instance_types, now),
            };
            let changed = change_claim(ports.store(), claim, change).await;
            match problems.record(|| format!("record the launch of claim {name}"), changed) {
                Some(None) => LaunchResult::ClaimGone,
                Some(Some(changed)) => {
                    let mirrored = ports.cluster().mirror_node_claim(&changed.record.claim).await;
                    problems.record(|| format!("mirror claim {name}"), mirrored);
                    LaunchResult::Launched(changed.record.instance.unwrap_or(instance))
                }
                // The instance is tagged with the claim's uid: a later run finds it.
                None => LaunchResult::Launched(instance),
            }
        }
        LaunchVerdict::GiveUp(why) => {
            remove(ports, &claim, problems).await;
            LaunchResult::GaveUp(why)
        }
        LaunchVerdict::Repeat { error, is_answered } => {
            let own = claim.record.launch.attempt.number;
            let change = |record: ClaimRecord| {
                if record.instance.is_some() {
                    return record;
                }
                let is_its = record.launch.attempt.number == own;
                let record =
                    if is_answered || !is_its { record } else { attempt_unanswered(record, now) };
                launch_failed(record, &error, now)
            };
            let changed = change_claim(ports.store(), claim, change).await;
            problems.record(|| format!("record the failed launch of claim {name}"), changed);
            LaunchResult::WillRetry(error)
        }
        LaunchVerdict::AttemptAnew { error, at_once } => {
            let failed = claim.record.launch.attempt.number;
            let change = |record: ClaimRecord| match record.instance {
                None if record.launch.attempt.number == failed => {
                    let record = attempt_over(record);
                    if at_once { record } else { launch_failed(record, &error, now) }
                }
                // Another run has found its instance, or is at a later attempt.
                _ => record,
            };
            let changed = change_claim(ports.store(), claim, change).await;
            let operation = || format!("record that an attempt to launch claim {name} is over");
            again = problems.record(operation, changed).flatten().filter(|_| at_once);
            LaunchResult::WillRetry(error)
        }
    };
    Settled { launch: ClaimLaunch { claim: name, node_pool, pods, result }, again, seen }
}

/// Removes a claim that was given up. The record goes first: lifecycle, which may make the object
/// meanwhile, looks for it then.
async fn remove<P: Ports>(ports: &P, claim: &Versioned<ClaimRecord>, problems: &mut Problems) {
    let (name, uid) = (&claim.record.claim.name, &claim.record.claim.uid);
    let deleted = ports.store().delete_claim(name, claim.version).await;
    if problems.record(|| format!("delete claim {name}"), deleted).is_some() {
        let removed = ports.cluster().remove_node_claim(name, uid).await;
        problems.record(|| format!("remove NodeClaim {name}"), removed);
    }
}

fn event_of(launch: &ClaimLaunch) -> Option<Event> {
    let about = Subject::NodeClaim(launch.claim.clone());
    match &launch.result {
        LaunchResult::GaveUp(why @ GiveUp::NoCapacity(_)) => {
            Some(Event::new(about, EventReason::InsufficientCapacityError, why))
        }
        LaunchResult::GaveUp(why @ GiveUp::NodeClassNotReady(_)) => {
            Some(Event::new(about, EventReason::NodeClassNotReady, why))
        }
        LaunchResult::Launched(_) | LaunchResult::WillRetry(_) | LaunchResult::ClaimGone => None,
    }
}
