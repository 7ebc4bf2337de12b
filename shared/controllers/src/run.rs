//! What runs of all controllers share: their parameters, listing, and changes of records.

use std::borrow::Cow;

use domain::node_claim::ConditionType;
use domain::settings::Settings;
use domain::{SignedDuration, Text, Timestamp};
use futures_util::future::join_all;

use crate::core::Core;
use crate::event::Event;
use crate::ports::error::{ErrorKind, PortError};
use crate::ports::{ClaimStore, Clock, Cloud, Cluster, Lease, Ports, SpotRecords, Versioned};
use crate::record::claim::{ClaimRecord, later};
use crate::record::fuses::Urgency;
use crate::safeguards::{Safeguards, Stopped};
use crate::spot::merged;
use crate::steps::pod_events::record_pod_events;
use crate::steps::snapshot::{ClusterState, SpotMemory};

/// Attempts to change a record that others change as well.
const CHANGE_ATTEMPTS: usize = 4;

/// The parameters of one run.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The cluster's name.
    pub cluster: &'a str,
    /// Settings.
    pub settings: &'a Settings,
    /// What holds unless an operator has said something else of this cluster.
    pub safeguards: &'a Safeguards,
    /// Whether the run replaces nodes that EC2 interrupts.
    pub urgency: Urgency,
    /// The planner and checker, or a test's own.
    pub core: Core,
    /// Id of the run, unique to it; holder of its leases.
    pub id: &'a str,
    /// When no new work is started; what is left is done by the next run.
    pub deadline: Timestamp,
    /// When the process is ended at the latest, whatever it does then.
    pub process_ends: Timestamp,
    /// Whether functions wake each other by message. They do not where a cluster is looked at once
    /// a minute, nor where there is no queue.
    pub wakes: bool,
    /// The fencing token of the run that this one continues: it does not take place where another
    /// has since. `None` for one that takes place whatever others did.
    pub continues: Option<u64>,
}

/// Whether a run took place, or left the work to a run that is in progress.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum RunOutcome<R> {
    /// It took place; its report.
    Ran(R),
    /// Another run holds the lease.
    Held(Lease),
    /// Nothing may be done in the cluster now.
    Stopped(Stopped),
    /// Another run has taken place since the one that this would continue, and goes on with its
    /// work.
    Superseded,
}

impl<R> RunOutcome<R> {
    /// The report of a run that took place.
    pub fn ran(self) -> Option<R> {
        match self {
            Self::Ran(report) => Some(report),
            Self::Held(_) | Self::Stopped(_) | Self::Superseded => None,
        }
    }
}

/// A call that failed without stopping the run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operation}: {error}")]
pub struct Problem {
    /// What was attempted, such as `write claim web-1`.
    pub operation: Text,
    /// The error.
    #[source]
    pub error: PortError,
}

/// The problems of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(pub Vec<Problem>);

impl Problems {
    /// The value of a call that succeeded; records the error of one that failed.
    pub(crate) fn record<T>(
        &mut self,
        operation: impl FnOnce() -> String,
        result: Result<T, PortError>,
    ) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.0.push(Problem { operation: operation().into(), error });
                None
            }
        }
    }
}

/// Whether the deadline has passed and no new work is to be started.
pub(crate) fn is_over<P: Ports>(ports: &P, run: &Run<'_>) -> bool {
    ports.clock().now() >= run.deadline
}

/// Lists everything. Claims are read before the cluster, so that the Node and the NodeClaim object
/// of each claim are listed if they exist. `now` is taken before the cluster is listed: a wait that
/// is measured from it never includes time in which the cluster was not listed.
pub(crate) async fn observe<P: Ports>(ports: &P, lease: &Lease) -> Result<ClusterState, PortError> {
    let store = ports.store();
    let claims = store.claims().await?;
    let commands = store.commands().await?;
    let unavailable = store.unavailable_offerings().await?;
    let nominations = store.nominations().await?;
    let SpotRecords { own, others } = store.spot_records().await?;
    let all = merged(own.iter().map(|own| &own.record).chain(&others));
    let now = ports.clock().now();
    let listing = ports.cluster().observe().await?;
    let instance_types = ports.cloud().instance_types(&listing.objects.node_classes).await?;
    Ok(ClusterState {
        now,
        seed: seed(lease, now),
        listing,
        claims,
        commands,
        unavailable,
        nominations,
        spot: SpotMemory { all, own },
        instance_types,
    })
}

/// A seed that differs from run to run, so that claims of two runs never share a name.
fn seed(lease: &Lease, now: Timestamp) -> u64 {
    let millis = now.as_millisecond().unsigned_abs();
    lease.token.rotate_left(44) ^ millis
}

/// Changes a claim whatever its version; `None` when it is gone, or another claim has its name.
///
/// `change` may be given a newer record than `claim`; a record that it returns unchanged is not
/// written.
pub(crate) async fn change_claim<S: ClaimStore>(
    store: &S,
    claim: Versioned<ClaimRecord>,
    change: impl Fn(ClaimRecord) -> ClaimRecord,
) -> Result<Option<Versioned<ClaimRecord>>, PortError> {
    let (name, uid) = (claim.record.claim.name.clone(), claim.record.claim.uid.clone());
    let mut current = claim;
    let mut conflict = None;
    for _ in 0..CHANGE_ATTEMPTS {
        let record = change(current.record.clone());
        if record == current.record {
            return Ok(Some(current));
        }
        match store.update_claim(&record, current.version).await {
            Ok(version) => return Ok(Some(Versioned { record, version })),
            Err(error) if error.kind == ErrorKind::Conflict => conflict = Some(error),
            Err(error) => return Err(error),
        }
        match store.claim(&name).await? {
            Some(newer) if newer.record.claim.uid == uid => current = newer,
            _ => return Ok(None),
        }
    }
    Err(conflict.unwrap_or_else(|| {
        PortError::new(
            ErrorKind::Conflict,
            format!("change claim {name}"),
            "it was changed concurrently on every attempt",
        )
    }))
}

/// The most claims that are written at once.
const CLAIMS_CONCURRENCY_MAX: usize = 20;

/// Stores which pods came to and left nodes, as this list of the cluster has it: `consolidateAfter`
/// counts from when any function saw the change first. A claim that another run has written
/// meanwhile stays as it is.
pub(crate) async fn note_pod_events<S: ClaimStore>(
    store: &S,
    observed: &mut ClusterState,
    problems: &mut Problems,
) {
    let pods = observed.pods_by_node();
    let mut changed: Vec<(usize, ClaimRecord)> = Vec::new();
    for (index, claim) in observed.claims.iter().enumerate() {
        let own = &claim.record.claim;
        let is_watched = own.is(ConditionType::Initialized) && claim.record.ending.is_none();
        let Some(node) = own.status.node_name.as_ref().filter(|_| is_watched) else { continue };
        let mut record = Cow::Borrowed(&claim.record);
        let on_node = pods.get(node).map(Vec::as_slice).unwrap_or_default();
        let known = &observed.listing.pod_fingerprints;
        record_pod_events(&mut record, on_node, known, observed.now);
        if let Cow::Owned(record) = record {
            changed.push((index, record));
        }
    }
    for batch in changed.chunks(CLAIMS_CONCURRENCY_MAX) {
        let versions = batch.iter().map(|(index, _)| observed.claims[*index].version);
        let writes = batch
            .iter()
            .zip(versions)
            .map(|((_, record), version)| store.update_claim(record, version));
        for ((index, record), written) in batch.iter().zip(join_all(writes).await) {
            match written {
                Ok(version) => {
                    observed.claims[*index] = Versioned { record: record.clone(), version };
                }
                Err(error) if error.kind == ErrorKind::Conflict => {}
                Err(error) => {
                    let operation = || format!("write claim {}", record.claim.name);
                    problems.record(operation, Err::<(), _>(error));
                }
            }
        }
    }
}

/// Records events. A failure is a problem of the run and no more.
pub(crate) async fn record_events<C: Cluster>(
    cluster: &C,
    events: &[Event],
    problems: &mut Problems,
) {
    if !events.is_empty() {
        let operation = || format!("record {} events", events.len());
        problems.record(operation, cluster.record_events(events).await);
    }
}

/// A moment later than `now`; saturates at the end of time.
pub(crate) fn after(now: Timestamp, by: SignedDuration) -> Timestamp {
    later(now, by).unwrap_or(now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::FunctionName;
    use crate::testing::at;

    #[test]
    fn no_two_runs_draw_names_from_one_seed() {
        let lease = |token| Lease {
            function: FunctionName::Provisioning,
            holder: "run".into(),
            token,
            until: at(60),
        };
        let seeds = [
            seed(&lease(1), at(0)),
            seed(&lease(2), at(0)),
            seed(&lease(1), at(0) + SignedDuration::from_millis(1)),
        ];
        assert!(seeds[0] != seeds[1] && seeds[0] != seeds[2] && seeds[1] != seeds[2]);
    }
}
