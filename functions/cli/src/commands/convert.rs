//! `outrigger convert`: older manifests as v1.

use similar::TextDiff;

use crate::args::ConvertArgs;
use crate::commands::CommandError;
use crate::commands::write_back::{WriteBackError, write_back};
use crate::status::Status;
use crate::view::pod_names::counted;
use crate::{console, input};

/// Lines around a change that a diff shows.
const CONTEXT_LINES: usize = 3;

/// Converts, and prints YAML or a diff, or writes the files. What has no equal in v1 is a warning,
/// what has to be filled in an error.
pub(crate) fn run(args: &ConvertArgs) -> Result<Status, CommandError> {
    if args.in_place && args.files.iter().any(|path| path.as_os_str() == "-") {
        return Err(WriteBackError::StandardInput.into());
    }
    let sources = input::sources(&args.files)?;
    let converted = manifests::convert(&sources);
    for error in converted.errors.iter().chain(&converted.gaps) {
        console::error_text(error);
    }
    for warning in &converted.warnings {
        console::warning(warning);
    }
    if args.in_place {
        write_back(&converted)?;
    } else if args.diff {
        let changed = sources.iter().zip(&converted.files).filter(|(_, file)| file.is_changed);
        let diffs = changed.map(|(source, file)| diff(&file.name, &source.text, &file.text));
        console::write(&diffs.collect::<String>())?;
    } else {
        console::write(&converted.to_yaml())?;
    }
    if !converted.gaps.is_empty() {
        let places = counted(converted.gaps.len(), "place");
        console::note(&format!("{places} to fill in, each marked with # FILL IN: in the result"));
    }
    Ok(if !converted.errors.is_empty() {
        Status::BadInput
    } else if converted.gaps.is_empty() {
        Status::Done
    } else {
        Status::Unmet
    })
}

/// A unified diff of one file.
fn diff(name: &str, old: &str, new: &str) -> String {
    let diff = TextDiff::from_lines(old, new);
    diff.unified_diff().context_radius(CONTEXT_LINES).header(name, name).to_string()
}
