//! Provisioning: launches nodes for pending pods.
//!
//! Acquires the lease, resumes launches that an earlier run left unfinished, lists the cluster,
//! plans, has the plan checked, creates claims, launches them, and records the outcomes. A plan
//! that fails its check is not carried out at all.

pub mod batch;
mod buffer_status;
pub mod demand_check;
mod expendable;
mod report;
mod scheduled_scaling;
mod usd_limit;
pub mod watch;
mod watch_only;
pub mod watcher;

use std::collections::{BTreeMap, BTreeSet};

use domain::node::Node;
use domain::plan::Plan;
use domain::pod::PodKey;
use domain::taint::UNREGISTERED;
use domain::{SignedDuration, Text};

use crate::event::{Event, EventReason, Subject};
use crate::holding_back::{Share, hold_back_launches};
use crate::launch::{
    LaunchContext, LaunchReport, LaunchResult, choose, is_due, launch, write_claims,
};
use crate::lease::with_lease;
use crate::nomination::nominate_pods;
use crate::ports::error::PortError;
use crate::ports::{ClaimStore, FunctionName, Lease, Ports, Versioned};
use crate::record::claim::ClaimRecord;
use crate::record::fuses::{HeldBack, Urgency};
use crate::record::nomination::{NOMINATION_TTL, Nomination};
use crate::run::{Problems, Run, RunOutcome, after, note_pod_events, observe, record_events};
use crate::safeguards::{Admission, Scope};
use crate::steps::create::{Identity, claim_record};
use crate::steps::snapshot::{ClusterState, forget_ending_pods, snapshot};

pub use expendable::ExpendablePods;
pub use report::ProvisioningReport;
pub use usd_limit::{ClusterUsage, UsdUsage};

use buffer_status::update_buffers;
use scheduled_scaling::scale_workloads;

/// Requeue interval while pods are pending or nodes are ending.
const PENDING_REQUEUE_INTERVAL: SignedDuration = SignedDuration::from_secs(10);

/// Shortest requeue interval while a launch that was refused waits to be attempted again.
const RETRY_REQUEUE_INTERVAL: SignedDuration = SignedDuration::from_secs(1);

/// Runs provisioning once. An error means that nothing was planned; launches already begun are
/// resumed by the next run.
pub async fn provision<P: Ports>(
    ports: &P,
    run: &Run<'_>,
) -> Result<RunOutcome<ProvisioningReport>, PortError> {
    with_lease(ports, run, FunctionName::Provisioning, async |leases| {
        let observed = observe(ports, leases.own()).await?;
        provision_for(ports, run, leases.own(), leases.admission(), observed).await
    })
    .await
}

/// Provisions from a list of the cluster, under a lease that the caller holds.
pub(crate) async fn provision_for<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    lease: &Lease,
    admission: &Admission,
    mut observed: ClusterState,
) -> Result<ProvisioningReport, PortError> {
    if admission.scope == Scope::Nothing {
        return watch_only::observe_pending(ports, run, &observed).await;
    }
    let mut report = ProvisioningReport {
        resumed: resume(ports, run, &observed).await,
        ..ProvisioningReport::default()
    };
    if !admission.launches(run.urgency) {
        return Ok(report);
    }
    if !report.resumed.launches.is_empty() {
        observed = observe(ports, lease).await?;
    }
    watch_only::leave_out(ports, run, &mut observed, &mut report).await;
    match admission.scope {
        Scope::Interruptions => leave_out_what_waits(&mut observed),
        Scope::All | Scope::Nothing => scale_workloads(ports, &observed, &mut report).await,
    }
    let mut snapshot = snapshot(&observed, run.settings);
    forget_ending_pods(&mut snapshot);
    report.plan = (run.core.schedule)(&snapshot);
    if is_any_pod_pending(&report.plan) || is_any_claim_ending(&observed) {
        report.requeue_after(PENDING_REQUEUE_INTERVAL);
    }
    report.longest_wait = longest_wait(&report.plan, &observed);
    report.expendable = ExpendablePods::of(&report.plan, &observed);
    report.usd_usage = usd_limit::usd_usage(&observed);
    report.cluster_usage = usd_limit::cluster_usage(&observed, &snapshot);
    report.refused = (run.core.check)(&snapshot, &report.plan);
    if !report.refused.is_empty() {
        return Ok(report);
    }
    let cause = format!("{}/{}", lease.token, observed.now);
    let identity = Identity { cluster: run.cluster, cause: &cause, replaces: None };
    let mut records = Vec::new();
    for planned in &report.plan.node_claims {
        match claim_record(planned, &snapshot, &identity) {
            Ok(record) => records.push(record),
            Err(why) => report.not_created.push((planned.name.clone(), why)),
        }
    }
    choose(ports.cloud(), &mut records, &observed.listing.objects.node_classes).await;
    if run.urgency == Urgency::Interruption {
        replacements_first(&mut records, &observed);
    }
    let (records, held_back) =
        hold_back_launches(ports, run, (&admission.fuses, Share::Some), records, &observed).await?;
    let written = write_claims(ports.store(), records, lease, &mut report.problems).await?;
    let problems = nominate(ports, run, &report.plan, &written, &observed).await;
    report.problems.0.extend(problems.0);
    let context = LaunchContext {
        now: observed.now,
        node_classes: &observed.listing.objects.node_classes,
        instance_types: &observed.instance_types,
    };
    report.launched = launch(ports, run, written, context).await;
    requeue_retries(&mut report, &observed);
    let mut events = events(&report.plan, &observed);
    events.extend(held_back.iter().flat_map(HeldBack::events));
    report.held_back = held_back;
    record_events(ports.cluster(), &events, &mut report.problems).await;
    note_pod_events(ports.store(), &mut observed, &mut report.problems).await;
    update_buffers(ports, run, &observed, &mut report).await;
    Ok(report)
}

/// Puts claims for pods that lose their nodes before those for pods that wait: a fuse lets the
/// first ones through.
fn replacements_first(records: &mut [ClaimRecord], observed: &ClusterState) {
    let pods = &observed.listing.objects.pods;
    let bound: BTreeSet<&PodKey> =
        pods.iter().filter(|pod| pod.node_name.is_some()).map(|pod| &pod.key).collect();
    records.sort_by_key(|record| !record.pods.iter().any(|pod| bound.contains(pod)));
}

/// Leaves no pods to plan for but those of nodes that are ending: where only interruptions are
/// handled, pods that wait go on waiting, and nothing is launched or scaled ahead of demand.
fn leave_out_what_waits(observed: &mut ClusterState) {
    let objects = &mut observed.listing.objects;
    objects.pods.retain(|pod| pod.node_name.is_some());
    objects.capacity_buffers.clear();
    objects.prewarm_schedules.clear();
}

/// Requeues when the first launch that was refused may be attempted again.
fn requeue_retries(report: &mut ProvisioningReport, observed: &ClusterState) {
    let claims = observed.claims.iter().map(|claim| &claim.record);
    let waiting = claims.filter(|record| record.instance.is_none() && record.ending.is_none());
    let due = waiting.filter_map(|record| record.launch_not_before).min();
    if let Some(due) = due {
        report.requeue_after(due.duration_since(observed.now).max(RETRY_REQUEUE_INTERVAL));
    }
    let launches = report.resumed.launches.iter().chain(&report.launched.launches);
    if launches.into_iter().any(|own| matches!(own.result, LaunchResult::WillRetry(_))) {
        report.requeue_after(RETRY_REQUEUE_INTERVAL);
    }
}

/// Whether any pod is pending, with a place or without.
fn is_any_pod_pending(plan: &Plan) -> bool {
    !plan.placements.is_empty()
        || !plan.node_claims.is_empty()
        || plan.unschedulable.iter().any(|own| !own.is_expendable())
}

fn longest_wait(plan: &Plan, observed: &ClusterState) -> Option<SignedDuration> {
    let placed = plan.placements.iter().map(|placement| &placement.pod);
    let launched_for = plan.node_claims.iter().flat_map(|claim| &claim.pods);
    // Pods that no NodePool can host wait for somebody to change them, expendable ones for room
    // that others leave, and those of a NodePool that is off until it is on: none of them waits
    // for a node.
    let without = plan
        .unschedulable
        .iter()
        .filter(|own| !own.is_unhostable() && !own.is_expendable() && !own.awaits_off_pool())
        .map(|own| &own.pod);
    let waiting: BTreeSet<&PodKey> = placed.chain(launched_for).chain(without).collect();
    let pods = observed.listing.objects.pods.iter().filter(|pod| waiting.contains(&pod.key));
    let oldest = pods.filter_map(|pod| pod.created).min()?;
    Some(observed.now.duration_since(oldest))
}

/// Whether a node is ending, whose pods will be pending soon.
fn is_any_claim_ending(observed: &ClusterState) -> bool {
    observed.claims.iter().any(|claim| claim.record.ending.is_some())
}

/// Launches claims without an instance again: those whose run stopped, and those whose launch
/// failed temporarily.
async fn resume<P: Ports>(ports: &P, run: &Run<'_>, observed: &ClusterState) -> LaunchReport {
    let unfinished: Vec<Versioned<ClaimRecord>> = observed
        .claims
        .iter()
        .filter(|claim| is_due(&claim.record, observed.now))
        .cloned()
        .collect();
    let context = LaunchContext {
        now: observed.now,
        node_classes: &observed.listing.objects.node_classes,
        instance_types: &observed.instance_types,
    };
    launch(ports, run, unfinished, context).await
}

/// Records which pods are expected on which nodes, so that these nodes are not disrupted before the
/// pods arrive, and then nominates the pods: what the records do not say counts as nominated by
/// kube-scheduler. Returns the calls that failed.
async fn nominate<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    plan: &Plan,
    written: &[Versioned<ClaimRecord>],
    observed: &ClusterState,
) -> Problems {
    let mut problems = Problems::default();
    let mut pods_of: BTreeMap<Text, Vec<PodKey>> = BTreeMap::new();
    for placement in &plan.placements {
        pods_of.entry(placement.node.clone()).or_default().push(placement.pod.clone());
    }
    for claim in written {
        let name = claim.record.claim.name.clone();
        pods_of.entry(name).or_default().extend(claim.record.pods.clone());
    }
    pods_of.retain(|_, pods| !pods.is_empty());
    if pods_of.is_empty() {
        return problems;
    }
    let until = after(observed.now, NOMINATION_TTL);
    let nomination = |(node, pods): (&Text, &Vec<PodKey>)| {
        let mut pods = pods.clone();
        pods.sort();
        Nomination { node: node.clone(), pods, until }
    };
    let nominations: Vec<Nomination> = pods_of.iter().map(nomination).collect();
    let operation = || format!("nominate {} nodes", nominations.len());
    if problems.record(operation, ports.store().nominate(&nominations).await).is_some() {
        // Lifecycle nominates when it registers a Node.
        let takes_pods = |node: &Node| !node.taints.iter().any(|own| &*own.key == UNREGISTERED);
        let own = nominate_pods(ports, run, observed, &pods_of, takes_pods).await;
        problems.0.extend(own.0);
    }
    problems
}

fn events(plan: &Plan, observed: &ClusterState) -> Vec<Event> {
    let uids: BTreeMap<&PodKey, &Text> =
        observed.listing.objects.pods.iter().map(|pod| (&pod.key, &pod.uid)).collect();
    let subject =
        |pod: &PodKey| uids.get(pod).map(|uid| Subject::Pod(pod.clone(), Text::clone(uid)));
    let placed = plan.placements.iter().map(|placement| (&placement.pod, &placement.node));
    let launched = plan
        .node_claims
        .iter()
        .flat_map(|claim| claim.pods.iter().map(move |pod| (pod, &claim.name)));
    let nominated = placed.chain(launched).filter_map(|(pod, node)| {
        let message = format!("nominated to schedule on {node}");
        Some(Event::new(subject(pod)?, EventReason::Nominated, message))
    });
    let failed = plan.unschedulable.iter().filter_map(|unschedulable| {
        let reasons: Vec<String> = unschedulable.reasons.iter().map(ToString::to_string).collect();
        let about = subject(&unschedulable.pod)?;
        Some(Event::new(about, EventReason::FailedScheduling, reasons.join("; ")))
    });
    nominated.chain(failed).collect()
}

#[cfg(test)]
mod tests;
