//! The figures of a diff, a row each: text and Markdown print the same rows.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use super::diff::{ClusterDiff, Pair, dollars, percent};
use super::money::Monthly;
use super::outcome::{Group, NodePlace, Outcome};
use super::share::Share;

/// A figure by the old and by the new manifests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DiffRow {
    /// What it is.
    pub(crate) label: String,
    /// Whether it is a part of the row above it.
    pub(crate) is_part: bool,
    /// By the old manifests.
    pub(crate) old: String,
    /// By the new ones.
    pub(crate) new: String,
    /// The difference; empty where there is none.
    pub(crate) change: String,
    /// What to think of it.
    pub(crate) tone: Tone,
}

/// Whether a change is a good one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// It saves money, or gives pods a place.
    Better,
    /// It costs money, or leaves pods without a place.
    Worse,
    /// It is neither, or there is none.
    Neutral,
}

/// The rows of what one tick leaves.
pub(crate) fn next_tick(diff: &ClusterDiff) -> Vec<DiffRow> {
    let pair = &diff.next_tick;
    let mut rows = rows(pair);
    rows.push(count("nodes launched", pair, Tone::Neutral, |own| own.launched));
    rows.push(count("nodes taken away", pair, Tone::Neutral, Outcome::disrupted_count));
    let reasons: BTreeSet<_> =
        pair.old.disrupted.keys().chain(pair.new.disrupted.keys()).copied().collect();
    for reason in reasons {
        let of = |own: &Outcome| own.disrupted.get(&reason).copied().unwrap_or(0);
        rows.push(part(count(reason.as_str(), pair, Tone::Neutral, of)));
    }
    rows.push(count("pods that move", pair, Tone::Neutral, |own| own.moved));
    rows
}

/// The rows of what all nodes come to once they are launched anew.
pub(crate) fn all_replaced(diff: &ClusterDiff) -> Vec<DiffRow> {
    rows(&diff.all_replaced)
}

/// The main figures in a line, where both are the same: `19 nodes, $4,674.39 a month`.
pub(crate) fn summary(rows: &[DiffRow]) -> String {
    let main = rows.iter().filter(|row| !row.is_part).take(2);
    main.map(|row| format!("{} {}", row.label, row.new)).collect::<Vec<_>>().join(", ")
}

/// Whether any row has a change.
pub(crate) fn is_any_changed(rows: &[DiffRow]) -> bool {
    rows.iter().any(|row| !row.change.is_empty())
}

fn rows(pair: &Pair) -> Vec<DiffRow> {
    let Pair { old, new } = pair;
    let mut rows = vec![cost(old, new), count("nodes", pair, Tone::Neutral, |own| own.nodes.count)];
    let places: BTreeSet<&NodePlace> = old.by_place.keys().chain(new.by_place.keys()).collect();
    for place in places {
        let zone = place.zone.as_deref().unwrap_or("no zone");
        let capacity_type =
            place.capacity_type.map_or("of unknown capacity type", |own| own.as_str());
        let of = |own: &Outcome| nodes_of(own.by_place.get(place));
        rows.push(part(count(&format!("{zone} {capacity_type}"), pair, Tone::Neutral, of)));
    }
    let pools: BTreeSet<_> = old.by_node_pool.keys().chain(new.by_node_pool.keys()).collect();
    if pools.len() > 1 {
        for pool in pools {
            let label = pool
                .as_ref()
                .map_or_else(|| "of no NodePool".to_owned(), |name| format!("NodePool {name}"));
            let of = |own: &Outcome| nodes_of(own.by_node_pool.get(pool));
            rows.push(part(count(&label, pair, Tone::Neutral, of)));
        }
    }
    let placed = |own: &Outcome| usize::try_from(own.pods_placed()).unwrap_or(0);
    rows.push(count("pods with a place", pair, Tone::Better, placed));
    rows.push(count("pods without a place", pair, Tone::Worse, |own| own.unschedulable.len()));
    rows.push(share("pods on spot", old.spot_pods, new.spot_pods));
    rows.push(share("CPU requests on spot", old.spot_cpu, new.spot_cpu));
    rows.push(share("memory requests on spot", old.spot_memory, new.spot_memory));
    rows
}

fn part(row: DiffRow) -> DiffRow {
    DiffRow { is_part: true, ..row }
}

fn nodes_of(group: Option<&Group>) -> usize {
    group.map_or(0, |group| group.count)
}

fn cost(old: &Outcome, new: &Outcome) -> DiffRow {
    let (was, is) = (old.nodes.price, new.nodes.price);
    let change = dollars(was, is);
    let sign = if change.0 > 0 { "+" } else { "" };
    let share = percent(was.nanos(), is.nanos()).map(|own| format!(" ({own})"));
    let change_shown = format!("{sign}{change}{}", share.unwrap_or_default());
    DiffRow {
        label: "cost a month".to_owned(),
        is_part: false,
        old: Monthly(was).to_string(),
        new: Monthly(is).to_string(),
        change: if change.0 == 0 { String::new() } else { change_shown },
        tone: match change.0.cmp(&0) {
            Ordering::Less => Tone::Better,
            Ordering::Equal => Tone::Neutral,
            Ordering::Greater => Tone::Worse,
        },
    }
}

/// A number of things; `more` says what to think of more of them.
fn count(label: &str, pair: &Pair, more: Tone, of: impl Fn(&Outcome) -> usize) -> DiffRow {
    let (old, new) = (of(&pair.old), of(&pair.new));
    let tone = match (old.cmp(&new), more) {
        (Ordering::Less, tone) => tone,
        (Ordering::Greater, Tone::Better) => Tone::Worse,
        (Ordering::Greater, Tone::Worse) => Tone::Better,
        _ => Tone::Neutral,
    };
    let change = match old.cmp(&new) {
        Ordering::Less => format!("+{}", new - old),
        Ordering::Equal => String::new(),
        Ordering::Greater => format!("-{}", old - new),
    };
    DiffRow {
        label: label.to_owned(),
        is_part: false,
        old: old.to_string(),
        new: new.to_string(),
        change,
        tone,
    }
}

/// More on spot is cheaper and more exposed: what to think of it is not said here.
fn share(label: &str, old: Share, new: Share) -> DiffRow {
    let points = (new.permille() + 5) / 10 - (old.permille() + 5) / 10;
    let change = match points {
        0 => String::new(),
        1 => "+1 point".to_owned(),
        -1 => "-1 point".to_owned(),
        points => format!("{points:+} points"),
    };
    DiffRow {
        label: label.to_owned(),
        is_part: false,
        old: old.to_string(),
        new: new.to_string(),
        change,
        tone: Tone::Neutral,
    }
}
