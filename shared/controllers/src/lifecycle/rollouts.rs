//! Rollouts in place of evictions: pods of Deployments that ask for it leave a node that goes by
//! choice once their successors are ready (`outrigger.dev/evict-by: rollout`).

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;
use domain::label::PODS_ROLLING;
use domain::node_claim::NodeClaim;
use domain::pod::{ObjectKey, Pod};
use domain::rollout::{Deployment, EvictBy};

use super::{Change, ClaimChange, LifecycleRun};
use crate::event::{Event, EventReason, Subject};
use crate::ports::cluster::NamespacedRef;
use crate::ports::{Cluster, ErrorKind, PodRef, Ports};
use crate::run::{Run, is_over};
use crate::steps::rollout::{RolloutStep, replica_set_of, rollout_step};

/// A pod that is to leave its node.
pub(super) struct Departure<'a> {
    /// The claim of the node.
    pub(super) claim: Text,
    /// The pod.
    pub(super) pod: &'a Pod,
}

impl<P: Ports> LifecycleRun<'_, P> {
    /// Of pods that are due for eviction, the uids of those that a rollout of their Deployment
    /// replaces. Asks for rollouts where none is under way, once for each Deployment. What cannot
    /// be read is evicted, as ever.
    pub(super) async fn rolling(&mut self, due: &[Departure<'_>], run: &Run<'_>) -> BTreeSet<Text> {
        let mut found: BTreeMap<NamespacedRef, Option<Deployment>> = BTreeMap::new();
        let mut asked: BTreeSet<ObjectKey> = BTreeSet::new();
        let mut rolling = BTreeSet::new();
        for Departure { claim, pod } in due {
            let Some(replica_set) = replica_set_of(pod) else { continue };
            if is_over(self.ports, run) {
                break;
            }
            if !found.contains_key(&replica_set) {
                let deployment = match self.ports.cluster().deployment_of(&replica_set).await {
                    Ok(deployment) => deployment,
                    Err(error) => {
                        let is_denied = error.kind == ErrorKind::Denied;
                        let operation = || format!("read the Deployment of pod {}", pod.key);
                        self.report.problems.record(operation, Err::<(), _>(error));
                        // One word is enough: the right is missing for all of them.
                        if is_denied {
                            return rolling;
                        }
                        None
                    }
                };
                found.insert(replica_set.clone(), deployment);
            }
            let Some(Some(deployment)) = found.get(&replica_set) else { continue };
            let step = if asked.contains(&deployment.key) {
                RolloutStep::Wait
            } else {
                rollout_step(pod, deployment, self.evict_by_of(&pod.key.namespace), self.now)
            };
            match step {
                RolloutStep::NotMeant => {}
                RolloutStep::Wait => _ = rolling.insert(pod.uid.clone()),
                RolloutStep::Ask => {
                    let deployment = deployment.clone();
                    if self.ask_for_rollout(claim, &deployment).await {
                        asked.insert(deployment.key);
                        let message = "a rollout replaces it: its node is being disrupted";
                        let about = Subject::Pod(pod.key.clone(), pod.uid.clone());
                        self.events.push(Event::new(about, EventReason::RolloutStarted, message));
                    }
                    // Where that did not work, the next run sees what has become of it.
                    rolling.insert(pod.uid.clone());
                }
                RolloutStep::Evict(obstacle) => {
                    let message =
                        format!("Deployment {} is not rolled out: {obstacle}", deployment.key);
                    let about = Subject::Pod(pod.key.clone(), pod.uid.clone());
                    self.events.push(Event::new(about, EventReason::RolloutNotPossible, message));
                    self.not_rolled_out.insert(pod.uid.clone(), obstacle);
                }
            }
        }
        rolling
    }

    async fn ask_for_rollout(&mut self, claim: &Text, deployment: &Deployment) -> bool {
        let restarted = self.ports.cluster().restart_deployment(deployment, self.now).await;
        match restarted {
            Ok(()) => {
                let what = Change::RolloutStarted(deployment.key.clone());
                self.report.changes.push(ClaimChange { claim: claim.clone(), what });
                true
            }
            Err(error) => {
                // Somebody was faster: it is read anew.
                if !matches!(error.kind, ErrorKind::Conflict | ErrorKind::NotFound) {
                    let operation = || format!("roll out Deployment {}", deployment.key);
                    self.report.problems.record(operation, Err::<(), _>(error));
                }
                false
            }
        }
    }

    fn evict_by_of(&self, namespace: &str) -> Option<EvictBy> {
        let namespaces = &self.observed.listing.objects.namespaces;
        namespaces.iter().find(|own| *own.name == *namespace)?.evict_by
    }
}

/// Notes on a claim which pods of its node rollouts replace, so that no plan looks for a place for
/// them. An annotation that says nothing is emptied, and not written where it is not there.
pub(super) fn note_rolling(claim: &mut NodeClaim, pods: &[PodRef]) {
    let keys: BTreeSet<String> = pods.iter().map(|pod| pod.key.to_string()).collect();
    let text = keys.into_iter().collect::<Vec<_>>().join(",");
    if !text.is_empty() || claim.annotations.contains_key(PODS_ROLLING) {
        claim.annotations.insert(PODS_ROLLING.into(), text.into());
    }
}
