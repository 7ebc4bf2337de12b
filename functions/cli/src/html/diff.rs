//! What a change of manifests does to a cluster as a page.

use maud::{Markup, html};

use crate::change::{Difference, ObjectChange};
use crate::html::data::{PageData, SideBlock, SideNode};
use crate::html::node_table::node_table;
use crate::html::page::{Page, capitalized, fold};
use crate::text::diff::{ALL_REPLACED, next_tick};
use crate::view::diff::{ClusterDiff, Pair, When};
use crate::view::diff_row::{self, DiffRow, Tone};
use crate::view::drifted;
use crate::view::node_row::{NodeRow, NodeState};
use crate::view::pod_names::{PodNames, counted};
use crate::view::pricing::PriceNote;
use crate::view::unschedulable::groups_of;

/// The whole comparison.
pub(crate) fn diff(
    diff: &ClusterDiff,
    open: &[String],
    errors: &[String],
    prices: &PriceNote,
) -> Result<String, serde_json::Error> {
    let mut data = PageData::new("diff");
    let about = format!("{}.", capitalized(ALL_REPLACED));
    add(&mut data, "All nodes replaced", &about, &diff.all_replaced);
    if diff.has_managed_nodes {
        let about = format!("{}.", capitalized(&next_tick(diff)));
        add(&mut data, "Next tick", &about, &diff.next_tick);
    }
    let lead = html! {
        p.about { "From " bdi { (diff.old_name) } " to " bdi { (diff.new_name) } "." }
        ul.plain { @for change in &diff.changes { (changed(change)) } }
        @for error in errors { p.bad { (error) } }
        (worse(diff))
        (figures("All nodes replaced", ALL_REPLACED, &diff_row::all_replaced(diff)))
        @if diff.has_managed_nodes {
            (figures("Next tick", &next_tick(diff), &diff_row::next_tick(diff)))
        }
        p.soft { "Dollars are " (prices) "." }
        (without_place(diff))
        (with_place(diff))
        (drift(diff))
        @if !open.is_empty() {
            h2 { "Open" }
            div.card { ul { @for line in open { li { (line) } } } }
        }
    };
    let tables = html! {
        (fold("Nodes by the old manifests", "all replaced", &node_table(&diff.all_replaced.old.rows)))
        (fold("Nodes by the new manifests", "all replaced", &node_table(&diff.all_replaced.new.rows)))
    };
    let result = capitalized(&diff.headline());
    Page {
        command: "diff",
        subject: "What a change does",
        result: &result,
        lead,
        tables,
        data: &data,
    }
    .render()
}

fn add(data: &mut PageData, name: &str, about: &str, pair: &Pair) {
    // What is on its way out counts in no figure of the comparison.
    let staying = |rows: &[NodeRow]| -> Vec<NodeRow> {
        rows.iter().filter(|row| row.state != NodeState::Draining).cloned().collect()
    };
    let (old, new) = (staying(&pair.old.rows), staying(&pair.new.rows));
    let nodes = SideNode::matched(&old, &new);
    data.add_side(|texts| SideBlock::new((name, about), &["old", "new"], &nodes, texts));
}

fn changed(change: &ObjectChange) -> Markup {
    let ObjectChange { identity, difference } = change;
    let (word, tone) = match difference {
        Difference::Added => ("added", "good"),
        Difference::Changed => ("changed", "warn"),
        Difference::Removed => ("removed", "bad"),
        Difference::Invalid => ("invalid", "bad"),
    };
    html! { li { bdi { (identity) } " " span class=(tone) { (word) } } }
}

fn figures(title: &str, about: &str, rows: &[DiffRow]) -> Markup {
    html! {
        h2 { (title) small { (about) } }
        @if diff_row::is_any_changed(rows) {
            div.scroll tabindex="0" role="region" aria-label=(title) {
                table {
                    thead {
                        tr { th { "Figure" } @for word in ["Old", "New", "Change"] { th.number { (word) } } }
                    }
                    tbody { @for row in rows { (figure_row(row)) } }
                }
            }
        } @else {
            p { "The same by both: " (diff_row::summary(rows)) "." }
        }
    }
}

fn figure_row(row: &DiffRow) -> Markup {
    let DiffRow { label, is_part, old, new, change, tone } = row;
    let tone = match tone {
        Tone::Better => "number good",
        Tone::Worse => "number bad",
        Tone::Neutral => "number",
    };
    html! {
        tr {
            td class=(if *is_part { "part" } else { "" }) { (label) }
            td.number { (old) }
            td.number { (new) }
            td class=(tone) { (change) }
        }
    }
}

fn without_place(diff: &ClusterDiff) -> Markup {
    let all = &diff.newly_unschedulable;
    html! {
        @if !all.is_empty() {
            h2.bad { "Newly without a place" small { (counted(all.len(), "pod")) } }
            @for when in [When::NextTick, When::NodeGone] {
                @let own = all.iter().filter(|own| own.when == when);
                @for group in groups_of(own.map(|own| (&own.pod, own.reasons.as_slice()))) {
                    div.card {
                        (when.as_str()) ": " (PodNames(&group.pods))
                        ul { @for reason in group.reasons { li { (reason) } } }
                    }
                }
            }
        }
    }
}

fn with_place(diff: &ClusterDiff) -> Markup {
    let pods = &diff.newly_scheduled;
    html! {
        @if !pods.is_empty() {
            h2.good { "Newly with a place" small { (counted(pods.len(), "pod")) } }
            div.card { (PodNames(pods)) }
        }
    }
}

fn drift(diff: &ClusterDiff) -> Markup {
    let nodes = &diff.newly_drifted;
    html! {
        @if !nodes.is_empty() {
            h2 { "Newly drifted" small { (drifted::about(nodes.len())) } }
            div.card {
                ul {
                    @for (reason, nodes) in drifted::by_reason(nodes) {
                        li { (reason) ": " span.name { (nodes.iter().map(|node| &***node).collect::<Vec<_>>().join(", ")) } }
                    }
                }
            }
        }
    }
}

fn worse(diff: &ClusterDiff) -> Markup {
    html! {
        @if !diff.exceeded.is_empty() {
            h2.bad { "Worse than allowed" }
            div.card { ul { @for exceeded in &diff.exceeded { li { (exceeded.what) } } } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_begins_with_a_capital() {
        assert_eq!(capitalized("saves $1.00"), "Saves $1.00");
        assert_eq!(capitalized(""), "");
    }
}
