//! `outrigger schema`: JSON schemas of the documents that other commands print.

use std::path::Path;

use comfy_table::{Cell, Color};
use strum::VariantArray as _;

use crate::args::schema::{DocumentKind, SchemaArgs};
use crate::commands::CommandError;
use crate::console;
use crate::status::Status;
use crate::terminal::Canvas;
use crate::text::layout::{plain_table, table_text};
use crate::wire::{json, schema};

/// Prints one schema, or lists all of them, or writes all of them into a folder.
pub(crate) fn run(args: &SchemaArgs) -> Result<Status, CommandError> {
    match (&args.write, args.kind) {
        (Some(folder), _) => write_all(folder)?,
        (None, Some(kind)) => console::write(&json(&schema::of(kind))?)?,
        (None, None) if args.codes => console::write(&schema::codes())?,
        (None, None) => console::write(&list())?,
    }
    Ok(Status::Done)
}

fn write_all(folder: &Path) -> Result<(), CommandError> {
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |source| CommandError::File { path, source }
    };
    std::fs::create_dir_all(folder).map_err(failed(folder))?;
    for kind in DocumentKind::VARIANTS {
        let path = folder.join(format!("{}.json", kind.as_str()));
        std::fs::write(&path, json(&schema::of(*kind))?).map_err(failed(&path))?;
    }
    Ok(())
}

/// The documents, one line each, with the command that prints them.
fn list() -> String {
    let mut table = plain_table(Canvas::of_stdout());
    for kind in DocumentKind::VARIANTS {
        table.add_row([Cell::new(kind.as_str()).fg(Color::DarkCyan), Cell::new(kind.command())]);
    }
    format!("{}\n", table_text(&table))
}
