//! Under the Lambda runtime: one process, one invocation after another.

use std::pin::Pin;
use std::process::ExitCode;

use controllers::ports::Clock as _;
use domain::{SignedDuration, Timestamp};
use lambda_runtime::{Context, LambdaEvent, service_fn};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::batch::Batch;
use crate::environment::Environment;
use crate::event::{ClusterEvent, EventError};
use crate::failure::Failure;
use crate::heartbeat::beat;
use crate::invocation::{Invocation, InvocationRequest, Times};
use crate::logs;
use crate::metrics::Metrics;
use crate::process::Process;
use crate::summary::Summary;
use crate::telemetry::Telemetry;

/// The function that hands clusters back to Karpenter.
const HANDS_BACK: &str = "lifecycle";
/// The function that wakes another and runs nothing itself.
const WATCHES: &str = "watcher";

/// Runs a function under the Lambda runtime until that ends the process.
///
/// Clients are created and connections opened before the first event is polled, so that the time it
/// takes is part of init. An invalid environment ends the process with a log line that says why.
pub fn start(
    name: &'static str,
    function: impl AsyncFn(&Invocation<'_>) -> Result<(), Failure>,
) -> ExitCode {
    launch(async move |process: &Process, event| invoke(name, process, &function, event).await)
}

/// Runs a function that a queue invokes, under the Lambda runtime until that ends the process.
///
/// The function is given the event and returns the answer to the queue. A payload that is not such
/// an event fails the invocation, so that the queue delivers the whole batch again.
pub fn start_queue<E: DeserializeOwned, R: Serialize>(
    name: &'static str,
    function: impl AsyncFn(&Batch<'_>, E) -> R,
) -> ExitCode {
    launch(async move |process: &Process, event| {
        invoke_queue(name, process, &function, event).await
    })
}

fn launch<R: Serialize>(
    invocation: impl AsyncFn(&Process, LambdaEvent<Value>) -> Result<R, Failure>,
) -> ExitCode {
    let environment = match Environment::of_process() {
        Ok(environment) => environment,
        Err(error) => {
            logs::init("info");
            return fail(&error);
        }
    };
    logs::init(&environment.log_level);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let served = match runtime {
        Ok(runtime) => runtime.block_on(serve(environment, invocation)),
        Err(error) => return fail(&error),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&*error),
    }
}

fn fail(error: &dyn std::error::Error) -> ExitCode {
    tracing::error!(%error, "startup failed");
    ExitCode::FAILURE
}

async fn serve<R: Serialize>(
    environment: Environment,
    invocation: impl AsyncFn(&Process, LambdaEvent<Value>) -> Result<R, Failure>,
) -> Result<(), lambda_runtime::Error> {
    let process = Process::new(environment).await?;
    Box::pin(process.warm_up()).await;
    lambda_runtime::run(service_fn(|event: LambdaEvent<Value>| {
        let (process, invocation) = (&process, &invocation);
        async move {
            let result = invocation(process, event).await;
            if let Err(failure) = &result {
                tracing::error!(error = %failure, kind = failure.kind(), "invocation failed");
            }
            result
        }
    }))
    .await
}

async fn invoke(
    name: &'static str,
    process: &Process,
    function: &impl AsyncFn(&Invocation<'_>) -> Result<(), Failure>,
    LambdaEvent { payload, context }: LambdaEvent<Value>,
) -> Result<Summary, Failure> {
    let environment = process.environment();
    let started = process.clock().now();
    let event = ClusterEvent::of(&payload, environment.cluster.as_ref())?;
    if event.hand_back.is_some() && name != HANDS_BACK {
        return Err(EventError::NotHere.into());
    }
    let metrics = Metrics::new(
        &environment.metrics_namespace,
        environment.metrics_detail,
        event.cluster.as_deref().unwrap_or_default(),
    );
    let telemetry = Telemetry::new(metrics);
    let id = run_id(&context);
    let is_check = event.demand_check.is_some();
    let request = InvocationRequest {
        cluster: event.cluster.as_ref(),
        id: &id,
        reaction: event.reaction.unwrap_or(environment.reaction),
        hand_back: event.hand_back,
        is_message: event.is_message,
        continues: event.continues,
        demand_check: event.demand_check,
        times: Times::of(started, lambda_deadline(&context).unwrap_or(started)),
    };
    let invocation = Invocation::new(process, request, &telemetry);
    // Type-erased: the futures that functions await nest deeper than the compiler follows.
    let running: Pin<Box<dyn Future<Output = Result<(), Failure>>>> =
        Box::pin(function(&invocation));
    let result = match running.await {
        Ok(()) => telemetry.outcome(),
        Err(failure) => Err(failure),
    };
    // A check that finds no pod says nothing about whether runs succeed, nor does who only watches.
    let has_run = name != WATCHES && !is_check || telemetry.has_run();
    if result.is_ok()
        && !event.is_message
        && let Err(error) = Box::pin(beat(name, &invocation, event.schedules)).await
    {
        tracing::warn!(%error, "failed to say that the function succeeded");
    }
    let ended = process.clock().now();
    let metrics = telemetry.metrics();
    record_invocation(metrics, name, result.is_err(), ended.duration_since(started));
    record_success(metrics, name, result.is_ok() && has_run);
    metrics.write(ended);
    result
}

async fn invoke_queue<E: DeserializeOwned, R>(
    name: &'static str,
    process: &Process,
    function: &impl AsyncFn(&Batch<'_>, E) -> R,
    LambdaEvent { payload, context }: LambdaEvent<Value>,
) -> Result<R, Failure> {
    let started = process.clock().now();
    let event: E = serde_json::from_value(payload).map_err(|error| EventError::NoBatch {
        kind: error.classify(),
        line: error.line(),
        column: error.column(),
    })?;
    let id = run_id(&context);
    let times = Times::of(started, lambda_deadline(&context).unwrap_or(started));
    let batch = Batch::new(process, &id, times);
    // Type-erased: the futures that functions await nest deeper than the compiler follows.
    let running: Pin<Box<dyn Future<Output = R>>> = Box::pin(function(&batch, event));
    let answer = running.await;
    let ended = process.clock().now();
    let metrics = batch.telemetry.metrics();
    record_invocation(metrics, name, false, ended.duration_since(started));
    record_success(metrics, name, true);
    batch.write_metrics(ended);
    Ok(answer)
}

/// An id for the invocation. Lambda's request id alone is not unique: an event that is delivered
/// twice keeps it.
fn run_id(context: &Context) -> String {
    format!("{}/{}", context.request_id, uuid::Uuid::new_v4().simple())
}

fn lambda_deadline(context: &Context) -> Option<Timestamp> {
    let end = i64::try_from(context.deadline).ok()?;
    Timestamp::from_millisecond(end).ok()
}

fn record_invocation(
    metrics: &Metrics,
    name: &'static str,
    is_error: bool,
    duration: SignedDuration,
) {
    let labels = [("function", name)];
    metrics.count("outrigger_invocations_total", &labels, 1);
    metrics.count("outrigger_invocation_errors_total", &labels, usize::from(is_error));
    metrics.duration("outrigger_invocation_duration_seconds", &labels, duration.as_secs_f64());
}

/// What alarms about silence go by.
fn record_success(metrics: &Metrics, name: &'static str, is_success: bool) {
    let labels = [("function", name)];
    if is_success {
        metrics.count("outrigger_invocation_successes_total", &labels, 1);
    }
}

/// Ends a process whose handler (`_HANDLER`) names none of the functions.
pub fn unknown_handler(handler: &str, functions: &[&str]) -> ExitCode {
    logs::init("info");
    let functions = functions.join(", ");
    tracing::error!(handler, functions, "unknown handler (_HANDLER)");
    ExitCode::FAILURE
}
