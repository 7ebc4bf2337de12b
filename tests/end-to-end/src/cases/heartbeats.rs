//! Functions that do not succeed any more are counted by lifecycle.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use end_to_end::stack::{Stack, poll};
use end_to_end::world::World;
use serde_json::Value;

use super::provisioning::with_defaults;

crate::cases![a_function_that_has_not_succeeded_for_too_long_is_late];

/// Five intervals of a minute, and a moment.
const TOO_LONG: Duration = Duration::from_secs(301);

async fn a_function_that_has_not_succeeded_for_too_long_is_late(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    stack.tick().await?;
    ensure!(late(&mut stack).await? == (0.0, Vec::new()), "all have succeeded");
    world.age_success("provisioning", TOO_LONG).await?;
    ensure!(late(&mut stack).await? == (1.0, vec!["provisioning".into()]));
    // A pause is no trouble: whoever finds it has done its work.
    world.set_control("mode", "paused").await?;
    // A process that has noted a success does not note the next minute's.
    stack.provisioning.cool().await?;
    stack.provisioning.invoke(&poll()).await?.answer()?;
    ensure!(late(&mut stack).await? == (0.0, Vec::new()), "it succeeded again");
    // Who fails does not succeed.
    world.age_success("disruption", TOO_LONG).await?;
    world.without_right("disruption", Some("dynamodb:GetItem")).await?;
    stack.disruption.cool().await?;
    ensure!(stack.disruption.invoke(&poll()).await?.answer().is_err(), "it may not read the table");
    ensure!(late(&mut stack).await? == (1.0, vec!["disruption".into()]));
    Ok(())
}

/// What a scheduled run of lifecycle says of the others: the metric, and the names it logs.
async fn late(stack: &mut Stack) -> Result<(f64, Vec<String>)> {
    let invocation = stack.lifecycle.invoke(&poll()).await?;
    invocation.answer()?;
    let logs = &invocation.logs;
    let count = logs.iter().find_map(|line| line["outrigger_functions_late"].as_f64());
    let is_late = |line: &&Value| line["message"] == "has not succeeded for too long";
    let names = logs.iter().filter(is_late).filter_map(|line| line["function"].as_str());
    Ok((count.context("the metric")?, names.map(str::to_owned).collect()))
}
