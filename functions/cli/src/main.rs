//! The command line: the use cases of the functions, driven from a terminal.
//!
//! It parses arguments, loads files, calls the shared crates and renders their results. It makes no
//! decision about nodes of its own.

mod args;
mod bundled;
mod change;
mod clock;
mod commands;
mod console;
mod html;
mod input;
mod markdown;
mod revision;
mod snapshot_source;
mod status;
mod terminal;
#[cfg(test)]
mod testing;
mod text;
mod view;
mod visible;
mod wire;

use std::path::Path;
use std::process::ExitCode;

use args::{Arguments, Command};
use clap::FromArgMatches as _;
use commands::CommandError;
use status::Status;

/// A plan is made of many small allocations: with this allocator it takes an eighth less time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    use_small_pages();
    match run(arguments().command) {
        Ok(status) => status.into(),
        Err(error) => {
            error.print();
            Status::BadInput.into()
        }
    }
}

/// Keeps the kernel from backing memory with pages of 2 MiB: the allocator sets aside more than is
/// used, in a part for each thread, and a plan for a thousand pods took 46 to 64 MiB instead of 30
/// to 34, depending on how its two threads met. It takes a tenth longer for it.
///
/// Source: `PR_SET_THP_DISABLE` in <https://man7.org/linux/man-pages/man2/prctl.2.html>
fn use_small_pages() {
    // Where it is not known, more memory is taken.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

/// The arguments; those of kubectl's plugin where that is what the program is called.
fn arguments() -> Arguments {
    let called = std::env::args_os().next().unwrap_or_default();
    let is_plugin = Path::new(&called).file_stem().is_some_and(|name| name == "kubectl-outrigger");
    let mut command = args::command(if is_plugin { "kubectl outrigger" } else { "outrigger" });
    let matches = command.get_matches_mut();
    Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.format(&mut command).exit())
}

fn run(command: Option<Command>) -> Result<Status, CommandError> {
    match command {
        None => commands::simulate::quick_start(),
        Some(Command::Plan(args)) if args.until_stable => {
            commands::until_stable::plan(&args.source, args.output)
        }
        Some(Command::Plan(args)) => commands::plan::run(&args),
        Some(Command::Audit(args)) => commands::until_stable::audit(&args),
        Some(Command::Simulate(args)) => commands::simulate::run(&args),
        Some(Command::Explain(args)) => commands::explain::run(&args),
        Some(Command::Catalog(args)) => commands::catalog::run(&args),
        Some(Command::Convert(args)) => commands::convert::run(&args),
        Some(Command::Record(args)) => commands::record::run(&args),
        Some(Command::Suggest(args)) => commands::suggest::run(&args),
        Some(Command::Schema(args)) => commands::schema::run(&args),
        Some(Command::Top(args)) => commands::top::run(&args),
        Some(Command::Pause(args)) => commands::controls::pause(&args),
        Some(Command::Observe(args)) => commands::controls::observe(&args),
        Some(Command::Resume(args)) => commands::controls::resume(&args),
        Some(Command::Status(args)) => commands::controls::status(&args),
        Some(Command::Fuses(args)) => commands::controls::fuses(&args),
        Some(Command::EndOrphans(args)) => commands::controls::end_orphans(&args),
        Some(Command::TakeOver(args)) => commands::controls::take_over(&args),
        Some(Command::Uninstall(args)) => commands::controls::uninstall(&args),
        Some(Command::Diff(args)) => commands::diff::run(&args),
        Some(Command::Completions(args)) => commands::shell::completions(&args),
        Some(Command::Man(args)) => commands::shell::man(&args),
    }
}
