//! Arguments of `schema`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use strum::{IntoStaticStr, VariantArray};

/// `outrigger schema`.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The document's kind, as its field `kind` says; without one, the kinds are listed
    #[arg(value_enum, ignore_case = true, hide_possible_values = true)]
    pub(crate) kind: Option<DocumentKind>,
    /// Print every code that documents hold beside texts, with its meaning, as Markdown
    #[arg(long, conflicts_with = "kind")]
    pub(crate) codes: bool,
    /// Write the schemas of all documents into a folder, one file KIND.json each
    #[arg(long, value_name = "DIR", conflicts_with_all = ["kind", "codes"])]
    pub(crate) write: Option<PathBuf>,
}

/// Documents that commands print as JSON, by what their field `kind` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, IntoStaticStr, VariantArray)]
#[value(rename_all = "PascalCase")]
pub(crate) enum DocumentKind {
    /// What one tick would do
    Plan,
    /// Where a pod gets a place, or why it has none
    PodExplanation,
    /// Why a node stays or goes, or what a new one was chosen from
    NodeExplanation,
    /// Instance types as the scheduler sees them
    InstanceCatalog,
    /// A simulated run
    Simulation,
    /// A scenario run in each of its variants
    SimulationComparison,
    /// What a change of manifests does to a cluster
    Diff,
    /// A scenario or a recording run with several seeds
    SimulationSeries,
    /// What happened in a cluster: one line of it
    Recording,
    /// The nodes of a cluster, what they hold and what they cost
    ClusterUse,
    /// What comes of a cluster until nothing changes, and what holds savings back
    PlanUntilStable,
    /// Settings that a recording speaks for, each replayed
    Suggestions,
    /// The bundled scenarios and recordings
    BundledList,
}

impl DocumentKind {
    /// What field `kind` of the document says.
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }

    /// The command that prints the document.
    pub(crate) const fn command(self) -> &'static str {
        match self {
            Self::Plan => "outrigger plan -f FILE -o json",
            Self::PodExplanation => "outrigger explain pod NAME -f FILE -o json",
            Self::NodeExplanation => "outrigger explain node NAME -f FILE -o json",
            Self::InstanceCatalog => "outrigger catalog -o json",
            Self::Simulation => "outrigger simulate SCENARIO -o json",
            Self::SimulationComparison => "outrigger simulate SCENARIO -o json, with variants",
            Self::Diff => "outrigger diff OLD NEW -f FILE -o json",
            Self::SimulationSeries => "outrigger simulate SCENARIO --seeds N -o json",
            Self::Recording => "outrigger record …, each line",
            Self::ClusterUse => "outrigger top -o json",
            Self::Suggestions => "outrigger suggest RECORDING -o json",
            Self::BundledList => "outrigger simulate --list -o json",
            Self::PlanUntilStable => "outrigger plan --until-stable -f FILE -o json",
        }
    }
}
