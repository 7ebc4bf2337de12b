//! Pods land where they were planned, on a kube-scheduler that knows of no plan.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use end_to_end::objects::deployment;
use end_to_end::stack::{is_consistent, poll};
use end_to_end::world::World;

use super::provisioning::{wait_for_pods, with_defaults};

crate::cases![nodes_that_come_one_after_the_other_get_the_pods_that_were_planned_for_them];

/// How much longer each further machine takes to boot.
const STAGGER: Duration = Duration::from_secs(3);

async fn nodes_that_come_one_after_the_other_get_the_pods_that_were_planned_for_them(
    world: Arc<World>,
) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    world.kubelets.change(|habits| habits.stagger = STAGGER);
    let workloads = [
        ("small", 30, "200m", "200Mi"),
        ("middle", 12, "900m", "3Gi"),
        ("large", 6, "3500m", "5Gi"),
        ("lean", 8, "1800m", "800Mi"),
    ];
    let mut pods = 0;
    for (name, replicas, cpu, memory) in workloads {
        world.apply(&deployment(name, replicas, cpu, memory)).await?;
        pods += usize::try_from(replicas)?;
    }
    wait_for_pods(&world, pods).await?;
    stack.provisioning.invoke(&poll()).await?.answer()?;
    let planned = instances(&world).await?;
    ensure!(planned.len() > 1, "one node for all: nothing to show");
    stack.until_running(&world, pods).await?;
    let now = instances(&world).await?;
    let more: Vec<_> = now.difference(&planned).collect();
    crate::figures::say(format!(
        "{pods} pods on {} nodes that came {STAGGER:?} after one another: {} launched after the \
         first plan",
        planned.len(),
        more.len()
    ));
    ensure!(more.is_empty(), "the first plan was for {planned:?}, and these came: {more:?}");
    is_consistent(&world).await
}

async fn instances(world: &World) -> Result<BTreeSet<String>> {
    Ok(world.cloud.alive().await?.into_iter().map(|own| own.id).collect())
}
