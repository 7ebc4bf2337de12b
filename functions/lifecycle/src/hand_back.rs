//! An invocation that hands the cluster back to Karpenter, or takes it over again.

use controllers::handback::{hand_back, take_back as take};
use lambda::hand_back::HandBackAnswer;
use lambda::{Failure, Invocation};

use crate::telemetry::record_hand_back;

/// Hands back what can be handed back now, and answers what is left.
pub(crate) async fn hand_over(invocation: &Invocation<'_>) -> Result<(), Failure> {
    let (ports, terms) = (invocation.adapters().await?, invocation.run()?);
    let telemetry = invocation.telemetry;
    let outcome = Box::pin(hand_back(&*ports, &terms)).await?;
    telemetry.set_hand_back(HandBackAnswer::of(&outcome));
    // For alarms and metrics it is a run like any other.
    telemetry.record_run(Ok(outcome), |report| record_hand_back(telemetry, report));
    Ok(())
}

/// Takes the cluster over again after it was handed back.
pub(crate) async fn take_back(invocation: &Invocation<'_>) -> Result<(), Failure> {
    let ports = invocation.adapters().await?;
    if take(&*ports).await? {
        tracing::info!("cluster taken over again after it was handed back");
    }
    Ok(())
}
