//! Made-up workloads to measure planning with: the same for the same kind, number of pods and seed.
//!
//! Mixes as in Karpenter's own benchmark (`diverse`) and as clusters full of small services have
//! them (`micro`).

use std::f64::consts::TAU;
use std::sync::Arc;

use catalog::{CatalogError, CatalogOptions};
use domain::instance_type::InstanceTypes;
use domain::label::{ARCH, CAPACITY_TYPE, HOSTNAME, OS, ZONE};
use domain::pod::{
    NodeInclusionPolicy, ObjectKey, Pod, PodAffinityTerm, PodSpec, PreferredPodTerm,
    TopologySpreadConstraint, WhenUnsatisfiable,
};
use domain::requirement::Requirement;
use domain::selector::LabelSelector;
use domain::snapshot::{ClusterObjects, ClusterSnapshot};
use domain::{Text, Timestamp};
use rustc_hash::FxHashMap;

use crate::builder::{self, PodBuilder};
use crate::conformance::{ScenarioError, named_catalog};

/// Which pods wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workload {
    /// Hundreds of services of a few pods each: log-normal requests, a third spread over zones
    /// where that can be had, some over hosts, some for one architecture or one way of buying only.
    Micro,
    /// A fifth each: plain, spread over zones, spread over hosts, together in a zone, each on a
    /// host of its own; every pod of a size of its own.
    Diverse,
}

/// Which instance types there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Market {
    /// 400 made-up types.
    Fake400,
    /// The embedded catalogue of EC2.
    Ec2,
}

/// Why there is nothing to measure with.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The made-up catalogue cannot be read.
    #[error("the made-up catalogue cannot be read")]
    Fake(#[from] ScenarioError),
    /// The embedded catalogue cannot be read.
    #[error("the embedded catalogue cannot be read")]
    Embedded(#[from] CatalogError),
    /// The moment is none.
    #[error("the moment of the snapshot is none")]
    Moment(#[from] jiff::Error),
}

impl Market {
    /// Its instance types.
    pub fn instance_types(self) -> Result<InstanceTypes, WorkloadError> {
        match self {
            Self::Fake400 => Ok(named_catalog("fake-400")?),
            Self::Ec2 => {
                let class = testkit::node_class("default");
                Ok(catalog::embedded()?.instance_types(&[class], &CatalogOptions::default()))
            }
        }
    }
}

/// A cluster without nodes in which so many pods of the workload wait: one NodePool (spot and on
/// demand, both architectures, Linux) and three DaemonSets.
pub fn snapshot(
    workload: Workload,
    market: Market,
    pods: usize,
    seed: u64,
) -> Result<ClusterSnapshot, WorkloadError> {
    let now: Timestamp = "2026-01-01T12:00:00Z".parse()?;
    let values = |key: &str, values: &[&str]| {
        Requirement::is_in(key, values.iter().map(|value| Text::from(*value)))
    };
    let pool = builder::node_pool("default")
        .require(values(CAPACITY_TYPE, &["spot", "on-demand"]))
        .require(values(ARCH, &["amd64", "arm64"]))
        .require(values(OS, &["linux"]))
        .build();
    let mut random = Random(seed);
    let mut made = Made { pods: Vec::with_capacity(pods), specs: FxHashMap::default() };
    match workload {
        Workload::Micro => micro(&mut random, &mut made, pods),
        Workload::Diverse => diverse(&mut random, &mut made, pods),
    }
    Ok(ClusterSnapshot {
        seed,
        objects: ClusterObjects {
            node_pools: vec![pool],
            node_classes: vec![testkit::node_class("default")],
            daemon_sets: vec![
                builder::daemon_set("aws-node", 50, 64),
                builder::daemon_set("kube-proxy", 100, 64),
                builder::daemon_set("node-agent", 100, 128),
            ],
            pods: made.pods.into(),
            ..ClusterObjects::default()
        },
        instance_types: market.instance_types()?,
        ..ClusterSnapshot::empty(now)
    })
}

/// Pods made so far; equal specifications are shared, as reading manifests shares them.
struct Made {
    pods: Vec<Pod>,
    specs: FxHashMap<PodSpec, Arc<PodSpec>>,
}

impl Made {
    fn add(&mut self, like: PodBuilder, name: &str, replicas: usize) {
        let mut pod = like.build();
        pod.spec = self.specs.entry((*pod.spec).clone()).or_insert(pod.spec).clone();
        self.pods.extend((0..replicas).map(|replica| Pod {
            key: ObjectKey::new("default", format!("{name}-{replica}")),
            ..pod.clone()
        }));
    }
}

const CPUS: [i64; 16] =
    [50, 100, 150, 200, 250, 300, 400, 500, 750, 1000, 1500, 2000, 3000, 4000, 6000, 8000];
const MEMORIES: [i64; 18] = [
    64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384,
    24576, 32768,
];

fn micro(random: &mut Random, made: &mut Made, pods: usize) {
    let (mut left, mut number) = (pods, 0);
    while left > 0 {
        let replicas = random.replicas().min(left);
        let app = format!("svc-{number:04}");
        let cpu = nearest(random.log_normal(5.6, 0.9), &CPUS);
        let per_cpu = f64::from(random.pick(&[1_u8, 2, 2, 4, 4, 8]));
        let wanted = as_f64(cpu) * per_cpu * random.log_normal(0.0, 0.35);
        let pod =
            builder::pod(app.as_str()).label("app", &app).requests(cpu, nearest(wanted, &MEMORIES));
        let pod = pod.with_spec(|spec| micro_rules(random, spec, &app, replicas));
        made.add(pod, &app, replicas);
        left -= replicas;
        number += 1;
    }
}

fn micro_rules(random: &mut Random, spec: &mut PodSpec, app: &str, replicas: usize) {
    let roll = random.unit();
    if roll < 0.33 {
        spec.topology_spread.push(spread(ZONE, "app", app, WhenUnsatisfiable::ScheduleAnyway));
    } else if roll < 0.43 {
        let key = if replicas <= 6 { HOSTNAME } else { ZONE };
        spec.topology_spread.push(spread(key, "app", app, WhenUnsatisfiable::DoNotSchedule));
    } else if roll < 0.50 {
        let term = term(HOSTNAME, "app", app);
        spec.preferred_pod_anti_affinity.push(PreferredPodTerm { weight: 100, term });
    }
    if random.unit() < 0.08 {
        spec.node_selector.push((ARCH.into(), "arm64".into()));
    } else if random.unit() < 0.5 {
        spec.node_selector.push((ARCH.into(), "amd64".into()));
    }
    if random.unit() < 0.1 {
        let way = random.pick(&["spot", "on-demand"]);
        spec.node_selector.push((CAPACITY_TYPE.into(), way.into()));
    }
    spec.node_selector.sort();
}

fn diverse(random: &mut Random, made: &mut Made, pods: usize) {
    const LETTERS: [&str; 7] = ["a", "b", "c", "d", "e", "f", "g"];
    for number in 0..pods {
        // The rest of a division by five is plain.
        let kind = number.checked_div(pods / 5).filter(|kind| *kind < 5).unwrap_or(0);
        let own = random.pick(&LETTERS);
        let (key, value) = match kind {
            3 => ("my-affinity", own),
            4 => ("app", "nginx"),
            _ => ("my-label", own),
        };
        let cpu = random.pick(&[100, 250, 500, 1000, 1500]);
        let memory = random.pick(&[100, 256, 512, 1024, 2048, 4096]);
        let name = format!("pod-{number:05}");
        let pod = builder::pod(name.as_str()).label(key, value).requests(cpu, memory);
        let other = random.pick(&LETTERS);
        let hard = WhenUnsatisfiable::DoNotSchedule;
        let pod = pod.with_spec(|spec| match kind {
            1 => spec.topology_spread.push(spread(ZONE, "my-label", other, hard)),
            2 => spec.topology_spread.push(spread(HOSTNAME, "my-label", other, hard)),
            3 => spec.pod_affinity.push(term(ZONE, key, value)),
            4 => spec.pod_anti_affinity.push(term(HOSTNAME, key, value)),
            _ => {}
        });
        made.add(pod, &name, 1);
    }
}

fn spread(
    topology_key: &str,
    key: &str,
    value: &str,
    when_unsatisfiable: WhenUnsatisfiable,
) -> TopologySpreadConstraint {
    TopologySpreadConstraint {
        max_skew: 1,
        topology_key: topology_key.into(),
        when_unsatisfiable,
        selector: Some(LabelSelector::of_labels([(key, value)])),
        min_domains: None,
        node_affinity_policy: NodeInclusionPolicy::Honor,
        node_taints_policy: NodeInclusionPolicy::Ignore,
    }
}

fn term(topology_key: &str, key: &str, value: &str) -> PodAffinityTerm {
    PodAffinityTerm {
        topology_key: topology_key.into(),
        selector: Some(LabelSelector::of_labels([(key, value)])),
        namespaces: vec!["default".into()],
        namespace_selector: None,
    }
}

/// The step of a grid that is nearest.
fn nearest(wanted: f64, grid: &[i64]) -> i64 {
    let distance = |step: i64| (as_f64(step) - wanted).abs();
    let best = grid.iter().copied().min_by(|a, b| distance(*a).total_cmp(&distance(*b)));
    best.unwrap_or(0)
}

#[expect(clippy::cast_precision_loss, reason = "steps of a grid are small")]
fn as_f64(number: i64) -> f64 {
    number as f64
}

/// Random numbers that are the same everywhere (SplitMix64, public domain by Sebastiano Vigna).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    /// From zero to below one.
    fn unit(&mut self) -> f64 {
        let top = u32::try_from(self.next() >> 32).unwrap_or(0);
        f64::from(top) / 4_294_967_296.0
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        let count = u64::try_from(choices.len()).unwrap_or(1);
        choices[usize::try_from(self.next() % count).unwrap_or(0)]
    }

    /// Box and Muller's transform.
    fn log_normal(&mut self, mean: f64, deviation: f64) -> f64 {
        let (a, b) = (1.0 - self.unit(), self.unit());
        let normal = (-2.0 * a.ln()).sqrt() * (TAU * b).cos();
        normal.mul_add(deviation, mean).exp()
    }

    /// Replicas of a service: at least one, with a long tail.
    fn replicas(&mut self) -> usize {
        let drawn = self.log_normal(1.6, 1.1);
        (1..10_000_u32).take_while(|count| f64::from(*count) <= drawn).count().max(1)
    }
}
