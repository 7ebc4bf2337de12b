//! Writes to many pods, some at once.

use std::future::Future;

use domain::pod::PodKey;
use futures_util::future::join_all;

use crate::ports::{ErrorKind, PortError, Ports};
use crate::run::{Problems, Run, is_over};

/// The most calls at once.
const POD_WRITES_CONCURRENCY_MAX: usize = 20;

/// Makes writes, each to one pod, until the run's time is over. Returns the calls that failed, as
/// `what`, such as "nominate pod".
///
/// A pod that is gone, or that somebody else has changed, is no failure: a later run sees it. Where
/// the right is missing, that is said once.
pub(crate) async fn write_to_pods<P: Ports, F: Future<Output = Result<(), PortError>>>(
    ports: &P,
    run: &Run<'_>,
    what: &str,
    writes: impl Iterator<Item = (&PodKey, F)>,
) -> Problems {
    let mut problems = Problems::default();
    let mut writes = writes.fuse();
    while !is_over(ports, run) {
        let batch = writes.by_ref().take(POD_WRITES_CONCURRENCY_MAX);
        let (pods, calls): (Vec<&PodKey>, Vec<F>) = batch.unzip();
        if pods.is_empty() {
            break;
        }
        for (pod, answer) in pods.into_iter().zip(join_all(calls).await) {
            let Err(error) = answer else { continue };
            match error.kind {
                ErrorKind::Conflict | ErrorKind::NotFound => {}
                ErrorKind::Denied => {
                    problems.record(|| format!("{what}s"), Err::<(), _>(error));
                    return problems;
                }
                _ => {
                    problems.record(|| format!("{what} {pod}"), Err::<(), _>(error));
                }
            }
        }
    }
    problems
}
