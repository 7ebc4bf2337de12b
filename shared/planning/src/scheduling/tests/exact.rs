//! Small clusters whose cheapest plan is found by trying everything: the bound is never above it,
//! and the plan hardly ever.
//!
//! Three workloads of up to ten pods each, three kinds of nodes sold at different prices in three
//! zones, and now and then a fourth in a NodePool with a limit. What a number of pods costs in one
//! zone is worked out by dynamic programming over the nodes that they could fill; then every way of
//! dividing the pods among the zones is tried.

use domain::instance_type::{CapacityType, InstanceType};
use domain::label::{HOSTNAME, INSTANCE_TYPE, ZONE};
use domain::requirement::Operator;
use domain::resource::{CPU, MEMORY, NODES, PODS, Resources};

use crate::testing::{
    Cluster, PodMaker, cluster, instance_type, is, near, node_pool, node_pool_of, offering, pod,
    requirement, spread_over,
};

const MIB: i64 = 1 << 20;
const ZONES: [&str; 3] = ["a", "b", "c"];
const WORKLOADS: usize = 3;

/// How many pods of each workload.
type Counts = [usize; WORKLOADS];

/// What ties pods of a workload together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Tie {
    Nothing,
    SpreadOverZones,
    /// At most so many on a host.
    SpreadOverHosts(usize),
    OneOnAHost,
}

#[derive(Clone, Copy, Debug)]
struct Workload {
    pods: usize,
    cpu: i64,
    memory: i64,
    tie: Tie,
}

/// A kind of node.
struct Kind {
    name: String,
    cpu: i64,
    memory: i64,
    /// In billionths of a dollar, by zone.
    prices: [i64; 3],
    /// Of the NodePool with the limit.
    is_limited: bool,
}

struct Instance {
    workloads: [Workload; WORKLOADS],
    kinds: Vec<Kind>,
    /// Nodes that the NodePool with the limit may have.
    limit: usize,
}

/// Numbers that look drawn, the same for the same seed (a linear congruential generator: Knuth,
/// The Art of Computer Programming, volume 2, section 3.3.4).
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }

    fn of<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }
}

impl Instance {
    fn drawn(seed: u64) -> Self {
        let mut draw = Draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) + 1);
        for _ in 0..4 {
            draw.below(2);
        }
        let workloads = [(); WORKLOADS].map(|()| Workload {
            pods: 1 + draw.below(10),
            cpu: draw.of(&[250, 500, 750, 1000, 1500, 2000, 3000]),
            memory: draw.of(&[512, 1024, 2048, 3072, 4096, 8192]) * MIB,
            tie: draw.of(&[
                Tie::Nothing,
                Tie::Nothing,
                Tie::SpreadOverZones,
                Tie::SpreadOverHosts(1),
                Tie::SpreadOverHosts(2),
                Tie::OneOnAHost,
            ]),
        });
        let is_limited = draw.below(4) == 0;
        let mut kinds = Vec::new();
        for number in 0..3 + usize::from(is_limited) {
            let cpus = draw.of(&[4, 8, 16]);
            let gib = cpus * draw.of(&[2, 4, 8]);
            let per_zone = [(); 3].map(|()| i64::try_from(draw.below(13)).unwrap() - 6);
            let cents = cpus * 4 + gib / 2 + i64::try_from(draw.below(5)).unwrap();
            let is_limited = number == 3;
            let share = if is_limited { 60 } else { 100 };
            kinds.push(Kind {
                name: format!("kind-{number}"),
                cpu: cpus * 1000,
                memory: gib * 1024 * MIB,
                prices: per_zone.map(|percent| cents * (share + percent) * 100_000),
                is_limited,
            });
        }
        Self { workloads, kinds, limit: if is_limited { 1 + draw.below(3) } else { 0 } }
    }

    fn cluster(&self) -> Cluster {
        let sold = self.kinds.iter().map(sold).collect();
        let is_open = requirement(INSTANCE_TYPE, Operator::NotIn, &["kind-3"]);
        let mut limited = node_pool_of("limited", &[is(INSTANCE_TYPE, "kind-3")]);
        limited.limits = Resources::new().with(NODES, i64::try_from(self.limit).unwrap());
        let mut world = cluster().selling(sold);
        if self.kinds.len() > 3 {
            world = world.pool(node_pool_of("default", &[is_open])).pool(limited);
        } else {
            world = world.pool(node_pool("default"));
        }
        for (number, workload) in self.workloads.iter().enumerate() {
            world = world.pods(workload.pods, &workload.pod(&format!("w{number}")));
        }
        world
    }

    /// How much of a kind of node pods take; `None` where they may not be on one together.
    fn fits(&self, kind: &Kind, counts: Counts) -> bool {
        let mut left = (kind.cpu, kind.memory);
        for (workload, count) in self.workloads.iter().zip(counts) {
            let most = match workload.tie {
                Tie::SpreadOverHosts(most) => most,
                Tie::OneOnAHost => 1,
                Tie::Nothing | Tie::SpreadOverZones => usize::MAX,
            };
            if count > most {
                return false;
            }
            let count = i64::try_from(count).unwrap();
            left = (left.0 - workload.cpu * count, left.1 - workload.memory * count);
        }
        left.0 >= 0 && left.1 >= 0
    }

    fn all(&self) -> Counts {
        self.workloads.map(|workload| workload.pods)
    }

    /// Every choice of at most so many pods of each workload, fewer before more.
    fn up_to(most: Counts) -> impl Iterator<Item = Counts> {
        (0..=most[0]).flat_map(move |a| {
            (0..=most[1]).flat_map(move |b| (0..=most[2]).map(move |c| [a, b, c]))
        })
    }

    fn place(&self, counts: Counts) -> usize {
        let [_, b, c] = self.all();
        (counts[0] * (b + 1) + counts[1]) * (c + 1) + counts[2]
    }

    /// What pods cost in one zone, by their counts and by how many nodes of the limited kind there
    /// may be.
    fn costs_in(&self, zone: usize) -> Vec<Vec<i64>> {
        let cheapest = |counts: Counts, is_limited: bool| {
            let kinds = self.kinds.iter().filter(|kind| kind.is_limited == is_limited);
            kinds
                .filter(|kind| self.fits(kind, counts))
                .map(|kind| kind.prices[zone])
                .min()
                .unwrap_or(NEVER)
        };
        let mut nodes: Vec<[i64; 2]> = Vec::new();
        let mut costs: Vec<Vec<i64>> = vec![Vec::new(); self.limit + 1];
        for counts in Self::up_to(self.all()) {
            nodes.push([cheapest(counts, false), cheapest(counts, true)]);
            let first = counts.iter().position(|count| *count > 0);
            for limit in 0..=self.limit {
                let Some(first) = first else {
                    costs[limit].push(0);
                    continue;
                };
                let mut least = NEVER;
                for on_one in Self::up_to(counts).filter(|own| own[first] > 0) {
                    let rest = self.place([0, 1, 2].map(|own| counts[own] - on_one[own]));
                    let [open, limited] = nodes[self.place(on_one)];
                    least = least.min(open + costs[limit][rest]);
                    if limit > 0 {
                        least = least.min(limited + costs[limit - 1][rest]);
                    }
                }
                costs[limit].push(least);
            }
        }
        costs
    }

    fn may_be_divided(&self, parts: [Counts; 3]) -> bool {
        self.workloads.iter().enumerate().all(|(number, workload)| {
            let counts = parts.map(|part| part[number]);
            let (least, most) = (counts.iter().min(), counts.iter().max());
            workload.tie != Tie::SpreadOverZones || most.zip(least).is_none_or(|(a, b)| a - b <= 1)
        })
    }

    /// The cheapest nodes for all pods, in billionths of a dollar.
    fn optimum(&self) -> i64 {
        let costs = [0, 1, 2].map(|zone| self.costs_in(zone));
        let all = self.all();
        let mut least = NEVER;
        for a in Self::up_to(all) {
            let others = [0, 1, 2].map(|own| all[own] - a[own]);
            for b in Self::up_to(others) {
                let c = [0, 1, 2].map(|own| others[own] - b[own]);
                if !self.may_be_divided([a, b, c]) {
                    continue;
                }
                let [a, b, c] = [a, b, c].map(|counts| self.place(counts));
                for of_a in 0..=self.limit {
                    for of_b in 0..=self.limit - of_a {
                        let of_c = self.limit - of_a - of_b;
                        least =
                            least.min(costs[0][of_a][a] + costs[1][of_b][b] + costs[2][of_c][c]);
                    }
                }
            }
        }
        least
    }
}

/// More than anything costs; small enough to be added up.
const NEVER: i64 = i64::MAX / 8;

impl Workload {
    fn pod(&self, name: &str) -> PodMaker {
        let maker = pod(name).cpu(self.cpu).asking(MEMORY, self.memory).label("app", name);
        match self.tie {
            Tie::Nothing => maker,
            Tie::SpreadOverZones => maker.spread(spread_over(ZONE, ("app", name))),
            Tie::SpreadOverHosts(most) => {
                let mut spread = spread_over(HOSTNAME, ("app", name));
                spread.max_skew = i32::try_from(most).unwrap();
                maker.spread(spread)
            }
            Tie::OneOnAHost => maker.anti_affinity(near(HOSTNAME, ("app", name))),
        }
    }
}

fn sold(kind: &Kind) -> InstanceType {
    let resources = Resources::new().with(CPU, kind.cpu).with(MEMORY, kind.memory).with(PODS, 110);
    let mut sold = instance_type(&kind.name, 1, 1.0);
    sold.capacity = resources.clone();
    sold.allocatable = resources;
    sold.offerings = ZONES
        .iter()
        .zip(kind.prices)
        .map(|(zone, price)| {
            let mut offering = offering(zone, CapacityType::OnDemand, 1.0);
            offering.price = domain::money::UsdPerHour::from_nanos(price);
            offering
        })
        .collect();
    sold
}

const INSTANCES: u64 = 100;

/// Of so many, at least, the plan is within a percent of the optimum. Of most of the others the
/// optimum has another of the zones take the pod that does not divide evenly.
const NEAR_MIN: usize = 90;

#[test]
fn the_bound_is_never_above_the_optimum_and_the_plan_seldom_more_than_a_percent() {
    let mut far = Vec::new();
    for seed in 0..INSTANCES {
        let instance = Instance::drawn(seed);
        let optimum = instance.optimum();
        let plan = crate::plan(&instance.cluster().0);
        let cost: i64 = plan.node_claims.iter().map(|claim| claim.offering.price.nanos()).sum();
        let bound = plan.totals.lower_bound.unwrap().nanos();
        assert!(bound <= optimum, "seed {seed}: {bound} is above the optimum {optimum}");
        assert!(plan.unschedulable.is_empty(), "seed {seed}: {:?}", plan.unschedulable);
        assert!(cost >= optimum, "seed {seed}: {cost} is below the optimum {optimum}");
        if cost * 100 > optimum * 101 {
            far.push((seed, cost * 1000 / optimum));
        }
    }
    assert!(far.len() + NEAR_MIN <= 100, "by seed, in thousandths of the optimum: {far:?}");
}
