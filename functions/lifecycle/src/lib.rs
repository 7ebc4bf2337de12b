//! Function `lifecycle`: claims through Launched, Registered and Initialized, and to their end.
//! Invoked every minute for each cluster, by whoever launches or ends claims, and by itself while
//! work is in progress.

mod hand_back;
mod telemetry;

use controllers::admission::admit;
use controllers::handback::is_handed_back;
use controllers::interruption::check_health;
use controllers::lifecycle::advance;
use controllers::node_classes::resolve;
use controllers::record::fuses::Urgency;
use controllers::requeue::reconcile_until_idle;
use controllers::run::Run;
use controllers::safeguards::Scope;
use lambda::process::Adapters;
use lambda::{Failure, Invocation, Reaction};

use hand_back::{hand_over, take_back};
use telemetry::{record_health, record_node_classes, record_report};

/// The function's name.
pub const NAME: &str = "lifecycle";

/// One invocation.
///
/// Node classes come first: a NodePool is ready once its class is, and nothing is launched before.
/// Then EC2's status checks, which no queue brings.
pub async fn run(invocation: &Invocation<'_>) -> Result<(), Failure> {
    let (ports, terms) = (invocation.adapters().await?, invocation.run()?);
    let telemetry = invocation.telemetry;
    match invocation.hand_back {
        Some(true) => return hand_over(invocation).await,
        Some(false) => take_back(invocation).await?,
        // Resolving node classes needs no lease, so the lease of a hand-back would not stop it.
        None if is_handed_back(&*ports).await? => {
            telemetry.record_handed_back();
            return Ok(());
        }
        None => {}
    }
    match admit(&*ports, &terms).await? {
        // Often enough once a minute.
        Ok(_) if invocation.is_message => {}
        Ok(admission) => prepare(invocation, &ports, &terms, admission.scope).await,
        Err(stopped) => {
            telemetry.record_stopped(&stopped);
            return Ok(());
        }
    }
    let record = |result| telemetry.record_run(result, |report| record_report(telemetry, report));
    match invocation.reaction {
        Reaction::Watch | Reaction::Tick => {
            Box::pin(reconcile_until_idle(&*ports, &terms, advance, record)).await;
        }
        Reaction::Poll => record(Box::pin(advance(&*ports, &terms)).await),
    }
    Ok(())
}

/// What comes before the claims, and needs no lease.
async fn prepare(invocation: &Invocation<'_>, ports: &Adapters, terms: &Run<'_>, scope: Scope) {
    let telemetry = invocation.telemetry;
    if scope == Scope::All {
        match Box::pin(resolve(ports, terms)).await {
            Ok(report) => record_node_classes(telemetry, &report),
            Err(error) => telemetry.record_problem("resolve node classes", &error),
        }
    }
    if scope != Scope::Nothing {
        let terms = Run { urgency: Urgency::Interruption, ..*terms };
        match Box::pin(check_health(ports, &terms)).await {
            Ok(report) => record_health(telemetry, &report),
            Err(error) => telemetry.record_problem("check instance statuses", &error),
        }
    }
}
