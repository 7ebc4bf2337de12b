//! Arguments of `suggest`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::SettingsArgs;

/// `outrigger suggest`.
#[derive(Debug, Args)]
pub(crate) struct SuggestArgs {
    /// The recording: a file, - for standard input, or the name of a bundled one
    pub(crate) recording: String,
    /// NodePools, and other objects, in place of those that were recorded
    ///
    /// As for `simulate --from`: NodePools, EC2NodeClasses and NodeOverlays that are given replace
    /// all recorded ones of their kind, other objects those of their name.
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR", num_args = 1..)]
    pub(crate) files: Vec<PathBuf>,
    /// An InstanceCatalog to replay with, instead of the embedded one
    #[arg(long, value_name = "FILE", conflicts_with = "region")]
    pub(crate) catalog: Option<PathBuf>,
    /// Replay under what a scenario does: interruptions, capacity that runs out, faults
    #[arg(long, value_name = "SCENARIO")]
    pub(crate) under: Option<String>,
    /// Replay with so many seeds; what 95 % confidence intervals do not tell apart is not suggested
    #[arg(
        long,
        value_name = "N",
        default_value_t = Self::SEEDS,
        value_parser = clap::value_parser!(u16).range(1..=1000)
    )]
    pub(crate) seeds: u16,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    pub(crate) seed: u64,
    /// The time zone that peaks come in, such as Asia/Seoul
    #[arg(long, value_name = "NAME", default_value = "UTC")]
    pub(crate) timezone: String,
    /// On how many recorded days a peak must have come
    #[arg(
        long,
        value_name = "DAYS",
        default_value_t = Self::PERIODS,
        value_parser = clap::value_parser!(u16).range(1..)
    )]
    pub(crate) periods: u16,
    /// Only what these are called, as the suggestions say in parentheses
    #[arg(long, value_name = "NAME", num_args = 1..)]
    pub(crate) only: Vec<String>,
    /// How to print suggestions
    #[arg(short, long, value_enum, default_value_t = SuggestFormat::Text)]
    pub(crate) output: SuggestFormat,
    #[command(flatten)]
    pub(crate) settings: SettingsArgs,
}

impl SuggestArgs {
    /// How many seeds where nothing is said.
    pub(crate) const SEEDS: u16 = 3;
    /// On how many recorded days a peak must have come where nothing is said.
    pub(crate) const PERIODS: u16 = 3;
}

/// How to print suggestions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SuggestFormat {
    /// For people
    Text,
    /// One JSON document
    Json,
    /// The manifests of all suggestions, and nothing else
    Yaml,
}
