//! Planning where nothing may be launched: the plan is stored, and events say what it has.

use domain::node_pool::NodePool;

use super::expendable::ExpendablePods;
use super::{ProvisioningReport, events, longest_wait};
use crate::ports::error::PortError;
use crate::ports::{ClaimStore, Ports};
use crate::record::observation::{Observation, Observer};
use crate::run::{Run, record_events};
use crate::steps::snapshot::{ClusterState, snapshot};

/// What messages of events begin with whose plans are not carried out.
const OBSERVING: &str = "observing only";

/// Plans for pending pods, stores the plan and records its events. Nothing else changes.
pub(super) async fn observe_pending<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    observed: &ClusterState,
) -> Result<ProvisioningReport, PortError> {
    let mut report = ProvisioningReport::default();
    let snapshot = snapshot(observed, run.settings);
    report.plan = (run.core.schedule)(&snapshot);
    report.longest_wait = longest_wait(&report.plan, observed);
    report.expendable = ExpendablePods::of(&report.plan, observed);
    report.refused = (run.core.check)(&snapshot, &report.plan);
    store(ports, &mut report, observed).await;
    let mut events = events(&report.plan, observed);
    for event in &mut events {
        event.message = format!("{OBSERVING}: {}", event.message).into();
    }
    record_events(ports.cluster(), &events, &mut report.problems).await;
    Ok(report)
}

async fn store<P: Ports>(ports: &P, report: &mut ProvisioningReport, observed: &ClusterState) {
    let (plan, refused) = (&report.plan, report.refused.clone());
    let observation = Observation::of(Observer::Provisioning, plan, refused, observed.now);
    let stored = ports.store().put_observation(&observation).await;
    report.problems.record(|| "store the observed plan".to_owned(), stored);
}

/// Takes NodePools that are only observed out of the state, and stores what would be launched with
/// them. Pods that could run in another NodePool get their nodes from that.
pub(super) async fn leave_out<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    observed: &mut ClusterState,
    report: &mut ProvisioningReport,
) {
    if !observed.listing.objects.node_pools.iter().any(NodePool::is_only_observed) {
        return;
    }
    let snapshot = snapshot(observed, run.settings);
    let mut of_all =
        ProvisioningReport { plan: (run.core.schedule)(&snapshot), ..Default::default() };
    of_all.refused = (run.core.check)(&snapshot, &of_all.plan);
    store(ports, &mut of_all, observed).await;
    report.problems.0.append(&mut of_all.problems.0);
    observed.listing.objects.node_pools.retain(|pool| !pool.is_only_observed());
}
