//! A day in the life of a cluster of about a hundred nodes, drawn from a seed: workloads of all
//! sizes come and go, spot instances are taken back, capacity runs out, and calls, processes and
//! events fail.
//!
//! The day has two halves that differ: until 22 o'clock anything may happen; the last two hours are
//! without events, so that the final cost can be compared with what the pods need. A morning is the
//! same, but shorter.

use std::fmt::Write as _;

use catalog::CatalogOptions;
use domain::instance_type::InstanceType;
use domain::node_pool::ConsolidationPolicy;
use domain::settings::FeatureGates;

use crate::scenario::{CatalogChoice, Scenario, ScenarioError};
use crate::seed::{Draw, Seed};

/// Minutes with events, and minutes without events after them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    busy: u64,
    idle: u64,
}

/// A day and a night.
pub const DAY: Length = Length { busy: 22 * 60, idle: 2 * 60 };
/// So short that it can be run with every change; too short for costs to settle.
pub const MORNING: Length = Length { busy: 30, idle: 20 };

const DEPLOYMENTS: u64 = 14;

/// What a day's nodes cost at most in the end, in percent of the least that their pods need.
const PERCENT_MAX: u32 = 110;

/// What a day costs at most, in percent of the least that its pods need from hour to hour.
const COST_PERCENT_MAX: u32 = 112;

const REGION: &str = "us-east-1";
/// As many as a pool of spot nodes should have to choose from.
const FAMILIES: [&str; 18] = [
    "c5", "c5a", "c6a", "c6i", "c7a", "c7i", "m5", "m5a", "m6a", "m6i", "m7a", "m7i", "r5", "r5a",
    "r6a", "r6i", "r7a", "r7i",
];

/// The scenario of a seed, with a consolidation policy for its NodePool and the feature gates of
/// the run.
///
/// EC2 sells only the families that the NodePool allows: others could not be launched, and would
/// only make each listing of the catalogue slower.
pub fn day(
    seed: u64,
    length: Length,
    policy: ConsolidationPolicy,
    gates: FeatureGates,
) -> Result<Scenario, ScenarioError> {
    let text = text(seed, length, policy, gates);
    let scenario = Scenario::read(&format!("day-{seed}.yaml"), &text)?;
    let mut sold = catalog::embedded()?.instance_types(&[], &CatalogOptions::of(REGION));
    let is_of = |own: &InstanceType, family: &&str| {
        own.name.split('.').next().is_some_and(|own| own == *family)
    };
    let allowed = |own: &&InstanceType| FAMILIES.iter().any(|family| is_of(own, family));
    sold.default = sold.default.iter().filter(allowed).cloned().collect();
    Ok(Scenario { catalog: CatalogChoice::Given(Box::new(sold)), ..scenario })
}

/// The scenario of a seed, as it is written.
pub fn text(seed: u64, length: Length, policy: ConsolidationPolicy, gates: FeatureGates) -> String {
    let minutes = length.busy + length.idle;
    let mut draw = Seed::new(seed).draw("day", "");
    let workloads: Vec<Workload> =
        (0..DEPLOYMENTS).map(|index| Workload::drawn(index, &mut draw)).collect();
    let objects: Vec<String> = workloads.iter().map(Workload::objects).collect();
    let faults = faults(&mut draw);
    let pools = pools(&mut draw, policy);
    let mut text = format!(
        "apiVersion: outrigger.dev/v1alpha1
kind: Scenario
metadata: {{name: day-{seed}}}
spec:
  about: A day drawn from seed {seed}.
  start: 2026-01-05T00:00:00Z
  duration: {minutes}m
  seed: {seed}
  region: {REGION}
  faults: {faults}
  timeline:
  - apply:
{pools}{}",
        objects.concat(),
    );
    text.push_str(&events(&workloads, length, &mut draw));
    text.push_str(
        "  expect:
  - pods: {pending: 0}
  - unplacedSeconds: {max: 600}
  - withoutHomeSeconds: {max: 300}
",
    );
    // The other policies leave moves that save, on purpose; so does a cluster whose spot nodes may
    // only go whole.
    let saves_all =
        policy == ConsolidationPolicy::WhenEmptyOrUnderutilized && gates.spot_to_spot_consolidation;
    if length == DAY {
        let most = if saves_all { format!(", max: {PERCENT_MAX}") } else { String::new() };
        let _infallible = writeln!(text, "  - percentOfBound: {{min: 100{most}}}");
        let most =
            if saves_all { format!("max: {COST_PERCENT_MAX}") } else { "min: 100".to_owned() };
        let _infallible = writeln!(text, "  - costPercentOfBound: {{{most}}}");
    }
    text
}

/// What goes wrong on a day; on some days a kind of fault does not happen at all.
fn faults(draw: &mut Draw) -> String {
    let mut share = |most: u64| if draw.happens(300) { 0 } else { draw.below(most + 1) };
    let (throttled, lost, failed) = (share(10), share(50), share(50));
    let (crashes, doubled, late) = (share(3), share(50), share(50));
    let millis = 5 + share(95);
    format!(
        "{{throttledPerMille: {throttled}, answersLostPerMille: {lost}, launchesFailedPerMille: {failed}, \
         crashesPerMille: {crashes}, eventsDoubledPerMille: {doubled}, eventsLatePerMille: {late}, \
         callMillisMax: {millis}}}"
    )
}

/// NodePool, node class and DaemonSet.
fn pools(draw: &mut Draw, policy: ConsolidationPolicy) -> String {
    let families = FAMILIES.join(", ");
    let after = ["0s", "30s", "1m", "5m"][index(draw, 4)];
    let budget = ["\"10%\"", "\"5%\"", "\"3\""][index(draw, 3)];
    let policy = policy.as_str();
    format!(
        "    - apiVersion: karpenter.k8s.aws/v1
      kind: EC2NodeClass
      metadata: {{name: default}}
      spec:
        amiSelectorTerms: [{{alias: al2023@latest}}]
        role: nodes
        subnetSelectorTerms: [{{tags: {{a: b}}}}]
        securityGroupSelectorTerms: [{{tags: {{a: b}}}}]
    - apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {{name: default}}
      spec:
        template:
          spec:
            nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}}
            expireAfter: Never
            requirements:
            - {{key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}}
            - {{key: karpenter.k8s.aws/instance-family, operator: In, values: [{families}]}}
            - {{key: karpenter.k8s.aws/instance-size, operator: In, values: [large, xlarge]}}
            - {{key: topology.kubernetes.io/zone, operator: In, values: [us-east-1a, us-east-1b, us-east-1c]}}
        disruption: {{consolidateAfter: {after}, consolidationPolicy: {policy}, budgets: [{{nodes: {budget}}}]}}
    - apiVersion: apps/v1
      kind: DaemonSet
      metadata: {{name: agent}}
      spec:
        selector: {{matchLabels: {{app: agent}}}}
        template:
          metadata: {{labels: {{app: agent}}}}
          spec:
            tolerations: [{{operator: Exists}}]
            containers: [{{name: agent, image: agent, resources: {{requests: {{cpu: 50m, memory: 64Mi}}}}}}]
"
    )
}

/// A Deployment, and how many replicas it has at rest.
struct Workload {
    name: String,
    replicas: u64,
    cpu: u64,
    memory: u64,
    spreads: bool,
    budget: Option<String>,
}

impl Workload {
    fn drawn(number: u64, draw: &mut Draw) -> Self {
        let cpu = [100, 250, 400, 500, 750, 1000, 1500][index(draw, 7)];
        let per_core = [1024, 2048, 4096, 7000][index(draw, 4)];
        let replicas = (20 + draw.below(30)) * 500 / cpu.max(250);
        let budget = draw.happens(600).then(|| match draw.below(3) {
            0 => "maxUnavailable: 10%".to_owned(),
            1 => format!("maxUnavailable: {}", 1 + replicas / 8),
            _ => "minAvailable: 80%".to_owned(),
        });
        Self {
            name: format!("web-{number}"),
            replicas,
            cpu,
            memory: (cpu * per_core / 1000).max(64),
            spreads: draw.happens(300),
            budget,
        }
    }

    fn objects(&self) -> String {
        let Self { name, replicas, cpu, memory, spreads, budget } = self;
        let spread = if *spreads {
            format!(
                "
            topologySpreadConstraints: [{{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, \
                 whenUnsatisfiable: DoNotSchedule, labelSelector: {{matchLabels: {{app: {name}}}}}}}]"
            )
        } else {
            String::new()
        };
        let guard = budget.as_ref().map_or_else(String::new, |budget| {
            format!(
                "    - apiVersion: policy/v1
      kind: PodDisruptionBudget
      metadata: {{name: {name}}}
      spec: {{{budget}, selector: {{matchLabels: {{app: {name}}}}}}}
"
            )
        });
        format!(
            "    - apiVersion: apps/v1
      kind: Deployment
      metadata: {{name: {name}}}
      spec:
        replicas: {replicas}
        selector: {{matchLabels: {{app: {name}}}}}
        template:
          metadata: {{labels: {{app: {name}}}}}
          spec:{spread}
            containers: [{{name: web, image: web, resources: {{requests: {{cpu: {cpu}m, memory: {memory}Mi}}}}}}]
{guard}"
        )
    }
}

/// What happens while it is busy, by time.
fn events(workloads: &[Workload], length: Length, draw: &mut Draw) -> String {
    let mut events: Vec<(u64, String)> = Vec::new();
    let mut every = |minutes: u64, draw: &mut Draw, event: &mut dyn FnMut(&mut Draw) -> String| {
        let mut at = 15 + draw.below(minutes);
        while at < length.busy {
            let event = event(draw);
            events.push((at, event));
            at += 1 + draw.below(2 * minutes);
        }
    };
    every(25, draw, &mut |draw| {
        let chosen = &workloads[index(draw, workloads.len() as u64)];
        let replicas = chosen.replicas * (20 + draw.below(150)) / 100;
        format!("scale: {{kind: Deployment, name: {}, replicas: {replicas}}}", chosen.name)
    });
    every(60, draw, &mut |draw| {
        format!("interrupt: {{capacityType: spot, count: {}}}", 1 + draw.below(3))
    });
    every(150, draw, &mut |draw| {
        let (cheapest, lasts) = (2 + draw.below(8), 5 + draw.below(55));
        format!("outOfCapacity: {{capacityType: spot, cheapest: {cheapest}, for: {lasts}m}}")
    });
    events.sort();
    let mut text = String::new();
    for (at, event) in events {
        let _infallible = writeln!(text, "  - at: {at}m\n    {event}");
    }
    text
}

fn index(draw: &mut Draw, bound: u64) -> usize {
    usize::try_from(draw.below(bound)).unwrap_or_default()
}
