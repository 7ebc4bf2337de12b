//! EC2 takes instances back: from a message in the queue to a node that takes no more pods, and one
//! in its place.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use end_to_end::cloud::REGION;
use end_to_end::gate::{Call, Side};
use end_to_end::http;
use end_to_end::lambda::Function;
use end_to_end::objects::{deployment, node_pool};
use end_to_end::stack::Stack;
use end_to_end::world::{PATIENCE, World, access_key};
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::provisioning::{wait_for_pods, with_defaults};
use super::slow::{slow_down, until_one_each};
use super::strict::until;
use crate::figures::promised;

crate::cases![
    messages_that_make_no_sense_are_finished_with,
    what_could_not_be_stored_comes_back_alone,
    a_replacement_is_launched_from_a_template_that_nobody_has_made_yet;
    alone:
    an_interruption_is_acted_upon_within_seconds,
    an_interruption_is_acted_upon_soon_while_ec2_is_slow,
];

/// From the message's being sent to the request for a replacement, for 95 of 100 messages.
const LAUNCH_WITHIN: Duration = Duration::from_secs(2);
/// To the taint.
const TAINT_WITHIN: Duration = Duration::from_secs(1);
/// To the launch of a replacement while EC2 is slow: in time for it to boot before the two minutes
/// of a notice are over.
const SLOW_LAUNCH_WITHIN: Duration = Duration::from_secs(30);

/// A queue of SQS, spoken to by hand.
struct Queue<'w> {
    world: &'w World,
    url: String,
}

impl<'w> Queue<'w> {
    async fn create(world: &'w World, name: &str) -> Result<Self> {
        // Anew, as a queue is purged no more than once a minute.
        let named = json!({ "QueueName": name });
        let before = ask(world, "CreateQueue", &named).await?;
        ask(world, "DeleteQueue", &json!({ "QueueUrl": before["QueueUrl"] })).await?;
        let made = ask(world, "CreateQueue", &named).await?;
        let url = made["QueueUrl"].as_str().context("a queue's URL")?.to_owned();
        Ok(Self { world, url })
    }

    async fn send(&self, body: &str) -> Result<()> {
        let message = json!({ "QueueUrl": self.url, "MessageBody": body });
        ask(self.world, "SendMessage", &message).await.map(drop)
    }

    /// Does what Lambda's poller does: hands messages to the function and deletes those that do not
    /// come back. Returns the ids of those that do.
    async fn deliver(&self, function: &mut Function) -> Result<BTreeSet<String>> {
        let wanted = json!({ "QueueUrl": self.url, "MaxNumberOfMessages": 10 });
        let received = ask(self.world, "ReceiveMessage", &wanted).await?;
        let messages = received["Messages"].as_array().cloned().unwrap_or_default();
        ensure!(!messages.is_empty(), "the queue is empty");
        let records = messages.iter().map(|message| {
            record(&message["MessageId"], &message["ReceiptHandle"], &message["Body"])
        });
        let records: Vec<Value> = records.collect();
        let invocation = function.invoke(&json!({ "Records": records })).await?;
        let answer = invocation.answer()?;
        let failures = answer["batchItemFailures"].as_array().context("failures of a batch")?;
        let failed: BTreeSet<String> = failures
            .iter()
            .filter_map(|failure| failure["itemIdentifier"].as_str().map(str::to_owned))
            .collect();
        for message in &messages {
            if !failed.contains(message["MessageId"].as_str().unwrap_or_default()) {
                let receipt = &message["ReceiptHandle"];
                let delete = json!({ "QueueUrl": self.url, "ReceiptHandle": receipt });
                ask(self.world, "DeleteMessage", &delete).await?;
            }
        }
        Ok(failed)
    }
}

/// SQS's JSON protocol.
async fn ask(world: &World, action: &str, body: &Value) -> Result<Value> {
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential=AKIARIG/20260101/{REGION}/sqs/aws4_request, SignedHeaders=host, Signature=0"
    );
    let request = Request::post(world.aws_endpoint())
        .header("content-type", "application/x-amz-json-1.0")
        .header("x-amz-target", format!("AmazonSQS.{action}"))
        .header("authorization", authorization)
        .body(Full::from(body.to_string()))?;
    let answer = http::client().request(request).await.with_context(|| action.to_owned())?;
    let is_good = answer.status().is_success();
    let bytes = answer.into_body().collect().await?.to_bytes();
    ensure!(is_good, "{action}: {}", String::from_utf8_lossy(&bytes));
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    serde_json::from_slice(&bytes).with_context(|| format!("{action}: no JSON"))
}

/// A message as Lambda's poller hands it on.
fn record(id: &Value, receipt: &Value, body: &Value) -> Value {
    json!({
        "messageId": id, "receiptHandle": receipt, "body": body, "attributes": {},
        "messageAttributes": {}, "eventSource": "aws:sqs", "awsRegion": REGION,
    })
}

/// The event for messages with these bodies.
pub(super) fn batch_of(bodies: &[String]) -> Value {
    let numbered = bodies.iter().enumerate();
    let records: Vec<Value> = numbered
        .map(|(number, body)| record(&json!(number.to_string()), &json!("receipt"), &json!(body)))
        .collect();
    json!({ "Records": records })
}

pub(super) fn warning(instance: &str) -> String {
    json!({
        "version": "0",
        "id": "1e5527d7-bb36-4607-3370-4164db56a40e",
        "detail-type": "EC2 Spot Instance Interruption Warning",
        "source": "aws.ec2",
        "account": "123456789012",
        "time": Timestamp::now().to_string(),
        "region": REGION,
        "resources": [format!("arn:aws:ec2:{REGION}a:instance/{instance}")],
        "detail": {"instance-id": instance, "instance-action": "terminate"},
    })
    .to_string()
}

/// So many pods, each on a node of its own.
pub(super) async fn with_nodes(world: &World, count: u32) -> Result<Stack> {
    let mut stack = with_defaults(world).await?;
    let pool = node_pool().requiring("node.kubernetes.io/instance-type", &["m5.large"]);
    world.apply(&pool.object()).await?;
    world.apply(&deployment("web", count, "1200m", "1Gi")).await?;
    wait_for_pods(world, count as usize).await?;
    stack.until_running(world, count as usize).await?;
    Ok(stack)
}

/// How long after a moment the first call came that fits.
fn first_after(calls: &[Call], sent: Instant, fits: impl Fn(&Call) -> bool) -> Option<Duration> {
    let call = calls.iter().find(|call| call.received > sent && fits(call))?;
    Some(call.received.duration_since(sent))
}

fn is_taint(call: &Call) -> bool {
    call.side == Side::Kubernetes
        && call.action.starts_with("PATCH /api/v1/nodes/")
        && call.detail.contains("karpenter.sh/disrupted")
}

async fn an_interruption_is_acted_upon_within_seconds(world: Arc<World>) -> Result<()> {
    let mut stack = with_nodes(&world, 10).await?;
    let mut function = world.function("interruption")?;
    let queue = Queue::create(&world, "interruption").await?;
    // A process that is there: interruptions come in crowds, and the first of a crowd pays for the
    // start.
    queue.send("warm up").await?;
    queue.deliver(&mut function).await?;
    let taken: Vec<_> = world.cloud.alive().await?;
    let (mut launches, mut taints) = (Vec::new(), Vec::new());
    for instance in &taken {
        world.traffic.forget_calls();
        let sent = Instant::now();
        queue.send(&warning(&instance.id)).await?;
        let failed = queue.deliver(&mut function).await?;
        ensure!(failed.is_empty(), "the message came back");
        let calls = world.traffic.calls();
        let launched = first_after(&calls, sent, |call| call.action == "ec2:CreateFleet");
        launches.push(launched.context("nothing was launched")?);
        taints.push(first_after(&calls, sent, is_taint).context("nothing was tainted")?);
    }
    let (launched, tainted) = (p95(launches), p95(taints));
    crate::figures::say(format!(
        "from the message to CreateFleet {launched:.1?}, to the taint {tainted:.1?} (p95 of {})",
        taken.len()
    ));
    stack.until_running(&world, 10).await?;
    let ids: BTreeSet<&str> = taken.iter().map(|instance| &*instance.id).collect();
    let gone = async || {
        let alive = world.cloud.alive().await?;
        Ok(alive.iter().all(|instance| !ids.contains(&*instance.id)))
    };
    stack.until("what was taken is gone", gone, |gone| *gone).await?;
    stack.until_running(&world, 10).await?;
    stack.until_consistent(&world).await?;
    ensure!(launched <= promised(LAUNCH_WITHIN), "CreateFleet after {launched:?}");
    ensure!(tainted <= promised(TAINT_WITHIN), "tainted after {tainted:?}");
    Ok(())
}

async fn an_interruption_is_acted_upon_soon_while_ec2_is_slow(world: Arc<World>) -> Result<()> {
    let mut stack = with_nodes(&world, 10).await?;
    let mut function = world.function("interruption")?;
    let queue = Queue::create(&world, "interruption").await?;
    queue.send("warm up").await?;
    queue.deliver(&mut function).await?;
    let taken: Vec<_> = world.cloud.alive().await?;
    slow_down(&world).await?;
    let (mut launches, mut taints) = (Vec::new(), Vec::new());
    for (number, instance) in taken.iter().enumerate() {
        world.traffic.forget_calls();
        let (sent, time) = (Instant::now(), Timestamp::now());
        queue.send(&warning(&instance.id)).await?;
        let failed = queue.deliver(&mut function).await?;
        ensure!(failed.is_empty(), "the message came back");
        let tainted = first_after(&world.traffic.calls(), sent, is_taint);
        taints.push(tainted.context("nothing was tainted")?);
        // What the function could not launch, another run does. One launch more may be there
        // already, of a pod that another node had no room for.
        let ever = async || {
            let all = world.cloud.instances().await?;
            let all = all.iter().map(|own| own.launched.parse::<Timestamp>());
            Ok(all.collect::<Result<BTreeSet<_>, _>>()?)
        };
        let are_enough = |found: &BTreeSet<Timestamp>| found.len() > taken.len() + number;
        let all = until(&mut stack, "a replacement", PATIENCE, ever, are_enough).await?;
        let all: Vec<Timestamp> = all.into_iter().collect();
        let own = all.get(taken.len() + number).context("a replacement")?;
        launches.push(Duration::try_from(own.duration_since(time)).unwrap_or_default());
    }
    let longest = launches.iter().max().copied().unwrap_or_default();
    let (launched, tainted) = (p95(launches), p95(taints));
    crate::figures::say(format!(
        "while EC2 is slow, from the message to the launch {launched:.1?}, to the taint \
         {tainted:.1?} (p95 of {}), longest launch {longest:.1?}",
        taken.len()
    ));
    let ids: BTreeSet<&str> = taken.iter().map(|instance| &*instance.id).collect();
    let left = async || {
        let alive = world.cloud.alive().await?;
        let old = alive.iter().filter(|instance| ids.contains(&*instance.id)).count();
        Ok((old, world.running().await?))
    };
    let is_right = |found: &(usize, (usize, usize))| *found == (0, (10, 10));
    until(&mut stack, "all pods run elsewhere", PATIENCE, left, is_right).await?;
    until_one_each(&world, &mut stack).await?;
    ensure!(launched <= promised(SLOW_LAUNCH_WITHIN), "launched after {launched:?}");
    ensure!(tainted <= promised(TAINT_WITHIN), "tainted after {tainted:?}");
    Ok(())
}

async fn a_replacement_is_launched_from_a_template_that_nobody_has_made_yet(
    world: Arc<World>,
) -> Result<()> {
    let mut stack = with_nodes(&world, 1).await?;
    let own = world.cloud.alive().await?.into_iter().next().context("an instance")?;
    // Nodes boot otherwise from now on, and no other function has launched one yet.
    let pool = node_pool().settled().labelled("example.com/generation", "2");
    world.apply(&pool.object()).await?;
    let mut function = world.function("interruption")?;
    let invocation = function.invoke(&batch_of(&[warning(&own.id)])).await?;
    let answer = invocation.answer()?;
    ensure!(answer["batchItemFailures"] == json!([]), "{answer}");
    let calls = world.traffic.calls();
    let by_us = |action: &str| {
        let caller = access_key("interruption");
        calls.iter().position(|call| call.action == action && call.caller == caller)
    };
    let made = by_us("ec2:CreateLaunchTemplate").context("no template was made")?;
    let launched = by_us("ec2:CreateFleet").context("nothing was launched")?;
    ensure!(made < launched, "the template came after the launch");
    stack.until_running(&world, 1).await?;
    let gone = async || Ok(world.cloud.alive().await?.iter().all(|other| other.id != own.id));
    stack.until("what was taken is gone", gone, |gone| *gone).await?;
    stack.until_running(&world, 1).await?;
    stack.until_consistent(&world).await
}

fn p95(mut figures: Vec<Duration>) -> Duration {
    figures.sort_unstable();
    let index = (figures.len() * 95).div_ceil(100).saturating_sub(1);
    figures.get(index).copied().unwrap_or_default()
}

async fn messages_that_make_no_sense_are_finished_with(world: Arc<World>) -> Result<()> {
    let stack = with_nodes(&world, 1).await?;
    let mut function = world.function("interruption")?;
    let queue = Queue::create(&world, "interruption").await?;
    let own = world.cloud.alive().await?.into_iter().next().context("an instance")?;
    for body in ["{", "[]", "{\"source\": \"aws.ec2\"}", &warning("i-0123456789abcdef0")] {
        queue.send(body).await?;
    }
    queue.send(&warning(&own.id)).await?;
    let failed = queue.deliver(&mut function).await?;
    ensure!(failed.is_empty(), "{failed:?} came back");
    let nodes = world.nodes().await?;
    let is_tainted = nodes.iter().any(|node| {
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
        taints.is_some_and(|taints| taints.iter().any(|own| own.key == "karpenter.sh/disrupted"))
    });
    ensure!(is_tainted, "the message that makes sense had no effect");
    drop(stack);
    Ok(())
}

async fn what_could_not_be_stored_comes_back_alone(world: Arc<World>) -> Result<()> {
    let mut stack = with_nodes(&world, 1).await?;
    let mut function = world.function("interruption")?;
    let queue = Queue::create(&world, "interruption").await?;
    let own = world.cloud.alive().await?.into_iter().next().context("an instance")?;
    world.traffic.deny("dynamodb:PutItem");
    world.traffic.deny("dynamodb:UpdateItem");
    world.traffic.deny("dynamodb:TransactWriteItems");
    queue.send("no event").await?;
    queue.send(&warning(&own.id)).await?;
    let failed = queue.deliver(&mut function).await?;
    ensure!(failed.len() == 1, "{failed:?} came back of two, one of which could not be stored");
    for action in ["dynamodb:PutItem", "dynamodb:UpdateItem", "dynamodb:TransactWriteItems"] {
        world.traffic.allow(action);
    }
    queue.send(&warning(&own.id)).await?;
    let failed = queue.deliver(&mut function).await?;
    ensure!(failed.is_empty(), "{failed:?} came back");
    stack.until_running(&world, 1).await?;
    Ok(())
}
