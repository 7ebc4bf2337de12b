//! `outrigger record`: recordings of traces.

use recording::openb::{self, Cut};

use crate::args::recording::{ImportRecordingArgs, OpenbArgs, RecordArgs, RecordCommand, Trace};
use crate::commands::CommandError;
use crate::status::Status;
use crate::{console, input};

/// Makes a recording and prints it.
pub(crate) fn run(args: &RecordArgs) -> Result<Status, CommandError> {
    match &args.command {
        RecordCommand::Import(ImportRecordingArgs { trace: Trace::Openb(own) }) => import(own),
    }
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
