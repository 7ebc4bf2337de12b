//! Whether an EC2NodeClass is ready: dry runs tell, and EC2 does not make that easy.

use std::sync::Arc;

use anyhow::{Result, ensure};
use end_to_end::behaviour::{Behaviour, CallFailure, TakenName};
use end_to_end::objects::node_class;
use end_to_end::stack::{Stack, is_consistent};
use end_to_end::world::World;
use serde_json::{Value, json};

use super::provisioning::{start_pod, with_class, with_defaults};

crate::cases![
    a_class_whose_nodes_have_no_public_address_launches,
    a_class_whose_nodes_have_address_prefixes_launches,
    a_class_whose_profile_and_templates_are_known_late_becomes_ready,
    a_class_stays_ready_while_its_profile_is_not_known,
    a_class_stays_ready_while_its_launch_template_is_not_found,
    a_class_stays_ready_while_its_dry_runs_are_throttled,
    a_class_stays_ready_when_its_launch_template_exists_already,
];

async fn a_class_whose_nodes_have_no_public_address_launches(world: Arc<World>) -> Result<()> {
    launches_with(&world, "associatePublicIPAddress", json!(false)).await
}

async fn a_class_whose_nodes_have_address_prefixes_launches(world: Arc<World>) -> Result<()> {
    launches_with(&world, "ipPrefixCount", json!(2)).await
}

/// Such a class launches with network interfaces of its own, in an account without a default VPC.
async fn launches_with(world: &World, field: &str, value: Value) -> Result<()> {
    let mut class = node_class();
    class["spec"][field] = value;
    let mut stack = with_class(world, &class).await?;
    runs_a_pod(world, &mut stack).await?;
    let instances = world.cloud.alive().await?;
    let without_group = instances.iter().find(|own| own.security_groups.is_empty());
    ensure!(without_group.is_none(), "{without_group:?} has no security group");
    Ok(())
}

async fn a_class_whose_profile_and_templates_are_known_late_becomes_ready(
    world: Arc<World>,
) -> Result<()> {
    let behaviour =
        Behaviour { profile_lag_seconds: 10.0, template_lag_seconds: 5.0, ..Behaviour::default() };
    world.cloud.behave(&behaviour).await?;
    let mut stack = with_defaults(&world).await?;
    runs_a_pod(&world, &mut stack).await
}

async fn a_class_stays_ready_while_its_profile_is_not_known(world: Arc<World>) -> Result<()> {
    let failure = CallFailure {
        action: "RunInstances",
        status: 400,
        code: "InvalidParameterValue",
        message: "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance \
                  Profile name",
        ..of_dry_runs()
    };
    stays_ready(&world, failure).await
}

async fn a_class_stays_ready_while_its_launch_template_is_not_found(
    world: Arc<World>,
) -> Result<()> {
    let failure = CallFailure {
        action: "RunInstances",
        status: 400,
        code: "InvalidLaunchTemplateName.NotFoundException",
        message: "The specified launch template, with template name x, does not exist.",
        ..of_dry_runs()
    };
    stays_ready(&world, failure).await
}

async fn a_class_stays_ready_while_its_dry_runs_are_throttled(world: Arc<World>) -> Result<()> {
    let failure = CallFailure {
        action: "CreateFleet",
        status: 503,
        code: "RequestLimitExceeded",
        message: "Request limit exceeded.",
        ..of_dry_runs()
    };
    stays_ready(&world, failure).await
}

async fn a_class_stays_ready_when_its_launch_template_exists_already(
    world: Arc<World>,
) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    // A process that has validated nothing yet meets what the one before it has created.
    is_ready_after_a_cold_start(&world, &mut stack, "RunInstances").await?;
    runs_a_pod(&world, &mut stack).await
}

/// All dry runs of an action fail, for as long as the cloud behaves so.
fn of_dry_runs() -> CallFailure {
    CallFailure { times: u32::MAX, dry_run: Some(true), ..CallFailure::default() }
}

/// A class that is ready is validated anew while an action's dry runs fail for a reason that
/// passes.
async fn stays_ready(world: &World, failure: CallFailure) -> Result<()> {
    let mut stack = with_defaults(world).await?;
    let action = failure.action;
    let behaviour = Behaviour {
        call_failures: vec![failure],
        // What exists already is another case's.
        taken_template_name: TakenName::DryRunOperation,
        ..Behaviour::default()
    };
    world.cloud.behave(&behaviour).await?;
    is_ready_after_a_cold_start(world, &mut stack, action).await?;
    world.cloud.behave(&Behaviour::default()).await?;
    runs_a_pod(world, &mut stack).await
}

/// The class is ready whenever new processes have run, which try an action out.
async fn is_ready_after_a_cold_start(world: &World, stack: &mut Stack, action: &str) -> Result<()> {
    world.traffic.forget_calls();
    for _ in 0..2 {
        stack.cool().await?;
        stack.tick_whatever().await?;
        let path = "jsonpath={range .status.conditions[*]}{.type}={.status} {.message}\n{end}";
        let conditions =
            world.control_plane.kubectl(&["get", "ec2nodeclass", "default", "-o", path]).await?;
        ensure!(conditions.contains("\nReady=True"), "the class is not ready:\n{conditions}");
    }
    let tried = world.traffic.calls_of(&format!("ec2:{action}"));
    let is_tried = tried.iter().any(|call| call.detail.contains("DryRun=true"));
    ensure!(is_tried, "{action} was not tried out");
    Ok(())
}

async fn runs_a_pod(world: &World, stack: &mut Stack) -> Result<()> {
    start_pod(world, "web", "1", "1Gi").await?;
    stack.until_running(world, 1).await?;
    stack.tick().await?;
    is_consistent(world).await
}
