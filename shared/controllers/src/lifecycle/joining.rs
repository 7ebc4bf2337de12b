//! Taking a claim from an instance to an initialized node, and keeping its conditions up to date
//! afterwards.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use domain::node::Node;
use domain::node_claim::ConditionType;
use domain::pod::PodKey;
use domain::{SignedDuration, Text};
use futures_util::future::join_all;

use super::{Change, LifecycleRun};
use crate::event::{Event, EventReason, Subject};
use crate::nomination::nominate_pods;
use crate::ports::error::found;
use crate::ports::{ClaimStore, Clock, Cluster, NodeRef, Ports, Versioned};
use crate::record::claim::ClaimRecord;
use crate::record::nomination::{NOMINATION_TTL, Nomination};
use crate::run::{Run, after};
use crate::steps::consistency::check_consistency;
use crate::steps::join::{
    Registration, ambiguous, initialize, initialized_patch, register, takes_pods_soon,
};
use crate::steps::launch_outcome::launched;
use crate::steps::pod_events::{consolidatable_in, record_pod_events, update_consolidatable};
use crate::steps::reservation::demoted;
use crate::steps::snapshot::expected_pods;

/// Requeue interval while a node starts.
const STARTUP_REQUEUE_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

/// Requeue interval while a Node has joined and is not registered: pods wait for it.
const JOINING_REQUEUE_INTERVAL: SignedDuration = SignedDuration::from_secs(1);

/// How long kube-scheduler has to hear of nominations before their Nodes take pods: pods and Nodes
/// reach it by different watches.
const NOMINATIONS_SETTLE: SignedDuration = SignedDuration::from_millis(500);

/// The most Nodes that are registered at once.
const REGISTRATIONS_CONCURRENCY_MAX: usize = 20;

impl<'a, P: Ports> LifecycleRun<'a, P> {
    /// Records the instance of a claim whose launch response was lost, if an instance is tagged
    /// with the claim's uid.
    pub(super) async fn find_lost_instance(
        &mut self,
        claim: Versioned<ClaimRecord>,
    ) -> Versioned<ClaimRecord> {
        let uid = &claim.record.claim.uid;
        let Some(instance) = self
            .instances
            .values()
            .find(|instance| instance.claim_uid.as_ref() == Some(uid) && instance.state.is_alive())
            .copied()
            .cloned()
        else {
            return claim;
        };
        let id = instance.id.clone();
        let types = &self.observed.instance_types;
        let record = launched(claim.record.clone(), instance, types, self.now);
        match self.save(claim.clone(), record).await {
            Some(claim) => {
                self.record_change(&claim.record, Change::InstanceFound(id));
                claim
            }
            None => claim,
        }
    }

    /// One step of a claim that is not ending.
    pub(super) async fn join(&mut self, claim: &Versioned<ClaimRecord>) {
        let mut record = Cow::Borrowed(&claim.record);
        if record.instance.is_none() {
            // Provisioning launches it.
            self.requeue_after(STARTUP_REQUEUE_INTERVAL);
        } else if !record.claim.is(ConditionType::Registered) {
            self.requeue_after(STARTUP_REQUEUE_INTERVAL);
            match self.joined_nodes(&record).as_slice() {
                [] => {}
                [node] if takes_pods_soon(node, self.now) => {
                    self.to_register.push((claim.clone(), node));
                    return;
                }
                [_] => self.requeue_after(JOINING_REQUEUE_INTERVAL),
                several => {
                    let record_now = record.into_owned();
                    record = Cow::Owned(ambiguous(record_now, several.len(), self.now));
                }
            }
        } else if let Some(node) = self.node(&record) {
            if !record.claim.is(ConditionType::Initialized) {
                record = Cow::Owned(self.try_initialize(record.into_owned(), node).await);
            }
            if record.claim.is(ConditionType::Initialized) {
                self.update_conditions(&mut record, node);
                self.leave_reservation(&mut record, node).await;
            }
        }
        match record {
            // Nearly all claims stay the same from one run to the next.
            Cow::Borrowed(record) => self.mirror(record).await,
            Cow::Owned(record) => {
                self.save(claim.clone(), record).await;
            }
        }
    }

    /// Registers the Nodes that `join` found, once the pods that are planned on any of them are
    /// nominated: what a node has to spare goes to whichever pod comes first. They are nominated
    /// twice, since kube-scheduler clears the field of a pod that it tries and finds no room for,
    /// such as while its node still bears the taint.
    pub(super) async fn register_joined(&mut self, run: &Run<'_>) {
        let joined = std::mem::take(&mut self.to_register);
        if joined.is_empty() {
            return;
        }
        let places = self.places_on(&joined);
        let problems = nominate_pods(self.ports, run, self.observed, &places, |_| true).await;
        self.report.problems.0.extend(problems.0);
        if run.settings.feature_gates.pod_nomination && places.values().any(|own| !own.is_empty()) {
            let clock = self.ports.clock();
            clock.sleep_until(after(clock.now(), NOMINATIONS_SETTLE)).await;
            let problems = nominate_pods(self.ports, run, self.observed, &places, |_| true).await;
            self.report.problems.0.extend(problems.0);
        }
        for batch in joined.chunks(REGISTRATIONS_CONCURRENCY_MAX) {
            let registrations: Vec<Registration> = batch
                .iter()
                .map(|(claim, node)| {
                    let record = claim.record.clone();
                    register(record, node, self.object(&claim.record), self.now)
                })
                .collect();
            let cluster = self.ports.cluster();
            let nodes: Vec<NodeRef> = batch.iter().map(|(_, node)| NodeRef::from(*node)).collect();
            let patches = nodes.iter().zip(&registrations);
            let patched =
                join_all(patches.map(|(node, own)| cluster.patch_node(node, &own.patch))).await;
            for (((claim, node), registration), patched) in
                batch.iter().zip(registrations).zip(patched)
            {
                let operation = || format!("register Node {}", node.name);
                // A Node that is gone again has not joined.
                let done = self.report.problems.record(operation, found(patched));
                if matches!(done, Some(Some(()))) {
                    self.registered(claim, node, registration).await;
                }
            }
        }
    }

    async fn registered(
        &mut self,
        claim: &Versioned<ClaimRecord>,
        node: &Node,
        Registration { record, taint_was_missing, .. }: Registration,
    ) {
        if taint_was_missing {
            let about = Subject::Node(node.name.clone(), node.uid.clone());
            let message = "it joined without taint karpenter.sh/unregistered, so pods may have been \
                           scheduled before its labels and taints were complete";
            self.events.push(Event::new(about, EventReason::UnregisteredTaintMissing, message));
        }
        self.record_registration(&record, true);
        self.record_change(&record, Change::Registered(node.name.clone()));
        self.save(claim.clone(), record).await;
    }

    /// Pods by the Node that they are planned on: by the latest plan for them, or the one that
    /// launched the Node.
    fn places_on(&self, joined: &[(Versioned<ClaimRecord>, &Node)]) -> BTreeMap<Text, Vec<PodKey>> {
        let expected = expected_pods(self.observed);
        let planned: BTreeSet<&PodKey> = expected.values().flatten().collect();
        let pods_of = |(claim, node): &(Versioned<ClaimRecord>, &Node)| {
            let record = &claim.record;
            let latest = expected.get(&node.name).or_else(|| expected.get(&record.claim.name));
            let first = record.pods.iter().filter(|pod| !planned.contains(pod));
            let pods = latest.into_iter().flatten().chain(first).cloned().collect();
            (node.name.clone(), pods)
        };
        joined.iter().map(pods_of).collect()
    }

    /// Nodes with the provider id of a claim's instance; more than one is a mistake.
    fn joined_nodes(&self, record: &ClaimRecord) -> Vec<&'a Node> {
        let provider_id = record.claim.status.provider_id.as_ref();
        let nodes = self.observed.listing.objects.nodes.iter();
        nodes
            .filter(|node| node.provider_id.is_some() && node.provider_id.as_ref() == provider_id)
            .collect()
    }

    async fn try_initialize(&mut self, record: ClaimRecord, node: &Node) -> ClaimRecord {
        let initialized = initialize(record.clone(), node, self.now);
        if !initialized.claim.is(ConditionType::Initialized) {
            self.requeue_after(STARTUP_REQUEUE_INTERVAL);
            return initialized;
        }
        let reference = NodeRef::from(node);
        let patched = self.ports.cluster().patch_node(&reference, &initialized_patch()).await;
        let operation = || format!("label Node {}", node.name);
        if !matches!(self.report.problems.record(operation, found(patched)), Some(Some(()))) {
            return record;
        }
        // kube-scheduler takes a moment to bind the pods that it was launched for.
        if !record.pods.is_empty() {
            let nomination = Nomination {
                node: node.name.clone(),
                pods: record.pods.clone(),
                until: after(self.now, NOMINATION_TTL),
            };
            let nominated = self.ports.store().nominate(&[nomination]).await;
            self.report.problems.record(|| format!("nominate Node {}", node.name), nominated);
        }
        self.record_change(&initialized, Change::Initialized(node.name.clone()));
        initialized
    }

    /// Relabels a claim whose instance has left its capacity reservation as on-demand.
    async fn leave_reservation(&mut self, record: &mut Cow<'_, ClaimRecord>, node: &Node) {
        let types = &self.observed.instance_types;
        let Some((demoted, patch)) = demoted(record, self.instance(record), types) else { return };
        let patched = self.ports.cluster().patch_node(&NodeRef::from(node), &patch).await;
        let operation = || format!("relabel Node {}", node.name);
        if let Some(Some(())) = self.report.problems.record(operation, found(patched)) {
            *record = Cow::Owned(demoted);
        }
    }

    /// Records pod events, whether the node is consolidatable, and whether it is consistent with
    /// its claim.
    fn update_conditions(&mut self, record: &mut Cow<'_, ClaimRecord>, node: &Node) {
        let known = &self.observed.listing.pod_fingerprints;
        record_pod_events(record, self.pods_of(node), known, self.now);
        self.report.bound_elsewhere += self.bound.settle(record);
        if let Some(lack) = check_consistency(record, node, self.now) {
            let about = Subject::NodeClaim(record.claim.name.clone());
            self.events.push(Event::new(about, EventReason::FailedConsistencyCheck, lack));
        }
        let pool = record.claim.node_pool().and_then(|name| {
            self.observed.listing.objects.node_pools.iter().find(|pool| pool.name == *name)
        });
        if let Some(pause) = consolidatable_in(&record.claim, pool, self.now) {
            self.requeue_after(pause);
        }
        update_consolidatable(record, pool, self.now);
    }
}
