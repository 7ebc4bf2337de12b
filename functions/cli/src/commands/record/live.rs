//! `outrigger record --live`: what happens in a cluster, written as it happens.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::future::Future;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::pin::pin;
use std::time::Duration;

use domain::Timestamp;
use domain::pod::ObjectKey;
use kubernetes::{Connection, ContainerUsage, Observation, Observed, observe, observed_kinds};
use recording::Sample;
use recording::document::Header;
use recording::live::{LiveRecorder, region_of};
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{interval, sleep};

use crate::args::recording::RecordArgs;
use crate::commands::{CommandError, record};
use crate::status::Status;
use crate::{clock, console};

/// How long lines are held back at most.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// Kinds without which there is no recording.
const NEEDED: [&str; 2] = ["Pod", "Node"];
/// Kinds that tell of others, written after those.
const LAST: [&str; 3] = ["Node", "NodeClaim", "Pod"];

/// Records until it is interrupted, or for as long as was wanted.
pub(super) fn run(args: &RecordArgs) -> Result<Status, CommandError> {
    let pseudonyms = record::pseudonyms(&args.pseudonyms)?;
    let mut sink = Sink::open(args.to.clone())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let connection = runtime.block_on(Connection::from_kubeconfig(args.context.as_deref()));
    let connection = connection.map_err(CommandError::Remote)?;
    runtime.block_on(async {
        let (observations, mut heard) = unbounded_channel();
        let mut observed = pin!(observe(&connection, observations));
        let mut interrupted = pin!(interrupted());
        let listed = tokio::select! {
            () = &mut observed => return Ok(Status::Done),
            () = &mut interrupted => return Ok(Status::Done),
            listed = all_listed(&mut heard) => listed?,
        };
        // Creation times have whole seconds: what is created from here on is not before the start.
        let start = clock::now();
        let mut log = Log {
            recorder: LiveRecorder::new(start, header(args, &listed), pseudonyms),
            warned: BTreeSet::new(),
        };
        log.begin(start, listed);
        sink.write(&log.recorder.take()?)?;
        let mut flushes = interval(FLUSH_EVERY);
        let mut over = pin!(over(args.length.and_then(|own| own.try_into().ok())));
        loop {
            tokio::select! {
                () = &mut observed => break,
                () = &mut interrupted => break,
                () = &mut over => break,
                Some(own) = heard.recv() => log.note(own),
                _ = flushes.tick() => sink.write(&log.recorder.take()?)?,
            }
        }
        // What was heard before the end belongs to it.
        while let Ok(own) = heard.try_recv() {
            log.note(own);
        }
        log.recorder.stop(clock::to_the_millisecond());
        sink.write(&log.recorder.take()?)?;
        sink.close()
    })?;
    Ok(Status::Done)
}

/// Returns after so long, where a length is wanted.
async fn over(length: Option<Duration>) {
    match length {
        Some(length) => sleep(length).await,
        None => std::future::pending().await,
    }
}

/// Returns when the process is asked to end.
async fn interrupted() {
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        () = terminated() => {}
    }
}

/// Returns when the process gets SIGTERM.
#[cfg(unix)]
fn terminated() -> impl Future<Output = ()> {
    let signal = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate());
    async {
        match signal {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
fn terminated() -> impl Future<Output = ()> {
    std::future::pending()
}

/// What there was at the beginning.
#[derive(Default)]
struct Listed {
    /// Objects by kind.
    objects: BTreeMap<&'static str, Vec<Value>>,
    /// What changed since some of them were listed, in order.
    changes: Vec<Observation>,
}

/// What there is of each kind.
async fn all_listed(heard: &mut UnboundedReceiver<Observation>) -> Result<Listed, CommandError> {
    let mut missing: BTreeSet<&str> = observed_kinds().collect();
    let mut listed = Listed::default();
    while !missing.is_empty() {
        let Some(Observation { kind, what }) = heard.recv().await else { break };
        match what {
            Observed::Listed(objects) => {
                // A later list says it all.
                listed.changes.retain(|own| own.kind != kind);
                listed.objects.insert(kind, objects);
                missing.remove(kind);
            }
            // What is listed already changes, or cannot be watched, while other kinds are listed.
            _ if !missing.contains(kind) => listed.changes.push(Observation { kind, what }),
            Observed::Applied(_)
            | Observed::Gone(_)
            | Observed::Used(_)
            | Observed::NotInstalled => {}
            Observed::Failed(why) if NEEDED.contains(&kind) => {
                return Err(CommandError::Remote(why));
            }
            Observed::Failed(why) => {
                console::warning(&format!(
                    "no {kind} is recorded until this changes: {}",
                    console::in_full(&why)
                ));
                missing.remove(kind);
            }
        }
    }
    Ok(listed)
}

fn header(args: &RecordArgs, listed: &Listed) -> Header {
    let region = || region_of(listed.objects.get("Node").map(Vec::as_slice).unwrap_or_default());
    Header {
        cluster: args.cluster.clone(),
        region: args.region.clone().or_else(region),
        about: Some("recorded from a live cluster".to_owned()),
        ..Header::default()
    }
}

struct Log {
    recorder: LiveRecorder,
    /// What was said already.
    warned: BTreeSet<String>,
}

impl Log {
    fn begin(&mut self, start: Timestamp, listed: Listed) {
        let order = |kind: &str| LAST.iter().position(|own| *own == kind).map_or(0, |own| own + 1);
        let mut objects: Vec<_> = listed.objects.into_iter().collect();
        objects.sort_by_key(|(kind, _)| order(kind));
        for (kind, objects) in objects {
            self.recorder.listed(start, kind, objects);
        }
        for change in listed.changes {
            self.note(change);
        }
        self.problems();
    }

    fn note(&mut self, Observation { kind, what }: Observation) {
        let now = clock::to_the_millisecond();
        match what {
            Observed::Listed(objects) => self.recorder.listed(now, kind, objects),
            Observed::Applied(object) => self.recorder.applied(now, kind, object),
            Observed::Gone(object) => self.recorder.gone(now, kind, &object),
            Observed::Used(containers) => {
                for own in containers {
                    let key = ObjectKey::new(own.namespace, own.pod);
                    let ContainerUsage { cpu_millis, memory_bytes, .. } = own;
                    let sample = Sample { cpu_millis, memory_bytes };
                    self.recorder.used(now, &key, &own.container, sample);
                }
            }
            Observed::NotInstalled => self.warn(format!(
                "what pods use is not recorded: the cluster has no {kind} (metrics.k8s.io)"
            )),
            Observed::Failed(why) => {
                self.warn(format!("{kind}: {}; it is tried again", console::in_full(&why)));
            }
        }
        self.problems();
    }

    fn problems(&mut self) {
        for problem in self.recorder.problems() {
            self.warn(problem);
        }
    }

    fn warn(&mut self, what: String) {
        if !self.warned.contains(&what) {
            console::warning(&what);
            self.warned.insert(what);
        }
    }
}

/// Where lines go.
enum Sink {
    StandardOutput,
    File { path: PathBuf, file: File },
}

impl Sink {
    /// A file must be new: a recording that is there is not overwritten.
    fn open(path: Option<PathBuf>) -> Result<Self, CommandError> {
        let Some(path) = path else { return Ok(Self::StandardOutput) };
        match File::create_new(&path) {
            Ok(file) => Ok(Self::File { path, file }),
            Err(source) => Err(failed(&path, source)),
        }
    }

    /// Writes whole lines.
    fn write(&mut self, lines: &str) -> Result<(), CommandError> {
        match self {
            _ if lines.is_empty() => Ok(()),
            Self::StandardOutput => Ok(console::write(lines)?),
            Self::File { path, file } => {
                file.write_all(lines.as_bytes()).map_err(|source| failed(path, source))
            }
        }
    }

    fn close(self) -> Result<Status, CommandError> {
        if let Self::File { path, file } = self {
            file.sync_all().map_err(|source| failed(&path, source))?;
            let bytes = file.metadata().map_or(0, |own| own.len());
            console::note(&format!("{} has {bytes} bytes", path.display()));
        }
        Ok(Status::Done)
    }
}

fn failed(path: &std::path::Path, source: io::Error) -> CommandError {
    CommandError::File { path: path.display().to_string(), source }
}
