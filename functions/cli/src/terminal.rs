//! What the other end of an output can show.

use std::io::{self, IsTerminal as _};

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
    #[cfg(test)]
    pub(crate) const PLAIN: Self = Self { color: false, width: None };

    /// Standard output. `NO_COLOR` switches colours off, `CLICOLOR_FORCE` switches them on.
    pub(crate) fn of_stdout() -> Self {
        let stdout = io::stdout();
        let color = anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never;
        let width = stdout
            .is_terminal()
            .then(terminal_size::terminal_size)
            .flatten()
            .map(|(terminal_size::Width(columns), _)| columns);
        Self { color, width }
    }
}
