//! Arguments of `completions` and `man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// `outrigger completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

/// `outrigger man`.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write the pages of all commands into a folder, one file outrigger-COMMAND.1 each
    #[arg(long, value_name = "DIR")]
    pub(crate) write: Option<PathBuf>,
}
