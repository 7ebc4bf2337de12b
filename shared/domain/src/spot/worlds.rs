//! What choosing by remembered rates comes to, over many worlds whose rates are hidden.
//!
//! No planner and no EC2: every node is launched from the offering that is cheapest with its
//! weight, and is taken back at the offering's true rate. `outrigger-simulation`'s test of the same
//! name runs a few such worlds with all of Outrigger.

use super::*;

/// Hours after which interruptions are held against those that nobody remembers.
const LEARNED_AFTER: f64 = 72.0;
const DAYS: u32 = 7;
/// Hours of a node's price that an interruption costs.
const COST: f64 = 4.0;
/// Hours for which a node runs beside the one that takes its place.
const OVERLAP: f64 = 2.0 / 60.0;
/// Hours between two looks at the nodes.
const STEP: f64 = 0.25;
/// Most nodes at once: all of them by day, half of them by night.
const NODES: usize = 12;
const WORLDS: u64 = 150;

/// Families, and what they cost beside each other.
const FAMILIES: [(&str, f64); 6] =
    [("m5a", 1.0), ("m6a", 1.01), ("m5", 1.03), ("m6i", 1.05), ("m7i", 1.08), ("m7a", 1.12)];

/// SplitMix64.
struct Draw(u64);

impl Draw {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        #[expect(clippy::cast_precision_loss, reason = "53 bits are what a float holds")]
        let own = ((z ^ (z >> 31)) >> 11) as f64;
        own / 9_007_199_254_740_992.0
    }
}

struct Offering {
    instance_type: Text,
    zone: Text,
    price: f64,
    /// Interruptions a node-hour, which the planner does not know.
    rate: f64,
}

/// Six families in six zones, whose prices differ by up to 5 % either way.
fn world(seed: u64, mut rate: impl FnMut(&mut Draw) -> f64) -> Vec<Offering> {
    let mut draw = Draw(seed);
    let mut all = Vec::new();
    for (family, price) in FAMILIES {
        for zone in ["a", "b", "c", "d", "e", "f"] {
            let price = price * (0.95 + 0.1 * draw.uniform());
            let rate = rate(&mut draw);
            let instance_type = format!("{family}.large").into();
            all.push(Offering { instance_type, zone: zone.into(), price, rate });
        }
    }
    all
}

#[derive(Clone, Copy, Default)]
struct Week {
    late: f64,
    hours: f64,
    interruptions: f64,
}

struct Running {
    offering: usize,
    counted: f64,
    ends: f64,
}

/// What nodes are launched by.
#[derive(Clone, Copy, PartialEq)]
enum By {
    Price,
    Memory,
    /// The true rates: what memory could come to at best.
    Truth,
}

fn week(offerings: &[Offering], by: By, seed: u64) -> Week {
    let moment = |hours: f64| at(0) + SignedDuration::from_secs_f64(hours * 3600.0);
    let mut draw = Draw(!seed);
    let mut history = SpotHistory::default();
    let mut nodes: Vec<Option<Running>> = (0..NODES).map(|_| None).collect();
    let mut week = Week::default();
    for step in 0..DAYS * 96 {
        let now = f64::from(step) * STEP;
        let is_day = (8.0..20.0).contains(&(now % 24.0));
        let wanted = if is_day { NODES } else { NODES / 2 };
        let mut seen = |offering: usize, hours: f64, kind: SpotEventKind| {
            let Offering { instance_type, zone, .. } = &offerings[offering];
            let (instance_type, zone) = (instance_type.clone(), zone.clone());
            history.record(&SpotEvent { instance_type, zone, at: moment(hours), kind });
        };
        let mut left_out = Vec::new();
        for (index, node) in nodes.iter_mut().enumerate() {
            let Some(Running { offering, counted, ends }) = node else { continue };
            let price = offerings[*offering].price;
            let (is_taken, is_idle) = (*ends <= now, index >= wanted);
            if is_taken || is_idle || now - *counted >= 1.0 {
                let ran = ends.min(now) - *counted;
                seen(*offering, now, SpotEventKind::NodeHours(ran));
                week.hours += ran * price;
                *counted = now;
            }
            if is_taken {
                seen(*offering, *ends, SpotEventKind::Interruption);
                week.late += f64::from(u8::from(*ends >= LEARNED_AFTER));
                week.hours += OVERLAP * price;
                week.interruptions += COST * price;
                left_out.push(*offering);
            }
            if is_taken || is_idle {
                *node = None;
            }
        }
        for node in nodes.iter_mut().take(wanted).filter(|node| node.is_none()) {
            let rates = (by == By::Memory).then(|| SpotRates::of(&history, moment(now)));
            let weighted = |own: &Offering| {
                let known = rates.as_ref().map(|all| all.get(&own.instance_type, &own.zone));
                let rate = match known {
                    Some(estimate) => estimate.weighed.in_100_node_hours() / 100.0,
                    None if by == By::Truth => own.rate,
                    None => 0.0,
                };
                own.price * (1.0 + COST * rate)
            };
            let prices: Vec<f64> = offerings.iter().map(weighted).collect();
            let by_price = |a: &usize, b: &usize| prices[*a].total_cmp(&prices[*b]);
            // An offering that was just taken back is left out for three minutes.
            let is_in = |own: &usize| !left_out.contains(own);
            let offering = (0..prices.len()).filter(is_in).min_by(by_price).unwrap_or(0);
            let lasts = -(1.0 - draw.uniform()).ln() / offerings[offering].rate;
            *node = Some(Running { offering, counted: now, ends: now + lasts });
        }
    }
    week
}

/// What it came to over all worlds beside launching by price: late interruptions, hours, and hours
/// with interruptions, each as the share by which it changed.
fn changes(by: By, rate: impl Fn(&mut Draw) -> f64) -> [f64; 3] {
    let mut sums = [[0.0; 3]; 2];
    for seed in 0..WORLDS {
        let offerings = world(seed, &rate);
        for (sum, by) in sums.iter_mut().zip([By::Price, by]) {
            let Week { late, hours, interruptions } = week(&offerings, by, seed);
            for (sum, own) in sum.iter_mut().zip([late, hours, hours + interruptions]) {
                *sum += own;
            }
        }
    }
    let [before, after] = sums;
    std::array::from_fn(|index| after[index] / before[index] - 1.0)
}

fn at(hours: i64) -> Timestamp {
    Timestamp::from_second(1_767_603_600 + hours * 3600).unwrap()
}

fn percent(shares: [f64; 3]) -> String {
    let [late, hours, all] = shares.map(|share| share * 100.0);
    format!("interruptions {late:.1} %, hours {hours:.3} %, with interruptions {all:.1} %")
}

#[test]
fn where_offerings_differ_tenfold_remembering_avoids_most_interruptions_for_little_money() {
    let tenfold = |draw: &mut Draw| if draw.uniform() < 0.5 { 0.3 } else { 0.03 };
    let own = changes(By::Memory, tenfold);
    println!("tenfold: {}", percent(own));
    println!("tenfold, were rates known: {}", percent(changes(By::Truth, tenfold)));
    let [late, hours, all] = own;
    assert!(late <= -0.6 && hours <= 0.02 && all <= -0.15, "{}", percent(own));
}

#[test]
fn where_all_are_alike_remembering_changes_next_to_nothing() {
    for rate in [0.03, 0.1] {
        let own = changes(By::Memory, |_| rate);
        println!("all alike at {rate}: {}", percent(own));
        assert!(own[1].abs() <= 0.002, "{} at {rate}", percent(own));
    }
}
