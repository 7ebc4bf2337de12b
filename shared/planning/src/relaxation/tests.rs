//! The relaxation on plain numbers: two resources, prices in whole units.

use domain::settings::SearchEffort;

use super::budget::Work;
use super::*;
use crate::ids::Idx;

/// A row of `count` copies that request these amounts.
fn row(count: u32, requests: [i64; 2]) -> Row {
    Row { count, per_node: u32::MAX, requests: requests.to_vec() }
}

/// A node with these amounts that accepts every row; `available` times.
fn offer(rows: &Rows, price: f64, amounts: [i64; 2], available: u32) -> Offer {
    let capacity = Capacity { price, amounts: &amounts, available, resource_order: &[0, 1] };
    Offer::new(rows, &capacity, |_| true).unwrap()
}

fn budget() -> &'static Budget {
    Budget::of(10, SearchEffort::Full)
}

fn solved(rows: &Rows, price: f64, amounts: [i64; 2]) -> Relaxation {
    let offers = vec![offer(rows, price, amounts, u32::MAX)];
    Relaxation::solve(rows, offers.into(), Vec::new(), IndexVec::new(), budget())
}

/// The bound is at most the price, and at least 99 % of it.
#[track_caller]
fn assert_near(bound: f64, price: f64) {
    assert!(bound <= price && bound >= price * 0.99, "{bound} for {price}");
}

#[test]
fn rows_that_fill_a_node_together_cost_what_the_node_does() {
    let rows: Rows = vec![row(6, [6, 1]), row(6, [4, 1])].into();
    let mut relaxation = solved(&rows, 100.0, [10, 10]);
    assert_near(relaxation.lower_bound(&rows, &mut [], budget()), 600.0);
    assert!(relaxation.is_solved());
    let levels: f64 = relaxation.fractional_solution().iter().map(|column| column.level).sum();
    assert!((levels - 6.0).abs() < 0.1, "{levels}");
}

#[test]
fn copies_too_large_to_share_a_node_are_not_counted_in_fractions() {
    let rows: Rows = vec![row(10, [3, 1])].into();
    let mut relaxation = solved(&rows, 100.0, [5, 10]);
    assert_near(relaxation.lower_bound(&rows, &mut [], budget()), 1000.0);
    let dual = relaxation.dual_price(RowIx::new(0));
    assert!((dual - 100.0).abs() < 0.1, "{dual}");
}

#[test]
fn a_cap_per_node_counts_whatever_room_there_is() {
    let rows: Rows = vec![Row { per_node: 1, ..row(8, [1, 1]) }].into();
    let mut relaxation = solved(&rows, 100.0, [10, 10]);
    assert_near(relaxation.lower_bound(&rows, &mut [], budget()), 800.0);
}

#[test]
fn free_capacity_lowers_the_bound_by_what_it_holds() {
    let rows: Rows = vec![row(20, [5, 1])].into();
    let mut relaxation = solved(&rows, 100.0, [10, 10]);
    let mut free = [offer(&rows, 0.0, [20, 10], 1)];
    assert_near(relaxation.lower_bound(&rows, &mut free, budget()), 800.0);
}

#[test]
fn limited_capacity_counts_as_often_as_it_is_available() {
    let rows: Rows = vec![row(20, [5, 1])].into();
    let offers = vec![offer(&rows, 100.0, [10, 10], u32::MAX)];
    let limited = vec![offer(&rows, 1.0, [10, 10], 3)];
    let mut relaxation =
        Relaxation::solve(&rows, offers.into(), limited, IndexVec::new(), budget());
    assert_near(relaxation.lower_bound(&rows, &mut [], budget()), 703.0);
}

#[test]
fn a_bound_for_fewer_copies_is_lower() {
    let mut rows: Rows = vec![row(6, [6, 1]), row(6, [4, 1])].into();
    let mut relaxation = solved(&rows, 100.0, [10, 10]);
    for row in rows.iter_mut() {
        row.count = 3;
    }
    assert_near(relaxation.lower_bound(&rows, &mut [], budget()), 300.0);
}

#[test]
fn offers_that_are_no_cheaper_and_no_larger_are_dominated() {
    let rows: Rows = vec![row(10, [1, 1])].into();
    let offers = vec![
        ("small", offer(&rows, 100.0, [4, 4], u32::MAX)),
        ("cheap", offer(&rows, 90.0, [4, 4], u32::MAX)),
        ("large", offer(&rows, 110.0, [8, 8], u32::MAX)),
    ];
    let kept: Vec<&str> = undominated(offers).into_iter().map(|(name, _)| name).collect();
    assert_eq!(kept, ["cheap", "large"]);
}

#[test]
fn an_offer_that_accepts_no_row_is_none() {
    let rows: Rows = vec![row(1, [5, 1])].into();
    let capacity = Capacity { price: 1.0, amounts: &[4, 4], available: 1, resource_order: &[0, 1] };
    assert!(Offer::new(&rows, &capacity, |_| true).is_none());
}

#[test]
fn what_a_limit_leaves_over_is_bought_where_it_is_dearer() {
    let rows: Rows = vec![row(20, [5, 5])].into();
    let limit = LimitIx::new(0);
    let offers = vec![
        offer(&rows, 100.0, [10, 10], u32::MAX).within(limit, vec![10]),
        offer(&rows, 200.0, [10, 10], u32::MAX),
    ];
    let limits = vec![vec![40]].into();
    let mut relaxation = Relaxation::solve(&rows, offers.into(), Vec::new(), limits, budget());
    // Four nodes within the limit, six beside it.
    assert_near(relaxation.lower_bound(&rows, &mut [], budget()), 1600.0);
}

#[test]
fn a_limit_that_leaves_enough_changes_nothing() {
    let rows: Rows = vec![row(20, [5, 5])].into();
    let offers = vec![offer(&rows, 100.0, [10, 10], u32::MAX).within(LimitIx::new(0), vec![10])];
    let limits = vec![vec![1000]].into();
    let mut relaxation = Relaxation::solve(&rows, offers.into(), Vec::new(), limits, budget());
    assert_near(relaxation.lower_bound(&rows, &mut [], budget()), 1000.0);
}

#[test]
fn no_nodes_cost_less_than_the_proven_share_of_dual_prices() {
    let rows: Rows = vec![row(6, [6, 1]), row(6, [4, 1]), row(3, [1, 7])].into();
    for budget in [budget(), &Budget::WITHOUT_PATTERNS] {
        let offers = vec![offer(&rows, 100.0, [10, 10], u32::MAX)];
        let relaxation =
            Relaxation::solve(&rows, offers.into(), Vec::new(), IndexVec::new(), budget);
        // One node holds one copy of each of the first two rows, or one of each of the last two.
        let pairs = [[0, 1], [1, 2]];
        for pair in pairs {
            let worth: f64 = pair.iter().map(|row| relaxation.dual_price(RowIx::new(*row))).sum();
            let floor = worth * relaxation.proven_share();
            assert!(floor > 40.0 && floor <= 100.0, "{floor}");
        }
    }
}

#[test]
fn beside_limited_capacity_dual_prices_prove_nothing() {
    let rows: Rows = vec![row(20, [5, 1])].into();
    let offers = vec![offer(&rows, 100.0, [10, 10], u32::MAX)];
    let limited = vec![offer(&rows, 1.0, [10, 10], 3)];
    let relaxation = Relaxation::solve(&rows, offers.into(), limited, IndexVec::new(), budget());
    assert!(relaxation.proven_share().abs() < f64::EPSILON);
}

#[test]
fn copies_of_which_nodes_hold_few_make_no_other_copies_free() {
    // Two of the first row on a node: the smallest nodes are the cheapest for it, and the largest
    // for everything else.
    let scattered = Row { per_node: 2, ..row(39, [500, 1000]) };
    let rest = [(40, [2000, 2000]), (30, [500, 2000]), (60, [100, 200]), (25, [1000, 6000])];
    let rest = rest.map(|(count, requests)| row(count, requests));
    let rows: Rows = std::iter::once(scattered).chain(rest).collect::<Vec<_>>().into();
    let sizes = [1, 2, 4, 8, 16];
    let nodes = sizes.into_iter().flat_map(|size| {
        let [cpu, memory] = [2000 * size - 100, 4000 * size - 300];
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let price = size as f64;
        [(68.0 * price, [cpu, memory]), (77.0 * price, [cpu, 2 * memory])]
    });
    let offers: Vec<Offer> =
        nodes.map(|(price, amounts)| offer(&rows, price, amounts, u32::MAX)).collect();
    // What all CPU costs where it is the cheapest.
    let cpu: i64 = rows.iter().map(|row| i64::from(row.count) * row.requests[0]).sum();
    #[expect(clippy::cast_precision_loss, reason = "small")]
    let by_cpu = cpu as f64 * 68.0 * 16.0 / 31_900.0;
    for effort in [SearchEffort::Quick, SearchEffort::Full] {
        let budget = Budget::of(200, effort);
        let offers = offers.clone().into();
        let mut relaxation = Relaxation::solve(&rows, offers, Vec::new(), IndexVec::new(), budget);
        let bound = relaxation.lower_bound(&rows, &mut [], budget);
        assert!(bound >= by_cpu, "{effort:?}: {bound} of {by_cpu}");
    }
}

#[test]
fn refined_weights_bound_patterns_more_tightly_and_still_from_above() {
    let requests = [[6, 1], [1, 6], [4, 3], [3, 4], [2, 2]];
    let rows: Rows = requests.iter().map(|own| row(9, *own)).collect::<Vec<_>>().into();
    let (mut tighter, steps) = (0, budget().weight_steps);
    for worth in [[6.0, 6.0, 6.5, 6.5, 4.0], [6.3, 6.0, 7.0, 7.2, 3.9], [7.0, 5.0, 6.0, 7.0, 4.0]] {
        let duals: Duals = worth.into_iter().collect();
        let mut knapsack = offer(&rows, 10.0, [20, 19], u32::MAX).knapsack;
        let settled = knapsack.settle_weights(&duals, 0.0, steps);
        let refined = knapsack.refine_weights(&duals).bound;
        let best = branch_and_bound::search(&knapsack, &duals, 0.0, 100_000).value;
        assert!(best <= refined && refined <= settled + 1e-9, "{best} {refined} {settled}");
        tighter += u32::from(refined < settled - 1e-9);
    }
    assert!(tighter > 0, "there are better weights");
}

#[test]
fn a_dive_covers_every_copy_with_whole_nodes() {
    let rows: Rows = vec![row(7, [6, 1]), row(7, [4, 1]), row(3, [10, 3])].into();
    let relaxation = solved(&rows, 100.0, [10, 10]);
    let of = |effort| Budget::of(17, effort);
    let nodes = relaxation.dive(&rows, of(SearchEffort::Full));
    let mut held = vec![0.0; rows.len()];
    for node in &nodes {
        assert!(node.level.fract() == 0.0, "{}", node.level);
        for (row, count) in &node.pattern {
            held[row.index()] += f64::from(*count) * node.level;
        }
    }
    assert_eq!(held, [7.0, 7.0, 3.0]);
    let bought: f64 = nodes.iter().map(|node| node.level).sum();
    assert!((bought - 10.0).abs() < 1e-9, "{bought}");
    let quick = relaxation.dive(&rows, of(SearchEffort::Quick));
    assert!(quick.is_empty(), "it takes longer than a quick answer may");
}

#[test]
fn of_more_rows_than_are_worth_it_there_is_no_dive() {
    let rows: Rows = vec![row(7, [6, 1]), row(7, [4, 1]), row(3, [10, 3])].into();
    let relaxation = solved(&rows, 100.0, [10, 10]);
    let nodes = |dive_rows_max: usize| {
        let budget = Budget { dive_rows_max, ..*Budget::of(17, SearchEffort::Full) };
        relaxation.dive(&rows, &budget).len()
    };
    assert!(nodes(rows.len()) > 0);
    assert_eq!(nodes(rows.len() - 1), 0);
}

#[test]
fn where_work_runs_out_a_bound_is_proved_without_patterns_and_there_is_no_dive() {
    let rows: Rows = vec![row(7, [6, 1]), row(7, [4, 1]), row(3, [10, 3])].into();
    let of_work = |generation: Work| {
        let budget = Budget { generation, ..*budget() };
        let offers = vec![offer(&rows, 100.0, [10, 10], u32::MAX)];
        let mut own = Relaxation::solve(&rows, offers.into(), Vec::new(), IndexVec::new(), &budget);
        let bound = own.lower_bound(&rows, &mut [], &budget);
        (bound, own.fractional_solution().len(), own.dive(&rows, &budget).len())
    };
    let plenty = budget().generation;
    let (bound, patterns, bought) = of_work(plenty);
    assert_near(bound, 1000.0);
    assert!(patterns > 0 && bought > 0);
    for little in [Work { pricing: 1, ..plenty }, Work { pivots: 1, ..plenty }] {
        let (bound, fewer, bought) = of_work(little);
        assert!(bound > 0.0 && bound <= 1000.0, "{bound}");
        assert!(fewer < patterns, "{fewer} of {patterns}");
        assert_eq!(bought, 0);
    }
}

#[test]
fn rows_cost_no_more_where_the_master_problem_is_solved_from_the_inside() {
    let counts = (0..60).map(|row| (row, 3 + row % 7));
    let request = |row: u32| [i64::from(40 + row * 17 % 90), i64::from(30 + row * 29 % 110)];
    let rows: Rows = counts.map(|(index, count)| row(count, request(index))).collect();
    let offers: IndexVec<OfferIx, Offer> = vec![
        offer(&rows, 100.0, [400, 400], u32::MAX),
        offer(&rows, 190.0, [800, 800], u32::MAX),
        offer(&rows, 130.0, [400, 700], u32::MAX),
    ]
    .into();
    let known = budget();
    let inside = Budget { simplex_rows_max: 0, ..*known };
    let solved = |budget: &Budget| {
        Relaxation::solve(&rows, offers.clone(), Vec::new(), IndexVec::new(), budget)
    };
    let [mut corners, mut inside] = [known, &inside].map(solved);
    let cost = |own: &Relaxation| -> f64 {
        let columns = own.fractional_solution().iter();
        columns.map(|column| column.level * own.offers[column.offer].knapsack.price).sum()
    };
    let (by_corners, by_inside) = (cost(&corners), cost(&inside));
    assert!(by_inside <= by_corners * 1.002, "{by_inside} and {by_corners}");
    for relaxation in [&mut corners, &mut inside] {
        let own = cost(relaxation);
        let bound = relaxation.lower_bound(&rows, &mut [], known);
        assert!(bound <= own * (1.0 + 1e-9) && bound > own * 0.97, "{bound} for {own}");
    }
    for (row, own) in rows.iter_enumerated() {
        let covered: f64 = inside
            .fractional_solution()
            .iter()
            .flat_map(|column| column.pattern.iter().map(move |(of, n)| (of, *n, column.level)))
            .filter(|(of, ..)| **of == row)
            .map(|(_, copies, level)| f64::from(copies) * level)
            .sum();
        assert!(covered >= f64::from(own.count) * (1.0 - 1e-6), "{covered} of {}", own.count);
    }
}

#[test]
fn rows_that_only_limited_capacity_holds_are_worth_no_more_than_that_from_the_inside() {
    let rows: Rows = vec![row(20, [5, 1]), row(6, [4, 1]), row(4, [30, 1])].into();
    let inside = Budget { simplex_rows_max: 0, ..*budget() };
    let offers = vec![offer(&rows, 100.0, [10, 10], u32::MAX)];
    let limited = vec![offer(&rows, 50.0, [30, 10], 4)];
    let mut relaxation = Relaxation::solve(&rows, offers.into(), limited, IndexVec::new(), &inside);
    // Four limited nodes hold the large copies, ten others two of the first row each, three two of
    // the second.
    let bound = relaxation.lower_bound(&rows, &mut [], &inside);
    assert!(bound > 0.0 && bound <= 1_500.0, "{bound}");
    let [first, large] = [0, 2].map(|row| relaxation.dual_price(RowIx::new(row)));
    assert!((first - 50.0).abs() < 0.1 && large <= 50.0, "{first} {large}");
    assert!(relaxation.fractional_solution().iter().map(|own| own.level).sum::<f64>() > 12.0);
}
