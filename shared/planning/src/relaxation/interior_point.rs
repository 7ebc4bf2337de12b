//! The restricted master problem by a primal-dual interior-point method.
//!
//! The simplex method's dual prices jump from corner to corner, so that most patterns that are
//! priced at them are of no use, and with hundreds of rows there are thousands of pivots that cost
//! much. The dual prices here lie well inside of what the known patterns allow: far fewer rounds
//! of pricing are needed, and the problem need not be solved to the end before the next (the
//! primal-dual column generation of Gondzio, González-Brevis and Munari 2013). Steps are those of
//! Mehrotra 1992.
//!
//! A step takes rows³ ⁄ 6 products, whatever the number of patterns. Sums run in one order, so that
//! the same problem has the same answer on every machine.

use super::knapsack::Pattern;
use super::row::RowIx;
use crate::ids::{Idx, IndexVec};

/// Steps of one solution, at most: most take fifteen.
const STEPS_MAX: u32 = 60;

/// How much of the way to the nearest constraint a step goes.
const STEP_SHARE: f64 = 0.95;

/// Dual prices start this far below those that are known to be feasible, as a fraction of them.
const START_SHARE: f64 = 0.97;

/// Dual prices and levels are far above this while the problem is solved; prices count in what a
/// copy costs on average.
const LEAST: f64 = 1e-6;

/// What is left of a price beside the worth of its pattern counts as this fraction at the start.
const SLACK_MIN: f64 = 0.01;

/// The first products of what is complementary, as a fraction of their average if all that the
/// copies are worth were such products.
const CENTER_AT_START: f64 = 0.05;

/// Added to the diagonal of the matrix, so that a row in no pattern leaves it positive definite.
const DIAGONAL_MIN: f64 = 1e-12;

/// Copies may be missing by this part of the tolerance.
const MISSING_SHARE: f64 = 0.1;

/// A row is a combination of others where no more than this part of its entry on the diagonal is
/// left of it: rounding is all that tells it apart. It is left where it is by a pivot so large that
/// nothing moves along it (Wright 1999).
const DEPENDENT: f64 = 1e-14;
const PIVOT_OF_DEPENDENT: f64 = 1e64;

/// Lines of the matrix that are worked out together.
const BLOCK: usize = 8;

/// A column of the problem: a pattern and its price.
pub(super) struct Column<'p> {
    pub(super) pattern: &'p Pattern,
    pub(super) price: f64,
}

/// A point inside of the constraints, near the optimum.
pub(super) struct Point {
    /// What one more copy of each row costs: hardly a pattern is worth more than its price.
    pub(super) duals: IndexVec<RowIx, f64>,
    /// How many nodes of each column are bought; none is zero.
    pub(super) levels: Vec<f64>,
    /// What these cost.
    pub(super) cost: f64,
    /// Products that the steps took.
    pub(super) products: u64,
}

/// Covers so many copies of each row with columns at the least cost, as nearly as `tolerance` says:
/// the gap between cost and dual value, as a fraction of the cost. `start` are dual prices at which
/// hardly a column is worth more than its price.
pub(super) fn solve(
    counts: &IndexVec<RowIx, f64>,
    columns: &[Column],
    start: &IndexVec<RowIx, f64>,
    tolerance: f64,
) -> Point {
    let (counts, start) = (counts.as_slice(), start.as_slice());
    let copies = counts.iter().sum::<f64>().max(1.0);
    // Of the average dual price, so that figures are near one.
    let unit = (dot(start, counts) / copies).max(f64::MIN_POSITIVE);
    let problem = Problem {
        counts,
        columns,
        prices: columns.iter().map(|column| column.price / unit).collect(),
        copies,
    };
    let start = start.iter().map(|own| (own / unit * START_SHARE).max(LEAST)).collect();
    let mut iterate = problem.start(start);
    let mut matrix = vec![0.0; counts.len() * counts.len()];
    let mut products = 0;
    for _ in 0..STEPS_MAX {
        let missing = problem.missing(&iterate);
        if problem.is_solved(&iterate, &missing, tolerance) {
            break;
        }
        problem.step(&mut iterate, &missing, &mut matrix);
        products += (counts.len() as u64).pow(3) / 6;
    }
    let Iterate { duals, levels, .. } = iterate;
    Point {
        cost: dot(&problem.prices, &levels) * unit,
        duals: duals.into_iter().map(|own| own * unit).collect(),
        levels,
        products,
    }
}

/// What is to be solved.
struct Problem<'p> {
    counts: &'p [f64],
    columns: &'p [Column<'p>],
    prices: Vec<f64>,
    /// All copies together.
    copies: f64,
}

/// Where the method stands, all of it above zero: levels of columns with what is left of their
/// prices, and dual prices with the copies that are covered beyond the count.
struct Iterate {
    levels: Vec<f64>,
    slacks: Vec<f64>,
    duals: Vec<f64>,
    surpluses: Vec<f64>,
}

/// What is missing for the constraints to hold.
struct Missing {
    /// Copies, by row.
    copies: Vec<f64>,
    /// Of prices, by column.
    prices: Vec<f64>,
}

/// A direction, in the parts of an iterate.
type Direction = Iterate;

impl Problem<'_> {
    fn start(&self, duals: Vec<f64>) -> Iterate {
        let slack = |(column, price): (&Column, &f64)| {
            (price - worth(column, &duals)).max(price * SLACK_MIN).max(LEAST)
        };
        let slacks: Vec<f64> = self.columns.iter().zip(&self.prices).map(slack).collect();
        let center = CENTER_AT_START * dot(&duals, self.counts) / self.pairs();
        Iterate {
            levels: slacks.iter().map(|own| center / own).collect(),
            surpluses: duals.iter().map(|own| center / own).collect(),
            slacks,
            duals,
        }
    }

    /// How many pairs of the iterate are complementary.
    #[expect(clippy::cast_precision_loss, reason = "rows and patterns are few")]
    fn pairs(&self) -> f64 {
        (self.columns.len() + self.counts.len()) as f64
    }

    fn missing(&self, iterate: &Iterate) -> Missing {
        let mut copies: Vec<f64> =
            self.counts.iter().zip(&iterate.surpluses).map(|(count, own)| count + own).collect();
        for (column, level) in self.columns.iter().zip(&iterate.levels) {
            for (row, count) in column.pattern {
                copies[row.index()] -= level * f64::from(*count);
            }
        }
        let priced = self.columns.iter().zip(&self.prices).zip(&iterate.slacks);
        let prices =
            priced.map(|((column, price), slack)| price - worth(column, &iterate.duals) - slack);
        Missing { prices: prices.collect(), copies }
    }

    fn is_solved(&self, iterate: &Iterate, missing: &Missing, tolerance: f64) -> bool {
        let cost = dot(&self.prices, &iterate.levels);
        let gap = cost - dot(&iterate.duals, self.counts);
        let copies: f64 = missing.copies.iter().map(|own| own.abs()).sum();
        copies <= self.copies * tolerance * MISSING_SHARE && gap <= tolerance * cost
    }

    /// One step: where the constraints alone would lead says how far to keep off them on the way.
    fn step(&self, iterate: &mut Iterate, missing: &Missing, matrix: &mut [f64]) {
        self.normal_matrix(iterate, matrix);
        factor(matrix, self.counts.len());
        let product = |(a, b): (&f64, &f64)| -a * b;
        let levels: Vec<f64> = iterate.levels.iter().zip(&iterate.slacks).map(product).collect();
        let duals: Vec<f64> = iterate.surpluses.iter().zip(&iterate.duals).map(product).collect();
        let straight = self.direction(iterate, missing, matrix, (&levels, &duals));
        let lengths = iterate.lengths(&straight);
        let center = iterate.products() / self.pairs();
        let share = iterate.products_after(&straight, lengths) / iterate.products();
        let aim = center * share.powi(3);
        let corrected = |own: &[f64], a: &[f64], b: &[f64]| -> Vec<f64> {
            let moved = a.iter().zip(b).map(|(a, b)| a * b);
            own.iter().zip(moved).map(|(own, moved)| aim + own - moved).collect()
        };
        let levels = corrected(&levels, &straight.levels, &straight.slacks);
        let duals = corrected(&duals, &straight.surpluses, &straight.duals);
        let direction = self.direction(iterate, missing, matrix, (&levels, &duals));
        let (primal, dual) = iterate.lengths(&direction);
        let (primal, dual) = ((primal * STEP_SHARE).min(1.0), (dual * STEP_SHARE).min(1.0));
        advance(&mut iterate.levels, &direction.levels, primal);
        advance(&mut iterate.surpluses, &direction.surpluses, primal);
        advance(&mut iterate.slacks, &direction.slacks, dual);
        advance(&mut iterate.duals, &direction.duals, dual);
    }

    /// The lower half of the matrix of the normal equations.
    fn normal_matrix(&self, iterate: &Iterate, matrix: &mut [f64]) {
        let rows = self.counts.len();
        matrix.fill(0.0);
        let weights =
            iterate.levels.iter().zip(&iterate.slacks).map(|(level, slack)| level / slack);
        for (column, weight) in self.columns.iter().zip(weights) {
            for (position, (row, count)) in column.pattern.iter().enumerate() {
                let own = weight * f64::from(*count);
                let line = &mut matrix[row.index() * rows..];
                for (other, count) in &column.pattern[..=position] {
                    line[other.index()] += own * f64::from(*count);
                }
            }
        }
        for row in 0..rows {
            let own = iterate.surpluses[row] / iterate.duals[row] + DIAGONAL_MIN;
            matrix[row * rows + row] += own;
        }
    }

    /// Where the constraints hold and the products of what is complementary change by so much:
    /// those of levels and slacks, and those of surpluses and dual prices.
    fn direction(
        &self,
        iterate: &Iterate,
        missing: &Missing,
        factored: &[f64],
        (of_levels, of_duals): (&[f64], &[f64]),
    ) -> Direction {
        let Iterate { levels, slacks, duals, surpluses } = iterate;
        let mut moves: Vec<f64> = (0..self.counts.len())
            .map(|row| missing.copies[row] + of_duals[row] / duals[row])
            .collect();
        for (index, column) in self.columns.iter().enumerate() {
            let amount = (levels[index] * missing.prices[index] - of_levels[index]) / slacks[index];
            for (row, count) in column.pattern {
                moves[row.index()] += amount * f64::from(*count);
            }
        }
        substitute(factored, &mut moves);
        let slack_moves: Vec<f64> = self
            .columns
            .iter()
            .zip(&missing.prices)
            .map(|(column, missing)| missing - worth(column, &moves))
            .collect();
        let level_moves = (0..levels.len())
            .map(|index| (of_levels[index] - levels[index] * slack_moves[index]) / slacks[index]);
        let surplus_moves =
            (0..moves.len()).map(|row| (of_duals[row] - surpluses[row] * moves[row]) / duals[row]);
        Direction {
            levels: level_moves.collect(),
            surpluses: surplus_moves.collect(),
            slacks: slack_moves,
            duals: moves,
        }
    }
}

impl Iterate {
    /// The sum of all products of what is complementary.
    fn products(&self) -> f64 {
        dot(&self.levels, &self.slacks) + dot(&self.surpluses, &self.duals)
    }

    /// What it would be further along.
    fn products_after(&self, direction: &Direction, (primal, dual): (f64, f64)) -> f64 {
        let after = |a: &[f64], a_moves: &[f64], b: &[f64], b_moves: &[f64]| -> f64 {
            let first = a.iter().zip(a_moves).map(|(own, step)| own + primal * step);
            let second = b.iter().zip(b_moves).map(|(own, step)| own + dual * step);
            first.zip(second).map(|(a, b)| a * b).sum()
        };
        after(&self.levels, &direction.levels, &self.slacks, &direction.slacks)
            + after(&self.surpluses, &direction.surpluses, &self.duals, &direction.duals)
    }

    /// How far levels and surpluses, and slacks and dual prices, can go until one is zero.
    fn lengths(&self, direction: &Direction) -> (f64, f64) {
        let primal = reach(&self.levels, &direction.levels);
        let dual = reach(&self.slacks, &direction.slacks);
        (
            primal.min(reach(&self.surpluses, &direction.surpluses)),
            dual.min(reach(&self.duals, &direction.duals)),
        )
    }
}

fn worth(column: &Column, duals: &[f64]) -> f64 {
    column.pattern.iter().map(|(row, count)| duals[row.index()] * f64::from(*count)).sum()
}

/// How far values can go along their steps until one is zero, where that is less than a whole step.
fn reach(values: &[f64], steps: &[f64]) -> f64 {
    let falling = values.iter().zip(steps).filter(|(_, step)| **step < 0.0);
    falling.map(|(value, step)| -value / step).fold(1.0 / STEP_SHARE, f64::min)
}

fn advance(values: &mut [f64], steps: &[f64], length: f64) {
    for (value, step) in values.iter_mut().zip(steps) {
        *value += length * step;
    }
}

/// The sum of products, in four strands: a processor works at several at once.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let (a, b) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    let mut sums = [0.0; 4];
    for (a, b) in a.zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

/// Replaces the lower half of a positive definite matrix, line by line, by its Cholesky factor.
fn factor(matrix: &mut [f64], rows: usize) {
    for block in (0..rows).step_by(BLOCK) {
        let end = (block + BLOCK).min(rows);
        for row in block..end {
            let (above, own) = matrix.split_at_mut(row * rows);
            eliminate(&mut own[..rows], above, block..row);
            let left = own[row] - dot(&own[..row], &own[..row]);
            let is_dependent = left <= own[row] * DEPENDENT;
            own[row] = if is_dependent { PIVOT_OF_DEPENDENT } else { left.sqrt() };
        }
        let (above, below) = matrix.split_at_mut(end * rows);
        for own in below.chunks_exact_mut(rows) {
            eliminate(own, above, block..end);
        }
    }
}

/// Works out entries of a line from the lines above, which are done.
fn eliminate(own: &mut [f64], above: &[f64], entries: std::ops::Range<usize>) {
    let rows = own.len();
    for column in entries {
        let line = &above[column * rows..=column * rows + column];
        own[column] = (own[column] - dot(&own[..column], &line[..column])) / line[column];
    }
}

/// Solves the system whose matrix is factored.
fn substitute(factored: &[f64], values: &mut [f64]) {
    let rows = values.len();
    let line = |row: usize| &factored[row * rows..=row * rows + row];
    for row in 0..rows {
        values[row] = (values[row] - dot(&values[..row], &line(row)[..row])) / line(row)[row];
    }
    for row in (0..rows).rev() {
        let own = values[row] / line(row)[row];
        values[row] = own;
        advance(&mut values[..row], &line(row)[..row], -own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(counts: &[f64]) -> IndexVec<RowIx, f64> {
        counts.iter().copied().collect()
    }

    fn patterns(patterns: &[&[(usize, u32)]]) -> Vec<Pattern> {
        let own = |pattern: &&[(usize, u32)]| {
            pattern.iter().map(|(row, count)| (RowIx::new(*row), *count)).collect()
        };
        patterns.iter().map(own).collect()
    }

    fn columns<'p>(patterns: &'p [Pattern], prices: &[f64]) -> Vec<Column<'p>> {
        let own = |(pattern, price): (&'p Pattern, &f64)| Column { pattern, price: *price };
        patterns.iter().zip(prices).map(own).collect()
    }

    #[test]
    fn the_cheapest_cover_and_its_dual_prices_are_found() {
        // Copies of the first row one to a node, of the second two, or one of each together.
        let patterns = patterns(&[&[(0, 1)], &[(1, 2)], &[(0, 1), (1, 1)]]);
        let columns = columns(&patterns, &[1.0, 1.0, 1.0]);
        let point = solve(&counts(&[3.0, 5.0]), &columns, &counts(&[0.9, 0.1]), 1e-6);
        // Three nodes hold one of each, and one the two that are left.
        assert!((point.cost - 4.0).abs() < 1e-4, "{}", point.cost);
        let [first, second] = point.duals.as_slice() else { panic!("two rows") };
        assert!((first - 0.5).abs() < 1e-3 && (second - 0.5).abs() < 1e-3, "{first} {second}");
        assert!((point.levels[1] - 1.0).abs() < 1e-3 && (point.levels[2] - 3.0).abs() < 1e-3);
        assert!(point.levels[0] < 1e-3);
    }

    #[test]
    fn a_coarse_answer_takes_fewer_steps_and_its_dual_prices_are_still_feasible() {
        let patterns = patterns(&[&[(0, 2)], &[(1, 3)], &[(0, 1), (1, 1)], &[(0, 1), (1, 2)]]);
        let columns = columns(&patterns, &[1.0, 1.2, 0.9, 1.1]);
        let (counts, start) = (counts(&[40.0, 70.0]), counts(&[0.4, 0.3]));
        let coarse = solve(&counts, &columns, &start, 0.05);
        let fine = solve(&counts, &columns, &start, 1e-7);
        assert!(coarse.products < fine.products);
        assert!((coarse.cost - fine.cost).abs() < 0.06 * fine.cost);
        for column in &columns {
            let worth = worth(column, coarse.duals.as_slice());
            assert!(worth <= column.price * (1.0 + 1e-9), "{worth} for {}", column.price);
        }
    }

    #[test]
    fn a_factor_solves_systems_of_more_lines_than_a_block() {
        let rows = 3 * BLOCK + 1;
        let entry = |a: usize, b: usize| {
            let (a, b) = (a.max(b), a.min(b));
            if a == b { 50.0 } else { f64::from(u32::try_from((a * 7 + b * 3) % 5).unwrap()) * 0.3 }
        };
        let mut matrix = vec![0.0; rows * rows];
        for row in 0..rows {
            for column in 0..=row {
                matrix[row * rows + column] = entry(row, column);
            }
        }
        let solution: Vec<f64> =
            (0..rows).map(|row| if row % 2 == 0 { 1.5 } else { -0.5 }).collect();
        let mut values: Vec<f64> = (0..rows)
            .map(|row| (0..rows).map(|column| entry(row, column) * solution[column]).sum())
            .collect();
        factor(&mut matrix, rows);
        substitute(&matrix, &mut values);
        for (own, expected) in values.iter().zip(&solution) {
            assert!((own - expected).abs() < 1e-9, "{own} instead of {expected}");
        }
    }
}
