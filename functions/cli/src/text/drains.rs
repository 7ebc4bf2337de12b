//! Nodes that are being drained, for people.

use crate::text::age::age;
use crate::text::page::Page;
use crate::text::paint::Role;
use crate::view::drains::{DrainRow, daily};
use crate::view::money::Dollars;
use crate::view::pod_names::counted;

/// Pods of one node that are named at most; the others are counted.
const PODS_MAX: usize = 5;

/// Drains that are stuck, with what their nodes cost; nothing where there is none.
pub(crate) fn stuck(page: &mut Page, drains: &[DrainRow]) {
    let stuck: Vec<&DrainRow> = drains.iter().filter(|own| own.is_stuck).collect();
    if stuck.is_empty() {
        return;
    }
    let cost = Dollars(daily(stuck.iter().filter_map(|own| own.price)));
    let nodes = counted(stuck.len(), "node");
    page.line("");
    page.heading("STUCK DRAINS", &format!("{nodes} for longer than 10 minutes, {cost} a day"));
    for own in stuck {
        let name = page.paint(Role::Name, page.node_name(&own.drain.node));
        let line = format!("  {name}  {}", since_when(own));
        page.line(line);
        held_by(page, own, "    ");
    }
}

/// What a node's own page says of its drain.
pub(crate) fn about(page: &mut Page, own: &DrainRow) {
    page.line(format!("  It is going away: it is being drained, {}.", since_when(own)));
    held_by(page, own, "    ");
}

fn since_when(own: &DrainRow) -> String {
    let lasted = own.lasted.map_or_else(
        || "for how long is not known".to_owned(),
        |lasted| format!("for {}", age(lasted)),
    );
    let cost = own.price.map(|price| format!(", at {} a day", Dollars(daily([price].into_iter()))));
    let forced = own.drain.forced.map(|at| format!("; what is left goes by force at {at:.0}"));
    format!("{lasted}{}{}", cost.unwrap_or_default(), forced.unwrap_or_default())
}

fn held_by(page: &mut Page, own: &DrainRow, indent: &str) {
    let all: Vec<_> = own.holders().collect();
    for (pod, why) in all.iter().take(PODS_MAX) {
        page.line(format!("{indent}{pod}: {why}"));
    }
    if let Some(more) = all.len().checked_sub(PODS_MAX).filter(|more| *more > 0) {
        page.faint(format!("{indent}and {} more", counted(more, "pod")));
    }
    match &own.drain.volumes {
        Some(volumes) if !volumes.is_empty() => {
            page.line(format!("{indent}its pods are gone, and {volumes}"));
        }
        _ if all.is_empty() => page.line(format!("{indent}its pods are gone")),
        _ => {}
    }
}
