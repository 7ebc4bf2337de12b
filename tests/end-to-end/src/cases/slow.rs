//! EC2 on a slow day, for cases that measure what that costs: everything new is known late, what
//! ended is still shown, and of ten answers one is lost and another an error.

use anyhow::Result;
use end_to_end::behaviour::{Behaviour, CallFailure, FleetFailure};
use end_to_end::stack::{Stack, is_consistent};
use end_to_end::world::{PATIENCE, World};

use super::strict::until;

/// Of so many answers that tell of a change one is lost, of so many calls one is throttled, and of
/// so many fleets one launches nothing. No two of these befall one call: nobody knows for 90 s
/// whether a fleet launched anything whose answer is lost, and ten launches are too few to measure
/// what happens to one in a hundred.
const ONE_IN: u32 = 10;

/// Calls that are throttled as a whole.
const THROTTLED: [&str; 6] = [
    "CreateFleet",
    "CreateLaunchTemplate",
    "CreateTags",
    "DescribeInstances",
    "DescribeLaunchTemplates",
    "TerminateInstances",
];

/// From now on, until the next case begins.
pub(super) async fn slow_down(world: &World) -> Result<()> {
    let throttled = THROTTLED.map(|action| CallFailure {
        times: u32::MAX,
        every: Some(ONE_IN),
        action,
        status: 503,
        code: "RequestLimitExceeded",
        message: "Request limit exceeded.",
        ..CallFailure::default()
    });
    let launches = FleetFailure {
        times: u32::MAX,
        every: Some(ONE_IN),
        ..FleetFailure::once("RequestLimitExceeded")
    };
    let behaviour = Behaviour {
        instance_lag_seconds: 15.0,
        tag_lag_seconds: 20.0,
        template_lag_seconds: 5.0,
        stale_read_seconds: 10.0,
        fleet_failures: vec![launches],
        call_failures: throttled.into(),
        ..Behaviour::default()
    };
    world.cloud.behave(&behaviour).await?;
    world.traffic.lose_answers_of_ec2(ONE_IN);
    Ok(())
}

/// Ticks until every claim has one instance, and no instance lives without a claim.
pub(super) async fn until_one_each(world: &World, stack: &mut Stack) -> Result<()> {
    let wrong = async || Ok(is_consistent(world).await.err().map(|error| format!("{error:#}")));
    until(stack, "claims and instances agree", PATIENCE, wrong, Option::is_none).await.map(drop)
}
