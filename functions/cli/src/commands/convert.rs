//! `outrigger convert`: older manifests as v1.

use crate::args::ConvertArgs;
use crate::commands::CommandError;
use crate::status::Status;
use crate::{console, input};

/// Converts and prints YAML; what has no equal in v1 is a warning.
pub(crate) fn run(args: &ConvertArgs) -> Result<Status, CommandError> {
    let converted = manifests::convert(&input::sources(&args.files)?);
    for error in &converted.errors {
        console::error_text(error);
    }
    for warning in &converted.warnings {
        console::warning(warning);
    }
    console::write(&converted.to_yaml()?)?;
    Ok(if converted.errors.is_empty() { Status::Done } else { Status::BadInput })
}
