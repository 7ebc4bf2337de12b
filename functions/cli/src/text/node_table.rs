//! The table of nodes.

use comfy_table::{Attribute, Cell, CellAlignment, Color, Table};

use crate::terminal::Canvas;
use crate::text::age::age;
use crate::text::bar::Bar;
use crate::text::layout::{cell, cut, fits, hide, plain_table, table_text, width_of};
use crate::view::node_columns::{NodeCells, NodeColumns};
use crate::view::node_name::short;
use crate::view::node_row::{NodeRow, NodeState, Usage};
use crate::view::spot::In100;
use crate::visible::visible;

const POOL: usize = 1;
const ZONE: usize = 3;
const CAPACITY: usize = 4;
const CPU: usize = 5;
const MEMORY: usize = 6;
const PODS: usize = 7;
const AGE: usize = 8;
const PRICE: usize = 9;

const HEADER: [&str; 10] =
    ["NODE", "POOL", "TYPE", "ZONE", "CAPACITY", "CPU", "MEMORY", "PODS", "AGE", "$/HOUR"];

/// What a narrow terminal does without, the least missed first. Each step includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// Everything.
    Whole,
    /// Bars of five characters instead of ten.
    ShortBars,
    /// No AGE.
    NoAge,
    /// No POOL.
    NoPool,
    /// Figures without bars.
    NoBars,
    /// Zones without their region, `2a`, where all are of one region.
    ShortZones,
    /// No PODS.
    NoPods,
    /// No ZONE.
    NoZone,
    /// No CAPACITY.
    NoCapacity,
}

impl Step {
    const ALL: [Self; 9] = [
        Self::Whole,
        Self::ShortBars,
        Self::NoAge,
        Self::NoPool,
        Self::NoBars,
        Self::ShortZones,
        Self::NoPods,
        Self::NoZone,
        Self::NoCapacity,
    ];

    const fn bar_length(self) -> u32 {
        match self {
            Self::Whole => 10,
            Self::ShortBars | Self::NoAge | Self::NoPool => 5,
            _ => 0,
        }
    }

    /// Columns that are hidden.
    fn hidden(self) -> impl Iterator<Item = usize> {
        let hidden = [
            (Self::NoAge, AGE),
            (Self::NoPool, POOL),
            (Self::NoPods, PODS),
            (Self::NoZone, ZONE),
            (Self::NoCapacity, CAPACITY),
        ];
        hidden.into_iter().filter(move |(step, _)| *step <= self).map(|(_, column)| column)
    }
}

/// One row a node, the last column what is happening to it. Without an edge it is as wide as it
/// needs to be; on a terminal it does without columns, step by step, and cuts names last.
pub(crate) fn node_table(rows: &[NodeRow], canvas: Canvas) -> String {
    node_table_with(rows, &NodeColumns::default(), canvas)
}

/// The table with columns that were asked for behind the others. Those stay on a narrow terminal.
pub(crate) fn node_table_with(rows: &[NodeRow], columns: &NodeColumns, canvas: Canvas) -> String {
    let mut table = Table::new();
    for step in Step::ALL {
        table = laid_out(rows, columns, canvas, step, usize::MAX);
        if fits(&table, canvas) {
            return table_text(&table);
        }
    }
    let lengths = rows.iter().map(|row| visible(short(&row.name)).chars().count());
    let longest = lengths.max().unwrap_or(0);
    let missing = width_of(&table).saturating_sub(canvas.width.map_or(usize::MAX, usize::from));
    let narrowest =
        laid_out(rows, columns, canvas, Step::NoCapacity, longest.saturating_sub(missing));
    table_text(&narrowest)
}

fn laid_out(
    rows: &[NodeRow],
    columns: &NodeColumns,
    canvas: Canvas,
    step: Step,
    name_columns: usize,
) -> Table {
    let mut table = plain_table(canvas);
    let wanted = columns.resources.iter().chain(&columns.labels).map(|own| title(own));
    let has_rates = rows.iter().any(|row| row.spot.is_some());
    let rates = has_rates.then_some("TAKEN IN 100H");
    let header = HEADER.into_iter().chain(["STATE"]).chain(rates).map(str::to_owned).chain(wanted);
    table.set_header(header.map(|title| Cell::new(title).add_attribute(Attribute::Dim)));
    let region = if step >= Step::ShortZones { common_region(rows) } else { None };
    for row in rows {
        let name = if canvas.width.is_some() { short(&row.name) } else { &row.name };
        let name = cut(&visible(name), name_columns);
        let zone = row.zone.as_deref();
        let zone =
            zone.map(|zone| region.and_then(|region| zone.strip_prefix(region)).unwrap_or(zone));
        let own = cells(row, &name, zone, step.bar_length());
        let rate = || row.spot.map_or_else(|| "-".to_owned(), |own| In100(own.rate).to_string());
        let rate = has_rates.then(|| Cell::new(rate()).set_alignment(CellAlignment::Right));
        let wanted = wanted_cells(row, columns, step.bar_length());
        table.add_row(own.into_iter().chain(rate).chain(wanted));
    }
    let left_out = [(columns.hides_cpu, CPU), (columns.hides_memory, MEMORY)];
    let left_out = left_out.into_iter().filter(|(hides, _)| *hides).map(|(_, column)| column);
    for column in step.hidden().chain(left_out) {
        hide(&mut table, column);
    }
    let figures: &[usize] = if step.bar_length() == 0 { &[CPU, MEMORY] } else { &[] };
    for column in figures.iter().copied().chain([PODS, AGE, PRICE]) {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// What a column of a label or a resource is called: `NODEPOOL` of `karpenter.sh/nodepool`, as in
/// kubectl.
fn title(key: &str) -> String {
    key.rsplit('/').next().unwrap_or(key).to_uppercase()
}

/// What a node has of the columns that were asked for.
fn wanted_cells(row: &NodeRow, columns: &NodeColumns, bar_length: u32) -> Vec<Cell> {
    let none = NodeCells::default();
    let own = columns.cells.get(&row.name).unwrap_or(&none);
    let resources = (0..columns.resources.len()).map(|index| match own.resources.get(index) {
        Some(usage) if usage.allocatable > 0 => bar(*usage, bar_length),
        _ => Cell::new("-"),
    });
    let labels = (0..columns.labels.len())
        .map(|index| cell(own.labels.get(index).and_then(Option::as_deref).unwrap_or("-")));
    resources.chain(labels).collect()
}

/// What all zones begin with, up to the number of the region, if they are of one: `us-east-` of
/// `us-east-1a`.
fn common_region(rows: &[NodeRow]) -> Option<&str> {
    let mut regions = rows
        .iter()
        .filter_map(|row| row.zone.as_deref())
        .map(|zone| zone.rfind('-').map_or("", |dash| &zone[..=dash]));
    let first = regions.next()?;
    regions.all(|other| other == first).then_some(first)
}

fn cells(row: &NodeRow, name: &str, zone: Option<&str>, bar_length: u32) -> [Cell; 11] {
    let NodeRow {
        name: _,
        node_pool,
        instance_type,
        zone: _,
        capacity_type,
        cpu,
        memory,
        pods: _,
        virtual_pods: _,
        age: since,
        price,
        spot: _,
        spot_passed_over: _,
        state,
    } = row;
    let text = |text: &Option<domain::Text>| cell(text.as_deref().unwrap_or("-"));
    [
        cell(name).fg(Color::DarkCyan),
        text(node_pool),
        text(instance_type),
        cell(zone.unwrap_or("-")),
        Cell::new(capacity_type.map_or("-", |capacity_type| capacity_type.as_str())),
        bar(*cpu, bar_length),
        bar(*memory, bar_length),
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
fn bar(usage: Usage, length: u32) -> Cell {
    let cell = Cell::new(Bar { usage, length });
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
        let narrow = header(Some(110));
        assert!(!narrow.contains("AGE") && narrow.contains("$/HOUR"), "{narrow}");
        insta::assert_snapshot!(table(Some(80)));
    }

    #[test]
    fn no_line_overruns_the_terminal() {
        let rows = node_row::rows(&testing::snapshot(), &testing::plan());
        for width in 60..=200 {
            for color in [false, true] {
                let text = node_table(&rows, Canvas { color, width: Some(width) });
                let text = crate::visible::for_terminal(&text);
                for line in anstream::adapter::strip_str(&text).to_string().lines() {
                    assert!(line.chars().count() <= usize::from(width), "{width}: {line}");
                }
            }
        }
    }

    #[test]
    fn thirty_nodes_have_a_line_each_however_narrow_the_terminal() {
        let like = node_row::rows(&testing::snapshot(), &testing::plan());
        let rows: Vec<NodeRow> = (0..30)
            .map(|index| NodeRow {
                name: format!("a-node-whose-name-is-far-too-long-for-a-terminal-{index}").into(),
                ..like[index % like.len()].clone()
            })
            .collect();
        let text = node_table(&rows, Canvas { color: false, width: Some(80) });
        assert_eq!(text.lines().count(), 31, "{text}");
        let is_cut = |line: &str| line.trim_start().split(' ').next().unwrap().contains('…');
        assert!(text.lines().skip(1).all(is_cut), "{text}");
    }

    #[test]
    fn control_characters_of_names_are_shown_in_columns_that_they_have() {
        let mut rows = node_row::rows(&testing::snapshot(), &testing::plan());
        rows[0].name = "a\x1b[2Jnode-whose-name-would-clear-the-screen".into();
        rows[0].zone = Some("eu-west-1\x1b[31m".into());
        for width in [None, Some(60), Some(80), Some(200)] {
            let text = node_table(&rows, Canvas { color: true, width });
            let text =
                anstream::adapter::strip_str(&crate::visible::for_terminal(&text)).to_string();
            assert!(text.contains("a\\u{") && !text.contains('\x1b'), "{text}");
            let columns = text.lines().map(|line| line.trim_end().chars().count()).max();
            assert!(columns <= width.map(usize::from).or(Some(usize::MAX)), "{width:?}: {text}");
        }
    }

    #[test]
    fn zones_of_one_region_are_told_apart_by_their_ends() {
        let row = |zone: &str| {
            let like = node_row::rows(&testing::snapshot(), &testing::plan()).remove(0);
            NodeRow { zone: Some(zone.into()), ..like }
        };
        let rows = ["ap-northeast-2a", "ap-northeast-2b"].map(row);
        assert_eq!(common_region(&rows), Some("ap-northeast-"));
        assert_eq!(common_region(&["us-east-1a", "eu-west-1a"].map(row)), None);
    }
}
