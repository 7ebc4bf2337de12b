//! The linear program over patterns that are known so far, by the revised simplex method.
//!
//! Rows are demands, columns are patterns; a column comes in when pricing finds it, replaces one of the
//! basis, and is forgotten with it. The basis has as many columns as there are rows, so its inverse is kept
//! as it is: a pivot costs rows², and rows are few hundreds at most.
//!
//! Values start between a ceiling and a floor of each row, so that they do not swing while few patterns are
//! known (Marsten's boxstep).
//!
//! Nothing here has to be exact: whatever values come out, [`super::Relaxation::bound`] proves what
//! they prove.

/// How often each row stands in a pattern.
pub(super) type Pattern = Vec<(u32, u32)>;

/// A pivot on less than this would blow rounding errors up.
const PIVOT_MIN: f64 = 1e-7;

/// The cheapest mix of the patterns seen so far.
pub(super) struct Master {
    width: usize,
    /// The basis' inverse, row by row.
    inverse: Vec<f64>,
    /// How often the pattern at each place of the basis is used.
    levels: Vec<f64>,
    /// What one more pod of each row would cost; may be slightly negative between pivots.
    values: Vec<f64>,
    /// What the pattern at each place of the basis costs.
    prices: Vec<f64>,
    /// What each row's pods are worth at least.
    floors: Vec<f64>,
    /// The column at each place of the basis.
    columns: Vec<Column>,
}

/// A ceiling that is paid rises by this part.
const CEILING_RISE: f64 = 0.6;

/// Levels below this are nothing but rounding.
const LEVEL_MIN: f64 = 1e-7;

/// What a column of the basis stands for.
#[derive(Clone, Copy)]
enum Column {
    /// Pods of a row, bought at its ceiling.
    Bought,
    /// Pods of a row, given back at its floor.
    GivenBack(usize),
    /// A pattern, by its mark.
    Pattern(u32),
}

impl Master {
    /// Starts with a price for each row at which any number of its pods could be had, and one at which any
    /// number could be given back: values stay between the two.
    pub(super) fn new(demands: &[u32], ceilings: &[f64], floors: &[f64]) -> Self {
        let width = demands.len();
        let mut inverse = vec![0.0; width * width];
        for row in 0..width {
            inverse[row * width + row] = 1.0;
        }
        Self {
            width,
            inverse,
            levels: demands.iter().map(|demand| f64::from(*demand)).collect(),
            values: ceilings.to_vec(),
            prices: ceilings.to_vec(),
            floors: floors.to_vec(),
            columns: vec![Column::Bought; width],
        }
    }

    /// Moves ceilings and floors away where the mix leans on them: it then says less than the truth.
    /// Returns whether there were any.
    pub(super) fn loosen(&mut self) -> bool {
        let mut has_loosened = false;
        for place in 0..self.width {
            if self.levels[place] <= LEVEL_MIN {
                continue;
            }
            let rise = match self.columns[place] {
                Column::Bought => self.prices[place] * CEILING_RISE,
                Column::GivenBack(row) if self.floors[row] > 0.0 => {
                    self.floors[row] = 0.0;
                    -self.prices[place]
                }
                Column::Pattern(_) | Column::GivenBack(_) => continue,
            };
            has_loosened = true;
            self.prices[place] += rise;
            let row = &self.inverse[place * self.width..(place + 1) * self.width];
            for (value, own) in self.values.iter_mut().zip(row) {
                *value += rise * own;
            }
        }
        has_loosened
    }

    /// What one more pod of each row would cost.
    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    /// What all demand costs.
    pub(super) fn cost(&self, demands: &[u32]) -> f64 {
        self.values.iter().zip(demands).map(|(value, demand)| value * f64::from(*demand)).sum()
    }

    /// Marks of the patterns in use, with how often.
    pub(super) fn levels(&self) -> impl Iterator<Item = (u32, f64)> {
        self.columns.iter().zip(&self.levels).filter_map(|(column, level)| match column {
            Column::Pattern(mark) if *level > LEVEL_MIN => Some((*mark, *level)),
            _ => None,
        })
    }

    /// Takes a pattern in that is worth more than its price. Returns whether it did.
    pub(super) fn enter(&mut self, pattern: &[(u32, u32)], price: f64, mark: u32) -> bool {
        let sparse: Vec<(usize, f64)> =
            pattern.iter().map(|(row, count)| (*row as usize, f64::from(*count))).collect();
        let entered = self.pivot(&sparse, price, Column::Pattern(mark));
        // A row whose pods are worth less than their floor is served more often than it asks for.
        for _ in 0..self.width {
            let lowest = (0..self.width)
                .map(|row| (row, self.values[row] - self.floors[row]))
                .min_by(|a, b| a.1.total_cmp(&b.1));
            let Some((row, _)) =
                lowest.filter(|(row, below)| *below < -1e-6 * self.floors[*row].max(1.0))
            else {
                break;
            };
            if !self.pivot(&[(row, -1.0)], -self.floors[row], Column::GivenBack(row)) {
                break;
            }
        }
        entered
    }

    fn pivot(&mut self, column: &[(usize, f64)], price: f64, entering: Column) -> bool {
        let width = self.width;
        let direction: Vec<f64> = self
            .inverse
            .chunks_exact(width)
            .map(|row| column.iter().map(|(index, count)| row[*index] * count).sum())
            .collect();
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
        let Some((place, ratio)) = leaving else { return false };
        let worth: f64 = column.iter().map(|(index, count)| self.values[*index] * count).sum();
        let scale = 1.0 / direction[place];
        let pivot_row: Vec<f64> = self.inverse[place * width..(place + 1) * width]
            .iter()
            .map(|own| own * scale)
            .collect();
        for (value, own) in self.values.iter_mut().zip(&pivot_row) {
            *value += (price - worth) * own;
        }
        for (other, step) in direction.iter().enumerate() {
            if other == place || *step == 0.0 {
                continue;
            }
            self.levels[other] -= step * ratio;
            let row = &mut self.inverse[other * width..(other + 1) * width];
            for (own, pivot) in row.iter_mut().zip(&pivot_row) {
                *own -= step * pivot;
            }
        }
        self.levels[place] = ratio;
        self.columns[place] = entering;
        self.prices[place] = price;
        self.inverse[place * width..(place + 1) * width].copy_from_slice(&pivot_row);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_that_fills_nodes_beats_one_pattern_a_row() {
        // A node of 10 for 1.0; pods of 6 and 4: together they fill it.
        let mut master = Master::new(&[3, 3], &[9.0, 9.0], &[0.0, 0.0]);
        assert!(master.enter(&[(0, 1)], 1.0, 0));
        assert!(master.enter(&[(1, 2)], 1.0, 1));
        assert_eq!(master.values(), [1.0, 0.5]);
        assert!(master.enter(&[(0, 1), (1, 1)], 1.0, 2));
        assert!((master.cost(&[3, 3]) - 3.0).abs() < 1e-9);
        let levels: Vec<_> = master.levels().collect();
        assert!(
            levels.iter().any(|(mark, level)| *mark == 2 && (level - 3.0).abs() < 1e-9),
            "{levels:?}"
        );
    }

    #[test]
    fn values_never_fall_below_their_floors() {
        let mut master = Master::new(&[1, 9], &[1.0, 1.0], &[0.1, 0.1]);
        assert!(master.enter(&[(0, 5), (1, 1)], 1.0, 0));
        assert!(master.values().iter().all(|value| *value > 0.099), "{:?}", master.values());
    }

    #[test]
    fn a_ceiling_that_is_paid_rises() {
        let mut master = Master::new(&[2], &[1.0], &[0.0]);
        assert!(master.loosen());
        assert_eq!(master.values(), [1.6]);
        assert!(master.enter(&[(0, 1)], 1.5, 0));
        assert!(!master.loosen());
    }

    #[test]
    fn a_floor_that_pays_falls() {
        // One node holds the large pod and any number of small ones: those cost nothing.
        let mut master = Master::new(&[1, 1], &[5.0, 1.0], &[0.5, 0.5]);
        assert!(master.enter(&[(0, 1), (1, 4)], 2.0, 0));
        assert!(master.loosen());
        assert!((master.cost(&[1, 1]) - 2.0).abs() < 1e-9, "{:?}", master.values());
    }
}
