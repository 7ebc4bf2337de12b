//! The nodes of a cluster for people: sums first, then a row a node, or a row a group of pods.

use domain::resource::{CPU, MEMORY, RoundedAmount};

use crate::terminal::Canvas;
use crate::text::cost_split::cost_split;
use crate::text::drains::stuck;
use crate::text::node_table::node_table_with;
use crate::text::page::Page;
use crate::view::cluster_use::ClusterUse;
use crate::view::committed::{covered_line, use_lines};
use crate::view::cost_split::CostSplit;
use crate::view::money::Monthly;
use crate::view::node_columns::NodeColumns;
use crate::view::node_row::{self, Usage};
use crate::view::pod_names::counted;
use crate::view::pricing::PriceNote;

/// The whole page.
pub(crate) fn top(
    cluster_use: &ClusterUse,
    split: Option<&CostSplit>,
    columns: &NodeColumns,
    prices: &PriceNote,
    canvas: Canvas,
) -> String {
    let mut page = Page::new(canvas);
    sums(&mut page, cluster_use, prices);
    if cluster_use.rows.is_empty() {
        return page.into_text();
    }
    page.line("");
    match split {
        Some(split) => page.line(cost_split(split, cluster_use.price, canvas)),
        None => page.line(node_table_with(&cluster_use.rows, columns, canvas)),
    }
    stuck(&mut page, &cluster_use.drains);
    page.into_text()
}

/// What all nodes come to together.
pub(super) fn sums(page: &mut Page, cluster_use: &ClusterUse, prices: &PriceNote) {
    let ClusterUse { rows, cpu, memory, pods, pending, price, .. } = cluster_use;
    let ClusterUse { unpriced, by_capacity_type, committed, not_selected, .. } = cluster_use;
    let kinds = by_capacity_type.iter().map(|(capacity_type, count)| {
        format!("{count} {}", capacity_type.map_or("of another kind", |own| own.as_str()))
    });
    let kinds: Vec<String> = kinds.collect();
    let kinds = format!(" ({})", kinds.join(", "));
    if rows.is_empty() && *not_selected > 0 {
        page.heading("NODES", &format!("none of {} is selected", counted(*not_selected, "node")));
        return;
    }
    if rows.is_empty() {
        let waiting = if *pending == 0 { String::new() } else { format!(", {pending} pending") };
        page.heading("NODES", &format!("there is none{waiting}: nothing to pay for"));
        return;
    }
    page.heading("NODES", &format!("{}{kinds}", counted(rows.len(), "node")));
    page.line(format!("  cpu     {}", share(CPU, *cpu)));
    page.line(format!("  memory  {}", share(MEMORY, *memory)));
    page.line(format!("  pods    {pods} on nodes, {pending} pending"));
    page.line(format!("  cost    {price}, {} a month", Monthly(*price)));
    if let Some(bill) = committed {
        page.line(format!("          {}", covered_line(bill, *price)));
        for line in use_lines(bill, None) {
            page.line(format!("          {line}"));
        }
    }
    if *unpriced > 0 {
        page.faint(format!(
            "  without {} that the catalogue does not price: {}",
            counted(*unpriced, "node"),
            node_row::without_price(rows).join(", ")
        ));
    }
    page.faint(format!("  {prices}"));
}

/// `8500m of 12 (70%)`.
fn share(resource: &str, usage: Usage) -> String {
    let shown = |amount| RoundedAmount { name: resource, amount };
    let percent = usage.percent().map(|percent| format!(" ({percent}%)")).unwrap_or_default();
    format!("{} of {}{percent}", shown(usage.used), shown(usage.allocatable))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use domain::plan::Plan;

    #[test]
    fn sums_come_before_the_rows() {
        let cluster_use = ClusterUse::of(&testing::snapshot(), &Plan::default());
        let page =
            top(&cluster_use, None, &NodeColumns::default(), &testing::price_note(), Canvas::PLAIN);
        let mut lines = page.lines();
        assert!(lines.next().unwrap().starts_with("NODES  "), "{page}");
        assert!(page.contains(" a month\n") && page.contains("NODE "), "{page}");
        for row in &cluster_use.rows {
            assert!(page.contains(&*row.name), "{} in {page}", row.name);
        }
    }

    #[test]
    fn a_cluster_without_nodes_has_one_line() {
        let empty = domain::snapshot::ClusterSnapshot::empty(testing::now());
        let page = top(
            &ClusterUse::of(&empty, &Plan::default()),
            None,
            &NodeColumns::default(),
            &testing::price_note(),
            Canvas::PLAIN,
        );
        assert_eq!(page, "NODES  there is none: nothing to pay for\n");
    }

    #[test]
    fn where_no_node_is_selected_the_cluster_is_not_said_to_have_none() {
        let empty = domain::snapshot::ClusterSnapshot::empty(testing::now());
        let none = ClusterUse { not_selected: 11, ..ClusterUse::of(&empty, &Plan::default()) };
        let columns = NodeColumns::default();
        let page = top(&none, None, &columns, &testing::price_note(), Canvas::PLAIN);
        assert_eq!(page, "NODES  none of 11 nodes is selected\n");
    }
}
