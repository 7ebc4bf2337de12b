//! Function `lifecycle`: claims through Launched, Registered and Initialized, and to their end. Wakes every
//! minute for each cluster, and stays while work is in flight.

mod handing_back;

use controllers::handback::is_handed_back;
use controllers::interruption::{HealthReport, Unhealthy, check_health};
use controllers::lifecycle::{Change, ClaimChange, LifecycleReport, Orphan, advance};
use controllers::node_classes::{NodeClassReport, resolve};
use controllers::requeue::reconcile_until_idle;
use lambda::metrics::Unit;
use lambda::{Failure, Reaction, Tick};

/// The function's name.
pub const NAME: &str = "lifecycle";

/// One invocation.
///
/// Node classes come first: a NodePool is ready once its class is, and nothing is launched before. Then what
/// EC2's own checks say, which no queue brings.
pub async fn run(tick: &Tick<'_>) -> Result<(), Failure> {
    let (ports, terms) = (tick.adapters().await?, tick.run()?);
    match tick.hand_back {
        Some(true) => return handing_back::hand_over(tick).await,
        Some(false) => handing_back::take_back(tick).await?,
        // Node classes are not ours either, and need no lease.
        None if is_handed_back(&*ports).await? => {
            tick.handed_back();
            return Ok(());
        }
        None => {}
    }
    match Box::pin(resolve(&*ports, &terms)).await {
        Ok(report) => classes(tick, &report),
        Err(error) => tick.problem("resolve node classes", &error),
    }
    match Box::pin(check_health(&*ports, &terms)).await {
        Ok(report) => health(tick, &report),
        Err(error) => tick.problem("ask for status checks", &error),
    }
    let tell = |result| tick.round(result, |report| told(tick, report));
    match tick.reaction {
        Reaction::Watch => Box::pin(reconcile_until_idle(&*ports, &terms, advance, tell)).await,
        Reaction::Poll => tell(Box::pin(advance(&*ports, &terms)).await),
    }
    Ok(())
}

fn classes(tick: &Tick<'_>, report: &NodeClassReport) {
    for (class, why) in &report.not_ready {
        tracing::warn!(%class, %why, "a node class cannot be launched from");
    }
    for (class, claims) in &report.held {
        tracing::info!(%class, claims, "a node class that is being deleted is used still");
    }
    for class in &report.released {
        tracing::info!(%class, "a node class was released");
    }
    tick.problems(&report.problems);
}

fn health(tick: &Tick<'_>, report: &HealthReport) {
    for Unhealthy { claim, instance_id, category } in &report.unhealthy {
        tracing::warn!(%claim, instance = %instance_id, category, "EC2 finds an instance impaired, or is to change it: its claim ends");
        let labels = [("category", *category)];
        let name = "karpenter_interruption_instance_status_unhealthy_total";
        tick.metrics.count(name, &labels, 1);
    }
    tick.done("unhealthy", report.unhealthy.len());
    let acted = &report.acted;
    if let Some(provisioning) = &acted.provisioning {
        tick.refused(&provisioning.refused);
        provisioning::launches(tick, &provisioning.resumed, "resumed");
        provisioning::launches(tick, &provisioning.launched, "unhealthy");
        tick.problems(&provisioning.problems);
    }
    if let Some(lifecycle) = &acted.lifecycle {
        told(tick, lifecycle);
    }
    tick.problems(&acted.problems);
}

fn told(tick: &Tick<'_>, report: &LifecycleReport) {
    for change in &report.changes {
        changed(tick, change);
    }
    for orphan in &report.orphans {
        match orphan {
            Orphan::Instance(id) => {
                tracing::warn!(instance = %id, "an instance without a claim was ended");
            }
            Orphan::NodeClaim(name) => {
                tracing::info!(%name, "a NodeClaim without a claim was removed");
            }
            Orphan::Node(name) => tracing::info!(%name, "a Node without an instance was released"),
        }
    }
    tick.done("orphans", report.orphans.len());
    for ((instance_type, capacity_type), count) in &report.instances {
        let labels =
            [("capacity_type", capacity_type.as_str()), ("instance_type", &**instance_type)];
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let count = *count as f64;
        tick.metrics.gauge("outrigger_nodes", &labels, Unit::Count, count);
    }
    if report.left > 0 {
        tracing::info!(left = report.left, "claims wait for the next round");
    }
    tick.problems(&report.problems);
}

fn changed(tick: &Tick<'_>, ClaimChange { claim, what }: &ClaimChange) {
    tracing::info!(%claim, change = ?what, "a claim changed");
    let count = |name| tick.metrics.count(name, &[], 1);
    match what {
        Change::Registered(_) => {
            count("karpenter_nodes_created_total");
            tick.done("registered", 1);
        }
        Change::Initialized(_) => tick.done("initialized", 1),
        Change::Ending(reason) => {
            let labels = [("reason", reason.as_str())];
            tick.metrics.count("karpenter_nodeclaims_disrupted_total", &labels, 1);
            tick.done("ending", 1);
        }
        Change::Evicted(_) => {
            tick.metrics.count("karpenter_pods_eviction_requests_total", &[("code", "201")], 1);
        }
        Change::EvictionBlocked(..) => {
            tick.metrics.count("karpenter_pods_eviction_requests_total", &[("code", "429")], 1);
        }
        Change::Drained => count("karpenter_nodes_drained_total"),
        Change::Ended(_) => {
            count("karpenter_nodeclaims_terminated_total");
            count("karpenter_nodes_terminated_total");
            tick.done("ended", 1);
        }
        // Seen in the log; nothing to count.
        _ => {}
    }
}
