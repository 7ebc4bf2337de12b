//! The table of nodes.

use comfy_table::{Attribute, Cell, CellAlignment, Color, ContentArrangement, Table, presets};

use crate::terminal::Canvas;
use crate::text::age::age;
use crate::text::bar::Bar;
use crate::view::node_row::{NodeRow, NodeState, Usage};

const HEADER: [&str; 10] =
    ["NODE", "POOL", "TYPE", "ZONE", "CAPACITY", "CPU", "MEMORY", "PODS", "AGE", "$/HOUR"];

/// One row a node, the last column what is happening to it.
pub(crate) fn node_table(rows: &[NodeRow], canvas: Canvas) -> String {
    let mut table = plain_table(canvas);
    let header = HEADER.into_iter().chain(["STATE"]);
    table.set_header(header.map(|title| Cell::new(title).add_attribute(Attribute::Dim)));
    for row in rows {
        table.add_row(cells(row));
    }
    for column in [7, 8, 9] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
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

fn cells(row: &NodeRow) -> [Cell; 11] {
    let NodeRow {
        name,
        node_pool,
        instance_type,
        zone,
        capacity_type,
        cpu,
        memory,
        pods,
        age: since,
        price,
        state,
    } = row;
    let text = |text: &Option<domain::Text>| Cell::new(text.as_deref().unwrap_or("-"));
    [
        Cell::new(name).fg(Color::Cyan),
        text(node_pool),
        text(instance_type),
        text(zone),
        Cell::new(capacity_type.map_or("-", |capacity_type| capacity_type.as_str())),
        bar(*cpu),
        bar(*memory),
        Cell::new(pods),
        Cell::new(since.map_or_else(|| "-".to_owned(), age)),
        Cell::new(price.map_or_else(
            || "-".to_owned(),
            |price| price.to_string().trim_end_matches("/h").to_owned(),
        )),
        state_cell(*state),
    ]
}

/// What is paid for and used is green; what is paid for and idle is not.
fn bar(usage: Usage) -> Cell {
    let cell = Cell::new(Bar(usage));
    match usage.percent() {
        Some(70..) => cell.fg(Color::Green),
        Some(35..) => cell.fg(Color::Yellow),
        _ => cell.add_attribute(Attribute::Dim),
    }
}

fn state_cell(state: NodeState) -> Cell {
    let cell = Cell::new(state.as_str());
    match state {
        NodeState::Ready => cell.add_attribute(Attribute::Dim),
        NodeState::Planned | NodeState::Launching | NodeState::Joining => cell.fg(Color::Green),
        NodeState::Disrupted(_) | NodeState::Draining => cell.fg(Color::Yellow),
        NodeState::NotReady => cell.fg(Color::Red),
    }
}
