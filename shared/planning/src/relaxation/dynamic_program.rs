//! Solving a small pricing problem exactly: dynamic programming over the amounts of the scarcest
//! resources.
//!
//! On a node that holds a handful of copies the surrogate bound is far above what whole copies can
//! be worth, and branch and bound takes long to close the gap. Amounts are counted in steps of the
//! node's greatest common divisor, or coarser and rounded down, which only ever makes more fit. The
//! other resources are relaxed with their surrogate weights as Lagrange multipliers, so the result
//! bounds the dual value from above. It is the optimum where its copies fit and use up what they
//! pay for. Copies that no pattern above a threshold can hold, by the surrogate bound, take no
//! part.

use super::knapsack::{Knapsack, Pattern};
use super::row::Duals;

/// Steps of one resource at most; beyond that, steps are coarser. Fewer where so many take too much
/// work.
const STEPS_MAX: i64 = 1024;
const COARSE_STEPS_MAX: i64 = 72;

/// A resource that weighs less in the surrogate never runs out and gets no multiplier.
const WEIGHT_MIN: f64 = 0.02;

/// Nor is it an axis below this weight, at first.
const AXIS_WEIGHT_MIN: f64 = 2e-3;

/// What the program says of a knapsack.
pub(super) struct Solution {
    /// No pattern that fits has a higher dual value, unless it is the threshold or less.
    pub(super) bound: f64,
    /// The copies that the bound comes from, where they are known to fit.
    pub(super) pattern: Option<Pattern>,
}

/// Resources of a grid.
const AXES: usize = 3;

/// Resources in steps, those with the fewest first.
struct Grid {
    axes: [Axis; AXES],
}

/// A resource in steps; none where there are fewer resources.
#[derive(Clone, Copy, Default)]
struct Axis {
    resource: Option<usize>,
    /// Amount of one step.
    unit: i64,
    /// Steps that the node has.
    steps: usize,
}

/// Copies of one item, taken together or not at all.
struct Bundle {
    item: usize,
    count: u32,
    steps: [usize; AXES],
    value: f64,
}

/// The pattern with the highest dual value, if that is above `cutoff` and it is known to fit, and
/// an upper bound. `None` where that takes more than so many cells × bundles.
pub(super) fn best(
    knapsack: &Knapsack,
    duals: &Duals,
    cutoff: f64,
    work_max: usize,
) -> Option<Solution> {
    let copies = knapsack.copies_above(duals, cutoff);
    let mut known = None;
    // What takes least first: a resource that hardly counts is left out as long as the copies fit.
    let grids = [
        (AXES, AXIS_WEIGHT_MIN, STEPS_MAX),
        (AXES, 0.0, STEPS_MAX),
        (AXES - 1, 0.0, STEPS_MAX),
        (AXES - 1, 0.0, COARSE_STEPS_MAX),
    ];
    for (axes, weight_min, steps_max) in grids {
        if known.is_some() && axes < AXES {
            break;
        }
        let grid = Grid::of(knapsack, axes, weight_min, steps_max);
        let Some(solution) = grid.best(knapsack, (duals, &copies), cutoff, work_max) else {
            continue;
        };
        if solution.bound <= cutoff || solution.pattern.is_some() {
            return Some(solution);
        }
        known = Some(solution);
    }
    known
}

/// What bundles are worth at the most.
struct Table {
    /// In all of the node.
    best: f64,
    /// By bundle and cell, whether the best of what is in the cell includes it.
    taken: Vec<bool>,
}

impl Table {
    fn filled(grid: &Grid, bundles: &[Bundle]) -> Self {
        let (cells, width) = (grid.cells(), grid.axes[AXES - 1].steps + 1);
        let lines = [grid.axes[0].steps + 1, grid.axes[1].steps + 1];
        let mut best = vec![0.0_f64; cells];
        let mut taken = vec![false; bundles.len() * cells];
        let mut same_line = vec![0.0_f64; width];
        for (bundle, taken) in bundles.iter().zip(taken.chunks_exact_mut(cells)) {
            let along = bundle.steps[AXES - 1];
            let back = grid.offset(bundle) - along;
            // From the last line on, so that each is made of one that the bundle is not in yet.
            for plane in (bundle.steps[0]..lines[0]).rev() {
                for line in (bundle.steps[1]..lines[1]).rev() {
                    let start = (plane * lines[1] + line) * width;
                    let (before, own) = best.split_at_mut(start);
                    let without = if back == 0 {
                        same_line.copy_from_slice(&own[..width]);
                        &same_line[..]
                    } else {
                        &before[start - back..]
                    };
                    let own = own[along..width].iter_mut();
                    let taken = &mut taken[start + along..start + width];
                    for ((most, taken), without) in own.zip(taken).zip(without) {
                        let with = without + bundle.value;
                        *taken = with > *most;
                        *most = most.max(with);
                    }
                }
            }
        }
        Self { best: best[cells - 1], taken }
    }

    /// By item, the copies that the best of all of the node is made of.
    fn counts(&self, grid: &Grid, bundles: &[Bundle], items: usize) -> Vec<u32> {
        let mut counts = vec![0_u32; items];
        let mut cell = grid.cells() - 1;
        for (bundle, taken) in bundles.iter().zip(self.taken.chunks_exact(grid.cells())).rev() {
            if taken[cell] {
                counts[bundle.item] += bundle.count;
                cell -= grid.offset(bundle);
            }
        }
        counts
    }
}

impl Grid {
    /// The resources that weigh most, so many of them at the most, and none that weighs less.
    fn of(knapsack: &Knapsack, axes: usize, weight_min: f64, steps_max: i64) -> Self {
        let weights = &knapsack.weights;
        let mut order: Vec<usize> = (0..knapsack.width()).collect();
        order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]).then_with(|| a.cmp(b)));
        let weighs = |resource: &usize| weights[*resource] >= weight_min;
        let mut own = [Axis::default(); AXES];
        let scarce = order.into_iter().filter(weighs).take(axes);
        for (axis, resource) in own.iter_mut().zip(scarce) {
            *axis = Axis::of(knapsack, resource, steps_max);
        }
        // The innermost loop is the longest.
        own.sort_by_key(|axis| axis.steps);
        Self { axes: own }
    }

    /// See [`best`]; `copies` are the most that are worth trying, by item.
    fn best(
        &self,
        knapsack: &Knapsack,
        (duals, copies): (&Duals, &[u32]),
        cutoff: f64,
        work_max: usize,
    ) -> Option<Solution> {
        let (reduced, multipliers) = self.relaxed(knapsack, duals);
        let bundles = bundles(knapsack, (&reduced, copies), self);
        if bundles.len() * self.cells() > work_max {
            return None;
        }
        let table = Table::filled(self, &bundles);
        let bound = (table.best + multipliers).max(cutoff);
        if bound <= cutoff {
            return Some(Solution { bound, pattern: None });
        }
        let counts = table.counts(self, &bundles, knapsack.items.len());
        let pattern = knapsack.fits(&counts).then(|| knapsack.pattern(&counts));
        Some(Solution { bound, pattern })
    }

    /// Cells of the table.
    fn cells(&self) -> usize {
        self.axes.iter().map(|axis| axis.steps + 1).product()
    }

    /// How far back in the table the cell without a bundle is.
    fn offset(&self, bundle: &Bundle) -> usize {
        let axes = self.axes.iter().zip(bundle.steps);
        axes.fold(0, |offset, (axis, steps)| offset * (axis.steps + 1) + steps)
    }

    /// Dual prices by item, less what a copy pays for the resources that are not on the grid, and
    /// the sum of those resources' multipliers.
    fn relaxed(&self, knapsack: &Knapsack, duals: &Duals) -> (Vec<f64>, f64) {
        let width = knapsack.width();
        let is_on_grid =
            |resource: usize| self.axes.iter().any(|axis| axis.resource == Some(resource));
        let multipliers: Vec<f64> = (0..width)
            .map(|resource| {
                let weight = knapsack.weights[resource];
                let is_relaxed = !is_on_grid(resource) && weight >= WEIGHT_MIN;
                if is_relaxed { weight * knapsack.price } else { 0.0 }
            })
            .collect();
        let own =
            knapsack.items.iter().zip(knapsack.shares.chunks_exact(width)).map(|(item, shares)| {
                let paid: f64 = shares.iter().zip(&multipliers).map(|(a, b)| a * b).sum();
                duals[item.row] - paid
            });
        (own.collect(), multipliers.iter().sum())
    }
}

impl Axis {
    fn of(knapsack: &Knapsack, resource: usize, steps_max: i64) -> Self {
        let requests = knapsack.requests.chunks_exact(knapsack.width());
        let amount = knapsack.amounts[resource];
        let unit = requests.map(|own| own[resource]).fold(0, greatest_common_divisor).max(1);
        let least = amount.div_euclid(steps_max) + 1;
        // A multiple of the divisor keeps most amounts exact.
        let unit = if unit >= least { unit } else { least.div_euclid(unit).max(1) * unit };
        let steps = usize::try_from(amount / unit).unwrap_or(0);
        Self { resource: Some(resource), unit, steps }
    }

    /// Steps of one copy.
    fn steps_of(&self, requests: &[i64]) -> i64 {
        self.resource.map_or(0, |resource| requests[resource] / self.unit)
    }
}

/// Copies by item in bundles of 1, 2, 4 … that make up every count up to the most.
fn bundles(knapsack: &Knapsack, (reduced, copies): (&[f64], &[u32]), grid: &Grid) -> Vec<Bundle> {
    let mut bundles = Vec::new();
    for (index, (dual, most)) in reduced.iter().zip(copies).enumerate() {
        if *dual <= 0.0 {
            continue;
        }
        let requests = knapsack.requests_of(index);
        let (mut left, mut count) = (*most, 1);
        while left > 0 {
            let own = left.min(count);
            let steps = grid.axes.map(|axis| {
                // Each copy on its own is rounded down, so that any sum of them is too.
                usize::try_from(axis.steps_of(requests) * i64::from(own)).unwrap_or(usize::MAX)
            });
            if grid.axes.iter().zip(steps).any(|(axis, steps)| steps > axis.steps) {
                // No larger bundle fits either; smaller ones make up what is left of the count.
                count = (own / 2).max(1);
                if own == 1 {
                    break;
                }
                continue;
            }
            bundles.push(Bundle { item: index, count: own, steps, value: dual * f64::from(own) });
            left -= own;
            count = own.saturating_mul(2);
        }
    }
    bundles
}

fn greatest_common_divisor(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.abs()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relaxation::pricing::worth_of;
    use crate::relaxation::row::{Row, Rows};
    use crate::relaxation::{Capacity, Offer};

    const WORK_MAX: usize = 1_000_000;

    /// Rows with what a copy requests and is worth, and a node for them.
    fn node(rows: &[([i64; 3], f64)], amounts: [i64; 3]) -> (Knapsack, Duals) {
        let row = |(requests, _): &([i64; 3], f64)| Row {
            count: 9,
            per_node: u32::MAX,
            requests: requests.to_vec(),
        };
        let duals = rows.iter().map(|(_, dual)| *dual).collect();
        let rows: Rows = rows.iter().map(row).collect();
        let capacity =
            Capacity { price: 10.0, amounts: &amounts, available: 1, resource_order: &[0, 1, 2] };
        (Offer::new(&rows, &capacity, |_| true).unwrap().knapsack, duals)
    }

    /// The highest worth of any counts from one item on that fit.
    fn highest(knapsack: &Knapsack, duals: &Duals, counts: &mut Vec<u32>, item: usize) -> f64 {
        if !knapsack.fits(counts) {
            return 0.0;
        }
        let Some(own) = knapsack.items.get(item) else {
            return worth_of(&knapsack.pattern(counts), duals);
        };
        let mut best = 0.0_f64;
        for count in 0..=own.max {
            counts[item] = count;
            best = best.max(highest(knapsack, duals, counts, item + 1));
        }
        counts[item] = 0;
        best
    }

    const ROWS: [([i64; 3], f64); 5] = [
        ([300, 512, 1], 2.1),
        ([500, 256, 1], 2.4),
        ([700, 1024, 1], 4.3),
        ([200, 768, 1], 2.2),
        ([400, 384, 1], 2.3),
    ];

    #[test]
    fn the_best_pattern_is_the_best_of_all_that_fit() {
        for amounts in [[1930, 3300, 29], [1930, 3300, 4], [1500, 1900, 3], [2600, 7000, 5]] {
            let (mut knapsack, duals) = node(&ROWS, amounts);
            let most = highest(&knapsack, &duals, &mut vec![0; ROWS.len()], 0);
            knapsack.refine_weights(&duals);
            let solution = best(&knapsack, &duals, most * 0.9, WORK_MAX).unwrap();
            let pattern = solution.pattern.expect("one that fits");
            assert!((worth_of(&pattern, &duals) - most).abs() < 1e-9, "{pattern:?} of {amounts:?}");
            assert!((solution.bound - most).abs() < 1e-9, "{} and {most}", solution.bound);
        }
    }

    #[test]
    fn where_none_is_above_the_threshold_the_threshold_is_the_bound() {
        let (mut knapsack, duals) = node(&ROWS, [1930, 3300, 4]);
        knapsack.refine_weights(&duals);
        let most = highest(&knapsack, &duals, &mut vec![0; ROWS.len()], 0);
        let solution = best(&knapsack, &duals, most * 1.001, WORK_MAX).unwrap();
        assert!(solution.pattern.is_none());
        assert!((solution.bound - most * 1.001).abs() < 1e-9);
    }

    #[test]
    fn a_node_that_takes_too_much_work_is_left_open() {
        let (knapsack, duals) = node(&ROWS, [1930, 3300, 29]);
        assert!(best(&knapsack, &duals, 0.0, 10).is_none());
    }
}
