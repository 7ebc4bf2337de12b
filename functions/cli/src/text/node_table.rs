//! The table of nodes.

use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, Table, presets,
};

use crate::terminal::Canvas;
use crate::text::age::age;
use crate::text::bar::Bar;
use crate::view::node_row::{NodeRow, NodeState, Usage};
use crate::visible::{styled, visible};

/// Columns to do without on a narrow terminal, the least missed first: AGE, POOL, PODS, ZONE.
const DISPENSABLE: [usize; 4] = [8, 1, 7, 3];

/// Columns of a terminal that has room for long bars.
const LONG_BARS_FROM: u16 = 120;

/// A space on either side of what a cell holds.
const COLUMN_PADDING: usize = 2;

const HEADER: [&str; 10] =
    ["NODE", "POOL", "TYPE", "ZONE", "CAPACITY", "CPU", "MEMORY", "PODS", "AGE", "$/HOUR"];

/// One row a node, the last column what is happening to it.
pub(crate) fn node_table(rows: &[NodeRow], canvas: Canvas) -> String {
    let mut table = plain_table(canvas);
    let header = HEADER.into_iter().chain(["STATE"]);
    table.set_header(header.map(|title| Cell::new(title).add_attribute(Attribute::Dim)));
    for row in rows {
        table.add_row(cells(row, canvas));
    }
    hide_what_does_not_fit(&mut table, canvas);
    for column in [7, 8, 9] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table_text(&table)
}

/// Hides columns, one after the other, until the table fits.
fn hide_what_does_not_fit(table: &mut Table, canvas: Canvas) {
    let Some(available) = canvas.width.map(usize::from) else { return };
    let mut widths: Vec<usize> = table
        .column_max_content_widths()
        .into_iter()
        .map(|content| usize::from(content) + COLUMN_PADDING)
        .collect();
    for index in DISPENSABLE {
        if widths.iter().sum::<usize>() <= available {
            return;
        }
        if let Some(column) = table.column_mut(index) {
            column.set_constraint(ColumnConstraint::Hidden);
            widths[index] = 0;
        }
    }
}

/// The host part of a name that EC2's DNS gave, where room is scarce; any other name as it is.
fn short(name: &str) -> &str {
    let is_private = name.ends_with(".compute.internal") || name.ends_with(".ec2.internal");
    match name.split_once('.') {
        Some((host, _)) if is_private => host,
        _ => name,
    }
}

/// What a table shows, each line without the padding at its end.
pub(crate) fn table_text(table: &Table) -> String {
    styled(&table.trim_fmt())
}

/// A cell that holds what came from outside.
pub(crate) fn cell(text: &str) -> Cell {
    Cell::new(visible(text))
}

/// A table without lines that keeps within the canvas.
pub(crate) fn plain_table(canvas: Canvas) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).force_no_tty();
    if canvas.color {
        table.enforce_styling();
    }
    if let Some(width) = canvas.width {
        table.set_width(width).set_content_arrangement(ContentArrangement::Dynamic);
    }
    table
}

fn cells(row: &NodeRow, canvas: Canvas) -> [Cell; 11] {
    let NodeRow {
        name,
        node_pool,
        instance_type,
        zone,
        capacity_type,
        cpu,
        memory,
        pods: _,
        virtual_pods: _,
        age: since,
        price,
        state,
    } = row;
    let text = |text: &Option<domain::Text>| cell(text.as_deref().unwrap_or("-"));
    [
        cell(if canvas.width.is_some() { short(name) } else { name }).fg(Color::DarkCyan),
        text(node_pool),
        text(instance_type),
        text(zone),
        Cell::new(capacity_type.map_or("-", |capacity_type| capacity_type.as_str())),
        bar(*cpu, canvas),
        bar(*memory, canvas),
        Cell::new(row.shown_pods()),
        Cell::new(since.map_or_else(|| "-".to_owned(), age)),
        Cell::new(price.map_or_else(
            || "-".to_owned(),
            |price| price.to_string().trim_end_matches("/h").to_owned(),
        )),
        state_cell(*state),
    ]
}

/// What is paid for and used is green; what is paid for and idle is not.
fn bar(usage: Usage, canvas: Canvas) -> Cell {
    let is_narrow = canvas.width.is_some_and(|width| width < LONG_BARS_FROM);
    let cell = Cell::new(Bar { usage, length: if is_narrow { 5 } else { 10 } });
    match usage.percent() {
        Some(70..) => cell.fg(Color::DarkGreen),
        Some(35..) => cell.fg(Color::DarkYellow),
        _ => cell.add_attribute(Attribute::Dim),
    }
}

fn state_cell(state: NodeState) -> Cell {
    let cell = Cell::new(state.as_str());
    match state {
        NodeState::Ready => cell.add_attribute(Attribute::Dim),
        NodeState::Planned | NodeState::Launching | NodeState::Joining => cell.fg(Color::DarkGreen),
        NodeState::Disrupted(_) | NodeState::Draining => cell.fg(Color::DarkYellow),
        NodeState::NotReady => cell.fg(Color::DarkRed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::view::node_row;

    fn table(width: Option<u16>) -> String {
        let rows = node_row::rows(&testing::snapshot(), &testing::plan());
        node_table(&rows, Canvas { color: false, width })
    }

    #[test]
    fn a_narrow_terminal_does_without_what_is_least_missed() {
        let header = |width| table(width).lines().next().unwrap().to_owned();
        assert!(header(None).contains("POOL") && header(None).contains("AGE"));
        let narrow = header(Some(100));
        assert!(!narrow.contains("AGE") && narrow.contains("$/HOUR"), "{narrow}");
    }

    #[test]
    fn no_line_overruns_the_terminal() {
        for width in [60, 80, 100, 120, 200] {
            for line in table(Some(width)).lines() {
                assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
            }
        }
    }

    #[test]
    fn names_from_ec2s_dns_are_shortened_to_their_host() {
        assert_eq!(short("ip-10-0-0-7.us-east-1.compute.internal"), "ip-10-0-0-7");
        assert_eq!(short("ip-10-0-0-7.ec2.internal"), "ip-10-0-0-7");
        assert_eq!(short("node.example.com"), "node.example.com");
    }
}
