//! Arguments of `audit`.

use clap::Args;

use super::{OutputFormat, SnapshotArgs};

/// `outrigger audit`.
#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    #[command(flatten)]
    pub(crate) source: SnapshotArgs,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t = OutputFormat::Text)]
    pub(crate) output: OutputFormat,
}
