//! Nominates pods to the nodes that were planned for them.

use std::collections::BTreeMap;

use domain::Text;
use domain::node::Node;
use domain::pod::PodKey;
use futures_util::future::join_all;

use crate::ports::{Cluster, ErrorKind, Ports};
use crate::run::{Problems, Run, is_over};
use crate::steps::pod_nomination::pod_nominations;
use crate::steps::snapshot::ClusterState;

/// The most calls at once.
const NOMINATIONS_CONCURRENCY_MAX: usize = 20;

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
    let mut problems = Problems::default();
    if !run.settings.feature_gates.pod_nomination {
        return problems;
    }
    let changes = pod_nominations(observed, places, takes_pods);
    for batch in changes.chunks(NOMINATIONS_CONCURRENCY_MAX) {
        if is_over(ports, run) {
            break;
        }
        let answers = join_all(batch.iter().map(|own| ports.cluster().nominate_pod(own))).await;
        for (change, answer) in batch.iter().zip(answers) {
            let Err(error) = answer else { continue };
            match error.kind {
                // The pod is bound or gone by now, or kube-scheduler preempts others for it.
                ErrorKind::Conflict | ErrorKind::NotFound => {}
                ErrorKind::Denied => {
                    // One word is enough: the right is missing for all of them.
                    problems.record(|| "nominate pods".to_owned(), Err::<(), _>(error));
                    return problems;
                }
                _ => {
                    let operation = || format!("nominate pod {}", change.pod.key);
                    problems.record(operation, Err::<(), _>(error));
                }
            }
        }
    }
    problems
}
