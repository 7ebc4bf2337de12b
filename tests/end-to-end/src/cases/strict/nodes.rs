//! What a node is: it has what its claim promised, and knows its cluster.

use std::sync::Arc;

use anyhow::{Context as _, Result, ensure};
use end_to_end::behaviour::{Behaviour, IpFamily};
use end_to_end::objects::node_pool;
use end_to_end::stack::{Stack, is_consistent};
use end_to_end::world::World;
use serde_json::Value;

use super::super::provisioning::{start_pod, with_defaults};
use super::{is_launched_once, settled};

crate::cases![
    nodes_of_an_ipv6_cluster_know_its_service_range,
    an_ordinary_node_has_what_its_claim_promised,
    a_node_without_the_adapters_that_its_type_may_have_is_whole,
];

/// The service range of the rig's cluster where it is of the family IPv6.
const SERVICES_V6: &str = "fd8b:29f1:37c2::/108";

/// A type that may have Elastic Fabric Adapters.
const WITH_EFA: &str = "c5n.18xlarge";

/// So many ticks pass without a doubt about a node that is initialized.
const LATER_TICKS: usize = 3;

async fn nodes_of_an_ipv6_cluster_know_its_service_range(world: Arc<World>) -> Result<()> {
    let behaviour = Behaviour { ip_family: IpFamily::Ipv6, ..Behaviour::default() };
    world.cloud.behave(&behaviour).await?;
    let mut stack = settled(&world).await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    stack.until_running(&world, 1).await?;
    let launched = is_launched_once(&world).await?;
    let user_data = launched.user_data.context("user data")?;
    ensure!(user_data.contains(SERVICES_V6), "no {SERVICES_V6} in:\n{user_data}");
    is_consistent(&world).await
}

async fn an_ordinary_node_has_what_its_claim_promised(world: Arc<World>) -> Result<()> {
    let mut stack = settled(&world).await?;
    start_pod(&world, "web", "1", "1Gi").await?;
    stays_consistent(&world, &mut stack).await?;
    is_consistent(&world).await
}

async fn a_node_without_the_adapters_that_its_type_may_have_is_whole(
    world: Arc<World>,
) -> Result<()> {
    let mut stack = with_defaults(&world).await?;
    let pool = node_pool().requiring("node.kubernetes.io/instance-type", &[WITH_EFA]);
    world.apply(&pool.settled().object()).await?;
    world.traffic.forget_calls();
    start_pod(&world, "web", "1", "1Gi").await?;
    let claim = stays_consistent(&world, &mut stack).await?;
    ensure!(is_launched_once(&world).await?.instance_type == WITH_EFA);
    let templates = world.traffic.calls_of("ec2:CreateLaunchTemplate");
    ensure!(!templates.is_empty(), "no launch template was made");
    let with_adapter = templates.iter().find(|call| call.detail.contains("InterfaceType="));
    ensure!(with_adapter.is_none(), "adapters that nobody asked for: {with_adapter:?}");
    let capacity = &claim["status"]["capacity"];
    let promised = capacity["vpc.amazonaws.com/efa"].as_str().unwrap_or("0");
    ensure!(promised == "0", "the claim promises {promised} adapters");
    is_consistent(&world).await
}

/// The claim of the only node, once that is initialized and condition ConsistentStateFound has been
/// true for some ticks, without a warning.
async fn stays_consistent(world: &World, stack: &mut Stack) -> Result<Value> {
    let found = async || {
        let claims = world.control_plane.kubectl(&["get", "nodeclaims", "-o", "json"]).await?;
        let claims: Value = serde_json::from_str(&claims)?;
        Ok(claims["items"][0].clone())
    };
    let status_of = |claim: &Value, kind: &str| {
        let all = claim["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let own = all.iter().find(|own| own["type"] == kind).cloned().unwrap_or_default();
        own["status"].as_str().map(str::to_owned)
    };
    let is_initialized = |claim: &Value| {
        ["Initialized", "ConsistentStateFound"]
            .iter()
            .all(|kind| status_of(claim, kind).as_deref() == Some("True"))
    };
    stack.until_running(world, 1).await?;
    stack.until("an initialized claim that is consistent", found, is_initialized).await?;
    for _ in 0..LATER_TICKS {
        stack.tick().await?;
    }
    let claim = found().await?;
    let status = status_of(&claim, "ConsistentStateFound").context("the condition")?;
    ensure!(status == "True", "{}", claim["status"]);
    let warnings = ["get", "events", "-A", "--field-selector=reason=FailedConsistencyCheck"];
    let warnings = world.control_plane.kubectl(&warnings).await?;
    ensure!(!warnings.contains("FailedConsistencyCheck"), "{warnings}");
    Ok(claim)
}
