//! Taking a claim from an instance to an initialized node, and keeping its conditions up to date
//! afterwards.

use std::borrow::Cow;

use domain::SignedDuration;
use domain::node::Node;
use domain::node_claim::ConditionType;

use super::{Change, LifecycleRun};
use crate::event::{Event, EventReason, Subject};
use crate::ports::error::found;
use crate::ports::{ClaimStore, Cluster, NodeRef, Ports, Versioned};
use crate::record::claim::ClaimRecord;
use crate::record::nomination::{NOMINATION_TTL, Nomination};
use crate::run::after;
use crate::steps::consistency::check_consistency;
use crate::steps::join::{Registration, ambiguous, initialize, initialized_patch, register};
use crate::steps::launch_outcome::launched;
use crate::steps::pod_events::{consolidatable_in, record_pod_events, update_consolidatable};
use crate::steps::reservation::demoted;

/// Requeue interval while a node starts.
const STARTUP_REQUEUE_INTERVAL: SignedDuration = SignedDuration::from_secs(5);

impl<P: Ports> LifecycleRun<'_, P> {
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
            record = Cow::Owned(self.try_register(record.into_owned()).await);
            self.requeue_after(STARTUP_REQUEUE_INTERVAL);
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

    async fn try_register(&mut self, record: ClaimRecord) -> ClaimRecord {
        let provider_id = record.claim.status.provider_id.as_ref();
        let nodes: Vec<&Node> = self
            .observed
            .listing
            .objects
            .nodes
            .iter()
            .filter(|node| node.provider_id.is_some() && node.provider_id.as_ref() == provider_id)
            .collect();
        let node = match nodes.as_slice() {
            [] => return record,
            [node] => *node,
            several => return ambiguous(record, several.len(), self.now),
        };
        let Registration { patch, record: registered, taint_was_missing } =
            register(record.clone(), node, self.object(&record), self.now);
        let patched = self.ports.cluster().patch_node(&NodeRef::from(node), &patch).await;
        let operation = || format!("register Node {}", node.name);
        // A Node that is gone again has not joined.
        if !matches!(self.report.problems.record(operation, found(patched)), Some(Some(()))) {
            return record;
        }
        if taint_was_missing {
            let about = Subject::Node(node.name.clone(), node.uid.clone());
            let message = "it joined without taint karpenter.sh/unregistered, so pods may have been \
                           scheduled before its labels and taints were complete";
            self.events.push(Event::new(about, EventReason::UnregisteredTaintMissing, message));
        }
        self.record_registration(&registered, true);
        self.record_change(&registered, Change::Registered(node.name.clone()));
        registered
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
        record_pod_events(record, self.pods_of(node), self.now);
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
