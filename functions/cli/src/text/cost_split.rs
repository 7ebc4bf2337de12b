//! The cost of nodes by groups of pods, as a table.

use comfy_table::{Attribute, Cell, CellAlignment, Color};
use domain::money::UsdPerHour;
use domain::resource::{CPU, MEMORY, RoundedAmount};

use crate::args::split::SplitBy;
use crate::terminal::Canvas;
use crate::text::layout::{cut, fits, hide, plain_table, table_text, width_of};
use crate::view::cost_split::{CostSplit, Share, shown_name};
use crate::view::money::Monthly;
use crate::visible::visible;

const HOURLY: usize = 5;

/// One row a group, the dearest first, then what is idle, then the sum. Narrow terminals do without
/// $/HOUR, and names are cut.
pub(crate) fn cost_split(split: &CostSplit, price: UsdPerHour, canvas: Canvas) -> String {
    let mut table = laid_out(split, price, canvas, usize::MAX);
    if !fits(&table, canvas) {
        hide(&mut table, HOURLY);
    }
    if !fits(&table, canvas) {
        let names = split.shares.iter().map(|share| shown_name(share, &split.by));
        let longest = names.map(|name| name.chars().count()).max().unwrap_or(0);
        let edge = canvas.width.map_or(usize::MAX, usize::from);
        let missing = width_of(&table).saturating_sub(edge);
        table = laid_out(split, price, canvas, longest.saturating_sub(missing));
        hide(&mut table, HOURLY);
    }
    table_text(&table)
}

fn laid_out(
    split: &CostSplit,
    price: UsdPerHour,
    canvas: Canvas,
    name_columns: usize,
) -> comfy_table::Table {
    let mut table = plain_table(canvas);
    let first = match split.by {
        SplitBy::Namespace => "NAMESPACE",
        SplitBy::NodePool => "POOL",
        SplitBy::Label(_) => "LABEL",
    };
    let header = [first, "PODS", "CPU", "MEMORY", "SHARE", "$/HOUR", "$/MONTH"];
    table.set_header(header.map(|title| Cell::new(title).add_attribute(Attribute::Dim)));
    for share in &split.shares {
        let name = cut(&visible(&shown_name(share, &split.by)), name_columns);
        let Share { name: _, pods, cpu, memory, price: own } = share;
        let [cpu, memory] = amounts(*cpu, *memory);
        let cells = [pods.to_string(), cpu, memory, percent(*own, price), dollars(*own)];
        let row = [Cell::new(name).fg(Color::DarkCyan)].into_iter().chain(cells.map(Cell::new));
        table.add_row(row.chain([Cell::new(Monthly(*own))]));
    }
    let [cpu, memory] = amounts(split.idle_cpu, split.idle_memory);
    table.add_row([
        "idle".to_owned(),
        String::new(),
        cpu,
        memory,
        percent(split.idle, price),
        dollars(split.idle),
        Monthly(split.idle).to_string(),
    ]);
    let all = split.shares.iter();
    let [cpu, memory] = amounts(
        all.clone().map(|share| share.cpu).fold(split.idle_cpu, i64::saturating_add),
        all.clone().map(|share| share.memory).fold(split.idle_memory, i64::saturating_add),
    );
    table.add_row([
        "all".to_owned(),
        all.map(|share| share.pods).sum::<usize>().to_string(),
        cpu,
        memory,
        percent(price, price),
        dollars(price),
        Monthly(price).to_string(),
    ]);
    for column in 1..header.len() {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn amounts(cpu: i64, memory: i64) -> [String; 2] {
    let shown = |name, amount| RoundedAmount { name, amount }.to_string();
    [shown(CPU, cpu), shown(MEMORY, memory)]
}

/// `$0.0310`: the column says that it is an hour's.
fn dollars(price: UsdPerHour) -> String {
    price.to_string().trim_end_matches("/h").to_owned()
}

/// To the tenth of a percent, rounded to the nearest; blank where nothing has a price.
fn percent(own: UsdPerHour, of: UsdPerHour) -> String {
    let (own, of) = (i128::from(own.nanos()), i128::from(of.nanos()));
    if of <= 0 {
        return String::new();
    }
    let permille = (own * 1000 + of / 2) / of;
    format!("{}.{}%", permille / 10, permille % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use crate::view::cluster_use::ClusterUse;
    use domain::plan::Plan;

    #[test]
    fn shares_and_what_is_idle_stand_above_their_sum() {
        let snapshot = testing::snapshot();
        let ClusterUse { rows, price, .. } = ClusterUse::of(&snapshot, &Plan::default());
        let split = CostSplit::of(&snapshot, &rows, SplitBy::Namespace);
        insta::assert_snapshot!(cost_split(&split, price, Canvas::PLAIN));
    }

    #[test]
    fn a_terminal_of_80_columns_holds_long_names() {
        let snapshot = testing::snapshot();
        let ClusterUse { rows, price, .. } = ClusterUse::of(&snapshot, &Plan::default());
        let mut split = CostSplit::of(&snapshot, &rows, SplitBy::Namespace);
        split.shares[0].name = Some("n".repeat(90).into());
        let table = cost_split(&split, price, Canvas { color: false, width: Some(80) });
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        assert!(table.contains("n…n") && table.contains("$/MONTH"), "{table}");
    }
}
