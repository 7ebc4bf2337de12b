//! The rig's Lambda, with a function of a few lines: what it does to functions is what Lambda does.

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use end_to_end::gate::Moment;
use end_to_end::lambda::{Deployment, Function, Outcome};
use end_to_end::stack::was_killed;
use end_to_end::world::World;
use serde_json::json;

crate::cases![
    a_function_answers_and_is_kept_warm,
    an_error_of_a_function_is_its_own,
    a_function_that_oversteps_its_time_is_gone,
    a_function_can_be_killed_in_a_call_that_took_effect,
    a_function_can_be_killed_before_a_call_takes_effect,
    a_function_can_be_killed_before_it_is_ready,
];

/// Does what its event says: answers, fails, sleeps, or calls EC2.
const PROBE: &str = r#"#!/usr/bin/env python3
import json, os, time, urllib.request

root = f"http://{os.environ['AWS_LAMBDA_RUNTIME_API']}/2018-06-01/runtime/invocation"

def call(url, body=None, headers={}):
    return urllib.request.urlopen(urllib.request.Request(url, body, headers))

def create(name):
    form = f"Action=CreateKeyPair&Version=2016-11-15&KeyName={name}".encode()
    scope = "AWS4-HMAC-SHA256 Credential=AKIARIGPROBE/20260101/us-east-1/ec2/aws4_request, SignedHeaders=host, Signature=0"
    call(os.environ["AWS_ENDPOINT_URL"], form, {"Authorization": scope})

if "EARLY" in os.environ:
    create("early")

while True:
    event = call(f"{root}/next")
    request = event.headers["Lambda-Runtime-Aws-Request-Id"]
    left = int(event.headers["Lambda-Runtime-Deadline-Ms"]) / 1000 - time.time()
    do = json.load(event)
    print(json.dumps({"message": "asked", "for": do}), flush=True)
    if "sleep" in do:
        time.sleep(do["sleep"])
    for name in do.get("create", []):
        create(name)
    if "fail" in do:
        error = json.dumps({"errorType": "Probe", "errorMessage": do["fail"]}).encode()
        call(f"{root}/{request}/error", error)
    else:
        call(f"{root}/{request}/response", json.dumps({"secondsLeft": left}).encode())
"#;

fn probe(world: &World) -> Result<Function> {
    let binary = world.workplace().write("probe", PROBE)?;
    std::fs::set_permissions(&binary, std::fs::Permissions::from_mode(0o755))?;
    let deployment = Deployment {
        name: "probe".to_owned(),
        handler: "probe".to_owned(),
        binary,
        environment: [("AWS_ENDPOINT_URL".to_owned(), world.aws_endpoint().to_owned())].into(),
        timeout: Duration::from_secs(20),
        memory_mib: 128,
    };
    Ok(Function::new(deployment, world.workplace().clone()))
}

async fn a_function_answers_and_is_kept_warm(world: Arc<World>) -> Result<()> {
    let mut function = probe(&world)?;
    let cold = function.invoke(&json!({})).await?;
    let left = cold.answer()?["secondsLeft"].as_f64().context("seconds")?;
    ensure!((15.0..=20.0).contains(&left), "{left} s left of 20");
    ensure!(
        cold.init.is_some() && cold.billed() > cold.duration && cold.peak_memory_kib > 1024,
        "{cold:?}"
    );
    ensure!(cold.logs.iter().any(|line| line["message"] == "asked"), "{}", cold.output);
    let warm = function.invoke(&json!({})).await?;
    warm.answer()?;
    ensure!(warm.init.is_none(), "it was started again");
    Ok(())
}

async fn an_error_of_a_function_is_its_own(world: Arc<World>) -> Result<()> {
    let mut function = probe(&world)?;
    let failed = function.invoke(&json!({"fail": "on purpose"})).await?;
    ensure!(failed.error()?.error_type == "Probe" && failed.error()?.error_message == "on purpose");
    ensure!(failed.answer().is_err());
    let next = function.invoke(&json!({})).await?;
    ensure!(next.init.is_none(), "an error ended the process");
    Ok(())
}

async fn a_function_that_oversteps_its_time_is_gone(world: Arc<World>) -> Result<()> {
    let mut function = probe(&world)?;
    let late = function.invoke_within(&json!({"sleep": 30}), Duration::from_secs(1)).await?;
    ensure!(matches!(late.outcome, Outcome::TimedOut), "{late:?}");
    let next = function.invoke(&json!({})).await?;
    next.answer()?;
    ensure!(next.init.is_some(), "the process outlived its time");
    Ok(())
}

async fn a_function_can_be_killed_in_a_call_that_took_effect(world: Arc<World>) -> Result<()> {
    let made = killed_in_the_second_call(&world, Moment::After).await?;
    ensure!(made == (true, false), "first two of three calls took effect, but: {made:?}");
    Ok(())
}

async fn a_function_can_be_killed_before_a_call_takes_effect(world: Arc<World>) -> Result<()> {
    let made = killed_in_the_second_call(&world, Moment::Before).await?;
    ensure!(made == (false, false), "only the first of three calls took effect, but: {made:?}");
    Ok(())
}

/// Kills a function in the second of three calls; whether the second and the third took effect.
async fn killed_in_the_second_call(world: &World, moment: Moment) -> Result<(bool, bool)> {
    let mut function = probe(world)?;
    let names = ["one", "two", "three"].map(|name| format!("{name}-{moment:?}"));
    let mut trap = world.traffic.trap("AKIARIGPROBE", 2, moment);
    let killed = function.invoke_into(&json!({"create": names}), &mut trap).await?;
    ensure!(was_killed(&killed), "{killed:?}");
    let keys = end_to_end::aws::Aws::at(world.aws_endpoint()).ask("DescribeKeyPairs", &[]).await?;
    ensure!(keys.contains(&names[0]), "not even the first call took effect");
    let next = function.invoke(&json!({})).await?;
    ensure!(next.init.is_some(), "it was not killed");
    Ok((keys.contains(&names[1]), keys.contains(&names[2])))
}

async fn a_function_can_be_killed_before_it_is_ready(world: Arc<World>) -> Result<()> {
    let mut function = probe(&world)?;
    function.deployment().environment.insert("EARLY".to_owned(), "true".to_owned());
    let mut trap = world.traffic.trap("AKIARIGPROBE", 1, Moment::Before);
    let killed = function.invoke_into(&json!({}), &mut trap).await?;
    ensure!(was_killed(&killed) && killed.init.is_none(), "{killed:?}");
    let next = function.invoke(&json!({})).await?;
    next.answer()?;
    ensure!(next.init.is_some(), "it was not killed");
    Ok(())
}
