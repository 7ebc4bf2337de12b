//! What containers use, as the metrics API of a cluster says: for recordings.
//!
//! Source: <https://kubernetes.io/docs/tasks/debug/debug-cluster/resource-metrics-pipeline/>.

use controllers::ports::PortError;
use domain::quantity::{Quantity, QuantityError};
use http::StatusCode;
use serde::Deserialize;

use crate::call::{Call, Verb};
use crate::connection::Connection;
use crate::failure::Failure;

const RESOURCE: &str = "podmetrics";
const PATH: &str = "/apis/metrics.k8s.io/v1beta1/pods";

/// What a container used, averaged over the last seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerUsage {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub pod: String,
    /// The container's name.
    pub container: String,
    /// CPU, in millicores, rounded up.
    pub cpu_millis: i64,
    /// Memory of its working set, in bytes.
    pub memory_bytes: i64,
}

#[derive(Deserialize)]
struct PodMetricsList {
    #[serde(default)]
    items: Vec<PodMetrics>,
}

#[derive(Deserialize)]
struct PodMetrics {
    metadata: Metadata,
    #[serde(default)]
    containers: Vec<ContainerMetrics>,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    namespace: String,
}

#[derive(Deserialize)]
struct ContainerMetrics {
    name: String,
    usage: Use,
}

#[derive(Deserialize)]
struct Use {
    #[serde(default)]
    cpu: String,
    #[serde(default)]
    memory: String,
}

/// What all containers of the cluster use now; `None` where it has no metrics API.
pub(crate) async fn usage(
    connection: &Connection,
) -> Result<Option<Vec<ContainerUsage>>, PortError> {
    let call = Call::new(Verb::List, RESOURCE, PATH.to_owned());
    let read = connection.call(&call).await.and_then(|body| {
        serde_json::from_slice::<PodMetricsList>(&body)
            .map_err(|error| Failure::Broken(format!("not a list: {error}")))
    });
    let list = match read {
        Ok(list) => list,
        Err(failure) if failure.is(StatusCode::NOT_FOUND) => return Ok(None),
        Err(failure) => return Err(failure.into_port_error(&call)),
    };
    let mut all = Vec::new();
    for pod in list.items {
        for container in pod.containers {
            let amounts = amounts(&container.usage).map_err(|error| {
                let name = format!("{}/{}", pod.metadata.namespace, pod.metadata.name);
                Failure::Broken(format!("PodMetrics {name}, container {}: {error}", container.name))
                    .into_port_error(&call)
            })?;
            all.push(ContainerUsage {
                namespace: pod.metadata.namespace.clone(),
                pod: pod.metadata.name.clone(),
                container: container.name,
                cpu_millis: amounts.0,
                memory_bytes: amounts.1,
            });
        }
    }
    Ok(Some(all))
}

/// Millicores and bytes.
fn amounts(usage: &Use) -> Result<(i64, i64), QuantityError> {
    let read = |text: &str| if text.is_empty() { Ok(Quantity::default()) } else { text.parse() };
    Ok((read(&usage.cpu)?.to_millis_ceil(), read(&usage.memory)?.to_units_ceil()))
}
