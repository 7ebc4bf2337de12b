//! Nodes that are being drained, with what they cost meanwhile.

use domain::drain::{Drain, drains};
use domain::money::UsdPerHour;
use domain::pod::PodKey;
use domain::snapshot::ClusterSnapshot;

use super::node_row::NodeRow;

const HOURS_PER_DAY: i128 = 24;

/// A node that is being drained.
#[derive(Clone, Debug)]
pub(crate) struct DrainRow {
    /// What holds it.
    pub(crate) drain: Drain,
    /// How long it has lasted, where that is known.
    pub(crate) lasted: Option<domain::SignedDuration>,
    /// Whether it lasts longer than drains do.
    pub(crate) is_stuck: bool,
    /// What the node costs, where the catalogue prices it.
    pub(crate) price: Option<UsdPerHour>,
}

impl DrainRow {
    /// Pods that hold it, each with why: those that end or wait for others are left out, unless
    /// there are no more.
    pub(crate) fn holders(&self) -> impl Iterator<Item = (&PodKey, String)> {
        let holds = || self.drain.holds.iter();
        let has_holders = holds().any(|(_, hold)| hold.is_obstacle());
        holds()
            .filter(move |(_, hold)| !has_holders || hold.is_obstacle())
            .map(|(pod, hold)| (pod, hold.to_string()))
    }
}

/// All nodes that are being drained; `rows` are those of the snapshot.
pub(crate) fn drain_rows(snapshot: &ClusterSnapshot, rows: &[NodeRow]) -> Vec<DrainRow> {
    let row_of = |drain: &Drain| rows.iter().find(|row| row.name == drain.node);
    let row = |drain: Drain| DrainRow {
        price: row_of(&drain).and_then(|row| row.price),
        lasted: drain.lasted(snapshot.now),
        is_stuck: drain.is_stuck(snapshot.now),
        drain,
    };
    drains(snapshot).into_iter().map(row).collect()
}

/// What nodes cost in a day, in billionths of a dollar.
pub(crate) fn daily(prices: impl Iterator<Item = UsdPerHour>) -> i128 {
    prices.map(|price| i128::from(price.nanos()) * HOURS_PER_DAY).sum()
}
