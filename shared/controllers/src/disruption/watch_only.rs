//! Proposing where nothing may be disrupted: what would be proposed is stored.

use domain::node_pool::NodePool;
use domain::plan::Plan;

use super::DisruptionReport;
use crate::ports::error::PortError;
use crate::ports::{ClaimStore, Lease, Ports};
use crate::record::observation::{Observation, Observer};
use crate::run::{Problems, Run, observe};
use crate::steps::command::checked;
use crate::steps::snapshot::{ClusterState, snapshot};

/// Looks for disruptions, and stores them. Nothing else changes.
pub(super) async fn observe_candidates<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    lease: &Lease,
) -> Result<DisruptionReport, PortError> {
    let observed = observe(ports, lease).await?;
    let mut report = DisruptionReport::default();
    let plan = store(ports, run, &observed, &mut report.problems).await;
    report.blocked = plan.blocked;
    Ok(report)
}

async fn store<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    observed: &ClusterState,
    problems: &mut Problems,
) -> Plan {
    let snapshot = snapshot(observed, run.settings);
    let plan = (run.core.propose)(&snapshot);
    let refused = checked(&run.core, &snapshot, plan.disruptions.clone());
    let observation = Observation::of(Observer::Disruption, &plan, refused, observed.now);
    let stored = ports.store().put_observation(&observation).await;
    problems.record(|| "store the observed plan".to_owned(), stored);
    plan
}

/// Takes NodePools that are only observed out of the state, and stores what would be disrupted with
/// them. Nodes without a NodePool are no candidates.
pub(super) async fn leave_out<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    observed: &mut ClusterState,
    problems: &mut Problems,
) {
    if !observed.listing.objects.node_pools.iter().any(NodePool::is_only_observed) {
        return;
    }
    let _plan = store(ports, run, observed, problems).await;
    observed.listing.objects.node_pools.retain(|pool| !pool.is_only_observed());
}
