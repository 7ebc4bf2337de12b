//! Replicas of workloads, set by the scale subresource, which is the same for every kind that has
//! one.
//!
//! Source: <https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/deployment-v1/>.

use controllers::ports::PortError;
use controllers::ports::cluster::WorkloadRef;
use serde_json::json;

use super::Target;
use crate::call::{Call, Verb};
use crate::connection::Connection;
use crate::kind::of_workload;

impl Connection {
    /// Sets the replicas of a workload.
    pub(crate) async fn scale_workload(
        &self,
        workload: &WorkloadRef,
        replicas: u32,
    ) -> Result<(), PortError> {
        let kind = of_workload(workload.kind);
        let Target { path, shown } = Target::in_namespace(kind, &workload.key);
        let call = Call::new(Verb::Patch, kind.subresource("scale"), format!("{path}/scale"));
        self.patch(call.on(shown), &json!({ "spec": { "replicas": replicas } })).await.map(drop)
    }
}
