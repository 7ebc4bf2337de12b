//! Instances that cannot be ended with others in one call: EC2 does not know them any more, or may
//! not end them.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use end_to_end::aws::Aws;
use end_to_end::behaviour::{Behaviour, UnknownIds};
use end_to_end::objects::node_pool;
use end_to_end::stack::{Stack, node_claims};
use end_to_end::world::{PATIENCE, World};

use super::super::provisioning::start_pod;
use super::{settled, until};

crate::cases![
    an_instance_that_vanished_does_not_keep_others_from_ending,
    instances_that_vanished_do_not_keep_others_from_ending_where_all_are_named,
    instances_that_vanished_do_not_keep_others_from_ending_where_one_is_named,
    an_instance_that_vanished_and_is_denied_does_not_keep_others_from_ending,
    an_instance_that_is_protected_does_not_keep_others_from_ending,
];

async fn an_instance_that_vanished_does_not_keep_others_from_ending(
    world: Arc<World>,
) -> Result<()> {
    let behaviour = Behaviour { unknown_ids_named: UnknownIds::None, ..Behaviour::default() };
    others_end(&world, 1, behaviour).await
}

async fn instances_that_vanished_do_not_keep_others_from_ending_where_all_are_named(
    world: Arc<World>,
) -> Result<()> {
    let behaviour = Behaviour { unknown_ids_named: UnknownIds::All, ..Behaviour::default() };
    others_end(&world, 2, behaviour).await
}

async fn instances_that_vanished_do_not_keep_others_from_ending_where_one_is_named(
    world: Arc<World>,
) -> Result<()> {
    let behaviour = Behaviour { unknown_ids_named: UnknownIds::One, ..Behaviour::default() };
    others_end(&world, 2, behaviour).await
}

async fn an_instance_that_vanished_and_is_denied_does_not_keep_others_from_ending(
    world: Arc<World>,
) -> Result<()> {
    let behaviour = Behaviour { vanished_is_denied: true, ..Behaviour::default() };
    others_end(&world, 1, behaviour).await
}

/// Of the instances of three claims that are deleted at once some have vanished, which reads do not
/// show yet: all claims go, and no instance is left.
async fn others_end(world: &World, vanished: usize, behaviour: Behaviour) -> Result<()> {
    let mut stack = with_three_nodes(world).await?;
    world.cloud.behave(&Behaviour { stale_read_seconds: 20.0, ..behaviour }).await?;
    let lost = world.cloud.alive().await?.into_iter().take(vanished);
    delete_all(world).await?;
    for own in lost {
        world.cloud.vanish(&own.id).await?;
    }
    let left = async || Ok((node_claims(world).await?.len(), world.cloud.alive().await?.len()));
    until(&mut stack, "none is left", PATIENCE, left, |found| *found == (0, 0)).await.map(drop)
}

/// Somebody has turned on an instance's protection from termination: EC2 spares all of a call that
/// are in its zone.
async fn an_instance_that_is_protected_does_not_keep_others_from_ending(
    world: Arc<World>,
) -> Result<()> {
    let mut stack = with_three_nodes(&world).await?;
    let alive = world.cloud.alive().await?;
    let protected = alive.first().context("an instance")?;
    ensure!(alive.iter().all(|own| own.zone == protected.zone), "in several zones: {alive:?}");
    let aws = Aws::at(world.aws_endpoint());
    let protect = async |value: &str| {
        let parameters =
            [("InstanceId", protected.id.as_str()), ("DisableApiTermination.Value", value)];
        aws.ask("ModifyInstanceAttribute", &parameters).await.map(drop)
    };
    protect("true").await?;
    delete_all(&world).await?;
    let left = async || {
        let alive = world.cloud.alive().await?.into_iter().map(|own| own.id).collect::<Vec<_>>();
        Ok((node_claims(&world).await?.len(), alive))
    };
    let one_is_left =
        |found: &(usize, Vec<String>)| found.0 == 1 && found.1 == [protected.id.clone()];
    until(&mut stack, "one is left", PATIENCE, left, one_is_left).await?;
    protect("false").await?;
    until(&mut stack, "none is left", PATIENCE, left, |found| *found == (0, Vec::new()))
        .await
        .map(drop)
}

async fn with_three_nodes(world: &World) -> Result<Stack> {
    let mut stack = settled(world).await?;
    let pool = node_pool().requiring("node.kubernetes.io/instance-type", &["m5.large"]);
    world.apply(&pool.settled().object()).await?;
    for name in ["a", "b", "c"] {
        start_pod(world, name, "1200m", "1Gi").await?;
    }
    stack.until_running(world, 3).await?;
    Ok(stack)
}

async fn delete_all(world: &World) -> Result<()> {
    world.control_plane.kubectl(&["delete", "replicasets", "--all"]).await?;
    let claims = ["delete", "nodeclaims", "--all", "--wait=false"];
    world.control_plane.kubectl(&claims).await.map(drop)
}
