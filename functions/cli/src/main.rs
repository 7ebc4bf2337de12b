//! The command line: the same use cases as the functions, driven from a terminal.
//!
//! It reads arguments and files, asks the shared crates, and renders what they answer. Nothing is decided here.

mod args;
mod commands;
mod console;
mod html;
mod input;
mod observation;
mod status;
mod terminal;
#[cfg(test)]
mod testing;
mod text;
mod view;
mod wire;

use std::process::ExitCode;

use args::{Arguments, Command};
use clap::Parser as _;
use commands::CommandError;
use status::Status;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments.command) {
        Ok(status) => status.into(),
        Err(error) => {
            console::error(&error);
            Status::BadInput.into()
        }
    }
}

fn run(command: Option<Command>) -> Result<Status, CommandError> {
    match command {
        None | Some(Command::Simulate(_) | Command::Convert(_)) => Err(CommandError::NotBuiltIn),
        Some(Command::Plan(args)) => commands::plan::run(&args),
        Some(Command::Explain(args)) => commands::explain::run(&args),
        Some(Command::Catalog(args)) => commands::catalog::run(&args),
        Some(Command::Top) => Err(CommandError::NoLiveCluster),
    }
}
