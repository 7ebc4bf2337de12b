//! Tables that keep within a terminal: what they do without, in a stated order, where it is narrow.

use comfy_table::{Cell, ColumnConstraint, ContentArrangement, Table, presets};

use crate::terminal::Canvas;
use crate::visible::{styled, visible};

/// A space on either side of what a cell holds.
const COLUMN_PADDING: usize = 2;

/// Columns of a name that is cut, at least.
const NAME_MIN: usize = 8;

/// What a table shows, each line without the padding at its end.
pub(crate) fn table_text(table: &Table) -> String {
    let lines: Vec<String> = table.trim_fmt().lines().map(without_padding).collect();
    styled(&lines.join("\n"))
}

/// A line without the spaces at its end, also where they are styled: the codes behind them stay.
fn without_padding(line: &str) -> String {
    let mut kept = line.trim_end();
    let mut codes = String::new();
    while let Some((before, code)) = kept.rsplit_once('\x1b').filter(|(_, own)| is_code(own)) {
        codes = format!("\x1b{code}{codes}");
        kept = before.trim_end();
    }
    format!("{kept}{codes}")
}

/// Whether nothing but the code of a style follows an escape character: `[1;31m`.
fn is_code(text: &str) -> bool {
    let codes = text.strip_prefix('[').and_then(|rest| rest.strip_suffix('m'));
    codes.is_some_and(|own| own.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'))
}

/// A cell that holds what came from outside.
pub(crate) fn cell(text: &str) -> Cell {
    Cell::new(visible(text))
}

/// A table without lines.
pub(crate) fn plain_table(canvas: Canvas) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).force_no_tty();
    if canvas.color {
        table.enforce_styling();
    }
    table
}

/// A table whose cells wrap at the edge of the canvas: for sentences, not for names.
pub(crate) fn wrapping_table(canvas: Canvas) -> Table {
    let mut table = plain_table(canvas);
    if let Some(width) = canvas.width {
        table.set_width(width).set_content_arrangement(ContentArrangement::Dynamic);
    }
    table
}

/// Columns that a table takes, hidden ones and the space behind the last one left out.
pub(crate) fn width_of(table: &Table) -> usize {
    let widths = table.column_max_content_widths();
    let shown = table.column_iter().zip(widths);
    shown
        .filter(|(column, _)| column.constraint() != Some(&ColumnConstraint::Hidden))
        .map(|(_, content)| usize::from(content) + COLUMN_PADDING)
        .sum::<usize>()
        .saturating_sub(1)
}

/// Hides a column.
pub(crate) fn hide(table: &mut Table, column: usize) {
    if let Some(column) = table.column_mut(column) {
        column.set_constraint(ColumnConstraint::Hidden);
    }
}

/// Hides columns, one after the other, until the table keeps within the canvas.
pub(crate) fn hide_until_it_fits(table: &mut Table, canvas: Canvas, dispensable: &[usize]) {
    for column in dispensable {
        if fits(table, canvas) {
            return;
        }
        hide(table, *column);
    }
}

/// Whether the table keeps within the canvas.
pub(crate) fn fits(table: &Table, canvas: Canvas) -> bool {
    canvas.width.is_none_or(|width| width_of(table) <= usize::from(width))
}

/// A name with its middle left out, so that it takes as many columns at most: `ip-10…-185`.
pub(crate) fn cut(name: &str, columns: usize) -> String {
    let length = name.chars().count();
    let columns = columns.max(NAME_MIN);
    if length <= columns {
        return name.to_owned();
    }
    let (head, tail) = (columns / 2, columns - columns / 2 - 1);
    let start: String = name.chars().take(head).collect();
    let end: String = name.chars().skip(length - tail).collect();
    format!("{start}…{end}")
}

/// Names one after the other, with a comma between them, in lines that keep within the canvas
/// behind their indent. One line where there is no edge.
pub(crate) fn wrapped(names: &[&str], indent: usize, canvas: Canvas) -> Vec<String> {
    let edge = canvas.width.map_or(usize::MAX, usize::from);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for (index, name) in names.iter().enumerate() {
        let name = visible(name);
        let item = if index + 1 == names.len() { name.into_owned() } else { format!("{name},") };
        let length = line.chars().count() + 1 + item.chars().count();
        if !line.is_empty() && indent + length > edge {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&item);
    }
    lines.push(line);
    lines.into_iter().map(|line| format!("{:indent$}{line}", "")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_in_its_middle() {
        assert_eq!(cut("ip-10-20-16-185", 20), "ip-10-20-16-185");
        assert_eq!(cut("a-very-long-name-of-a-node", 13), "a-very…a-node");
        assert_eq!(cut("a-very-long-name-of-a-node", 1).chars().count(), NAME_MIN);
    }

    #[test]
    fn padding_goes_from_the_end_of_a_line_also_where_it_is_styled() {
        for (line, kept) in [
            (" a  b  ", " a  b"),
            ("a \x1b[2m ready     \x1b[0m", "a \x1b[2m ready\x1b[0m"),
            ("\x1b[38;5;6m a \x1b[39m\x1b[2m  \x1b[0m ", "\x1b[38;5;6m a\x1b[39m\x1b[2m\x1b[0m"),
            ("a [2m", "a [2m"),
        ] {
            assert_eq!(without_padding(line), kept, "{line:?}");
        }
    }

    #[test]
    fn names_wrap_at_the_edge_and_only_there() {
        let names = ["one", "two", "three"];
        let narrow = Canvas { color: false, width: Some(13) };
        assert_eq!(wrapped(&names, 4, narrow), ["    one, two,", "    three"]);
        assert_eq!(wrapped(&names, 4, Canvas::PLAIN), ["    one, two, three"]);
    }
}
