//! What each mode takes where nothing happens: functions are invoked by their schedules and by the
//! messages that they send, for `OUTRIGGER_END_TO_END_IDLE_MINUTES` (one, unless it says
//! otherwise). Of times only CPU is good while others have the machine, too.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use end_to_end::aws::Aws;
use end_to_end::gate::{Call, Side};
use end_to_end::lambda::{Function, Invocation};
use end_to_end::stack::{Stack, poll, tick, watch};
use end_to_end::world::{DISRUPTION_WAKES, LIFECYCLE_WAKES, PROVISIONING_WAKES, World};
use serde_json::Value;

use super::demand_checks::batch;
use super::measures::grow;
use super::provisioning::with_defaults;

crate::cases![
    a_minute_of_tick_mode_in_which_nothing_happens_is_cheap,
    a_minute_of_watch_mode_in_which_nothing_happens_is_cheap,
    a_minute_of_poll_mode_in_which_nothing_happens_is_cheap,
];

const MINUTE: Duration = Duration::from_mins(1);
/// How often a queue is asked for messages; the real Lambda waits for them, and has them at once.
const POLL_INTERVAL: Duration = Duration::from_millis(250);
const NODES: usize = 10;
/// Memory that comes with a whole CPU, MB.
///
/// Source: <https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html>
const MEMORY_OF_A_CPU: f64 = 1769.0;
/// Demand checks of `tick` mode in a minute, at one every 5 s and on a machine that is busy.
const CHECKS: std::ops::RangeInclusive<usize> = 7..=13;
/// Calls of a minute's three runs to DynamoDB: each acquires a lease and releases it, two may say
/// that they have succeeded, and lifecycle takes tokens for its calls to AWS. What comes once in
/// twenty minutes may come in this one.
const CHANGES: usize = 8 + 4 + 6;
const READS: usize = 21 + 6;

async fn a_minute_of_tick_mode_in_which_nothing_happens_is_cheap(world: Arc<World>) -> Result<()> {
    let used = idle(&world, &tick()).await?;
    let checks = used.messages / used.minutes;
    ensure!(CHECKS.contains(&checks), "{used}");
    // A check is one read of the table, and one of the cluster; a series of them one change.
    ensure!(used.changes <= (CHANGES + 2) * used.minutes, "{used}");
    ensure!(used.reads <= (READS + CHECKS.end()) * used.minutes, "{used}");
    Ok(())
}

async fn a_minute_of_watch_mode_in_which_nothing_happens_is_cheap(world: Arc<World>) -> Result<()> {
    let used = idle(&world, &watch()).await?;
    ensure!(used.messages == 0, "nobody has anything to say: {used}");
    ensure!(used.changes <= CHANGES * used.minutes, "{used}");
    // The watcher reads which run of provisioning was the last.
    ensure!(used.reads <= (READS + 2) * used.minutes, "{used}");
    Ok(())
}

async fn a_minute_of_poll_mode_in_which_nothing_happens_is_cheap(world: Arc<World>) -> Result<()> {
    let used = idle(&world, &poll()).await?;
    ensure!(used.messages == 0, "{used}");
    ensure!(used.changes <= CHANGES * used.minutes, "{used}");
    ensure!(used.reads <= READS * used.minutes, "{used}");
    Ok(())
}

/// What was used in some minutes.
#[derive(Debug, Default)]
struct Used {
    mode: String,
    minutes: usize,
    functions: BTreeMap<String, UsedByFunction>,
    messages: usize,
    /// Calls to DynamoDB that change something.
    changes: usize,
    /// Other calls to DynamoDB.
    reads: usize,
    kubernetes: usize,
    /// Calls to EC2 and whoever else is neither of those, nor a queue.
    others: usize,
}

#[derive(Debug, Default)]
struct UsedByFunction {
    scheduled: usize,
    by_message: usize,
    /// Of scheduled invocations, with the share of a CPU that its memory comes with.
    billed: Duration,
    /// The same of invocations by message.
    billed_by_message: Duration,
    cpu: Duration,
    memory_kib: u64,
}

impl fmt::Display for Used {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mode, minutes, .. } = self;
        write!(f, "{minutes} min of {mode} mode, {NODES} nodes, nothing happens: ")?;
        for (name, own) in &self.functions {
            write!(
                f,
                "{name} {} + {} by message, {} + {} ms billed, {:.0?} CPU, {} MiB; ",
                own.scheduled,
                own.by_message,
                own.billed.as_millis(),
                own.billed_by_message.as_millis(),
                own.cpu,
                own.memory_kib / 1024
            )?;
        }
        write!(
            f,
            "{} messages; DynamoDB {} changes, {} reads; {} calls to Kubernetes, {} to others",
            self.messages, self.changes, self.reads, self.kubernetes, self.others
        )
    }
}

/// A function, what wakes it, and what it has used.
struct Served<'f> {
    function: &'f mut Function,
    event: &'f Value,
    queue: Option<(&'f Aws, &'f str)>,
    memory: f64,
}

impl Served<'_> {
    /// Invokes it by its schedule and by its messages until the time is over.
    async fn until(mut self, end: Instant) -> Result<(UsedByFunction, usize)> {
        let mut used = UsedByFunction::default();
        let mut next = Instant::now();
        let mut messages = 0;
        while Instant::now() < end {
            if Instant::now() >= next {
                next += MINUTE;
                let invocation = self.function.invoke(self.event).await?;
                used.scheduled += 1;
                let billed = used.add(&invocation, self.memory)?;
                used.billed += billed;
                continue;
            }
            if let Some((aws, queue)) = self.queue.take() {
                self.queue = Some((aws, queue));
                if let Some(body) = aws.take_message(queue).await? {
                    messages += 1;
                    used.by_message += 1;
                    let invocation = self.function.invoke(&batch(&body)).await?;
                    let billed = used.add(&invocation, self.memory)?;
                    used.billed_by_message += billed;
                    continue;
                }
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
        Ok((used, messages))
    }
}

impl UsedByFunction {
    /// Adds an invocation; returns what of it is billed.
    fn add(&mut self, invocation: &Invocation, memory: f64) -> Result<Duration> {
        invocation.answer()?;
        self.cpu += invocation.cpu;
        self.memory_kib = self.memory_kib.max(invocation.peak_memory_kib);
        Ok(invocation.billed_with(memory / MEMORY_OF_A_CPU))
    }
}

/// Leaves a cluster of nodes that are not ours to the functions, and says what they use.
async fn idle(world: &World, event: &Value) -> Result<Used> {
    let minutes = match std::env::var("OUTRIGGER_END_TO_END_IDLE_MINUTES") {
        Ok(minutes) => minutes.parse().context("OUTRIGGER_END_TO_END_IDLE_MINUTES")?,
        Err(_) => 1,
    };
    let mode = event["mode"].as_str().context("a mode")?.to_owned();
    world.kubelets.change(|habits| habits.paused = true);
    let mut stack = with_defaults(world).await?;
    grow(world, 0..NODES).await?;
    let aws = Aws::at(world.aws_endpoint());
    let (mut watcher, provisioning_wakes) = match &*mode {
        "watch" => {
            let (watcher, queue) = stack.watcher(world).await?;
            (Some(watcher), queue)
        }
        _ => (None, aws.make_queue(PROVISIONING_WAKES).await?),
    };
    let lifecycle_wakes = aws.make_queue(LIFECYCLE_WAKES).await?;
    let disruption_wakes = aws.make_queue(DISRUPTION_WAKES).await?;
    if mode != "poll" {
        stack.set("PROVISIONING_WAKES_URL", &provisioning_wakes).await?;
        stack.set("LIFECYCLE_WAKES_URL", &lifecycle_wakes).await?;
        stack.set("DISRUPTION_WAKES_URL", &disruption_wakes).await?;
    }
    // Warm, as a minute after the installation.
    stack.tick().await?;
    stack.tick().await?;
    world.traffic.forget_calls();
    // The schedule's last event comes a minute before the end, and the next one no more.
    let lasts = (MINUTE * u32::try_from(minutes)?).saturating_sub(Duration::from_secs(1));
    let end = Instant::now() + lasts;
    let Stack { provisioning, lifecycle, disruption, .. } = &mut stack;
    let serve = |function, queue| {
        Served { function, event, queue: Some((&aws, queue)), memory: 512.0 }.until(end)
    };
    let watching = async {
        match &mut watcher {
            None => Ok((UsedByFunction::default(), 0)),
            Some(function) => {
                Served { function, event, queue: None, memory: 128.0 }.until(end).await
            }
        }
    };
    let served = tokio::try_join!(
        serve(provisioning, provisioning_wakes.as_str()),
        serve(lifecycle, lifecycle_wakes.as_str()),
        serve(disruption, disruption_wakes.as_str()),
        watching,
    )?;
    let mut used = Used { mode, minutes, ..Used::default() };
    let named = [
        ("provisioning", served.0),
        ("lifecycle", served.1),
        ("disruption", served.2),
        ("watcher", served.3),
    ];
    for (name, (own, messages)) in named {
        used.messages += messages;
        if own.scheduled > 0 {
            used.functions.insert(name.to_owned(), own);
        }
    }
    for call in world.traffic.calls() {
        *used.count_of(&call) += 1;
    }
    crate::figures::say(used.to_string());
    Ok(used)
}

impl Used {
    fn count_of(&mut self, call: &Call) -> &mut usize {
        match call.side {
            Side::Kubernetes => &mut self.kubernetes,
            Side::DynamoDb if is_read(&call.action) => &mut self.reads,
            Side::DynamoDb => &mut self.changes,
            Side::Aws => &mut self.others,
        }
    }
}

fn is_read(action: &str) -> bool {
    ["GetItem", "Query", "Scan"].iter().any(|read| action.ends_with(read))
}
