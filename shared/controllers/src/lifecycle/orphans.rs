//! Removing instances, NodeClaim objects and Nodes whose claim is gone.
//!
//! An instance that a NodeClaim object names, or a Node that ever was registered, is never one of
//! them, and the others end a few at a time. Where there are suspiciously many, nothing ends until
//! somebody confirms it.

use std::collections::BTreeSet;

use domain::label;
use domain::node::Node;
use domain::{SignedDuration, Text};

use super::ownership::Ownership;
use super::{HeldOrphans, LifecycleRun, Orphan, WhyHeld};
use crate::event::{Event, EventReason, Subject};
use crate::holding_back::Tally;
use crate::ports::cloud::{Instance, Termination};
use crate::ports::cluster::NodeClaimObject;
use crate::ports::{Cloud, Cluster, Ports};
use crate::steps::end::INSTANCE_GRACE;

/// Most orphaned instances terminated in one run.
const ENDED_MAX: usize = 5;
/// So many orphans are nothing unusual, whatever the size of the cluster: EC2 may launch more than
/// it was asked for.
const USUAL_MAX: usize = 5;
/// Beyond this share of a cluster's instances, percent, orphans are taken for a lost table.
const USUAL_SHARE_MAX: usize = 10;

impl<'a, P: Ports> LifecycleRun<'a, P> {
    /// Removes what belongs to no claim. An instance is given [`INSTANCE_GRACE`] from its launch.
    pub(super) async fn remove_orphans(&mut self, tally: &mut Tally) {
        self.end_instances(tally).await;
        self.remove_objects().await;
        self.release_nodes().await;
    }

    async fn end_instances(&mut self, tally: &mut Tally) {
        let owners = Ownership::of(self);
        let orphans: Vec<&'a Instance> = self
            .instances
            .values()
            .copied()
            .filter(|instance| instance.state.is_alive() && !owners.is_recorded(instance))
            .filter(|instance| {
                owners.is_surplus(instance)
                    || !owners.has_object(instance) && !owners.has_node(instance)
            })
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
        if let Some(why) = self.why_held(&old).filter(|_| !self.admission.ends_orphans) {
            return self.hold(&old, why);
        }
        let left = usize::try_from(self.terminations_left).unwrap_or(usize::MAX).min(ENDED_MAX);
        if old.len() > left {
            self.requeue_after(INSTANCE_GRACE);
        }
        let old = &old[..old.len().min(left)];
        if old.is_empty() {
            return;
        }
        let counted = tally.count(self.ports, old.len()).await;
        let operation = || format!("count {} terminations", old.len());
        if self.report.problems.record(operation, counted).is_none() {
            return;
        }
        let ids: Vec<Text> = old.iter().map(|instance| instance.id.clone()).collect();
        let operation = || format!("terminate {} orphaned instances", ids.len());
        let terminated = self.ports.cloud().terminate(&ids).await;
        let Some(outcomes) = self.report.problems.record(operation, terminated) else { return };
        for (instance, outcome) in old.iter().zip(outcomes) {
            match outcome {
                Termination::ShuttingDown | Termination::Terminated | Termination::Unknown => {
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

    /// Why so many orphans are not believed to be ones.
    fn why_held(&self, orphans: &[&Instance]) -> Option<WhyHeld> {
        let registered = |node: &&Node| node.labels.contains_key(label::REGISTERED);
        let nodes = self.observed.listing.objects.nodes.iter().filter(registered).count();
        if self.observed.claims.is_empty() && self.unreadable.is_empty() && nodes > 0 {
            return Some(WhyHeld::NoRecords { nodes });
        }
        let another = orphans.iter().filter_map(|instance| instance.installation.as_ref());
        if let Some(installation) = another.into_iter().find(|own| **own != self.installation) {
            let installation = installation.clone();
            return Some(WhyHeld::OfAnother { installation });
        }
        let orphans = orphans.len();
        let instances = self.instances.values().filter(|own| own.state.is_alive()).count();
        (orphans > USUAL_MAX && orphans * 100 > instances * USUAL_SHARE_MAX)
            .then_some(WhyHeld::TooMany { orphans, instances })
    }

    fn hold(&mut self, orphans: &[&Instance], why: WhyHeld) {
        let instances: Vec<Text> = orphans.iter().map(|instance| instance.id.clone()).collect();
        let pools: BTreeSet<&Text> =
            orphans.iter().filter_map(|instance| instance.node_pool.as_ref()).collect();
        for pool in pools {
            let message = format!("{why}: none of them is terminated until that is confirmed");
            let about = Subject::NodePool(pool.clone());
            self.events.push(Event::new(about, EventReason::OrphanedInstancesKept, message));
        }
        self.report.held_orphans = Some(HeldOrphans { instances, why });
    }

    /// Removes NodeClaim objects whose claim is gone: an earlier removal failed, or preceded their
    /// creation.
    pub(super) async fn remove_objects(&mut self) {
        let observed = self.observed;
        let owners = Ownership::of(self);
        let without: Vec<(&NodeClaimObject, bool)> = observed
            .listing
            .node_claims
            .iter()
            .filter(|object| owners.is_without_record(object))
            .map(|object| (object, owners.instance_for(object).is_some()))
            .collect();
        for (object, has_instance) in without {
            let Some(uid) = &object.mirror_of else { continue };
            if has_instance || self.may_be_in_use(object) {
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

    /// Whether the node of an object without a claim may still be there, although EC2 lists no
    /// instance: the Node is ready, or the object is so new that the list may lag.
    fn may_be_in_use(&mut self, object: &NodeClaimObject) -> bool {
        let is_new = object
            .claim
            .created
            .is_some_and(|created| self.now.duration_since(created) <= INSTANCE_GRACE);
        if is_new {
            self.requeue_after(INSTANCE_GRACE);
        }
        let provider_id = object.claim.status.provider_id.as_ref();
        let node = provider_id.and_then(|id| self.nodes.get(id));
        is_new || node.is_some_and(|node| !node.is_not_ready())
    }

    /// Deletes registered Nodes of EC2NodeClasses that are not ready and have neither instance nor
    /// claim. Other controllers register Nodes too, and EC2 is not asked about theirs.
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
                && node.labels.contains_key(label::NODE_CLASS)
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
