//! Pricing a small node exactly: dynamic programming over the amounts of its two scarcest resources.
//!
//! On a node that holds a handful of pods the surrogate promises much more than whole pods can be worth, and
//! a search takes long to rule it out. Amounts are counted in steps of the node's greatest common divisor,
//! or coarser and rounded down, which only ever makes more fit. Other resources cost what they weigh in the
//! surrogate instead of running out, so what comes out bounds the worth from above; where the pods it comes
//! from fit and leave nothing of what they pay for, they are the best.

use super::knapsack::Room;
use super::master::Pattern;

/// Steps of one resource at most; coarser steps are taken beyond.
const STEPS_MAX: i64 = 72;

/// Cells times pods looked at, at most.
const WORK_MAX: usize = 400_000;

/// Two resources in steps.
struct Grid {
    resources: [usize; 2],
    units: [i64; 2],
    /// Steps of each that the node has.
    steps: [usize; 2],
}

/// Some pods of one row, taken together or not at all.
struct Bundle {
    row: usize,
    count: u32,
    steps: [usize; 2],
    worth: f64,
}

/// The most that pods on the node can be worth, and good ones, if they are sure to fit. `None` where the node
/// is too large to look at all of it.
pub(super) fn best(room: &Room, values: &[f64]) -> Option<(f64, Option<Pattern>)> {
    let grid = Grid::of(room)?;
    let (values, rent) = grid.rented(room, values);
    let bundles = bundles(room, &values, &grid);
    let width = grid.steps[1] + 1;
    let cells = (grid.steps[0] + 1) * width;
    if bundles.len() * cells > WORK_MAX {
        return None;
    }
    let mut worth = vec![0.0_f64; cells];
    let mut taken = vec![false; bundles.len() * cells];
    let mut same_row = vec![0.0_f64; width];
    for (bundle, taken) in bundles.iter().zip(taken.chunks_exact_mut(cells)) {
        let [down, along] = bundle.steps;
        // From the last row on, so that each row is made of one that the bundle has not been put in yet.
        for first in (down..=grid.steps[0]).rev() {
            let row = first * width;
            let (before, own) = worth.split_at_mut(row);
            let without = if down == 0 {
                same_row.copy_from_slice(&own[..width]);
                &same_row[..]
            } else {
                &before[row - down * width..]
            };
            let cells = own[along..width].iter_mut().zip(&mut taken[row + along..row + width]);
            for ((most, taken), without) in cells.zip(without) {
                let with = without + bundle.worth;
                *taken = with > *most;
                *most = most.max(with);
            }
        }
    }
    let mut counts = vec![0_u32; room.rows.len()];
    let mut cell = cells - 1;
    for (bundle, taken) in bundles.iter().zip(taken.chunks_exact(cells)).rev() {
        if taken[cell] {
            counts[bundle.row] += bundle.count;
            cell -= bundle.steps[0] * width + bundle.steps[1];
        }
    }
    Some((worth[cells - 1] + rent, room.fits(&counts).then(|| room.pattern(&counts))))
}

impl Grid {
    /// Values by the room's rows, less what pods pay for other resources, and what all of those cost.
    fn rented(&self, room: &Room, values: &[f64]) -> (Vec<f64>, f64) {
        let width = room.amounts.len();
        let rents: Vec<f64> = (0..width)
            .map(|resource| {
                let is_rented =
                    !self.resources.contains(&resource) && room.weights[resource] >= WEIGHT_MIN;
                if is_rented { room.weights[resource] * room.price } else { 0.0 }
            })
            .collect();
        let own =
            room.rows.iter().zip(room.shares.chunks_exact(width)).map(|((row, _), shares)| {
                let paid: f64 = shares.iter().zip(&rents).map(|(share, rent)| share * rent).sum();
                values[*row as usize] - paid
            });
        (own.collect(), rents.iter().sum())
    }

    /// The two resources that weigh most.
    fn of(room: &Room) -> Option<Self> {
        let mut order: Vec<usize> = (0..room.amounts.len()).collect();
        order.sort_by(|a, b| room.weights[*b].total_cmp(&room.weights[*a]).then_with(|| a.cmp(b)));
        let (first, second) = (*order.first()?, *order.get(1)?);
        let axis = |resource: usize| {
            let width = room.amounts.len();
            let unit = room
                .requests
                .chunks_exact(width)
                .map(|requests| requests[resource])
                .fold(0, greatest_common_divisor)
                .max(1);
            let least = room.amounts[resource].div_euclid(STEPS_MAX) + 1;
            // A multiple of the divisor keeps most amounts exact.
            let unit = if unit >= least { unit } else { least.div_euclid(unit).max(1) * unit };
            (unit, usize::try_from(room.amounts[resource] / unit).unwrap_or(0))
        };
        let (a, b) = (axis(first), axis(second));
        Some(Self { resources: [first, second], units: [a.0, b.0], steps: [a.1, b.1] })
    }
}

/// Pods by row in bundles of 1, 2, 4 … that make up every count up to the most.
fn bundles(room: &Room, values: &[f64], grid: &Grid) -> Vec<Bundle> {
    let width = room.amounts.len();
    let mut bundles = Vec::new();
    for (index, (_, most)) in room.rows.iter().enumerate() {
        let value = values[index];
        if value <= 0.0 {
            continue;
        }
        let requests = &room.requests[index * width..(index + 1) * width];
        let (mut left, mut count) = (*most, 1);
        while left > 0 {
            let own = left.min(count);
            let steps = [0, 1].map(|axis| {
                // Each pod on its own is rounded down, so that any sum of them is too.
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
            bundles.push(Bundle { row: index, count: own, steps, worth: value * f64::from(own) });
            left -= own;
            count = own.saturating_mul(2);
        }
    }
    bundles
}

/// A resource that weighs less in the surrogate never runs out.
const WEIGHT_MIN: f64 = 0.02;

fn greatest_common_divisor(mut a: i64, mut b: i64) -> i64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.abs()
}
