//! Arguments of `diff`, of both its forms: what a change of manifests does, and what functions that
//! only observe would have done.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use domain::Timestamp;

use super::SettingsArgs;
use crate::view::threshold::{CostIncrease, PercentagePoints};

/// The three ways to ask. Where the program goes by another name, that stands here.
pub(crate) const USAGE: &str = "\
outrigger diff [OPTIONS] OLD NEW [-f FILE|DIR]...
       outrigger diff [OPTIONS] --git REVISION[..REVISION] PATH... [-f FILE|DIR]...
       outrigger diff --observed --table NAME --cluster NAME";

/// What to type.
pub(crate) const EXAMPLES: &str = "\
Examples:
  diff old/ new/ -f cluster.yaml                two folders of manifests
  diff main:infra HEAD:infra -f cluster.yaml    two revisions, as `git show` names them
  diff --git main...HEAD infra -f cluster.yaml  what a branch changes, since it left main
  diff --git HEAD infra -f cluster.yaml         what is not committed yet

cluster.yaml is what the command at the end of `plan --help` prints.

Exit status: 0 done; 1 a plan breaks a rule; 2 bad usage or bad input; 3 worse than a --max-… \
option allows.";

/// `outrigger diff`.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// OLD and NEW: files or folders of manifests, or REVISION:PATH in a git repository. With
    /// --git, what to compare in both revisions
    #[arg(
        value_name = "OLD NEW|PATH",
        required_unless_present = "observed",
        conflicts_with = "observed"
    )]
    pub(crate) paths: Vec<String>,
    /// Compare two revisions of the paths: A..B, A...B (B with where it left A), or A with the
    /// files as they are
    #[arg(long, value_name = "REVISION[..REVISION]", conflicts_with = "observed")]
    pub(crate) git: Option<String>,
    /// The cluster that is changed: files or folders, as `kubectl get -o yaml` prints it; each with
    /// a -f of its own. Without it OLD and NEW are all there is
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR", conflicts_with = "observed")]
    pub(crate) cluster_files: Vec<PathBuf>,
    /// Exit with status 3 if all nodes, once replaced, cost more by this: dollars a month, or a
    /// share such as 5%
    #[arg(long, value_name = "USD|PERCENT", conflicts_with = "observed")]
    pub(crate) max_cost_increase: Option<CostIncrease>,
    /// Exit with status 3 if more pods than this lose their place, or are new and have none
    #[arg(long, value_name = "PODS", conflicts_with = "observed")]
    pub(crate) max_newly_unschedulable: Option<usize>,
    /// Exit with status 3 if the share of pods on spot nodes, once all nodes are replaced, rises by
    /// more percentage points than this
    #[arg(long, value_name = "POINTS", conflicts_with = "observed")]
    pub(crate) max_spot_increase: Option<PercentagePoints>,
    /// Exit with status 3 if the change makes more nodes drift than this
    #[arg(long, value_name = "NODES", conflicts_with = "observed")]
    pub(crate) max_newly_drifted: Option<usize>,
    /// An InstanceCatalog to plan with, instead of the embedded one
    #[arg(long, value_name = "FILE", conflicts_with = "observed")]
    pub(crate) catalog: Option<PathBuf>,
    /// The moment to plan for; the wall clock without it
    #[arg(long, value_name = "RFC3339", conflicts_with = "observed")]
    pub(crate) now: Option<Timestamp>,
    /// How to print it
    #[arg(
        short,
        long,
        value_enum,
        default_value_t = DiffFormat::Text,
        conflicts_with = "observed"
    )]
    pub(crate) output: DiffFormat,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
    /// Show what functions that only observe would have done, had they done more
    #[arg(long, requires_all = ["table", "cluster"])]
    pub(crate) observed: bool,
    /// The installation's DynamoDB table, with --observed
    #[arg(long, value_name = "NAME", requires = "observed")]
    pub(crate) table: Option<String>,
}

/// `outrigger diff --observed`.
#[derive(Clone, Debug)]
pub(crate) struct ObservedArgs {
    /// The installation's DynamoDB table.
    #[cfg_attr(
        not(feature = "live"),
        expect(dead_code, reason = "without clients of AWS no table is read")
    )]
    pub(crate) table: String,
    /// The cluster.
    #[cfg_attr(
        not(feature = "live"),
        expect(dead_code, reason = "without clients of AWS no table is read")
    )]
    pub(crate) cluster: String,
}

impl DiffArgs {
    /// The arguments of `--observed`, where that is the form.
    pub(crate) fn observed(&self) -> Option<ObservedArgs> {
        let (table, cluster) = self.table.clone().zip(self.settings.cluster.clone())?;
        self.observed.then_some(ObservedArgs { table, cluster })
    }
}

/// How to print what a change does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    /// For people
    Text,
    /// For a comment on a pull request
    Markdown,
    /// One JSON document
    Json,
    /// One self-contained page
    Html,
}
