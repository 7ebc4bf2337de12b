//! Nodes of the patterns that the relaxation has found: as many as its fractional solution uses
//! wholly, and then more of them as long as there are pods for whole nodes.

use rustc_hash::FxHashMap;

use super::{KindBin, KindNode, Kinds};
use crate::model::pool::NodeKind;
use crate::packing::relaxed::ColumnUse;
use crate::relaxation::RowIx;

/// A pattern is launched beyond the fractional solution where its price is at most this many times
/// what its pods are worth.
const SCORE_MAX: f64 = 1.03;

/// The part of a node from which on the fractional solution's is launched whole.
const PART_MIN: f64 = 0.3;

impl Kinds<'_> {
    /// Nodes that the fractional solution uses wholly; takes their pods off the counts.
    pub(super) fn whole_nodes(&self, columns: &[ColumnUse], counts: &mut [u32]) -> Vec<KindNode> {
        let kinds_of_row = self.kinds_of_row();
        let nodes = columns
            .iter()
            .map(|column| self.launch_column(column, &kinds_of_row, counts, whole(column.level)));
        nodes.flatten().collect()
    }

    /// Further nodes of patterns that pods are left for: first those that the fractional solution
    /// uses the largest part of, then those that are used best. Takes their pods off the counts.
    pub(super) fn nearly_whole_nodes(
        &self,
        columns: &[ColumnUse],
        counts: &mut [u32],
    ) -> Vec<KindNode> {
        let kinds_of_row = self.kinds_of_row();
        let mut worth_of_row: FxHashMap<RowIx, f64> = FxHashMap::default();
        for (row, value) in self.rows.iter().zip(&self.values) {
            let worth = worth_of_row.entry(*row).or_default();
            *worth = worth.max(*value);
        }
        let mut price_of: FxHashMap<NodeKind, f64> = FxHashMap::default();
        for own in self.bins.iter().rev() {
            price_of.insert(own.bin.kind(), own.bin.price);
        }
        let mut ranked: Vec<(f64, f64, &ColumnUse)> = columns
            .iter()
            .filter_map(|column| {
                let worth = |(row, count): &(RowIx, u32)| {
                    worth_of_row.get(row).map_or(0.0, |worth| worth * f64::from(*count))
                };
                let worth: f64 = column.pods.iter().map(worth).sum();
                let score = price_of.get(&column.node)? / worth.max(1.0);
                Some((column.level.fract(), score, column))
            })
            .filter(|(_, score, _)| *score <= SCORE_MAX)
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.total_cmp(&b.1)));
        let mut nodes = Vec::new();
        for (part, _, column) in &ranked {
            if *part > PART_MIN {
                nodes.extend(self.launch_column(column, &kinds_of_row, counts, 1));
            }
        }
        ranked.sort_by(|a, b| a.1.total_cmp(&b.1));
        for (_, _, column) in ranked {
            nodes.extend(self.launch_column(column, &kinds_of_row, counts, u32::MAX));
        }
        nodes
    }

    /// Kinds by their row.
    fn kinds_of_row(&self) -> FxHashMap<RowIx, Vec<usize>> {
        let mut kinds_of_row: FxHashMap<RowIx, Vec<usize>> = FxHashMap::default();
        for (kind, row) in self.rows.iter().enumerate() {
            kinds_of_row.entry(*row).or_default().push(kind);
        }
        kinds_of_row
    }

    /// Nodes of one pattern, as many as there are pods for, up to so many.
    fn launch_column(
        &self,
        column: &ColumnUse,
        kinds_of_row: &FxHashMap<RowIx, Vec<usize>>,
        counts: &mut [u32],
        most: u32,
    ) -> Option<KindNode> {
        if most == 0 {
            return None;
        }
        let pods = column.pods.iter().map(|(row, count)| {
            let own = kinds_of_row.get(row)?;
            Some((*own.iter().max_by_key(|kind| counts[**kind])?, *count))
        });
        let pods: Vec<(usize, u32)> = pods.collect::<Option<_>>()?;
        let enough = pods.iter().map(|(kind, count)| counts[*kind] / count).min().unwrap_or(0);
        let times = most.min(enough);
        if times == 0 {
            return None;
        }
        let accepts = |own: &KindBin| {
            own.bin.kind() == column.node
                && pods.iter().all(|(kind, _)| own.kinds.binary_search(kind).is_ok())
        };
        let bin = self.bins.iter().position(accepts)?;
        for (kind, count) in &pods {
            counts[*kind] -= count * times;
        }
        Some(KindNode { bin, counts: pods, times })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "of a level, at least nothing"
)]
fn whole(level: f64) -> u32 {
    (level + 1e-6).floor() as u32
}
