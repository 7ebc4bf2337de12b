//! Provisioning in `tick` mode: it wakes itself by messages, and checks whether pods wait.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use end_to_end::aws::Aws;
use end_to_end::gate::Moment;
use end_to_end::lambda::{Function, Invocation};
use end_to_end::objects::pod;
use end_to_end::stack::{Stack, tick, was_killed};
use end_to_end::world::{LIFECYCLE_WAKES, PROVISIONING_WAKES, World, access_key, eventually};
use serde_json::{Value, json};

use super::provisioning::with_defaults;
use crate::figures::promised;

crate::cases![
    however_messages_come_there_is_one_chain_of_checks,
    a_chain_of_checks_that_broke_begins_anew_with_the_next_minute,
    while_a_cluster_is_paused_nobody_checks;
    alone:
    a_pod_that_comes_is_launched_for_at_the_next_check,
];

/// How often a queue is asked for messages; the real Lambda waits for them, and has them at once.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// So many checks in half a minute, at one every 5 s and on a machine that is busy. Two chains
/// would check ten times and more.
const HALF: Duration = Duration::from_secs(30);
const CHECKS: std::ops::RangeInclusive<usize> = 3..=7;
/// The messages that are sent at once for a minute in which nothing happens.
const SERIES: u32 = 12;
/// From a pod to the request for its node, for 95 of 100 pods.
const REACTION: Duration = Duration::from_secs(6);

/// The stack in `tick` mode, and its queue.
struct DemandChecks<'w> {
    world: &'w World,
    stack: Stack,
    aws: Aws,
    queue: String,
}

impl<'w> DemandChecks<'w> {
    /// Nobody checks yet.
    async fn ready(world: &'w World) -> Result<Self> {
        let mut stack = with_defaults(world).await?;
        let aws = Aws::at(world.aws_endpoint());
        let queue = aws.make_queue(PROVISIONING_WAKES).await?;
        stack.set("PROVISIONING_WAKES_URL", &queue).await?;
        // Nobody takes messages from this one: cases run lifecycle themselves.
        let lifecycle_wakes = aws.make_queue(LIFECYCLE_WAKES).await?;
        stack.set("LIFECYCLE_WAKES_URL", &lifecycle_wakes).await?;
        Ok(Self { world, stack, aws, queue })
    }

    /// The event of a minute.
    async fn minute(&mut self) -> Result<()> {
        self.stack.provisioning.invoke(&tick()).await?.answer().map(drop)
    }

    /// The next message, once it is due.
    async fn message(&self) -> Result<Value> {
        let next = async || self.aws.take_message(&self.queue).await;
        let body = eventually("a message", next, Option::is_some).await?;
        Ok(batch(&body.context("a message")?))
    }

    /// Invokes provisioning with a message.
    async fn check(&mut self, message: &Value) -> Result<()> {
        self.stack.provisioning.invoke(message).await?.answer().map(drop)
    }

    /// How many messages are in the queue, due or not.
    async fn messages(&self) -> Result<u32> {
        self.aws.count_messages(&self.queue).await
    }
}

fn body_of(message: &Value) -> Result<Value> {
    let body = message["Records"][0]["body"].as_str().context("a body")?;
    Ok(serde_json::from_str(body)?)
}

/// The number of the series that a message is of.
fn link_of(message: &Value) -> Result<u64> {
    body_of(message)?["demandCheck"]["link"].as_u64().context("a link")
}

/// The last message of the series that a message is of.
fn last_of(message: &Value) -> Result<Value> {
    let mut body = body_of(message)?;
    body["demandCheck"]["nextSeries"] = SERIES.into();
    Ok(batch(&body.to_string()))
}

/// The event that Lambda makes of a message.
pub(super) fn batch(body: &str) -> Value {
    json!({"Records": [{"messageId": "1", "eventSource": "aws:sqs", "body": body}]})
}

/// Invokes a function with each message of its queue, as Lambda does.
pub(super) async fn deliver(
    aws: &Aws,
    queue: &str,
    function: &mut Function,
    mut record: impl FnMut(&Invocation),
) -> Result<Infallible> {
    loop {
        let Some(body) = aws.take_message(queue).await? else {
            tokio::time::sleep(POLL_INTERVAL).await;
            continue;
        };
        let invocation = function.invoke(&batch(&body)).await?;
        invocation.answer()?;
        record(&invocation);
    }
}

async fn however_messages_come_there_is_one_chain_of_checks(world: Arc<World>) -> Result<()> {
    let mut checking = DemandChecks::ready(&world).await?;
    checking.minute().await?;
    let message = checking.message().await?;
    // It is delivered three times, the last time late.
    for _ in 0..2 {
        checking.check(&message).await?;
    }
    ensure!(checking.messages().await? == SERIES - 1, "a check that found nothing sent messages");
    let mut checks = 0;
    let DemandChecks { aws, queue, stack, .. } = &mut checking;
    let delivered = deliver(aws, queue, &mut stack.provisioning, |_| checks += 1);
    if let Ok(failed) = tokio::time::timeout(HALF, delivered).await {
        match failed? {}
    }
    ensure!(CHECKS.contains(&checks), "{checks} checks in {HALF:?}");
    // No event of the minute comes: the last check begins another series, once.
    let before = checking.messages().await?;
    let last = last_of(&message)?;
    for _ in 0..2 {
        checking.check(&last).await?;
    }
    checking.stack.provisioning.cool().await?;
    checking.check(&message).await?;
    ensure!(checking.messages().await? == before + SERIES, "a second series has begun");
    checking.minute().await?;
    let before = checking.messages().await?;
    for _ in 0..2 {
        let overtaken = checking.message().await?;
        checking.check(&overtaken).await?;
    }
    checking.check(&last).await?;
    ensure!(
        checking.messages().await? == before - 2,
        "the schedule has not ended the series before"
    );
    Ok(())
}

async fn a_chain_of_checks_that_broke_begins_anew_with_the_next_minute(
    world: Arc<World>,
) -> Result<()> {
    let mut checking = DemandChecks::ready(&world).await?;
    let caller = access_key("provisioning");
    let mut link = 0;
    for (action, moment, left) in [
        ("dynamodb:UpdateItem", Moment::Before, 0),
        ("dynamodb:UpdateItem", Moment::After, 0),
        ("sqs:SendMessageBatch", Moment::Before, 0),
        // Of the two batches that a series takes.
        ("sqs:SendMessageBatch", Moment::After, 10),
    ] {
        checking.minute().await?;
        let mut message = checking.message().await?;
        while link_of(&message)? <= link {
            message = checking.message().await?;
        }
        link = link_of(&message)?;
        let last = last_of(&message)?;
        let before = checking.messages().await?;
        let mut trap = world.traffic.trap_action(&caller, action, moment);
        let invocation = checking.stack.provisioning.invoke_into(&last, &mut trap).await?;
        ensure!(was_killed(&invocation), "{action}: it was not killed");
        let sent = checking.messages().await? - before;
        ensure!(sent == left, "{moment:?} {action}: {sent} messages were sent");
        // SQS delivers again what nobody deleted.
        checking.check(&last).await?;
        let sent = checking.messages().await? - before;
        let goes_on = (action, moment) == ("dynamodb:UpdateItem", Moment::Before);
        // A new process, which has seen no pod yet, runs: its series begins small.
        let expected = if goes_on { 1 } else { left };
        ensure!(sent == expected, "{moment:?} {action}: {sent} messages were sent after all");
        // One of the two has begun a series.
        link += 1;
    }
    Ok(())
}

async fn while_a_cluster_is_paused_nobody_checks(world: Arc<World>) -> Result<()> {
    let mut checking = DemandChecks::ready(&world).await?;
    checking.minute().await?;
    checking.world.set_control("mode", "paused").await?;
    checking.minute().await?;
    let message = checking.message().await?;
    let before = checking.messages().await?;
    checking.check(&message).await?;
    checking.check(&last_of(&message)?).await?;
    ensure!(checking.messages().await? == before, "somebody checks still");
    checking.world.set_control("mode", "active").await?;
    checking.minute().await?;
    ensure!(checking.messages().await? == before + SERIES, "nobody checks");
    Ok(())
}

async fn a_pod_that_comes_is_launched_for_at_the_next_check(world: Arc<World>) -> Result<()> {
    let mut checking = DemandChecks::ready(&world).await?;
    checking.stack.tick().await?;
    checking.minute().await?;
    world.traffic.forget_calls();
    let bursts = async {
        let mut made = BTreeMap::new();
        for burst in 0..10 {
            for one in 0..10 {
                let name = format!("web-{burst}-{one}");
                made.insert(name.clone(), Instant::now());
                world.apply(&pod(&name, "1500m", "1Gi")).await?;
            }
            // No multiple of the interval: pods come at every moment of it.
            tokio::time::sleep(Duration::from_millis(3700)).await;
        }
        // The last of them are seen by a check, too.
        tokio::time::sleep(REACTION).await;
        anyhow::Ok(made)
    };
    let DemandChecks { aws, queue, stack, .. } = &mut checking;
    let made = tokio::select! {
        made = bursts => made?,
        failed = deliver(aws, queue, &mut stack.provisioning, |_| ()) => match failed? {},
    };
    let launches: Vec<_> =
        world.traffic.calls_of("ec2:CreateFleet").into_iter().map(|call| call.received).collect();
    let reactions = made.values().filter_map(|made| {
        launches.iter().find(|launched| *launched > made).map(|launched| *launched - *made)
    });
    let mut reactions: Vec<_> = reactions.collect();
    reactions.sort_unstable();
    ensure!(reactions.len() == 100, "only {} of 100 pods were launched for", reactions.len());
    let (p50, p95) = (reactions[49], reactions[94]);
    crate::figures::say(format!(
        "in tick mode, from a pod to CreateFleet: p50 {p50:.2?}, p95 {p95:.2?} over 100 pods"
    ));
    ensure!(p95 <= promised(REACTION), "p95 is {p95:?}");
    Ok(())
}
