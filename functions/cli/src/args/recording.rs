//! Arguments of `record`, and of replays.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::{SignedDuration, Timestamp};

/// What is replayed, for `simulate`.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Replay a recording: a file, - for standard input, or the name of a bundled one
    ///
    /// Recorded pods come and leave as they did; nodes are launched anew, from an empty cluster. A
    /// SCENARIO beside it adds its timeline, faults, settings, expectations and variants.
    #[arg(long, value_name = "RECORDING", conflicts_with = "list")]
    pub(crate) from: Option<String>,
    /// NodePools, and other objects, in place of those that were recorded
    ///
    /// NodePools, EC2NodeClasses and NodeOverlays that are given replace all recorded ones of their
    /// kind, other objects those of their name.
    #[arg(
        short = 'f',
        long = "filename",
        value_name = "FILE|DIR",
        num_args = 1..,
        requires = "from"
    )]
    pub(crate) files: Vec<PathBuf>,
    /// Replay once more with the objects of FILE in place, and set the runs beside each other
    #[arg(long, value_name = "NAME=FILE", requires = "from", value_parser = named_file)]
    pub(crate) compare: Vec<NamedFile>,
    /// An InstanceCatalog to replay with, instead of the embedded one
    #[arg(long, value_name = "FILE", requires = "from", conflicts_with = "region")]
    pub(crate) catalog: Option<PathBuf>,
    /// Run with so many seeds, and give means with 95 % confidence intervals
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) seeds: Option<u16>,
    /// Write a recording of the run into a file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["seeds", "compare", "list"])]
    pub(crate) record: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) pseudonyms: PseudonymsArgs,
}

/// Whether a recording has pseudonyms for names.
#[derive(Debug, Args)]
pub(crate) struct PseudonymsArgs {
    /// Record pseudonyms in place of names and of pods' labels, made with the key in a file
    ///
    /// The same key gives the same pseudonyms. Keep it: `openssl rand -hex 32` makes one. Names of
    /// NodePools and labels of nodes stay.
    #[arg(long, value_name = "KEYFILE")]
    pub(crate) pseudonyms: Option<PathBuf>,
}

/// `NAME=FILE`.
#[derive(Clone, Debug)]
pub(crate) struct NamedFile {
    /// What the run is called.
    pub(crate) name: String,
    /// The objects.
    pub(crate) file: PathBuf,
}

fn named_file(text: &str) -> Result<NamedFile, String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok(NamedFile { name: name.to_owned(), file: file.into() })
        }
        _ => Err("it is not NAME=FILE".to_owned()),
    }
}

/// `outrigger record`.
#[derive(Debug, Args)]
pub(crate) struct RecordArgs {
    /// An audit log: JSON Lines of audit.k8s.io/v1 Events; - reads standard input
    #[arg(short = 'f', long = "filename", value_name = "EVENTS", required_unless_present = "live")]
    pub(crate) events: Option<PathBuf>,
    /// Watch the live cluster of the kubeconfig, until Ctrl-C
    ///
    /// Nothing is changed in the cluster. Lines are written as things happen; the file is whole at
    /// any time. Lists and watches of what a plan depends on are all that it needs to be allowed.
    #[arg(long, conflicts_with = "events")]
    pub(crate) live: bool,
    /// The context of the kubeconfig; the current one without it
    #[arg(long, value_name = "NAME", requires = "live", conflicts_with = "events")]
    pub(crate) context: Option<String>,
    /// Stop by itself after so long, such as 24h
    #[arg(
        long = "for",
        value_name = "DURATION",
        requires = "live",
        conflicts_with = "events",
        value_parser = duration
    )]
    pub(crate) length: Option<SignedDuration>,
    /// Write into a new file, instead of standard output
    #[arg(long, value_name = "FILE")]
    pub(crate) to: Option<PathBuf>,
    /// The cluster's name, for the header
    #[arg(long, value_name = "NAME")]
    pub(crate) cluster: Option<String>,
    /// The cluster's region, for the header: a replay has its prices
    #[arg(long, value_name = "NAME")]
    pub(crate) region: Option<String>,
    #[command(flatten)]
    pub(crate) pseudonyms: PseudonymsArgs,
    #[command(subcommand)]
    pub(crate) command: Option<RecordCommand>,
}

/// What a recording is made from.
#[derive(Debug, Subcommand)]
pub(crate) enum RecordCommand {
    /// Make a recording of a public trace, or of Kubernetes' Events
    Import(ImportRecordingArgs),
}

/// `outrigger record import`.
#[derive(Debug, Args)]
pub(crate) struct ImportRecordingArgs {
    #[command(subcommand)]
    pub(crate) trace: Trace,
}

/// What can be imported.
#[derive(Debug, Subcommand)]
pub(crate) enum Trace {
    /// The pod list of openb: 149 days of a production cluster with GPUs
    ///
    /// Source: <https://github.com/hkust-adsl/kubernetes-scheduler-simulator>, data/csv. The
    /// recording is printed.
    Openb(OpenbArgs),
    /// Kubernetes' own Events, where neither a watch nor an audit log is to be had
    ///
    /// What `kubectl get events -A -o json` prints, or one Event a line, as exporters write them:
    /// an API server keeps Events for an hour. They name pods and say not what those request: that
    /// is taken from the templates of the workloads given with -f. The recording is printed.
    Events(EventsArgs),
}

/// `outrigger record import events`.
#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// The Events; - reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) events: PathBuf,
    /// The cluster's objects: Deployments, StatefulSets, Jobs, CronJobs, NodePools and others
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR", num_args = 1.., required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// `outrigger record import openb`.
#[derive(Debug, Args)]
pub(crate) struct OpenbArgs {
    /// The pod list: openb_pod_list_default.csv
    #[arg(long, value_name = "CSV")]
    pub(crate) pods: PathBuf,
    /// Where the recording begins, from the trace's first second, such as 3552h
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration)]
    pub(crate) from: SignedDuration,
    /// How long it lasts
    #[arg(long = "for", value_name = "DURATION", default_value = "24h", value_parser = duration)]
    pub(crate) length: SignedDuration,
    /// The moment that it begins at: the trace names none
    #[arg(long, value_name = "RFC3339", default_value = "2026-01-05T00:00:00Z")]
    pub(crate) start: Timestamp,
    /// The region that the cluster is taken to be in
    #[arg(long, value_name = "NAME", default_value = "us-east-1")]
    pub(crate) region: String,
    /// Objects that the recording begins with, such as NodePools: the trace has none
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR", num_args = 1..)]
    pub(crate) files: Vec<PathBuf>,
}

/// A duration from a second to a thousand days, such as `90m` or `24h`; zero too.
fn duration(text: &str) -> Result<SignedDuration, String> {
    const MOST: SignedDuration = SignedDuration::from_hours(24_000);
    let duration: SignedDuration =
        text.parse().map_err(|_| "it is no duration such as 90m or 24h".to_owned())?;
    let is_usable = !duration.is_negative() && duration <= MOST;
    is_usable.then_some(duration).ok_or_else(|| "it is not between 0s and 24000h".to_owned())
}
