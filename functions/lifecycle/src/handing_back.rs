//! An invocation that hands the cluster back, or takes it back.

use controllers::disruption::CommandChange;
use controllers::handback::{HandBackReport, hand_back, take_back as take};
use lambda::hand_back::HandBackAnswer;
use lambda::{Failure, Tick};

/// Hands over what can be handed over now, and answers what is left.
pub(super) async fn hand_over(tick: &Tick<'_>) -> Result<(), Failure> {
    let (ports, terms) = (tick.adapters().await?, tick.run()?);
    let outcome = Box::pin(hand_back(&*ports, &terms)).await?;
    tick.answer_hand_back(HandBackAnswer::of(&outcome));
    // A round like any other, as far as alarms and metrics go.
    tick.round(Ok(outcome), |report| told(tick, report));
    Ok(())
}

/// Has functions look after the cluster again.
pub(super) async fn take_back(tick: &Tick<'_>) -> Result<(), Failure> {
    let ports = tick.adapters().await?;
    if take(&*ports).await? {
        tracing::info!("the cluster had been handed back, and is looked after again");
    }
    Ok(())
}

fn told(tick: &Tick<'_>, report: &HandBackReport) {
    for CommandChange { command, nodes, what, .. } in &report.disruption.changes {
        tracing::info!(%command, nodes = nodes.join(","), event = ?what, "a disruption command changed");
    }
    super::told(tick, &report.lifecycle);
    for claim in &report.handed_back {
        tracing::info!(%claim, "handed back");
    }
    for left in &report.left {
        tracing::info!(claim = %left.claim, why = %left.why, "not handed back yet");
    }
    tick.done("handedBack", report.handed_back.len());
    tick.problems(&report.disruption.problems);
    tick.problems(&report.problems);
}
