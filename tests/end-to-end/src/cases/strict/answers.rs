//! What CreateFleet's answer holds: more or less than was asked for, errors that name what was not
//! the cause, and no more of what was launched than EC2 must tell.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use end_to_end::behaviour::{Behaviour, FleetFailure};
use end_to_end::cloud::Shortage;
use end_to_end::gate::Call;
use end_to_end::objects::node_pool;
use end_to_end::stack::is_consistent;
use end_to_end::world::World;
use serde_json::Value;

use super::super::provisioning::{start_pod, with_defaults};
use super::{failing, is_launched_once, launches, settled, until_one_is_left, until_running};

crate::cases![
    of_more_instances_than_were_asked_for_one_stays,
    fillers_beside_a_true_error_do_not_mark_their_pools,
    without_the_role_of_spot_instances_on_demand_ones_are_launched,
    claims_of_two_architectures_have_the_image_of_their_own,
    an_answer_that_tells_all_there_is_to_tell_is_understood,
    an_answer_without_the_overrides_of_the_request_is_understood,
    an_answer_that_tells_nothing_but_the_instance_is_no_failure,
];

async fn of_more_instances_than_were_asked_for_one_stays(world: Arc<World>) -> Result<()> {
    let mut stack = settled(&world).await?;
    world.cloud.behave(&Behaviour { surplus_instances: 1, ..Behaviour::default() }).await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    until_running(&mut stack, &world, 1).await?;
    until_one_is_left(&mut stack, &world).await
}

async fn fillers_beside_a_true_error_do_not_mark_their_pools(world: Arc<World>) -> Result<()> {
    let types = ["c5.large", "c6i.large", "m5.large", "m6i.large"];
    let mut stack = with_defaults(&world).await?;
    let pool = node_pool()
        .requiring("node.kubernetes.io/instance-type", &types)
        .requiring("topology.kubernetes.io/zone", &["us-east-1a"])
        .settled();
    world.apply(&pool.object()).await?;
    let failure = FleetFailure {
        cheapest_only: true,
        fillers: true,
        ..FleetFailure::once("InsufficientInstanceCapacity")
    };
    world.cloud.behave(&failing(failure)).await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    until_running(&mut stack, &world, 1).await?;
    let of = |call: &Call| -> BTreeSet<&str> {
        types.into_iter().filter(|name| call.detail.contains(&format!("={name}&"))).collect()
    };
    let fleets: Vec<_> = launches(&world).iter().map(of).collect();
    let [first, second, ..] = fleets.as_slice() else { bail!("asked for {fleets:?}") };
    ensure!(first.len() == types.len(), "the first fleet was of {first:?}");
    let marked: Vec<_> = first.difference(second).collect();
    ensure!(marked.len() == 1, "{marked:?} were left out of the second fleet, not one");
    is_launched_once(&world).await?;
    is_consistent(&world).await
}

async fn without_the_role_of_spot_instances_on_demand_ones_are_launched(
    world: Arc<World>,
) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    let pool = node_pool().requiring("karpenter.sh/capacity-type", &["spot", "on-demand"]);
    world.apply(&pool.settled().object()).await?;
    let shortage = Shortage {
        capacity_type: Some("spot".to_owned()),
        code: Some("AuthFailure.ServiceLinkedRoleCreationNotPermitted".to_owned()),
        ..Shortage::default()
    };
    world.cloud.run_out(&[shortage]).await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    until_running(&mut stack, &world, 1).await?;
    let launched = is_launched_once(&world).await?;
    ensure!(launched.capacity_type == "on-demand", "launched {launched:?}");
    is_consistent(&world).await
}

async fn claims_of_two_architectures_have_the_image_of_their_own(world: Arc<World>) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    let pool = node_pool()
        .of_architectures(&["amd64", "arm64"])
        .requiring("node.kubernetes.io/instance-type", &["m5.large", "m6g.large"])
        .requiring("topology.kubernetes.io/zone", &["us-east-1a"])
        .requiring("karpenter.sh/capacity-type", &["on-demand"])
        .settled();
    world.apply(&pool.object()).await?;
    // One of two fleets cannot have what both would launch. Nothing but their answers says what
    // was launched.
    let failure =
        FleetFailure { cheapest_only: true, ..FleetFailure::once("InsufficientInstanceCapacity") };
    let behaviour =
        Behaviour { instance_lag_seconds: 30.0, tag_lag_seconds: 30.0, ..failing(failure) };
    world.cloud.behave(&behaviour).await?;
    for name in ["a", "b"] {
        start_pod(&world, name, "1200m", "1Gi").await?;
    }
    until_running(&mut stack, &world, 2).await?;
    let claims = world.control_plane.kubectl(&["get", "nodeclaims", "-o", "json"]).await?;
    let claims: Value = serde_json::from_str(&claims)?;
    let alive = world.cloud.alive().await?;
    let architectures: BTreeSet<_> = alive.iter().map(|own| own.architecture.as_str()).collect();
    ensure!(architectures.len() == 2 && alive.len() == 2, "launched {alive:?}");
    for own in alive {
        let all = claims["items"].as_array().into_iter().flatten();
        let mut named = all.filter(|claim| claim["metadata"]["name"].as_str() == own.claim());
        let claim = named.next().with_context(|| format!("no claim of {own:?}"))?;
        let known = claim["status"]["imageID"].as_str();
        ensure!(
            known == Some(own.image_id.as_str()),
            "the claim of {} {} has {known:?}, not {} ({})",
            own.architecture,
            own.instance_type,
            own.image_id,
            own.image
        );
    }
    is_consistent(&world).await
}

async fn an_answer_that_tells_all_there_is_to_tell_is_understood(world: Arc<World>) -> Result<()> {
    let behaviour = Behaviour {
        answer_names_template: true,
        answer_places_instances: true,
        ..Behaviour::default()
    };
    is_understood(&world, behaviour).await
}

async fn an_answer_without_the_overrides_of_the_request_is_understood(
    world: Arc<World>,
) -> Result<()> {
    let behaviour = Behaviour {
        answer_places_instances: true,
        answer_omits_overrides: true,
        ..Behaviour::default()
    };
    is_understood(&world, behaviour).await
}

async fn an_answer_that_tells_nothing_but_the_instance_is_no_failure(
    world: Arc<World>,
) -> Result<()> {
    let behaviour = Behaviour { answer_omits_overrides: true, ..Behaviour::default() };
    is_understood(&world, behaviour).await
}

/// The claim of the one instance that is launched knows its zone, type and image, though for a
/// while nothing but the answer tells them.
async fn is_understood(world: &World, behaviour: Behaviour) -> Result<()> {
    let lag = Behaviour { instance_lag_seconds: 5.0, tag_lag_seconds: 8.0, ..behaviour };
    let mut stack = settled(world).await?;
    world.cloud.behave(&lag).await?;
    start_pod(world, "web", "1", "1Gi").await?;
    until_running(&mut stack, world, 1).await?;
    let launched = is_launched_once(world).await?;
    let claim = world.control_plane.kubectl(&["get", "nodeclaims", "-o", "json"]).await?;
    let claim = &serde_json::from_str::<Value>(&claim)?["items"][0];
    let (labels, status) = (&claim["metadata"]["labels"], &claim["status"]);
    ensure!(labels["topology.kubernetes.io/zone"] == launched.zone, "{labels}");
    ensure!(labels["node.kubernetes.io/instance-type"] == launched.instance_type, "{labels}");
    ensure!(status["imageID"] == launched.image_id, "{status}");
    ensure!(status["providerID"] == launched.provider_id(), "{status}");
    is_consistent(world).await
}
