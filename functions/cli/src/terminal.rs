//! What the other end of an output can show.

use std::io::{self, IsTerminal as _};

/// Columns of a terminal that does not say how many it has.
const COLUMNS_DEFAULT: u16 = 80;

/// What a text may use: escape codes, and how many columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Canvas {
    /// Whether to colour.
    pub(crate) color: bool,
    /// Columns, where there is an edge.
    pub(crate) width: Option<u16>,
}

impl Canvas {
    /// Black on white, as wide as needed: files and pipes.
    pub(crate) const PLAIN: Self = Self { color: false, width: None };

    /// Standard output. `NO_COLOR` switches colours off, `CLICOLOR_FORCE` switches them on.
    ///
    /// `COLUMNS` is the width wherever it is set: `watch` sets it for what it shows, which is a
    /// pipe. Without it, a terminal is as wide as it says, and a file or a pipe has no edge.
    pub(crate) fn of_stdout() -> Self {
        let stdout = io::stdout();
        let color = anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
        let of_terminal = || stdout.is_terminal().then(|| columns(&stdout));
        let width = columns_of_environment().or_else(of_terminal);
        Self { color, width }
    }
}

fn columns_of_environment() -> Option<u16> {
    let columns = std::env::var("COLUMNS").ok()?.trim().parse().ok()?;
    (columns > 0).then_some(columns)
}

/// How wide a terminal says it is. One that knows its columns and not its lines counts too.
#[cfg(unix)]
fn columns(stdout: &io::Stdout) -> u16 {
    let size = rustix::termios::tcgetwinsize(stdout).ok();
    size.map(|size| size.ws_col).filter(|columns| *columns > 0).unwrap_or(COLUMNS_DEFAULT)
}

/// How wide a terminal says it is.
#[cfg(not(unix))]
fn columns(stdout: &io::Stdout) -> u16 {
    terminal_size::terminal_size_of(stdout)
        .map_or(COLUMNS_DEFAULT, |(terminal_size::Width(columns), _)| columns)
}
