//! Colour, or none.

use std::fmt::Display;

use anstyle::{AnsiColor, Style};

use crate::terminal::Canvas;
use crate::visible::{styled, visible};

/// What a piece of text is, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// The head of a section.
    Heading,
    /// A name to find again.
    Name,
    /// Money saved, things done.
    Good,
    /// Something that deserves attention.
    Warning,
    /// Something that did not work out.
    Bad,
    /// Of little importance.
    Faint,
}

impl Role {
    const fn style(self) -> Style {
        match self {
            Self::Heading => Style::new().bold(),
            Self::Name => AnsiColor::Cyan.on_default(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Bad => AnsiColor::Red.on_default(),
            Self::Faint => Style::new().dimmed(),
        }
    }
}

/// The text, coloured where the canvas takes colour.
pub(crate) fn paint(canvas: Canvas, role: Role, text: impl Display) -> String {
    if !canvas.color {
        return text.to_string();
    }
    let style = role.style();
    let text = text.to_string();
    styled(&format!("{style}{}{style:#}", visible(&text)))
}
