//! Letting pods go: evictions, and deletions past budgets.
//!
//! Source: <https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/>.

use controllers::ports::{Eviction, PodRef, PortError};
use http::StatusCode;
use serde_json::json;

use super::is_gone;
use crate::call::{Call, Verb};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::kind::POD;

/// Why the Eviction API refuses with 429, where it is for a PodDisruptionBudget rather than for load.
const BY_BUDGET: &str = "DisruptionBudget";
/// What it says where several budgets guard one pod; the answer has no word for it.
const SEVERAL_BUDGETS: &str = "more than one PodDisruptionBudget";
/// What admission says of new content in a namespace that is going: its pods are being deleted anyway.
const NAMESPACE_TERMINATING: &str = "NamespaceTerminating";

impl Connection {
    /// Asks the Eviction API to let a pod go.
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

    /// Deletes a pod past its budgets.
    pub(crate) async fn delete_pod(
        &self,
        pod: &PodRef,
        grace_seconds: u32,
    ) -> Result<(), PortError> {
        let target = (POD.path_in(&pod.key.namespace, &pod.key.name), pod.key.to_string());
        let options = json!({
            "gracePeriodSeconds": grace_seconds.max(1),
            "preconditions": { "uid": &*pod.uid },
        });
        self.delete(&POD, target, options).await
    }
}

/// Whether a refusal says that the pod may not go now, rather than that nobody could look.
fn is_answer(refusal: &crate::failure::Refusal) -> bool {
    let has_cause = |reason| refusal.causes.iter().any(|cause| cause == reason);
    match refusal.code {
        StatusCode::TOO_MANY_REQUESTS => has_cause(BY_BUDGET),
        StatusCode::INTERNAL_SERVER_ERROR => refusal.message.contains(SEVERAL_BUDGETS),
        StatusCode::FORBIDDEN => has_cause(NAMESPACE_TERMINATING),
        _ => false,
    }
}
