//! AWS Lambda: runs a function's binary as Lambda does. The binary asks a runtime API for events
//! and answers there; it is frozen between invocations, ended when it oversteps its time, and
//! started anew when it has died.
//!
//! Source: <https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html>

mod runtime_api;

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use jiff::Timestamp;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;

use crate::cloud::REGION;
use crate::gate::{Call, Trap};
use crate::process::{Workplace, end_of};
use runtime_api::{Answered, Event, RuntimeApi};

pub use runtime_api::FunctionError;

/// How long a binary may take until it asks for its first event; Lambda's own limit.
const INIT_WITHIN: Duration = Duration::from_secs(10);

/// Numbers logs in the order in which processes are started, whatever case they are of.
static STARTS: AtomicU32 = AtomicU32::new(1);

/// What a function is deployed with.
#[derive(Clone, Debug)]
pub struct Deployment {
    /// Its name.
    pub name: String,
    /// Which function of the binary it is.
    pub handler: String,
    /// Its binary.
    pub binary: PathBuf,
    /// Its environment, beside what Lambda sets.
    pub environment: BTreeMap<String, String>,
    /// How long an invocation may take.
    pub timeout: Duration,
    /// What it may use, in MiB.
    pub memory_mib: u32,
}

/// One function, with at most one process.
#[derive(Debug)]
pub struct Function {
    deployment: Deployment,
    workplace: Workplace,
    process: Option<Process>,
    invocations: u64,
}

#[derive(Debug)]
struct Process {
    child: Child,
    id: u32,
    api: RuntimeApi,
    log: PathBuf,
    read: u64,
    started: Instant,
    init: Option<Duration>,
}

/// What came of an invocation.
#[derive(Debug)]
pub struct Invocation {
    /// How it ended.
    pub outcome: Outcome,
    /// From the event to the answer.
    pub duration: Duration,
    /// From the start of the process to its first request for an event; `None` for a warm one.
    pub init: Option<Duration>,
    /// What it computed in that time, init included: to hundredths of a second, and the same on a
    /// busy machine.
    pub cpu: Duration,
    /// Peak of resident memory of the process so far, in KiB.
    pub peak_memory_kib: u64,
    /// Lines the function wrote that are JSON.
    pub logs: Vec<Value>,
    /// All it wrote.
    pub output: String,
}

/// How an invocation ended.
#[derive(Debug)]
pub enum Outcome {
    /// The function answered.
    Answered(Value),
    /// The function reported an error.
    Failed(FunctionError),
    /// Its time was over; the process is gone.
    TimedOut,
    /// It was killed in a call; the process is gone.
    Killed(Box<Call>),
    /// The process ended by itself.
    Exited(String),
}

impl Invocation {
    /// The answer; an error that holds what the function wrote, where there is none.
    pub fn answer(&self) -> Result<&Value> {
        match &self.outcome {
            Outcome::Answered(answer) => Ok(answer),
            other => bail!("{other:?}, after {:?}:\n{}", self.duration, self.output),
        }
    }

    /// The error that the function reported.
    pub fn error(&self) -> Result<&FunctionError> {
        match &self.outcome {
            Outcome::Failed(error) => Ok(error),
            other => bail!("not an error but {other:?}:\n{}", self.output),
        }
    }

    /// What Lambda would bill with a share of a CPU: what was computed takes longer by it, waiting
    /// does not.
    pub fn billed_with(&self, cpus: f64) -> Duration {
        let total = self.duration + self.init.unwrap_or_default();
        total.saturating_sub(self.cpu) + self.cpu.div_f64(cpus)
    }

    /// What Lambda bills: whole milliseconds, and init since it is part of an on-demand cold start.
    pub fn billed(&self) -> Duration {
        let total = self.duration + self.init.unwrap_or_default();
        Duration::from_millis(u64::try_from(total.as_micros().div_ceil(1000)).unwrap_or(u64::MAX))
    }
}

impl Function {
    /// A function that has not run yet.
    pub const fn new(deployment: Deployment, workplace: Workplace) -> Self {
        Self { deployment, workplace, process: None, invocations: 0 }
    }

    /// Another environment of the same function: two invocations at once run in two processes.
    pub fn another(&self) -> Self {
        let mut deployment = self.deployment.clone();
        deployment.name.push_str("-2");
        Self::new(deployment, self.workplace.clone())
    }

    /// What it is deployed with.
    pub const fn deployment(&mut self) -> &mut Deployment {
        &mut self.deployment
    }

    /// Ends the process, so that the next invocation starts cold.
    pub async fn cool(&mut self) -> Result<()> {
        if let Some(mut process) = self.process.take() {
            process.child.kill().await?;
        }
        Ok(())
    }

    /// Invokes it with the time it is deployed with.
    pub async fn invoke(&mut self, event: &Value) -> Result<Invocation> {
        let timeout = self.deployment.timeout;
        self.run(event, timeout, None).await
    }

    /// Invokes it with another time limit.
    pub async fn invoke_within(&mut self, event: &Value, timeout: Duration) -> Result<Invocation> {
        self.run(event, timeout, None).await
    }

    /// Invokes it, and kills it (`SIGKILL`) in the call that the trap is set for. A trap that was
    /// not sprung is good for the next invocation.
    pub async fn invoke_into(&mut self, event: &Value, trap: &mut Trap) -> Result<Invocation> {
        let timeout = self.deployment.timeout;
        self.run(event, timeout, Some(trap)).await
    }

    async fn run(
        &mut self,
        event: &Value,
        timeout: Duration,
        trap: Option<&mut Trap>,
    ) -> Result<Invocation> {
        self.invocations += 1;
        let (mut sprung, released) =
            trap.map(|trap| (&mut trap.sprung, &mut trap.released)).unzip();
        let is_cold = self.process.is_none();
        if is_cold {
            self.process = Some(self.start().await?);
        }
        let process = self.process.as_mut().context("a process")?;
        let cpu_before = if is_cold { Duration::ZERO } else { process.cpu() };
        let early = if is_cold { process.initialise(&mut sprung).await? } else { None };
        let begun = Instant::now();
        let outcome = if let Some(outcome) = early {
            outcome
        } else {
            let name = &self.deployment.name;
            process.signal(Signal::CONT)?;
            let answer = process.api.deliver(Event {
                request_id: format!("00000000-0000-4000-8000-{:012}", self.invocations),
                body: event.to_string(),
                deadline_ms: (Timestamp::now() + timeout).as_millisecond(),
                arn: format!("arn:aws:lambda:{REGION}:123456789012:function:{name}"),
            })?;
            process.invoke(answer, timeout, &mut sprung).await?
        };
        let duration = begun.elapsed();
        let peak_memory_kib = process.peak_memory_kib();
        let cpu = process.cpu().saturating_sub(cpu_before);
        let goes_on = matches!(outcome, Outcome::Answered(_) | Outcome::Failed(_));
        if goes_on {
            // Lambda freezes what has asked for its next event.
            process.api.idle(Duration::from_secs(2)).await;
            process.signal(Signal::STOP)?;
        } else {
            let _ = process.child.kill().await;
        }
        let was_killed = matches!(outcome, Outcome::Killed(_));
        if let Some(released) = released.filter(|_| was_killed).and_then(Option::take) {
            let _ = released.send(());
        }
        let output = process.output()?;
        let init = if is_cold { process.init } else { None };
        if !goes_on {
            self.process = None;
        }
        let logs = output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(Invocation { outcome, duration, init, cpu, peak_memory_kib, logs, output })
    }

    /// Starts the process; it has not asked for anything yet.
    async fn start(&self) -> Result<Process> {
        let Deployment { name, handler, binary, environment, memory_mib, timeout: _ } =
            &self.deployment;
        let api = RuntimeApi::start().await?;
        let log = self
            .workplace
            .path(&format!("function-{:03}-{name}.log", STARTS.fetch_add(1, Ordering::Relaxed)));
        let output = std::fs::File::create(&log)?;
        let started = Instant::now();
        let child = Command::new(binary)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("LANG", "en_US.UTF-8")
            .env("TZ", ":UTC")
            .env("AWS_LAMBDA_RUNTIME_API", &api.address)
            .env("AWS_LAMBDA_FUNCTION_NAME", name)
            .env("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", memory_mib.to_string())
            .env("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand")
            .env("AWS_LAMBDA_LOG_FORMAT", "JSON")
            .env("AWS_LAMBDA_LOG_LEVEL", "INFO")
            .env("AWS_LAMBDA_LOG_GROUP_NAME", format!("/aws/lambda/{name}"))
            .env("AWS_LAMBDA_LOG_STREAM_NAME", "2026/01/01/[$LATEST]rig")
            .env("AWS_REGION", REGION)
            .env("AWS_DEFAULT_REGION", REGION)
            // Tells `run` whose process it is.
            .env("OUTRIGGER_END_TO_END_WORKPLACE", self.workplace.run())
            .env("_HANDLER", handler)
            .env("LAMBDA_TASK_ROOT", "/var/task")
            .env("LAMBDA_RUNTIME_DIR", "/var/runtime")
            .envs(environment)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("start function {name}: {}", binary.display()))?;
        let id = child.id().context("a process that runs")?;
        self.workplace.note_process(id, name)?;
        Ok(Process { child, id, api, log, read: 0, started, init: None })
    }
}

/// The call that a trap was sprung in.
async fn until_sprung(sprung: &mut Option<&mut oneshot::Receiver<Call>>) -> Call {
    if let Some(sprung) = sprung
        && let Ok(call) = sprung.await
    {
        return call;
    }
    // No trap, or one that was replaced: nothing will come.
    std::future::pending().await
}

impl Process {
    /// Waits until it asks for its first event. An outcome is how it ended before.
    async fn initialise(
        &mut self,
        sprung: &mut Option<&mut oneshot::Receiver<Call>>,
    ) -> Result<Option<Outcome>> {
        tokio::select! {
            first = self.api.first_request(INIT_WITHIN) => {
                let at = first.with_context(|| end_of(&self.log, 30))?;
                self.init = Some(at.duration_since(self.started));
                Ok(None)
            }
            call = until_sprung(sprung) => Ok(Some(Outcome::Killed(Box::new(call)))),
            status = self.child.wait() => Ok(Some(Outcome::Exited(status?.to_string()))),
        }
    }

    /// Waits until it has answered, or is at its end.
    async fn invoke(
        &mut self,
        answer: Answered,
        timeout: Duration,
        sprung: &mut Option<&mut oneshot::Receiver<Call>>,
    ) -> Result<Outcome> {
        Ok(tokio::select! {
            answer = answer => match answer {
                Ok(Ok(answer)) => Outcome::Answered(answer),
                Ok(Err(error)) => Outcome::Failed(error),
                Err(_) => Outcome::Exited("the runtime API is gone".to_owned()),
            },
            call = until_sprung(sprung) => Outcome::Killed(Box::new(call)),
            status = self.child.wait() => Outcome::Exited(status?.to_string()),
            () = tokio::time::sleep(timeout) => Outcome::TimedOut,
        })
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        let pid = i32::try_from(self.id).ok().and_then(Pid::from_raw).context("a process id")?;
        // Not waited for yet, so the id is still this process's.
        kill_process(pid, signal).context("signal a function")
    }

    /// `VmHWM` of `/proc/ID/status`.
    fn peak_memory_kib(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.id)).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.and_then(|value| value.trim().trim_end_matches(" kB").parse().ok()).unwrap_or_default()
    }

    /// `utime` and `stime` of `/proc/ID/stat`.
    fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.id)).unwrap_or_default();
        // The name before may hold anything, also spaces.
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        let ticks = rest.split_whitespace().skip(11).take(2);
        let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
        Duration::from_millis(ticks * 1000 / rustix::param::clock_ticks_per_second())
    }

    /// What it wrote since the last time.
    fn output(&mut self) -> Result<String> {
        let mut file = std::fs::File::open(&self.log)?;
        file.seek(SeekFrom::Start(self.read))?;
        let mut bytes = Vec::new();
        self.read += u64::try_from(file.read_to_end(&mut bytes)?)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
