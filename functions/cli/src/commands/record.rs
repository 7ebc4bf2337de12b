//! `outrigger record`: recordings of live clusters, of audit logs and of traces.

#[cfg(feature = "live")]
mod live;

use std::path::Path;

use recording::document::Header;
use recording::openb::{self, Cut};
use recording::{Pseudonyms, audit};

use crate::args::recording::{
    ImportRecordingArgs, OpenbArgs, PseudonymsArgs, RecordArgs, RecordCommand, Trace,
};
use crate::commands::CommandError;
use crate::status::Status;
use crate::{console, input};

/// Makes a recording and prints it.
pub(crate) fn run(args: &RecordArgs) -> Result<Status, CommandError> {
    match &args.command {
        Some(RecordCommand::Import(ImportRecordingArgs { trace: Trace::Openb(own) })) => {
            import(own)
        }
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
    console::write(&lines)?;
    Ok(if problems.is_empty() { Status::Done } else { Status::BadInput })
}

/// What makes pseudonyms, with the key of a file; white space around it is no part of it.
pub(super) fn pseudonyms(args: &PseudonymsArgs) -> Result<Option<Pseudonyms>, CommandError> {
    let Some(path) = &args.pseudonyms else { return Ok(None) };
    let key = input::text(path)?;
    Ok(Some(Pseudonyms::new(key.trim().as_bytes())?))
}

fn import(args: &OpenbArgs) -> Result<Status, CommandError> {
    let mut status = Status::Done;
    let mut objects = Vec::new();
    for source in input::sources(&args.files)? {
        for document in manifests::documents(&source) {
            match document {
                Ok(document) => objects.push(document.value.to_json()),
                Err(error) => {
                    console::error_text(&manifests::ManifestError::from(error));
                    status = Status::BadInput;
                }
            }
        }
    }
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
