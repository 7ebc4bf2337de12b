//! `outrigger completions` and `outrigger man`: what a shell and a pager know of the commands.

use std::path::Path;

use clap_mangen::Man;

use crate::args::command;
use crate::args::shell::{CompletionsArgs, ManArgs};
use crate::commands::CommandError;
use crate::console;
use crate::status::Status;

/// What the pages and scripts call the program.
const NAME: &str = "outrigger";

/// Prints the script that a shell loads.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<Status, CommandError> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(NAME), NAME, &mut script);
    console::write(&String::from_utf8_lossy(&script))?;
    Ok(Status::Done)
}

/// Prints the page of the program, or writes the pages of it and of all its commands.
pub(crate) fn man(args: &ManArgs) -> Result<Status, CommandError> {
    if let Some(folder) = &args.write {
        write_pages(folder)
            .map_err(|source| CommandError::File { path: folder.display().to_string(), source })?;
        return Ok(Status::Done);
    }
    let mut page = Vec::new();
    Man::new(command(NAME)).render(&mut page)?;
    console::write(&String::from_utf8_lossy(&page))?;
    Ok(Status::Done)
}

fn write_pages(folder: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(command(NAME), folder)
}
