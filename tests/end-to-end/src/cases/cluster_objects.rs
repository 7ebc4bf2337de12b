//! Objects beside Karpenter's that say how a cluster is planned: Commitments, and what the
//! ConfigMap says of the scheduler.

use std::sync::Arc;

use anyhow::{Result, ensure};
use end_to_end::objects::node_pool;
use end_to_end::world::World;
use serde_json::{Value, json};

use super::provisioning::{start_pod, with_defaults};

crate::cases![
    a_commitment_is_read_and_filled_before_spot_is_bought,
    a_scheduler_configuration_that_cannot_be_read_is_an_event,
    services_are_listed_where_the_scheduler_has_default_constraints,
];

async fn a_commitment_is_read_and_filled_before_spot_is_bought(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    let pool = node_pool()
        .requiring("node.kubernetes.io/instance-type", &["m5.large"])
        .requiring("karpenter.sh/capacity-type", &["spot", "on-demand"])
        .settled();
    world.apply(&pool.object()).await?;
    let launched = async || -> Result<(usize, usize)> {
        let alive = world.cloud.alive().await?;
        let spot = alive.iter().filter(|own| own.capacity_type == "spot").count();
        Ok((spot, alive.len() - spot))
    };
    start_pod(&world, "one", "1200m", "1Gi").await?;
    stack.until_running(&world, 1).await?;
    let (spot, on_demand) = launched().await?;
    ensure!((spot, on_demand) == (1, 0), "{spot} on spot, {on_demand} on demand");
    let commitment = json!({
        "apiVersion": "outrigger.dev/v1alpha1",
        "kind": "Commitment",
        "metadata": {"name": "m5"},
        "spec": {
            "type": "ReservedInstances", "instanceType": "m5.large", "count": 1, "scope": "Region",
        },
    });
    world.apply(&commitment).await?;
    for (name, spot_then) in [("two", 1), ("three", 2)] {
        start_pod(&world, name, "1200m", "1Gi").await?;
        stack.until_running(&world, spot_then + 1).await?;
        let (spot, on_demand) = launched().await?;
        ensure!(
            (spot, on_demand) == (spot_then, 1),
            "{spot} on spot, {on_demand} on demand once {name} runs"
        );
    }
    stack.until_consistent(&world).await
}

async fn a_scheduler_configuration_that_cannot_be_read_is_an_event(
    world: Arc<World>,
) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    world.set_control("scheduler-config", "nodeResourcesFit: {scoringStrategy: 7}").await?;
    let shown = async || {
        let events = ["get", "events", "--namespace=kube-system", "--output=json"];
        let list: Value = serde_json::from_str(&world.control_plane.kubectl(&events).await?)?;
        let items = list["items"].as_array().into_iter().flatten();
        let about = |event: &&Value| {
            event["reason"] == "InvalidSpecification"
                && event["involvedObject"]["kind"] == "ConfigMap"
                && event["involvedObject"]["name"] == "outrigger"
        };
        let messages = items.filter(about).filter_map(|event| event["message"].as_str());
        Ok(messages.map(str::to_owned).collect::<Vec<_>>())
    };
    let messages = stack.until("an event says so", shown, |found| !found.is_empty()).await?;
    let expected = "data.scheduler-config: nodeResourcesFit.scoringStrategy";
    ensure!(messages[0].starts_with(expected), "{messages:?}");
    // Pods are planned for all the same.
    start_pod(&world, "web", "500m", "256Mi").await?;
    stack.until_running(&world, 1).await
}

async fn services_are_listed_where_the_scheduler_has_default_constraints(
    world: Arc<World>,
) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    let listed = || {
        let calls = world.traffic.calls().into_iter();
        let lists = calls.filter(|call| call.action == "GET /api/v1/services");
        lists.map(|call| call.status).collect::<Vec<_>>()
    };
    ensure!(listed().is_empty(), "{:?} without a configuration", listed());
    let config = "podTopologySpread: {defaultConstraints: [{maxSkew: 1, topologyKey: \
                  topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}]}";
    world.set_control("scheduler-config", config).await?;
    stack.tick().await?;
    let statuses = listed();
    let is_ok = statuses.iter().all(|status| *status == Some(200));
    ensure!(is_ok && !statuses.is_empty(), "services were listed with {statuses:?}");
    Ok(())
}
