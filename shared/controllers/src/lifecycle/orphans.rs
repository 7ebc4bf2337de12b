//! Removing instances, NodeClaim objects and Nodes whose claim is gone.

use std::collections::BTreeSet;

use domain::label;
use domain::node::Node;
use domain::{SignedDuration, Text};

use super::{LifecycleRun, Orphan};
use crate::ports::cloud::{Instance, Termination};
use crate::ports::{ClaimStore, Cloud, Cluster, Ports};
use crate::steps::end::INSTANCE_GRACE;

impl<'a, P: Ports> LifecycleRun<'a, P> {
    /// Removes what belongs to no claim. An instance is given a minute from its launch.
    pub(super) async fn remove_orphans(&mut self) {
        self.end_instances().await;
        self.remove_objects().await;
        self.release_nodes().await;
    }

    /// Whether a claim has this instance, or may get it: a claim without one may have lost the
    /// response to its launch.
    fn belongs(&self, instance: &Instance) -> bool {
        self.observed.claims.iter().any(|claim| match &claim.record.instance {
            Some(own) => own.id == instance.id,
            None => instance.claim_uid.as_ref() == Some(&claim.record.claim.uid),
        })
    }

    async fn end_instances(&mut self) {
        let unreadable = self.ports.store().unreadable_claims();
        let orphans: Vec<&'a Instance> = self
            .instances
            .values()
            .copied()
            .filter(|instance| instance.state.is_alive() && !self.belongs(instance))
            .filter(|instance| !self.is_adoptable(instance))
            .filter(|instance| !instance.claim.as_ref().is_some_and(|own| unreadable.contains(own)))
            .collect();
        let (old, new): (Vec<&Instance>, Vec<&Instance>) = orphans
            .into_iter()
            .partition(|instance| self.now.duration_since(instance.launched) > INSTANCE_GRACE);
        if !new.is_empty() {
            self.requeue_after(INSTANCE_GRACE);
        }
        if old.is_empty() {
            return;
        }
        let ids: Vec<Text> = old.iter().map(|instance| instance.id.clone()).collect();
        let operation = || format!("terminate {} orphaned instances", ids.len());
        let terminated = self.ports.cloud().terminate(&ids).await;
        let Some(outcomes) = self.report.problems.record(operation, terminated) else { return };
        for (instance, outcome) in old.into_iter().zip(outcomes) {
            match outcome {
                Termination::ShuttingDown | Termination::Gone => {
                    self.report.orphans.push(Orphan::Instance(instance.id.clone()));
                    self.requeue_after(SignedDuration::from_secs(5));
                }
                Termination::Failed(error) => {
                    let operation = || format!("terminate orphaned instance {}", instance.id);
                    self.report.problems.record(operation, Err::<(), _>(error));
                }
            }
        }
    }

    /// Whether a NodeClaim that we did not create names the instance: it is adopted rather than
    /// terminated.
    fn is_adoptable(&self, instance: &Instance) -> bool {
        self.observed.listing.node_claims.iter().any(|object| {
            object.mirror_of.is_none()
                && object.claim.status.provider_id.as_ref() == Some(&instance.provider_id)
        })
    }

    /// Removes NodeClaim objects whose claim is gone: an earlier removal failed, or preceded their
    /// creation.
    pub(super) async fn remove_objects(&mut self) {
        let observed = self.observed;
        let unreadable = self.ports.store().unreadable_claims();
        for object in &observed.listing.node_claims {
            let Some(uid) = &object.mirror_of else { continue };
            if unreadable.contains(&object.claim.name) {
                continue;
            }
            if observed.claims.iter().any(|claim| claim.record.claim.uid == *uid) {
                continue;
            }
            let name = &object.claim.name;
            let removed = self.ports.cluster().remove_node_claim(name, uid).await;
            if self.report.problems.record(|| format!("remove NodeClaim {name}"), removed).is_some()
            {
                self.report.orphans.push(Orphan::NodeClaim(name.clone()));
            }
        }
    }

    /// Deletes registered Nodes that are not ready and have neither instance nor claim.
    async fn release_nodes(&mut self) {
        let observed = self.observed;
        let known: BTreeSet<&Text> = observed
            .claims
            .iter()
            .filter_map(|claim| claim.record.claim.status.provider_id.as_ref())
            .chain(self.instances.values().map(|instance| &instance.provider_id))
            .chain(
                observed
                    .listing
                    .node_claims
                    .iter()
                    .filter_map(|object| object.claim.status.provider_id.as_ref()),
            )
            .collect();
        let is_orphan = |node: &&Node| {
            node.labels.contains_key(label::REGISTERED)
                && node.is_not_ready()
                && node.provider_id.as_ref().is_some_and(|id| !known.contains(id))
        };
        for node in observed.listing.objects.nodes.iter().filter(is_orphan) {
            if self.release_node(node).await {
                self.report.orphans.push(Orphan::Node(node.name.clone()));
            }
        }
    }
}
