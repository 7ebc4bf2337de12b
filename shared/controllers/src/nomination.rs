//! Nominates pods to the nodes that were planned for them.

use std::collections::BTreeMap;

use domain::Text;
use domain::node::Node;
use domain::pod::PodKey;

use crate::pod_writes::write_to_pods;
use crate::ports::{Cluster, Ports};
use crate::run::{Problems, Run};
use crate::steps::pod_nomination::pod_nominations;
use crate::steps::snapshot::ClusterState;

/// Writes `status.nominatedNodeName` of waiting pods: `places` has them by the name of the node
/// that they are planned on, and `takes_pods` says of a Node whether pods may be nominated to it
/// now. Does nothing where feature gate `PodNomination` is off.
///
/// What cannot be written now is written by a later run, as long as the plan holds. Returns the
/// calls that failed.
pub(crate) async fn nominate_pods<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    observed: &ClusterState,
    places: &BTreeMap<Text, Vec<PodKey>>,
    takes_pods: impl Fn(&Node) -> bool,
) -> Problems {
    if !run.settings.feature_gates.pod_nomination {
        return Problems::default();
    }
    let changes = pod_nominations(observed, places, takes_pods);
    let cluster = ports.cluster();
    let writes = changes.iter().map(|own| (&own.pod.key, cluster.nominate_pod(own)));
    write_to_pods(ports, run, "nominate pod", writes).await
}
