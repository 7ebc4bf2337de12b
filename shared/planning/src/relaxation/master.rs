//! The restricted master problem: the linear program over the patterns known so far, by the revised
//! simplex method.
//!
//! A column comes in when pricing finds it, replaces one of the basis, and is forgotten when it
//! leaves. The basis has as many columns as there are rows, so its inverse is kept explicitly: a
//! pivot costs rows², and there are a few hundred rows at most.
//!
//! Dual prices start inside a box, between a ceiling and a floor for each row, so that they do not
//! swing while few patterns are known (the boxstep method of Marsten, Hogan and Blankenship 1975).
//!
//! Nothing here has to be exact: [`super::Relaxation::lower_bound`] proves whatever the resulting
//! dual prices prove.

use super::row::{Duals, RowIx, Rows};
use crate::ids::IndexVec;

/// A pivot on less than this would amplify rounding errors.
const PIVOT_MIN: f64 = 1e-7;

/// A ceiling that is reached rises by this fraction.
const CEILING_RISE: f64 = 0.6;

/// Levels below this are nothing but rounding.
const LEVEL_MIN: f64 = 1e-7;

/// A dual price this far below its floor, relative to the floor, has left the box.
const FLOOR_TOLERANCE: f64 = 1e-6;

/// The cheapest fractional solution over the patterns known so far.
pub(super) struct Master {
    /// Rows with copies to cover: the basis has a column for each. Where none is left to cover, a
    /// row is out of the problem, and its dual price stays at zero.
    rows: Vec<RowIx>,
    /// By row, its slot among these.
    slots: IndexVec<RowIx, Option<usize>>,
    /// The inverse of the basis: a line for each of its positions, an entry for each slot.
    inverse: Vec<f64>,
    /// The level of the column at each position of the basis.
    levels: Vec<f64>,
    /// What one more copy of each row would cost; may be slightly negative between pivots.
    duals: Duals,
    /// The price of the column at each position of the basis.
    prices: Vec<f64>,
    /// The lower side of the box.
    floors: Duals,
    /// The column at each position of the basis.
    columns: Vec<Column>,
    /// See [`Self::entries_worked_out`].
    entries_worked_out: u64,
}

/// What a column of the basis stands for.
#[derive(Clone, Copy)]
enum Column {
    /// Slack of a row at its ceiling: copies that are not covered, at a price.
    Uncovered,
    /// Surplus of a row at its floor: copies covered beyond the count, given back at a price.
    Surplus(RowIx),
    /// A pattern, by its number.
    Pattern(u32),
}

/// A column that is about to enter the basis.
struct Entering {
    /// Non-zero coefficients, by the row's slot.
    coefficients: Vec<(usize, f64)>,
    price: f64,
    column: Column,
}

impl Master {
    /// The problem without patterns, with dual prices at the ceilings. Dual prices stay between
    /// ceilings and floors until [`Self::relax_box`] moves those.
    pub(super) fn new(rows: &Rows, ceilings: &Duals, floors: Duals) -> Self {
        let mut slots = IndexVec::filled(None, rows.len());
        let mut duals: Duals = IndexVec::filled(0.0, rows.len());
        let mut own = Vec::with_capacity(rows.len());
        for (row, _) in rows.iter_enumerated().filter(|(_, row)| row.count > 0) {
            slots[row] = Some(own.len());
            duals[row] = ceilings[row];
            own.push(row);
        }
        let width = own.len();
        let mut inverse = vec![0.0; width * width];
        for place in 0..width {
            inverse[place * width + place] = 1.0;
        }
        Self {
            slots,
            inverse,
            levels: own.iter().map(|row| f64::from(rows[*row].count)).collect(),
            duals,
            prices: own.iter().map(|row| ceilings[*row]).collect(),
            floors,
            columns: vec![Column::Uncovered; width],
            rows: own,
            entries_worked_out: 0,
        }
    }

    /// Moves ceilings and floors away where the solution touches them: it then says less than the
    /// truth. Returns whether there were any.
    pub(super) fn relax_box(&mut self) -> bool {
        let mut has_relaxed = false;
        let width = self.rows.len();
        for place in 0..width {
            if self.levels[place] <= LEVEL_MIN {
                continue;
            }
            let rise = match self.columns[place] {
                Column::Uncovered => self.prices[place] * CEILING_RISE,
                Column::Surplus(row) if self.floors[row] > 0.0 => {
                    self.floors[row] = 0.0;
                    -self.prices[place]
                }
                Column::Pattern(_) | Column::Surplus(_) => continue,
            };
            has_relaxed = true;
            self.prices[place] += rise;
            let line = &self.inverse[place * width..(place + 1) * width];
            for (row, own) in self.rows.iter().zip(line) {
                self.duals[*row] += rise * own;
            }
        }
        has_relaxed
    }

    /// How many entries of the inverse pivots have worked out so far.
    pub(super) fn entries_worked_out(&self) -> u64 {
        self.entries_worked_out
    }

    /// What one more copy of each row would cost.
    pub(super) fn duals(&self) -> &Duals {
        &self.duals
    }

    /// The dual value of a pattern.
    pub(super) fn value_of(&self, pattern: &[(RowIx, u32)]) -> f64 {
        pattern.iter().map(|(row, count)| self.duals[*row] * f64::from(*count)).sum()
    }

    /// Numbers of the patterns in use, each with its level.
    pub(super) fn levels(&self) -> impl Iterator<Item = (u32, f64)> {
        self.columns.iter().zip(&self.levels).filter_map(|(column, level)| match column {
            Column::Pattern(number) if *level > LEVEL_MIN => Some((*number, *level)),
            _ => None,
        })
    }

    /// Enters a pattern whose dual value exceeds its price. Returns whether it did.
    pub(super) fn enter(&mut self, pattern: &[(RowIx, u32)], price: f64, number: u32) -> bool {
        let coefficients = pattern
            .iter()
            .filter_map(|(row, count)| Some((self.slots[*row]?, f64::from(*count))))
            .collect();
        let column = Column::Pattern(number);
        let has_entered = self.pivot(&Entering { coefficients, price, column });
        // A row whose dual price is below its floor is covered beyond its count.
        for _ in 0..self.rows.len() {
            let lowest = self
                .rows
                .iter()
                .enumerate()
                .map(|(slot, row)| (slot, *row, self.duals[*row] - self.floors[*row]))
                .min_by(|a, b| a.2.total_cmp(&b.2));
            let Some((slot, row, _)) = lowest
                .filter(|(_, row, below)| *below < -FLOOR_TOLERANCE * self.floors[*row].max(1.0))
            else {
                break;
            };
            let surplus = Entering {
                coefficients: vec![(slot, -1.0)],
                price: -self.floors[row],
                column: Column::Surplus(row),
            };
            if !self.pivot(&surplus) {
                break;
            }
        }
        has_entered
    }

    /// Brings a column into the basis. Returns `false` where no column can leave.
    fn pivot(&mut self, entering: &Entering) -> bool {
        let width = self.rows.len();
        let coefficients = &entering.coefficients;
        let direction: Vec<f64> = self
            .inverse
            .chunks_exact(width.max(1))
            .map(|line| coefficients.iter().map(|(slot, count)| line[*slot] * count).sum())
            .collect();
        let Some((place, ratio)) = self.leaving(&direction) else { return false };
        self.entries_worked_out += self.inverse.len() as u64;
        let value: f64 =
            coefficients.iter().map(|(slot, count)| self.duals[self.rows[*slot]] * count).sum();
        let scale = 1.0 / direction[place];
        let pivot_line: Vec<f64> = self.inverse[place * width..(place + 1) * width]
            .iter()
            .map(|own| own * scale)
            .collect();
        for (row, own) in self.rows.iter().zip(&pivot_line) {
            self.duals[*row] += (entering.price - value) * own;
        }
        for (other, step) in direction.iter().enumerate() {
            if other == place || *step == 0.0 {
                continue;
            }
            self.levels[other] -= step * ratio;
            let line = &mut self.inverse[other * width..(other + 1) * width];
            for (own, pivot) in line.iter_mut().zip(&pivot_line) {
                *own -= step * pivot;
            }
        }
        self.levels[place] = ratio;
        self.columns[place] = entering.column;
        self.prices[place] = entering.price;
        self.inverse[place * width..(place + 1) * width].copy_from_slice(&pivot_line);
        true
    }

    /// The ratio test: the position of the basis that reaches zero first, and the level that the
    /// entering column has then.
    fn leaving(&self, direction: &[f64]) -> Option<(usize, f64)> {
        let mut leaving: Option<(usize, f64)> = None;
        for (place, (step, level)) in direction.iter().zip(&self.levels).enumerate() {
            if *step <= PIVOT_MIN {
                continue;
            }
            let ratio = level.max(0.0) / step;
            // Of equal ratios the largest pivot is the most exact.
            let is_better = leaving.is_none_or(|(other, least)| {
                ratio < least || ratio <= least && *step > direction[other]
            });
            if is_better {
                leaving = Some((place, ratio));
            }
        }
        leaving
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::{Row, dual_value};
    use super::*;
    use crate::ids::Idx;

    fn rows(counts: &[u32]) -> Rows {
        let row = |count: &u32| Row { count: *count, per_node: u32::MAX, requests: Vec::new() };
        counts.iter().map(row).collect()
    }

    fn duals(values: &[f64]) -> Duals {
        values.iter().copied().collect()
    }

    fn pattern(counts: &[(usize, u32)]) -> Vec<(RowIx, u32)> {
        counts.iter().map(|(row, count)| (RowIx::new(*row), *count)).collect()
    }

    #[test]
    fn a_pattern_that_fills_nodes_beats_one_pattern_per_row() {
        // A node of 10 for 1.0; copies of 6 and 4 fill it together.
        let rows = rows(&[3, 3]);
        let mut master = Master::new(&rows, &duals(&[9.0, 9.0]), duals(&[0.0, 0.0]));
        assert!(master.enter(&pattern(&[(0, 1)]), 1.0, 0));
        assert!(master.enter(&pattern(&[(1, 2)]), 1.0, 1));
        assert_eq!(master.duals().as_slice(), [1.0, 0.5]);
        assert!(master.enter(&pattern(&[(0, 1), (1, 1)]), 1.0, 2));
        assert!((dual_value(master.duals(), &rows) - 3.0).abs() < 1e-9);
        let levels: Vec<_> = master.levels().collect();
        assert!(
            levels.iter().any(|(number, level)| *number == 2 && (level - 3.0).abs() < 1e-9),
            "{levels:?}"
        );
    }

    #[test]
    fn a_row_with_nothing_left_to_cover_takes_no_part_and_its_copies_are_worth_nothing() {
        let rows = rows(&[3, 0, 3]);
        let mut master = Master::new(&rows, &duals(&[9.0, 9.0, 9.0]), duals(&[0.0, 0.0, 0.0]));
        assert_eq!(master.duals().as_slice(), [9.0, 0.0, 9.0]);
        assert!(master.enter(&pattern(&[(0, 1), (1, 5)]), 1.0, 0));
        assert!(master.enter(&pattern(&[(1, 1), (2, 2)]), 1.0, 1));
        assert_eq!(master.duals().as_slice(), [1.0, 0.0, 0.5]);
        assert!(!master.relax_box(), "all copies that are left are covered");
    }

    #[test]
    fn dual_prices_never_fall_below_their_floors() {
        let mut master = Master::new(&rows(&[1, 9]), &duals(&[1.0, 1.0]), duals(&[0.1, 0.1]));
        assert!(master.enter(&pattern(&[(0, 5), (1, 1)]), 1.0, 0));
        assert!(master.duals().iter().all(|dual| *dual > 0.099), "{:?}", master.duals());
    }

    #[test]
    fn a_ceiling_that_is_reached_rises() {
        let mut master = Master::new(&rows(&[2]), &duals(&[1.0]), duals(&[0.0]));
        assert!(master.relax_box());
        assert_eq!(master.duals().as_slice(), [1.6]);
        assert!(master.enter(&pattern(&[(0, 1)]), 1.5, 0));
        assert!(!master.relax_box());
    }

    #[test]
    fn a_floor_that_is_reached_falls() {
        // One node holds the large copy and any number of small ones: those cost nothing.
        let rows = rows(&[1, 1]);
        let mut master = Master::new(&rows, &duals(&[5.0, 1.0]), duals(&[0.5, 0.5]));
        assert!(master.enter(&pattern(&[(0, 1), (1, 4)]), 2.0, 0));
        assert!(master.relax_box());
        assert!((dual_value(master.duals(), &rows) - 2.0).abs() < 1e-9, "{:?}", master.duals());
    }
}
