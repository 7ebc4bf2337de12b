//! Lifecycle: claims through Launched, Registered and Initialized, and to their end.
//!
//! Instances, claims and cluster are listed once; then each claim takes one step, ending claims
//! first; then whatever belongs to no claim is removed. Each step follows from what is stored and
//! what was listed, so that it can be repeated, delayed, or taken by another run.

mod adoption;
mod ending;
mod instance_ends;
mod joining;
mod orphans;
mod ownership;
mod pools;
mod report;
mod restoration;
mod rollouts;
mod tagging;
mod terminations;

use std::borrow::Cow;
use std::collections::BTreeMap;

use domain::instance_type::CapacityType;
use domain::label::TERMINATION_TIMESTAMP;
use domain::node::Node;
use domain::node_claim::NodeClaim;
use domain::node_class::Ec2NodeClass;
use domain::pod::Pod;
use domain::reason::DisruptionReason;
use domain::rollout::RolloutObstacle;
use domain::{SignedDuration, Text, Timestamp};
use rustc_hash::FxHashMap;

use crate::deletion_cost::write_pod_deletion_costs;
use crate::event::Event;
use crate::holding_back::Tally;
use crate::lease::with_lease;
use crate::ports::cloud::Instance;
use crate::ports::cluster::NodeClaimObject;
use crate::ports::error::{ErrorKind, PortError};
use crate::ports::{ClaimStore, Cloud, Cluster, FunctionName, Lease, Ports, Versioned};
use crate::record::claim::{ClaimRecord, EndReason};
use crate::record::fuses::Counted;
use crate::run::{Run, RunOutcome, is_over, observe, record_events};
use crate::safeguards::{Admission, Scope};
use crate::spot::count_uptime;
use crate::steps::end::{Counterparts, end_reason};
use crate::steps::mirror::is_up_to_date;
use crate::steps::planned_pods::BoundPods;
use crate::steps::reservation::is_expiring;
use crate::steps::snapshot::ClusterState;

use instance_ends::{EndedInstance, ended_instance};
pub use report::{Change, ClaimChange, HeldOrphans, LifecycleReport, Orphan, WhyHeld};

/// Requeue interval after records were rebuilt: their claims may have work waiting.
const RESTORED_REQUEUE_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

/// What to do about NodeClaims that this cluster's claims do not account for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unmanaged {
    /// Adopt them; instances and Nodes without a claim are terminated and deleted.
    Adopt,
    /// Leave them alone, and instances and Nodes without a claim as well.
    Leave,
}

/// Runs lifecycle once. An error means that nothing was done.
pub async fn advance<P: Ports>(
    ports: &P,
    run: &Run<'_>,
) -> Result<RunOutcome<LifecycleReport>, PortError> {
    with_lease(ports, run, FunctionName::Lifecycle, async |leases| {
        advance_under(ports, run, leases.own(), leases.admission(), Unmanaged::Adopt).await
    })
    .await
}

/// A report on what was observed, with the node-hours of spot offerings, which are counted here.
async fn report_with_uptime<P: Ports>(
    ports: &P,
    instances: &[Instance],
    observed: &ClusterState,
) -> LifecycleReport {
    let mut report = report_on(instances, observed);
    let own = observed.spot.own.as_ref();
    let counted = count_uptime(ports.store(), own, &observed.claims, observed.now).await;
    let counting = || "count node-hours of spot offerings".to_owned();
    report.spot_uptime = report.problems.record(counting, counted).unwrap_or_default();
    report
}

/// Runs lifecycle under its lease, which the caller holds.
pub(crate) async fn advance_under<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    lease: &Lease,
    admission: &Admission,
    unmanaged: Unmanaged,
) -> Result<LifecycleReport, PortError> {
    // Before the claims: the claim of each listed instance was created before the instance.
    let instances = ports.cloud().instances().await?;
    if admission.scope == Scope::Nothing {
        return Ok(LifecycleReport { instances: census(&instances), ..Default::default() });
    }
    let mut observed = observe(ports, lease).await?;
    observed.listing.objects.node_pools.retain(|pool| !pool.is_only_observed());
    // Before anything ends: what an instance ran is known as long as its claim is there.
    let report = report_with_uptime(ports, &instances, &observed).await;
    let mut tally = Tally::read(ports.store(), Counted::Terminations).await?;
    let alive = instances.iter().filter(|instance| instance.state.is_alive()).count();
    let mut lifecycle = LifecycleRun {
        ports,
        now: observed.now,
        observed: &observed,
        instances: instances.iter().map(|instance| (&*instance.id, instance)).collect(),
        nodes: nodes_by_provider(&observed),
        objects: observed.listing.node_claims.iter().map(|own| (own.claim_uid(), own)).collect(),
        pods: observed.pods_by_node(),
        bound: BoundPods::of(&observed),
        unreadable: ports.store().unreadable_claims(),
        report,
        events: Vec::new(),
        to_register: Vec::new(),
        to_drain: Vec::new(),
        to_terminate: Vec::new(),
        registrations: BTreeMap::new(),
        not_rolled_out: BTreeMap::new(),
        installation: run.safeguards.installation.clone(),
        terminations_left: admission.fuses.terminations(&tally.recent, observed.now, alive),
        terminations: Vec::new(),
        held_back: Vec::new(),
        ended_instances: BTreeMap::new(),
        admission,
    };
    let claims = lifecycle.claims_in_order();
    let (total, mut done) = (claims.len(), 0);
    for part in claims.chunk_by(|a, b| a.record.ending.is_some() == b.record.ending.is_some()) {
        for claim in part.iter().take_while(|_| !is_over(ports, run)) {
            lifecycle.step(claim).await;
            done += 1;
        }
        lifecycle.register_joined(run).await;
        lifecycle.count_terminations(&mut tally).await;
        lifecycle.drain(run).await;
    }
    lifecycle.report.left += total - done;
    lifecycle.terminate().await;
    lifecycle.report_held_back();
    lifecycle.record_instance_ends().await;
    if admission.scope == Scope::All {
        lifecycle.follow_up(run).await;
    }
    if admission.scope == Scope::All && !is_over(ports, run) {
        match unmanaged {
            Unmanaged::Adopt => {
                lifecycle.restore(lease).await;
                lifecycle.adopt(lease, run.core).await;
                lifecycle.remove_orphans(&mut tally).await;
            }
            // Instances and Nodes without a claim may belong to the controller that manages the
            // cluster next.
            Unmanaged::Leave => lifecycle.remove_objects().await,
        }
    }
    let LifecycleRun { mut report, events, .. } = lifecycle;
    record_events(ports.cluster(), &events, &mut report.problems).await;
    if report.left > 0 {
        report.requeue_after = Some(SignedDuration::ZERO);
    }
    Ok(report)
}

fn nodes_by_provider(observed: &ClusterState) -> FxHashMap<&Text, &Node> {
    // The first of several: a claim with more than one Node does not register.
    let nodes = observed.listing.objects.nodes.iter().rev();
    nodes.filter_map(|node| Some((node.provider_id.as_ref()?, node))).collect()
}

/// A report to which nothing has happened yet.
fn report_on(instances: &[Instance], observed: &ClusterState) -> LifecycleReport {
    let is_awaited = !observed.commands.is_empty();
    let object_warnings = observed.listing.object_warnings.clone();
    LifecycleReport {
        instances: census(instances),
        object_warnings,
        is_awaited,
        ..LifecycleReport::default()
    }
}

fn census(instances: &[Instance]) -> BTreeMap<(Text, CapacityType), usize> {
    let mut counts = BTreeMap::new();
    for own in instances {
        *counts.entry((own.instance_type.clone(), own.capacity_type)).or_default() += 1;
    }
    counts
}

/// A lifecycle run at work.
struct LifecycleRun<'a, P> {
    ports: &'a P,
    now: Timestamp,
    observed: &'a ClusterState,
    /// By id.
    instances: BTreeMap<&'a str, &'a Instance>,
    /// Nodes, by provider id.
    nodes: FxHashMap<&'a Text, &'a Node>,
    /// NodeClaim objects, by the uid of the claim that they mirror.
    objects: FxHashMap<&'a Text, &'a NodeClaimObject>,
    /// Bound pods, by Node name.
    pods: FxHashMap<&'a Text, Vec<&'a Pod>>,
    /// Pods that nodes were launched for, as far as they are bound.
    bound: BoundPods<'a>,
    /// Names of claims whose records cannot be read.
    unreadable: Vec<Text>,
    report: LifecycleReport,
    events: Vec<Event>,
    /// Claims whose Nodes are registered together.
    to_register: Vec<(Versioned<ClaimRecord>, &'a Node)>,
    /// Claims whose Nodes are drained; the pods of all of them are evicted in one order.
    to_drain: Vec<(Versioned<ClaimRecord>, &'a Node)>,
    /// Claims whose instances are terminated together at the end of the run.
    to_terminate: Vec<Versioned<ClaimRecord>>,
    /// Whether Nodes registered or failed to in this run, by NodePool.
    registrations: BTreeMap<Text, Vec<bool>>,
    /// Pods that are evicted although their Deployments ask for rollouts, by uid.
    not_rolled_out: BTreeMap<Text, RolloutObstacle>,
    /// Instances of claims that are found to be gone, by their ids.
    ended_instances: BTreeMap<Text, EndedInstance>,
    /// The installation's id.
    installation: Text,
    /// What the run may do.
    admission: &'a Admission,
    /// Nodes and instances whose end the fuse still lets this run begin.
    terminations_left: u32,
    /// Names of claims whose end this run has begun, and that were not counted yet.
    terminations: Vec<Text>,
    /// NodePools of claims whose end the fuse holds back, one for each claim.
    held_back: Vec<Text>,
}

impl<'a, P: Ports> LifecycleRun<'a, P> {
    /// The claims that the run may act on, ending ones first, by name.
    fn claims_in_order(&self) -> Vec<&'a Versioned<ClaimRecord>> {
        let claims = self.observed.claims.iter();
        let mut claims: Vec<_> = claims.filter(|claim| self.is_in_scope(&claim.record)).collect();
        claims.sort_by_key(|claim| (claim.record.ending.is_none(), &claim.record.claim.name));
        claims
    }

    /// Writes what follows from the claims: deletion costs of pods, status of NodePools, tags.
    async fn follow_up(&mut self, run: &Run<'_>) {
        let problems = write_pod_deletion_costs(self.ports, run, self.observed).await;
        self.report.problems.0.extend(problems.0);
        self.update_pools().await;
        self.tag(run.cluster).await;
    }

    async fn step(&mut self, claim: &Versioned<ClaimRecord>) {
        let mut claim = Cow::Borrowed(claim);
        if claim.record.instance.is_none() {
            claim = Cow::Owned(self.find_lost_instance(claim.into_owned()).await);
        }
        let reason = match &claim.record.ending {
            Some(_) => None,
            None => self.end_reason(&claim.record),
        };
        match reason {
            Some(reason) => {
                let deadline = self.deadline_of_object(&claim.record);
                let record = claim.record.clone().ended(self.now, reason, deadline);
                if let Some(claim) = self.save(claim.into_owned(), record).await {
                    if matches!(reason, EndReason::LaunchTimeout | EndReason::RegistrationTimeout) {
                        self.record_registration(&claim.record, false);
                    }
                    if reason == EndReason::InstanceGone {
                        self.ended_instances.extend(ended_instance(&claim.record));
                    }
                    self.record_change(&claim.record, Change::Ending(reason));
                    self.end(claim).await;
                }
            }
            None if claim.record.ending.is_some() => self.end(claim.into_owned()).await,
            None => self.join(&claim).await,
        }
    }

    fn end_reason(&self, record: &ClaimRecord) -> Option<EndReason> {
        let by_itself = end_reason(record, self.counterparts(record), self.now);
        by_itself.or_else(|| {
            let class = self.class_of(record);
            is_expiring(record, class).then_some(EndReason::Disrupted(DisruptionReason::Expired))
        })
    }

    fn class_of(&self, record: &ClaimRecord) -> Option<&'a Ec2NodeClass> {
        let name = &record.launch.node_class;
        self.observed.listing.objects.node_classes.iter().find(|class| class.name == *name)
    }

    /// The drain's deadline that the NodeClaim object's annotation gives.
    fn deadline_of_object(&self, record: &ClaimRecord) -> Option<Timestamp> {
        let object = self.object(record)?;
        object.claim.annotations.get(TERMINATION_TIMESTAMP)?.parse().ok()
    }

    fn counterparts(&self, record: &ClaimRecord) -> Counterparts<'a> {
        Counterparts {
            object: self.object(record),
            node: self.node(record),
            instance: self.instance(record),
        }
    }

    fn node(&self, record: &ClaimRecord) -> Option<&'a Node> {
        self.nodes.get(record.claim.status.provider_id.as_ref()?).copied()
    }

    /// The NodeClaim object that mirrors the claim.
    fn object(&self, record: &ClaimRecord) -> Option<&'a NodeClaimObject> {
        self.objects.get(&record.claim.uid).copied()
    }

    fn pods_of(&self, node: &Node) -> &[&'a Pod] {
        self.pods.get(&node.name).map(Vec::as_slice).unwrap_or_default()
    }

    /// The claim's instance, as listed.
    fn instance(&self, record: &ClaimRecord) -> Option<&'a Instance> {
        record.instance.as_ref().and_then(|own| self.instances.get(&*own.id).copied())
    }

    fn record_change(&mut self, record: &ClaimRecord, what: Change) {
        self.report.changes.push(ClaimChange { claim: record.claim.name.clone(), what });
    }

    fn requeue_after(&mut self, pause: SignedDuration) {
        let own = self.report.requeue_after;
        self.report.requeue_after = Some(own.map_or(pause, |own| own.min(pause)));
    }

    /// Writes a record that has changed, and mirrors it. `None` when another run was faster or the
    /// write failed: the next run decides anew.
    async fn save(
        &mut self,
        before: Versioned<ClaimRecord>,
        record: ClaimRecord,
    ) -> Option<Versioned<ClaimRecord>> {
        let after = if record == before.record {
            before
        } else {
            match self.ports.store().update_claim(&record, before.version).await {
                Ok(version) => Versioned { record, version },
                Err(error) => {
                    if error.kind != ErrorKind::Conflict {
                        let operation = || format!("write claim {}", record.claim.name);
                        self.report.problems.record(operation, Err::<(), _>(error));
                    }
                    self.requeue_after(SignedDuration::from_secs(1));
                    return None;
                }
            }
        };
        self.mirror(&after.record).await;
        Some(after)
    }

    /// Writes the NodeClaim object of a claim, unless it is up to date.
    async fn mirror(&mut self, record: &ClaimRecord) {
        let claim = &record.claim;
        let object = self.object(record);
        let is_up_to_date = object.is_some_and(|object| is_up_to_date(&object.claim, claim));
        if !is_up_to_date {
            let mirrored = self.ports.cluster().mirror_node_claim(claim).await;
            let operation = || format!("mirror claim {}", claim.name);
            let is_made = self.report.problems.record(operation, mirrored).is_some();
            if is_made && object.is_none() && record.instance.is_none() {
                self.remove_given_up(claim).await;
            }
        }
    }

    /// Removes the new object of a claim whose launch was given up since this run read the claim.
    /// Provisioning, which gives up launches, deletes the record before it removes the object: of
    /// the two runs, the later one finds both.
    async fn remove_given_up(&mut self, claim: &NodeClaim) {
        let NodeClaim { name, uid, .. } = claim;
        let found = self.ports.store().claim(name).await;
        let found = self.report.problems.record(|| format!("read claim {name}"), found);
        if found.is_some_and(|found| found.is_none_or(|own| own.record.claim.uid != *uid)) {
            let removed = self.ports.cluster().remove_node_claim(name, uid).await;
            self.report.problems.record(|| format!("remove NodeClaim {name}"), removed);
        }
    }
}

#[cfg(test)]
mod tests;
