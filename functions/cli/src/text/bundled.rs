//! The bundled scenarios and recordings as text, one line each.

use comfy_table::{Cell, Color};

use crate::terminal::Canvas;
use crate::text::layout::{table_text, wrapping_table};
use crate::wire::bundled::BundledDocument;

/// A table of names and what they are about.
pub(crate) fn bundled(
    scenarios: &[BundledDocument],
    recordings: &[BundledDocument],
    canvas: Canvas,
) -> String {
    let mut table = wrapping_table(canvas);
    let name = |own: &BundledDocument| Cell::new(own.name).fg(Color::DarkCyan);
    for own in scenarios {
        table.add_row([name(own), Cell::new(&own.about)]);
    }
    for own in recordings {
        let about = format!("--from {}: {}", own.name, own.about);
        table.add_row([name(own), Cell::new(about)]);
    }
    format!("{}\n", table_text(&table))
}
