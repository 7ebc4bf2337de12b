//! One command a file: read, ask, render, and say how it ended.

pub(crate) mod catalog;
pub(crate) mod convert;
pub(crate) mod explain;
pub(crate) mod plan;
pub(crate) mod simulate;
pub(crate) mod top;

use std::io;

use crate::console;
use crate::input::InputError;
use crate::observation::ObservationError;

/// Why a command could not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    /// The input is not usable.
    #[error(transparent)]
    Observation(#[from] ObservationError),
    /// A file cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Standard output cannot be written.
    #[error("cannot write to standard output")]
    Output(#[from] io::Error),
    /// Converted manifests cannot be written as YAML.
    #[error(transparent)]
    Yaml(#[from] manifests::PrintError),
    /// A document cannot be written as JSON.
    #[error("cannot write JSON")]
    Json(#[from] serde_json::Error),
    /// A scenario cannot be run.
    #[error(transparent)]
    Scenario(#[from] simulate::ScenarioProblem),
    /// There is nothing of that name to explain.
    #[error("no {kind} {name} in the input")]
    NothingToExplain {
        /// `pod` or `node`.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// No instance type has the name.
    #[error("no instance type in the catalogue is named {0}")]
    UnknownInstanceType(String),
    /// The file of `--nodeclass` holds none.
    #[error("no EC2NodeClass in {0}")]
    NoNodeClass(String),
}

impl CommandError {
    /// Tells it on standard error; several things that are wrong with one file are told one by one.
    pub(crate) fn tell(&self) {
        match self {
            Self::Scenario(problem) => problem.tell(),
            other => console::error(other),
        }
    }
}

/// A document as JSON text, with its last line ended.
pub(crate) fn json(document: &impl serde::Serialize) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(document)?;
    text.push('\n');
    Ok(text)
}
