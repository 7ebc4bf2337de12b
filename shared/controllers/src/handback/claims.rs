//! Handing claims over, one by one.

use domain::Text;

use super::report::{HandBackReport, LeftClaim};
use crate::ports::error::PortError;
use crate::ports::{ClaimStore, Cluster, Lease, Ports, Versioned};
use crate::record::claim::{ClaimPhase, ClaimRecord};
use crate::run::{Run, is_over, observe};
use crate::steps::snapshot::ClusterState;

/// Hands over every settled claim, under lifecycle's lease.
pub(super) async fn hand_over<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    lease: &Lease,
    report: &mut HandBackReport,
) -> Result<(), PortError> {
    let observed = observe(ports, lease).await?;
    for claim in &observed.claims {
        let name = claim.record.claim.name.clone();
        let why = if is_over(ports, run) {
            Some("the deadline of this call has passed".into())
        } else {
            unsettled(&claim.record)
        };
        let outcome = match why {
            Some(why) => Err(why),
            None => hand_one_over(ports, &observed, claim, report).await,
        };
        match outcome {
            Ok(()) => report.handed_back.push(name),
            Err(why) => report.left.push(LeftClaim { claim: name, why }),
        }
    }
    for claim in ports.store().unreadable_claims() {
        let why = "its record was written by a later version and cannot be read".into();
        report.left.push(LeftClaim { claim, why });
    }
    Ok(())
}

/// The NodeClaim object comes first: until the record is deleted, the next call repeats this.
async fn hand_one_over<P: Ports>(
    ports: &P,
    observed: &ClusterState,
    claim: &Versioned<ClaimRecord>,
    report: &mut HandBackReport,
) -> Result<(), Text> {
    let Versioned { record, version } = claim;
    let name = &record.claim.name;
    if !was_released(observed, record) {
        let mirrored = ports.cluster().mirror_node_claim(&record.claim).await;
        let released = match mirrored {
            Ok(()) => ports.cluster().release_node_claim(name, &record.claim.uid).await,
            Err(error) => Err(error),
        };
        failed(report, format!("hand over NodeClaim {name}"), released)?;
    }
    let deleted = ports.store().delete_claim(name, *version).await;
    failed(report, format!("delete the record of claim {name}"), deleted)
}

/// Records a failed call as a problem, and as the reason why the claim is left.
fn failed(
    report: &mut HandBackReport,
    operation: String,
    result: Result<(), PortError>,
) -> Result<(), Text> {
    let why = result.as_ref().err().map(|error| format!("{operation}: {error}").into());
    report.problems.record(|| operation, result);
    why.map_or(Ok(()), Err)
}

/// Whether an earlier call handed the object over and died before it deleted the record: the object
/// mirrors no claim any more and has the same instance.
fn was_released(observed: &ClusterState, record: &ClaimRecord) -> bool {
    observed.listing.node_claims.iter().any(|object| {
        object.claim.name == record.claim.name
            && object.mirror_of.is_none()
            && object.claim.uid != record.claim.uid
            && object.claim.status.provider_id == record.claim.status.provider_id
    })
}

/// Why Karpenter could not manage a claim yet: it has no instance, or is ending.
fn unsettled(record: &ClaimRecord) -> Option<Text> {
    match record.phase() {
        ClaimPhase::Launched | ClaimPhase::Registered | ClaimPhase::Initialized => None,
        ClaimPhase::Pending => Some(
            "it has no instance yet: it is launched, or given up after its launch timeout".into(),
        ),
        ClaimPhase::Ending => {
            let reason = record.ending.as_ref().map_or("", |ending| ending.reason.as_str());
            let why = format!(
                "it is ending ({reason}): its node is drained, then its instance is terminated"
            );
            Some(why.into())
        }
    }
}
