//! The nodes of a cluster, what they hold and what they cost, as a page.

use domain::pod::Pod;
use domain::resource::{CPU, MEMORY};
use domain::snapshot::ClusterSnapshot;
use maud::{Markup, html};

use crate::html::data::{PageData, PodRow, SideBlock, SideNode};
use crate::html::node_table::node_table;
use crate::html::page::{Page, count, figure, fold};
use crate::text::until_stable::side_line;
use crate::view::cluster_use::ClusterUse;
use crate::view::committed::Percent;
use crate::view::cost_split::{CostSplit, Share, shown_name};
use crate::view::money::Monthly;
use crate::view::node_row::{Usage, without_price};
use crate::view::pod_names::counted;
use crate::view::pricing::PriceNote;

/// All nodes; with `--by`, the cost in groups first.
pub(crate) fn top(
    snapshot: &ClusterSnapshot,
    cluster_use: &ClusterUse,
    split: Option<&CostSplit>,
    prices: &PriceNote,
) -> Result<String, serde_json::Error> {
    let ClusterUse { rows, cpu, memory, pods, pending, price, committed, .. } = cluster_use;
    let nodes: Vec<SideNode<'_>> =
        rows.iter().map(|row| SideNode { rows: vec![Some(row)], text: None }).collect();
    let mut data = PageData::new("top");
    data.add_side(|texts| SideBlock::new(("", ""), &["now"], &nodes, texts));
    let is_there = |pod: &&Pod| !pod.is_terminal();
    let pods_now: Vec<PodRow<'_>> =
        snapshot.objects.pods.iter().filter(is_there).map(pod_row).collect();
    data.set_pods(&pods_now);
    let without = without_price(rows);
    let lead = html! {
        div.figures {
            (figure(&Monthly(*price).to_string(), &format!("a month ({price})")))
            @if let Some(bill) = committed {
                (figure(&bill.covered.to_string(), "of it covered by commitments"))
                @for own in &bill.commitments {
                    (figure(&Percent(own.per_mille()).to_string(), &format!("of {} used", own.name)))
                }
            }
            (count(rows.len(), ["node", "nodes"]))
            (figure(&percent(*cpu), "of their CPU is requested"))
            (figure(&percent(*memory), "of their memory"))
            (count(*pods, ["pod on them", "pods on them"]))
            (count(*pending, ["pod without a node", "pods without a node"]))
        }
        p.soft { (side_line(cluster_use)) "." br; "Dollars are " (prices) "." }
        @if !without.is_empty() {
            p.soft {
                "Without " (counted(without.len(), "node")) " that the catalogue does not price: "
                (without.join(", ")) "."
            }
        }
        @if let Some(split) = split { (shares(split)) }
    };
    let tables = html! { @if !rows.is_empty() { (fold("Nodes", "", &node_table(rows))) } };
    let verb = if rows.len() == 1 { "costs" } else { "cost" };
    let result = format!(
        "{} {verb} {} a month; pods request {} of their CPU and {} of their memory",
        counted(rows.len(), "node"),
        Monthly(*price),
        percent(*cpu),
        percent(*memory)
    );
    let subject = "A cluster and what it costs";
    Page { command: "top", subject, result: &result, lead, tables, data: &data }.render()
}

fn pod_row(pod: &Pod) -> PodRow<'_> {
    PodRow {
        name: pod.key.to_string(),
        from: pod.node_name.as_deref(),
        to: None,
        state: if pod.node_name.is_some() { "on a node" } else { "waits" },
        requests: (pod.spec.requests.get(CPU), pod.spec.requests.get(MEMORY)),
        text: None,
    }
}

fn percent(usage: Usage) -> String {
    usage.percent().map_or_else(|| "–".to_owned(), |percent| format!("{percent}%"))
}

fn shares(split: &CostSplit) -> Markup {
    let CostSplit { by, shares, idle, .. } = split;
    html! {
        h2 { "Cost by " (by) small { "of what pods request" } }
        div.scroll tabindex="0" role="region" aria-label="Cost by what pods request" {
            table {
                thead { tr { th { (by) } th.number { "Pods" } th.number { "$ a month" } } }
                tbody {
                    @for share in shares { (share_row(share, split)) }
                    tr { td { "idle" } td.number { "–" } td.number { (Monthly(*idle)) } }
                }
            }
        }
    }
}

fn share_row(share: &Share, split: &CostSplit) -> Markup {
    html! {
        tr {
            td.name { (shown_name(share, &split.by)) }
            td.number { (share.pods) }
            td.number { (Monthly(share.price)) }
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::plan::Plan;

    use super::*;
    use crate::args::split::SplitBy;
    use crate::testing;

    #[test]
    fn the_page_says_what_nodes_cost_and_who_pays_for_them() {
        let snapshot = testing::snapshot();
        let cluster_use = ClusterUse::of(&snapshot, &Plan::default());
        let split = CostSplit::of(&snapshot, &cluster_use.rows, SplitBy::Namespace);
        let page = top(&snapshot, &cluster_use, Some(&split), &testing::price_note()).unwrap();
        for part in [
            "<h1>2 nodes cost $147.17 a month; pods request 26% of their CPU and 7% of their memory",
            "Cost by namespace",
            "<td>idle</td>",
            "ip-10-0-0-7",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }
}
