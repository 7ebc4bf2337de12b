//! `outrigger record`: recordings of live clusters, of audit logs and of traces.

#[cfg(feature = "live")]
mod live;

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use recording::document::Header;
use recording::openb::{self, Cut};
use recording::{Pseudonyms, audit, events};
use serde_json::Value;

use crate::args::recording::{
    EventsArgs, ImportRecordingArgs, OpenbArgs, PseudonymsArgs, RecordArgs, RecordCommand, Trace,
};
use crate::commands::CommandError;
use crate::status::Status;
use crate::{console, input};

/// Makes a recording and prints it.
pub(crate) fn run(args: &RecordArgs) -> Result<Status, CommandError> {
    match &args.command {
        Some(RecordCommand::Import(ImportRecordingArgs { trace })) => match trace {
            Trace::Openb(own) => import(own),
            Trace::Events(own) => of_events(own, args),
        },
        #[cfg(feature = "live")]
        None if args.live => live::run(args),
        #[cfg(not(feature = "live"))]
        None if args.live => Err(CommandError::NotBuiltIn),
        None => of_audit_log(args),
    }
}

fn of_audit_log(args: &RecordArgs) -> Result<Status, CommandError> {
    let path = args.events.as_deref().unwrap_or(Path::new("-"));
    let header = Header {
        cluster: args.cluster.clone(),
        region: args.region.clone(),
        about: Some("recorded from an audit log".to_owned()),
        ..Header::default()
    };
    let pseudonyms = pseudonyms(&args.pseudonyms)?;
    let file = path.display().to_string();
    let (lines, problems) = audit::import(&file, &input::text(path)?, header, pseudonyms)?;
    for problem in &problems {
        console::error_text(problem);
    }
    match &args.to {
        Some(path) => write_new(path, &lines)?,
        None => console::write(&lines)?,
    }
    Ok(if problems.is_empty() { Status::Done } else { Status::BadInput })
}

/// Writes a file that is not there yet.
fn write_new(path: &Path, text: &str) -> Result<(), CommandError> {
    let failed = |source| CommandError::File { path: path.display().to_string(), source };
    let mut file = File::create_new(path).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)
}

/// What makes pseudonyms, with the key of a file; white space around it is no part of it.
pub(super) fn pseudonyms(args: &PseudonymsArgs) -> Result<Option<Pseudonyms>, CommandError> {
    let Some(path) = &args.pseudonyms else { return Ok(None) };
    let key = input::text(path)?;
    Ok(Some(Pseudonyms::new(key.trim().as_bytes())?))
}

fn of_events(args: &EventsArgs, record: &RecordArgs) -> Result<Status, CommandError> {
    let (objects, mut status) = objects(&args.files)?;
    let header = Header {
        cluster: record.cluster.clone(),
        region: record.region.clone(),
        about: Some("recorded from Kubernetes' Events".to_owned()),
        ..Header::default()
    };
    let pseudonyms = pseudonyms(&record.pseudonyms)?;
    let file = args.events.display().to_string();
    let text = input::text(&args.events)?;
    let (lines, problems) = events::import(&file, &text, objects, header, pseudonyms)?;
    for problem in &problems {
        console::error_text(problem);
        status = Status::BadInput;
    }
    console::write(&lines)?;
    Ok(status)
}

/// The objects of files as they are written, items of lists one by one; what is no object is
/// reported.
fn objects(files: &[PathBuf]) -> Result<(Vec<Value>, Status), CommandError> {
    let mut status = Status::Done;
    let mut objects = Vec::new();
    for source in input::sources(files)? {
        for document in manifests::documents(&source) {
            match document {
                Ok(document) => match document.value.to_json() {
                    Value::Object(mut list) if list.get("items").is_some_and(Value::is_array) => {
                        if let Some(Value::Array(items)) = list.remove("items") {
                            objects.extend(items);
                        }
                    }
                    object => objects.push(object),
                },
                Err(error) => {
                    console::error_text(&manifests::ManifestError::from(error));
                    status = Status::BadInput;
                }
            }
        }
    }
    Ok((objects, status))
}

fn import(args: &OpenbArgs) -> Result<Status, CommandError> {
    let (objects, mut status) = objects(&args.files)?;
    let cut = Cut {
        from: args.from,
        length: args.length,
        start: args.start,
        region: Some(args.region.clone()),
        objects,
    };
    let file = args.pods.display().to_string();
    let (lines, problems) = openb::import(&file, &input::text(&args.pods)?, &cut)?;
    for problem in &problems {
        console::error_text(problem);
        status = Status::BadInput;
    }
    console::write(&lines)?;
    Ok(status)
}
