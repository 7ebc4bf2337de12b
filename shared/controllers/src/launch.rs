//! Launching claims: the record is written first, then EC2 is called, then the outcome is recorded.
//! A run that stops anywhere in between is resumed by the next one, which sends the same request
//! with the same token.

use std::collections::BTreeSet;

use domain::instance_type::InstanceTypes;
use domain::node_class::Ec2NodeClass;
use domain::pod::PodKey;
use domain::{Text, Timestamp};

use crate::event::{Event, EventReason, Subject};
use crate::ports::cloud::{Instance, LaunchOutcome};
use crate::ports::error::{ErrorKind, PortError};
use crate::ports::{ClaimStore, Clock, Cloud, Cluster, Lease, Ports, Versioned};
use crate::record::claim::ClaimRecord;
use crate::record::launch::LaunchRequest;
use crate::run::{Problems, Run, change_claim, is_over};
use crate::steps::launch_outcome::{
    AfterLaunch, GiveUp, LaunchVerdict, after_launch, launch_failed, launched,
};

/// Requests in one call, between two checks of the deadline.
const BATCH_MAX: usize = 100;

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
    /// Unknown, or refused for now: retried with the same token.
    WillRetry(PortError),
    /// The claim was deleted by another run; its instance, if any, is terminated as an orphan.
    ClaimGone,
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
    let mut rest = claims.into_iter().peekable();
    while rest.peek().is_some() {
        if is_over(ports, run) {
            report.left = rest.count();
            break;
        }
        let batch: Vec<Versioned<ClaimRecord>> = rest.by_ref().take(BATCH_MAX).collect();
        let outcomes = request_launches(ports.cloud(), &batch, context).await;
        let mut events = Vec::new();
        for (claim, outcome) in batch.into_iter().zip(outcomes) {
            let launch = settle(ports, claim, outcome, context, &mut report.problems).await;
            events.extend(event_of(&launch));
            report.launches.push(launch);
        }
        crate::run::record_events(ports.cluster(), &events, &mut report.problems).await;
    }
    report
}

async fn request_launches<E: Cloud>(
    cloud: &E,
    batch: &[Versioned<ClaimRecord>],
    context: LaunchContext<'_>,
) -> Vec<LaunchOutcome> {
    let requests: Vec<LaunchRequest> =
        batch.iter().map(|claim| (*claim.record.launch).clone()).collect();
    let names: BTreeSet<&Text> = requests.iter().map(|request| &request.node_class).collect();
    let classes: Vec<Ec2NodeClass> =
        context.node_classes.iter().filter(|class| names.contains(&class.name)).cloned().collect();
    match cloud.launch(&requests, &classes).await {
        Ok(mut outcomes) => {
            // A response with too few outcomes says nothing about the rest, as if it had timed out.
            outcomes.resize_with(requests.len(), || {
                let what = "the response has no outcome for this request";
                LaunchOutcome::Failed(PortError::new(ErrorKind::Unknown, "launch", what))
            });
            outcomes
        }
        Err(error) => requests.iter().map(|_| LaunchOutcome::Failed(error.clone())).collect(),
    }
}

/// Records an outcome, unavailable offerings first, so that the next plan knows of them.
async fn settle<P: Ports>(
    ports: &P,
    claim: Versioned<ClaimRecord>,
    outcome: LaunchOutcome,
    context: LaunchContext<'_>,
    problems: &mut Problems,
) -> ClaimLaunch {
    let now = ports.clock().now();
    let AfterLaunch { verdict, unavailable } = after_launch(&claim.record, outcome, now);
    let (name, uid) = (claim.record.claim.name.clone(), claim.record.claim.uid.clone());
    let node_pool = claim.record.launch.node_pool.clone();
    let pods = claim.record.pods.clone();
    if !unavailable.is_empty() {
        let operation = || format!("mark {} offerings unavailable", unavailable.len());
        problems.record(operation, ports.store().mark_unavailable(&unavailable).await);
    }
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
            let removed = ports.cluster().remove_node_claim(&name, &uid).await;
            problems.record(|| format!("remove NodeClaim {name}"), removed);
            let deleted = ports.store().delete_claim(&name, claim.version).await;
            problems.record(|| format!("delete claim {name}"), deleted);
            LaunchResult::GaveUp(why)
        }
        LaunchVerdict::Retry(error) => {
            let change = |record: ClaimRecord| match record.instance {
                Some(_) => record,
                None => launch_failed(record, &error, now),
            };
            let changed = change_claim(ports.store(), claim, change).await;
            problems.record(|| format!("record the failed launch of claim {name}"), changed);
            LaunchResult::WillRetry(error)
        }
    };
    ClaimLaunch { claim: name, node_pool, pods, result }
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
