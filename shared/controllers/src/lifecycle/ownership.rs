//! Who an instance belongs to: a record, a NodeClaim object, a Node, or nobody.

use domain::node::Node;
use domain::taint::UNREGISTERED;
use domain::{Text, Timestamp, label};
use rustc_hash::{FxHashMap, FxHashSet};

use super::LifecycleRun;
use crate::ports::cloud::Instance;
use crate::ports::cluster::NodeClaimObject;
use crate::steps::join::REGISTRATION_TIMEOUT;

/// What each instance is named by. Built once for a run.
pub(super) struct Ownership<'a> {
    /// Uids of claims that have records.
    claims: FxHashSet<&'a Text>,
    /// Those without an instance: the response to their launch may have been lost.
    launching: FxHashSet<&'a Text>,
    /// Ids of instances that records have.
    recorded: FxHashSet<&'a Text>,
    /// Names of claims whose records cannot be read.
    unreadable: &'a [Text],
    /// Provider ids that NodeClaim objects name.
    objects: FxHashSet<&'a Text>,
    /// Uids of the claims that objects mirror which do not know their instance yet.
    mirrored: FxHashSet<&'a Text>,
    nodes: &'a FxHashMap<&'a Text, &'a Node>,
    by_provider: FxHashMap<&'a Text, &'a Instance>,
    by_uid: FxHashMap<&'a Text, &'a Instance>,
    now: Timestamp,
}

impl<'a> Ownership<'a> {
    pub(super) fn of<P>(run: &'a LifecycleRun<'_, P>) -> Self {
        let records = || run.observed.claims.iter().map(|claim| &claim.record);
        let objects = &run.observed.listing.node_claims;
        let alive = || run.instances.values().copied().filter(|own| own.state.is_alive());
        Self {
            claims: records().map(|record| &record.claim.uid).collect(),
            launching: records()
                .filter(|record| record.instance.is_none())
                .map(|record| &record.claim.uid)
                .collect(),
            recorded: records().filter_map(|record| Some(&record.instance.as_ref()?.id)).collect(),
            unreadable: &run.unreadable,
            objects: objects
                .iter()
                .filter_map(|object| object.claim.status.provider_id.as_ref())
                .collect(),
            mirrored: objects
                .iter()
                .filter(|object| object.claim.status.provider_id.is_none())
                .filter_map(|object| object.mirror_of.as_ref())
                .collect(),
            nodes: &run.nodes,
            by_provider: alive().map(|own| (&own.provider_id, own)).collect(),
            by_uid: alive().filter_map(|own| Some((own.claim_uid.as_ref()?, own))).collect(),
            now: run.now,
        }
    }

    /// Whether a claim with a record has this instance, or may get it.
    pub(super) fn is_recorded(&self, instance: &Instance) -> bool {
        self.recorded.contains(&instance.id)
            || instance.claim_uid.as_ref().is_some_and(|uid| self.launching.contains(uid))
            || instance.claim.as_ref().is_some_and(|name| self.unreadable.contains(name))
    }

    /// Whether its claim has another instance: EC2 launched more than it was asked for. Its Node,
    /// if there is one, was never registered.
    pub(super) fn is_surplus(&self, instance: &Instance) -> bool {
        let node = self.nodes.get(&instance.provider_id);
        let is_registered = node.is_some_and(|own| own.labels.contains_key(label::REGISTERED));
        !self.is_recorded(instance)
            && !is_registered
            && instance.claim_uid.as_ref().is_some_and(|uid| self.claims.contains(uid))
    }

    /// Whether a NodeClaim object names this instance, whoever made that.
    pub(super) fn has_object(&self, instance: &Instance) -> bool {
        self.objects.contains(&instance.provider_id)
            || instance.claim_uid.as_ref().is_some_and(|uid| self.mirrored.contains(uid))
    }

    /// Whether a Node has this instance that may run pods, whoever launched it. One that keeps the
    /// taint it joined with, for longer than a registration takes, never ran any: its claim went
    /// while the launch was under way.
    pub(super) fn has_node(&self, instance: &Instance) -> bool {
        self.nodes.get(&instance.provider_id).is_some_and(|node| {
            let is_tainted = node.taints.iter().any(|own| &*own.key == UNREGISTERED);
            let is_registered = node.labels.contains_key(label::REGISTERED);
            let age = self.now.duration_since(instance.launched);
            is_registered || !is_tainted || age <= REGISTRATION_TIMEOUT
        })
    }

    /// Whether an object mirrors a claim that has no record.
    pub(super) fn is_without_record(&self, object: &NodeClaimObject) -> bool {
        object.mirror_of.as_ref().is_some_and(|uid| !self.claims.contains(uid))
            && !self.unreadable.contains(&object.claim.name)
    }

    /// The instance that runs for an object: the one that it names, or that bears its claim's uid.
    pub(super) fn instance_for(&self, object: &NodeClaimObject) -> Option<&'a Instance> {
        match &object.claim.status.provider_id {
            Some(provider_id) => self.by_provider.get(provider_id),
            None => self.by_uid.get(object.mirror_of.as_ref()?),
        }
        .copied()
    }

    /// The instance that a Node runs on.
    pub(super) fn instance_of(&self, node: &Node) -> Option<&'a Instance> {
        self.by_provider.get(node.provider_id.as_ref()?).copied()
    }
}
