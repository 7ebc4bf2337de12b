//! EC2 has none left.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Result, ensure};
use end_to_end::cloud::Shortage;
use end_to_end::objects::node_pool;
use end_to_end::stack::poll;
use end_to_end::world::World;

use super::provisioning::{start_pod, with_defaults};

crate::cases![
    the_sixth_offering_is_launched_when_five_have_none_left,
    offerings_that_had_none_left_are_not_asked_for_again_at_once,
];

const TYPES: [&str; 6] =
    ["c5.large", "c6i.large", "m5.large", "m6i.large", "r5.large", "r6a.large"];
const ZONE: &str = "us-east-1a";

/// The five cheapest of six offerings run out.
async fn five_run_out(world: &World) -> Result<()> {
    let pool = node_pool()
        .requiring("node.kubernetes.io/instance-type", &TYPES)
        .requiring("topology.kubernetes.io/zone", &[ZONE])
        .requiring("karpenter.sh/capacity-type", &["on-demand"]);
    world.apply(&pool.object()).await?;
    // Memory makes the price among types of two CPUs: `r6i` is the dearest.
    let cheapest = TYPES.iter().filter(|name| **name != "r6a.large");
    let shortages: Vec<_> = cheapest
        .map(|name| Shortage { instance_type: Some((*name).to_owned()), ..Shortage::default() })
        .collect();
    world.cloud.run_out(&shortages).await
}

async fn the_sixth_offering_is_launched_when_five_have_none_left(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    five_run_out(&world).await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    stack.until_running(&world, 1).await?;
    let types: BTreeSet<_> =
        world.cloud.alive().await?.into_iter().map(|instance| instance.instance_type).collect();
    ensure!(types == BTreeSet::from(["r6a.large".to_owned()]), "launched {types:?}");
    stack.until_consistent(&world).await
}

async fn offerings_that_had_none_left_are_not_asked_for_again_at_once(
    world: Arc<World>,
) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    five_run_out(&world).await?;
    start_pod(&world, "one", "1200m", "1Gi").await?;
    stack.until_running(&world, 1).await?;
    let before = world.traffic.calls_of("ec2:CreateFleet").len();
    start_pod(&world, "two", "1200m", "1Gi").await?;
    stack.provisioning.invoke(&poll()).await?.answer()?;
    let calls = world.traffic.calls_of("ec2:CreateFleet");
    ensure!(calls.len() > before, "nothing was launched for the second pod");
    for call in &calls[before..] {
        let asked: Vec<_> = TYPES.iter().filter(|name| call.detail.contains(**name)).collect();
        ensure!(asked == [&"r6a.large"], "asked again for {asked:?}");
    }
    stack.until_running(&world, 2).await?;
    stack.until_consistent(&world).await
}
