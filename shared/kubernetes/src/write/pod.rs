//! Evictions of pods, deletions that bypass PodDisruptionBudgets, nominations to nodes, and
//! deletion costs.
//!
//! Source: <https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/>.

use controllers::ports::cluster::{PodDeletionCost, PodNomination};
use controllers::ports::{ErrorKind, Eviction, PodRef, PortError};
use domain::label::{MANAGED_POD_DELETION_COST, POD_DELETION_COST};
use http::StatusCode;
use serde_json::json;

use super::{FIELD_MANAGER, Target, is_gone};
use crate::call::{Call, Verb};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::kind::POD;

/// The cause of a 429 of the Eviction API that is due to a PodDisruptionBudget rather than to load.
const BY_BUDGET: &str = "DisruptionBudget";
/// The message of a refusal because several budgets select the pod; it has no cause of its own.
const SEVERAL_BUDGETS: &str = "more than one PodDisruptionBudget";

impl Connection {
    /// Evicts a pod by the Eviction API.
    pub(crate) async fn evict_pod(&self, pod: &PodRef) -> Result<Eviction, PortError> {
        let path = format!("{}/eviction", POD.path_in(&pod.key.namespace, &pod.key.name));
        let call = Call::new(Verb::Create, POD.subresource("eviction"), path)
            .on(&pod.key)
            .body(&json!({
                "apiVersion": "policy/v1",
                "kind": "Eviction",
                "metadata": { "name": &*pod.key.name, "namespace": &*pod.key.namespace },
                "deleteOptions": { "preconditions": { "uid": &*pod.uid } },
            }))
            .once_answered(is_answer);
        match self.call(&call).await {
            Ok(_) => Ok(Eviction::Accepted),
            Err(failure) if is_gone(&failure) => Ok(Eviction::Gone),
            Err(Failure::Refused(refusal)) if is_answer(&refusal) => {
                Ok(Eviction::Blocked { message: refusal.message.into() })
            }
            Err(failure) => Err(failure.into_port_error(&call)),
        }
    }

    /// Writes `status.nominatedNodeName`, provided that the pod is not bound and that nobody else
    /// has written the field since it was read.
    pub(crate) async fn nominate_pod(&self, nomination: &PodNomination) -> Result<(), PortError> {
        let PodNomination { pod, seen, node } = nomination;
        let path = format!("{}/status", POD.path_in(&pod.key.namespace, &pod.key.name));
        let field = "/status/nominatedNodeName";
        // A test against null holds where the field is not there.
        let mut operations = vec![
            json!({ "op": "test", "path": "/metadata/uid", "value": &*pod.uid }),
            json!({ "op": "test", "path": "/spec/nodeName", "value": null }),
            json!({ "op": "test", "path": field, "value": seen.as_deref() }),
        ];
        match (seen, node) {
            (_, Some(node)) => {
                operations.push(json!({ "op": "add", "path": field, "value": &**node }));
            }
            (Some(_), None) => operations.push(json!({ "op": "remove", "path": field })),
            (None, None) => return Ok(()),
        }
        let call = Call::new(Verb::Patch, POD.subresource("status"), path)
            .on(&pod.key)
            .query(&[("fieldManager", FIELD_MANAGER)])
            .operations(&operations.into());
        match self.call(&call).await {
            Ok(_) => Ok(()),
            Err(failure) if failure.is(StatusCode::UNPROCESSABLE_ENTITY) => {
                let cause = "it is bound by now, or nominated by somebody else";
                Err(PortError::new(ErrorKind::Conflict, call.to_string(), cause))
            }
            Err(failure) => Err(failure.into_port_error(&call)),
        }
    }

    /// Writes the annotation that ReplicaSets read when they shrink, unless somebody else has set
    /// it to something else: server-side apply refuses that with a conflict.
    ///
    /// The `status` subresource takes changes of annotations too, and no other right over pods is
    /// needed for it.
    ///
    /// Source: <https://kubernetes.io/docs/reference/using-api/server-side-apply/#conflicts>.
    pub(crate) async fn set_pod_deletion_cost(
        &self,
        change: &PodDeletionCost,
    ) -> Result<(), PortError> {
        let PodDeletionCost { pod, cost } = change;
        let path = format!("{}/status", POD.path_in(&pod.key.namespace, &pod.key.name));
        let cost = cost.to_string();
        let call = Call::new(Verb::Patch, POD.subresource("status"), path)
            .on(&pod.key)
            .query(&[("fieldManager", FIELD_MANAGER)])
            .applied(&json!({
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": &*pod.key.name,
                    "namespace": &*pod.key.namespace,
                    "uid": &*pod.uid,
                    "annotations": { POD_DELETION_COST: cost, MANAGED_POD_DELETION_COST: cost },
                },
            }));
        match self.call(&call).await {
            Ok(_) => Ok(()),
            Err(failure) => Err(failure.into_port_error(&call)),
        }
    }

    /// Deletes a pod, whatever its PodDisruptionBudgets.
    pub(crate) async fn delete_pod(
        &self,
        pod: &PodRef,
        grace_seconds: u32,
    ) -> Result<(), PortError> {
        let target = Target::in_namespace(&POD, &pod.key);
        let options = json!({
            "gracePeriodSeconds": grace_seconds.max(1),
            "preconditions": { "uid": &*pod.uid },
        });
        self.delete(&POD, &target, options).await
    }
}

/// Whether a refusal means that the pod may not be evicted now, rather than that the API server
/// failed.
fn is_answer(refusal: &crate::failure::Refusal) -> bool {
    let has_cause = |reason| refusal.causes.iter().any(|cause| cause == reason);
    match refusal.code {
        StatusCode::TOO_MANY_REQUESTS => has_cause(BY_BUDGET) || refusal.is_by_admission(),
        StatusCode::INTERNAL_SERVER_ERROR => refusal.message.contains(SEVERAL_BUDGETS),
        // Among them refusals in a terminating namespace, whose pods are being deleted anyway.
        _ => refusal.is_by_admission(),
    }
}
