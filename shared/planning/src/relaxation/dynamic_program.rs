//! Solving a small pricing problem exactly: dynamic programming over the amounts of the two
//! scarcest resources.
//!
//! On a node that holds a handful of copies the surrogate bound is far above what whole copies can
//! be worth, and branch and bound takes long to close the gap. Amounts are counted in steps of the
//! node's greatest common divisor, or coarser and rounded down, which only ever makes more fit. The
//! other resources are relaxed with their surrogate weights as Lagrange multipliers, so the result
//! bounds the dual value from above. It is the optimum where its copies fit and use up what they
//! pay for.

use super::knapsack::{Knapsack, Pattern};
use super::row::Duals;

/// Steps of one resource at most; beyond that, steps are coarser.
const STEPS_MAX: i64 = 72;

/// Cells × bundles, at most.
const WORK_MAX: usize = 400_000;

/// A resource that weighs less in the surrogate never runs out and gets no multiplier.
const WEIGHT_MIN: f64 = 0.02;

/// What the program says of a knapsack.
pub(super) struct Solution {
    /// No pattern that fits has a higher dual value.
    pub(super) bound: f64,
    /// The copies that the bound comes from, where they are known to fit.
    pub(super) pattern: Option<Pattern>,
}

/// Two resources in steps.
struct Grid {
    resources: [usize; 2],
    /// Amount of one step.
    units: [i64; 2],
    /// Steps of each that the node has.
    steps: [usize; 2],
}

/// Copies of one item, taken together or not at all.
struct Bundle {
    item: usize,
    count: u32,
    steps: [usize; 2],
    value: f64,
}

/// The pattern with the highest dual value, if it is known to fit, and an upper bound. `None` where
/// the node is too large for the program.
pub(super) fn best(knapsack: &Knapsack, duals: &Duals) -> Option<Solution> {
    let grid = Grid::of(knapsack)?;
    let (reduced, multiplier_sum) = grid.relaxed(knapsack, duals);
    let bundles = bundles(knapsack, &reduced, &grid);
    let width = grid.steps[1] + 1;
    let cells = (grid.steps[0] + 1) * width;
    if bundles.len() * cells > WORK_MAX {
        return None;
    }
    let mut best = vec![0.0_f64; cells];
    let mut taken = vec![false; bundles.len() * cells];
    let mut same_line = vec![0.0_f64; width];
    for (bundle, taken) in bundles.iter().zip(taken.chunks_exact_mut(cells)) {
        let [down, along] = bundle.steps;
        // From the last line on, so that each is made of one that the bundle is not in yet.
        for line in (down..=grid.steps[0]).rev() {
            let start = line * width;
            let (before, own) = best.split_at_mut(start);
            let without = if down == 0 {
                same_line.copy_from_slice(&own[..width]);
                &same_line[..]
            } else {
                &before[start - down * width..]
            };
            let cells = own[along..width].iter_mut().zip(&mut taken[start + along..start + width]);
            for ((most, taken), without) in cells.zip(without) {
                let with = without + bundle.value;
                *taken = with > *most;
                *most = most.max(with);
            }
        }
    }
    let mut counts = vec![0_u32; knapsack.items.len()];
    let mut cell = cells - 1;
    for (bundle, taken) in bundles.iter().zip(taken.chunks_exact(cells)).rev() {
        if taken[cell] {
            counts[bundle.item] += bundle.count;
            cell -= bundle.steps[0] * width + bundle.steps[1];
        }
    }
    Some(Solution {
        bound: best[cells - 1] + multiplier_sum,
        pattern: knapsack.fits(&counts).then(|| knapsack.pattern(&counts)),
    })
}

impl Grid {
    /// The two resources that weigh most.
    fn of(knapsack: &Knapsack) -> Option<Self> {
        let weights = &knapsack.weights;
        let mut order: Vec<usize> = (0..knapsack.width()).collect();
        order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]).then_with(|| a.cmp(b)));
        let (first, second) = (*order.first()?, *order.get(1)?);
        let axis = |resource: usize| {
            let unit = knapsack
                .requests
                .chunks_exact(knapsack.width())
                .map(|requests| requests[resource])
                .fold(0, greatest_common_divisor)
                .max(1);
            let least = knapsack.amounts[resource].div_euclid(STEPS_MAX) + 1;
            // A multiple of the divisor keeps most amounts exact.
            let unit = if unit >= least { unit } else { least.div_euclid(unit).max(1) * unit };
            (unit, usize::try_from(knapsack.amounts[resource] / unit).unwrap_or(0))
        };
        let (a, b) = (axis(first), axis(second));
        Some(Self { resources: [first, second], units: [a.0, b.0], steps: [a.1, b.1] })
    }

    /// Dual prices by item, less what a copy pays for the resources that are not on the grid, and
    /// the sum of those resources' multipliers.
    fn relaxed(&self, knapsack: &Knapsack, duals: &Duals) -> (Vec<f64>, f64) {
        let width = knapsack.width();
        let multipliers: Vec<f64> = (0..width)
            .map(|resource| {
                let weight = knapsack.weights[resource];
                let is_relaxed = !self.resources.contains(&resource) && weight >= WEIGHT_MIN;
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

/// Copies by item in bundles of 1, 2, 4 … that make up every count up to the most.
fn bundles(knapsack: &Knapsack, reduced: &[f64], grid: &Grid) -> Vec<Bundle> {
    let mut bundles = Vec::new();
    for (index, item) in knapsack.items.iter().enumerate() {
        let dual = reduced[index];
        if dual <= 0.0 {
            continue;
        }
        let requests = knapsack.requests_of(index);
        let (mut left, mut count) = (item.max, 1);
        while left > 0 {
            let own = left.min(count);
            let steps = [0, 1].map(|axis| {
                // Each copy on its own is rounded down, so that any sum of them is too.
                let each = requests[grid.resources[axis]] / grid.units[axis];
                usize::try_from(each * i64::from(own)).unwrap_or(usize::MAX)
            });
            if steps[0] > grid.steps[0] || steps[1] > grid.steps[1] {
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
