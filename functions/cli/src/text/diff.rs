//! What a change of manifests does to a cluster, as text.

use comfy_table::{Attribute, Cell, CellAlignment, Color};

use crate::change::{Difference, ObjectChange};
use crate::terminal::Canvas;
use crate::text::layout::{cell, plain_table, table_text, wrapped};
use crate::text::page::Page;
use crate::text::paint::Role;
use crate::view::diff::{ClusterDiff, When};
use crate::view::diff_row::{self, DiffRow, Tone};
use crate::view::drifted;
use crate::view::money::Monthly;
use crate::view::pod_names::{PodNames, counted};
use crate::view::pricing::PriceNote;
use crate::view::unschedulable::groups_of;

/// What all nodes come to once they are launched anew, in a few words.
pub(crate) const ALL_REPLACED: &str =
    "what the same pods need once every node of a NodePool is launched anew";

/// The whole page.
pub(crate) fn diff(
    diff: &ClusterDiff,
    open: &[String],
    prices: &PriceNote,
    canvas: Canvas,
) -> String {
    let mut page = Page::new(canvas);
    changes(&mut page, diff);
    let (replaced, tick) = (diff_row::all_replaced(diff), diff_row::next_tick(diff));
    figures(&mut page, "ALL NODES REPLACED", ALL_REPLACED, &replaced);
    if diff.has_managed_nodes {
        figures(&mut page, "NEXT TICK", &next_tick(diff), &tick);
    } else {
        page.faint("  No node of a NodePool is there: the next tick launches just these.");
        page.line("");
    }
    without_place(&mut page, diff);
    with_place(&mut page, diff);
    drift(&mut page, diff);
    if !open.is_empty() {
        page.heading("OPEN", "");
        for line in open {
            page.line(format!("  {line}"));
        }
        page.line("");
    }
    worse(&mut page, diff);
    let unpriced = diff.all_replaced.new.nodes.unpriced.max(diff.next_tick.new.nodes.unpriced);
    if unpriced > 0 {
        let nodes = counted(unpriced, "node");
        page.faint(format!("  without {nodes} that the catalogue does not price"));
    }
    page.faint(format!("  {prices}"));
    page.into_text()
}

/// What one tick is, with what is there before it.
pub(crate) fn next_tick(diff: &ClusterDiff) -> String {
    let leaving = match diff.leaving {
        0 => String::new(),
        count => format!(", {count} more on the way out"),
    };
    format!(
        "what one tick leaves of the {} there now, at {} a month{leaving}",
        counted(diff.now.count, "node"),
        Monthly(diff.now.price)
    )
}

fn changes(page: &mut Page, diff: &ClusterDiff) {
    page.heading("CHANGE", &diff.headline());
    page.faint(format!("  from {} to {}", diff.old_name, diff.new_name));
    for ObjectChange { identity, difference } in &diff.changes {
        let (word, role) = match difference {
            Difference::Added => ("added", Role::Good),
            Difference::Changed => ("changed", Role::Warning),
            Difference::Removed => ("removed", Role::Bad),
            Difference::Invalid => ("invalid", Role::Bad),
        };
        let line = format!("  {identity}  {}", page.paint(role, word));
        page.line(line);
    }
    page.line("");
}

fn figures(page: &mut Page, head: &str, about: &str, rows: &[DiffRow]) {
    page.heading(head, about);
    if diff_row::is_any_changed(rows) {
        page.line(table(rows, page.canvas()));
    } else {
        page.line(format!("  the same by both: {}", diff_row::summary(rows)));
    }
    page.line("");
}

fn table(rows: &[DiffRow], canvas: Canvas) -> String {
    let mut table = plain_table(canvas);
    table.set_header(
        ["", "OLD", "NEW", "CHANGE"].map(|title| Cell::new(title).add_attribute(Attribute::Dim)),
    );
    for row in rows {
        let DiffRow { label, is_part, old, new, change, tone } = row;
        let label = if *is_part { format!("  {label}") } else { label.clone() };
        let change = match tone {
            Tone::Better => Cell::new(change).fg(Color::DarkGreen),
            Tone::Worse => Cell::new(change).fg(Color::DarkRed),
            Tone::Neutral => Cell::new(change),
        };
        table.add_row([cell(&label), Cell::new(old), Cell::new(new), change]);
    }
    for column in 1..4 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table_text(&table)
}

fn without_place(page: &mut Page, diff: &ClusterDiff) {
    let all = &diff.newly_unschedulable;
    if all.is_empty() {
        return;
    }
    let head = page.paint(Role::Bad, "NEWLY WITHOUT A PLACE");
    page.heading(&head, &counted(all.len(), "pod"));
    for when in [When::NextTick, When::NodeGone] {
        let own = all.iter().filter(|own| own.when == when);
        for group in groups_of(own.map(|own| (&own.pod, own.reasons.as_slice()))) {
            page.line(format!("  {}: {}", when.as_str(), PodNames(&group.pods)));
            for reason in group.reasons {
                page.line(format!("    {reason}"));
            }
        }
    }
    page.line("");
}

fn with_place(page: &mut Page, diff: &ClusterDiff) {
    let pods = &diff.newly_scheduled;
    if !pods.is_empty() {
        page.heading("NEWLY WITH A PLACE", &counted(pods.len(), "pod"));
        page.line(format!("  {}", PodNames(pods)));
        page.line("");
    }
}

fn drift(page: &mut Page, diff: &ClusterDiff) {
    let nodes = &diff.newly_drifted;
    if nodes.is_empty() {
        return;
    }
    page.heading("NEWLY DRIFTED", &drifted::about(nodes.len()));
    for (reason, nodes) in drifted::by_reason(nodes) {
        page.line(format!("  {reason}:"));
        let names: Vec<&str> = nodes.iter().map(|node| page.node_name(node)).collect();
        for line in wrapped(&names, 4, page.canvas()) {
            page.line(line);
        }
    }
    page.line("");
}

fn worse(page: &mut Page, diff: &ClusterDiff) {
    if diff.exceeded.is_empty() {
        return;
    }
    let head = page.paint(Role::Bad, "WORSE THAN ALLOWED");
    page.heading(&head, "");
    for exceeded in &diff.exceeded {
        page.line(format!("  {}", exceeded.what));
    }
    page.line("");
}
