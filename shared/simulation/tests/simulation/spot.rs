//! Spot that remembers: over offerings of which some are interrupted more often than others, which
//! the planner does not know.

#![expect(clippy::print_stdout, reason = "the figures of docs/spot.md are what it prints")]

use std::collections::BTreeMap;

use domain::instance_type::{CapacityType, InstanceType, InstanceTypes, Offering};
use domain::label;
use domain::money::UsdPerHour;
use domain::pod::ObjectKey;
use domain::resource::{CPU, MEMORY, PODS, Resources};
use domain::settings::Settings;
use domain::workload::WorkloadKind;
use domain::{SignedDuration, Text};
use manifests::Object;
use simulation::api::WorkloadId;
use simulation::report::{Happening, Report};
use simulation::scenario::{
    Action, CatalogChoice, InstanceFilter, Scenario, SpotInterruptions, Step,
};
use simulation::seed::Seed;

/// Hours after which interruptions are held against those that nobody remembers.
const LEARNED_AFTER: SignedDuration = SignedDuration::from_hours(72);
/// What an interruption costs, in hours of its node's price.
const COST_HOURS: u32 = 4;
const GIB: i64 = 1 << 30;

/// What scenarios here begin with, but for their duration.
const HEAD: &str = r"apiVersion: outrigger.dev/v1alpha1
kind: Scenario
metadata: {name: spot}
spec:
  duration: DURATION
  region: us-east-1
  boot: 50s
  podStop: 10s
  provisioning: poll
  timeline:
  - at: 0s
    apply:
    - apiVersion: karpenter.k8s.aws/v1
      kind: EC2NodeClass
      metadata: {name: default}
      spec:
        amiSelectorTerms: [{alias: al2023@latest}]
        role: KarpenterNodeRole-demo
        subnetSelectorTerms: [{tags: {karpenter.sh/discovery: demo}}]
        securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: demo}}]
";

/// A Deployment, on spot.
const WEB: &str = r"    - apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {name: default, annotations: {ANNOTATION}}
      spec:
        template:
          spec:
            nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
            requirements:
            - {key: karpenter.sh/capacity-type, operator: In, values: [spot]}
        disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 5m}
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        replicas: 1
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}}
          spec:
            containers:
            - {name: web, image: web, resources: {requests: {cpu: 1500m, memory: 2Gi}}}
";

fn beginning(duration: &str) -> String {
    HEAD.replace("DURATION", duration)
}

/// A spot offering, and how often EC2 takes its instances back an hour.
struct Spot {
    instance_type: Text,
    zone: Text,
    price: UsdPerHour,
    rate: f64,
}

/// Types of two cores, so that each pod of the scenario needs a node.
fn sold(offerings: &[Spot]) -> InstanceTypes {
    let mut types: Vec<InstanceType> = Vec::new();
    for Spot { instance_type: name, zone, price, .. } in offerings {
        let offering = Offering {
            zone: zone.clone(),
            capacity_type: CapacityType::Spot,
            price: *price,
            available: true,
            reservation: None,
        };
        if let Some(known) = types.iter_mut().find(|known| known.name == *name) {
            known.offerings.push(offering);
            continue;
        }
        let resources = Resources::new().with(CPU, 2000).with(MEMORY, 8 * GIB).with(PODS, 29);
        let labels =
            [(label::INSTANCE_TYPE, &**name), (label::ARCH, "amd64"), (label::OS, "linux")];
        types.push(InstanceType {
            name: name.clone(),
            labels: labels.map(|(key, value)| (key.into(), vec![value.into()])).into(),
            capacity: resources.clone(),
            allocatable: resources,
            offerings: vec![offering],
        });
    }
    InstanceTypes {
        region: Some("us-east-1".into()),
        default: types.into_iter().collect(),
        ..InstanceTypes::default()
    }
}

/// One Deployment on spot nodes; `scales` are replicas from a minute on.
fn scenario(
    offerings: &[Spot],
    annotation: &str,
    duration: SignedDuration,
    scales: impl IntoIterator<Item = (i64, u32)>,
) -> Scenario {
    let text = beginning("1h") + &WEB.replace("ANNOTATION", annotation);
    let mut scenario = Scenario::read("spot.yaml", &text).unwrap();
    scenario.duration = duration;
    scenario.catalog = CatalogChoice::Given(Box::new(sold(offerings)));
    let rate = |own: &Spot| SpotInterruptions {
        filter: InstanceFilter {
            instance_type: Some(own.instance_type.clone()),
            zone: Some(own.zone.clone()),
            ..InstanceFilter::default()
        },
        per_node_hour: own.rate,
    };
    scenario.spot_interruptions = offerings.iter().map(rate).collect();
    let web = WorkloadId { kind: WorkloadKind::Deployment, key: ObjectKey::new("default", "web") };
    scenario.timeline.extend(scales.into_iter().map(|(minute, replicas)| Step {
        at: SignedDuration::from_mins(minute),
        action: Action::Scale { workload: web.clone(), replicas },
    }));
    scenario
}

fn run(scenario: Scenario) -> Report {
    let report = simulation::run(scenario, &Settings::default()).unwrap();
    assert!(report.violations.is_empty(), "{:?}", report.violations);
    report
}

/// Six families in three zones; prices differ between zones by up to 3 % either way.
fn world(seed: u64, rate: impl Fn(bool) -> f64) -> Vec<Spot> {
    let families =
        [("m5a", 400), ("m6a", 404), ("m5", 412), ("m6i", 420), ("m7i", 432), ("m7a", 448)];
    let offering = |family: &str, share: i64, zone: &str| {
        let mut draw = Seed::new(seed).draw("price", &format!("{family} {zone}"));
        let thousandths = 970 + i64::try_from(draw.below(61)).unwrap();
        Spot {
            instance_type: format!("{family}.large").into(),
            zone: format!("us-east-1{zone}").into(),
            price: UsdPerHour::from_nanos(share * thousandths * 100),
            rate: rate(draw.happens(500)),
        }
    };
    let zones = |(family, share)| ["a", "b", "c"].map(|zone| offering(family, share, zone));
    families.into_iter().flat_map(zones).collect()
}

#[derive(Clone, Copy, Default)]
struct Figures {
    late: u32,
    hours: f64,
    with_interruptions: f64,
}

/// Days of six replicas from 9 to 21 o'clock, and of three by night.
fn figures(days: u32, offerings: &[Spot], annotation: &str, seed: u64) -> Figures {
    let scales = (0..days).flat_map(|day| {
        let minute = i64::from(day) * 24 * 60 + 1;
        [(minute, 6), (minute + 12 * 60, 3)]
    });
    let duration = SignedDuration::from_hours(24 * i64::from(days));
    let mut scenario = scenario(offerings, annotation, duration, scales);
    scenario.seed = seed;
    let report = run(scenario);
    let from = report.started + LEARNED_AFTER;
    let late = report.timeline.iter().filter(|entry| {
        entry.at >= from && matches!(entry.what, Happening::InterruptionWarning { .. })
    });
    let hours = report.cost.total_usd();
    let lost = report.interruptions.hourly.to_f64() * f64::from(COST_HOURS);
    if !annotation.is_empty() {
        let stated = report.interruptions.usd();
        assert!((stated - lost).abs() < 1e-6, "the report says ${stated}, and it is ${lost}");
    }
    Figures { late: u32::try_from(late.count()).unwrap(), hours, with_interruptions: hours + lost }
}

/// The first so many worlds, or as many as `OUTRIGGER_SPOT_WORLDS` says.
fn worlds(by_default: u64) -> std::ops::Range<u64> {
    let asked = std::env::var("OUTRIGGER_SPOT_WORLDS").ok();
    0..asked.map_or(by_default, |own| own.parse().unwrap())
}

/// What it came to without and with memory, over some worlds.
fn compared(days: u32, seeds: std::ops::Range<u64>, rate: impl Fn(bool) -> f64) -> [Figures; 2] {
    let mut sums = [Figures::default(); 2];
    for seed in seeds {
        let offerings = world(seed, &rate);
        let remembers = format!("outrigger.dev/spot-interruption-cost: {COST_HOURS}h");
        let both = ["", &remembers].map(|own| figures(days, &offerings, own, seed));
        for (sum, own) in sums.iter_mut().zip(both) {
            println!(
                "seed {seed}: {} interruptions after three days, hours ${:.3}, with interruptions \
                 ${:.3}",
                own.late, own.hours, own.with_interruptions
            );
            sum.late += own.late;
            sum.hours += own.hours;
            sum.with_interruptions += own.with_interruptions;
        }
    }
    sums
}

/// Two workloads, one of which loses ten dollars worth of work a pod when it is interrupted.
const DEAR: &str = r"    - apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {name: default}
      spec:
        template:
          spec:
            nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
            requirements:
            - {key: karpenter.sh/capacity-type, operator: In, values: [CAPACITY]}
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: web}
      spec:
        replicas: 6
        selector: {matchLabels: {app: web}}
        template:
          metadata: {labels: {app: web}, annotations: {outrigger.dev/spot-interruption-cost: 15m}}
          spec:
            containers:
            - {name: web, image: web, resources: {requests: {cpu: 1500m, memory: 2Gi}}}
    - apiVersion: apps/v1
      kind: Deployment
      metadata: {name: train}
      spec:
        replicas: 3
        selector: {matchLabels: {app: train}}
        template:
          metadata: {labels: {app: train}, annotations: {outrigger.dev/spot-interruption-cost: COST}}
          spec:
            containers:
            - {name: train, image: train, resources: {requests: {cpu: 1500m, memory: 2Gi}}}
";

/// Hours, and what interruptions cost, in dollars; and how often pods of `train` lost their node.
fn dear(capacity: &str, seed: u64) -> (f64, usize) {
    // What replaces a node of spot at three cents is on demand at nine.
    let spot = |zone: &str, nanos| Spot {
        instance_type: "m5.large".into(),
        zone: zone.into(),
        price: UsdPerHour::from_nanos(nanos),
        rate: 0.05,
    };
    let offerings = [spot("us-east-1a", 30_000_000), spot("us-east-1b", 30_500_000)];
    let text = beginning("72h") + &DEAR.replace("CAPACITY", capacity).replace("COST", "$10");
    let mut scenario = Scenario::read("dear.yaml", &text).unwrap();
    let mut sold = sold(&offerings);
    let mut types = sold.default.to_vec();
    types[0].offerings.extend(["us-east-1a", "us-east-1b"].map(|zone| Offering {
        zone: zone.into(),
        capacity_type: CapacityType::OnDemand,
        price: UsdPerHour::from_nanos(90_000_000),
        available: true,
        reservation: None,
    }));
    sold.default = types.into_iter().collect();
    scenario.catalog = CatalogChoice::Given(Box::new(sold));
    let rate = |own: &Spot| SpotInterruptions {
        filter: InstanceFilter {
            instance_type: Some(own.instance_type.clone()),
            zone: Some(own.zone.clone()),
            capacity_type: Some(CapacityType::Spot),
            ..InstanceFilter::default()
        },
        per_node_hour: own.rate,
    };
    scenario.spot_interruptions = offerings.iter().map(rate).collect();
    scenario.seed = seed;
    let report = run(scenario);
    let (mut trains, mut hit) = (BTreeMap::new(), 0);
    for entry in &report.timeline {
        match &entry.what {
            Happening::PodsBound { node, pods } => {
                let own = pods.iter().filter(|pod| pod.name.starts_with("train")).count();
                *trains.entry(node.clone()).or_insert(0) += own;
            }
            Happening::InterruptionWarning { node, .. } => hit += trains.get(node).unwrap_or(&0),
            _ => {}
        }
    }
    let all = report.cost.total_usd() + report.interruptions.usd();
    (all, hit)
}

#[test]
fn on_demand_for_dear_pods_and_spot_for_the_rest_costs_less_than_either_for_all() {
    let sums = ["spot", "on-demand", "spot, on-demand"].map(|capacity| {
        let all = (0..4).map(|seed| dear(capacity, seed));
        all.fold((0.0, 0), |sum: (f64, usize), own| (sum.0 + own.0, sum.1 + own.1))
    });
    let [spot, on_demand, both] = sums;
    println!("spot {spot:?}, on demand {on_demand:?}, both {both:?}");
    assert!(spot.1 > 0, "{spot:?}");
    assert_eq!(both.1, 0, "no dear pod loses its node");
    assert!(both.0 < spot.0 * 0.9 && both.0 < on_demand.0 * 0.9, "{spot:?} {on_demand:?} {both:?}");
}

/// Ten replicas, scaled to twelve and back; then EC2 takes back every instance of one offering. The
/// most replicas, of which each has a node, that this hits.
fn hit_at_once(annotation: &str, seed: u64) -> usize {
    let families = ["m5a", "m6a", "m5", "m6i"];
    let offering = |(index, family): (i64, &str), zone: &str| Spot {
        instance_type: format!("{family}.large").into(),
        zone: format!("us-east-1{zone}").into(),
        price: UsdPerHour::from_nanos(30_000_000 + 300_000 * index),
        rate: 0.0,
    };
    let families = (0..).zip(families);
    let offerings: Vec<Spot> =
        families.flat_map(|own| ["a", "b"].map(|zone| offering(own, zone))).collect();
    let hours = SignedDuration::from_hours(3);
    let build = |(instance_type, zone): (Text, Text)| {
        let scales = [(1, 10), (60, 12), (120, 10)];
        let mut own = scenario(&offerings, "", hours, scales);
        own.seed = seed;
        let filter = InstanceFilter {
            instance_type: Some(instance_type),
            zone: Some(zone),
            ..InstanceFilter::default()
        };
        let action = Action::Interrupt { filter, count: usize::MAX };
        own.timeline.push(Step { at: hours - SignedDuration::from_mins(10), action });
        for object in own.timeline.iter_mut().filter_map(|step| match &mut step.action {
            Action::Apply(objects) => Some(objects),
            _ => None,
        }) {
            annotate(object, annotation);
        }
        own
    };
    let hit = |own: &Spot| {
        let report = run(build((own.instance_type.clone(), own.zone.clone())));
        let warned = |what: &Happening| matches!(what, Happening::InterruptionWarning { .. });
        report.timeline.iter().filter(|entry| warned(&entry.what)).count()
    };
    offerings.iter().map(hit).max().unwrap()
}

/// NodePools among the objects ask for a share.
fn annotate(objects: &mut [Object], share: &str) {
    for object in objects {
        if let Object::NodePool(pool) = object
            && !share.is_empty()
        {
            pool.annotations.insert(label::SPOT_OFFERING_SHARE.into(), share.into());
        }
    }
}

#[test]
fn when_one_offering_is_interrupted_at_once_at_most_the_share_of_the_replicas_goes() {
    for seed in 0..3 {
        let (all, share) = (hit_at_once("", seed), hit_at_once("30%", seed));
        println!("seed {seed}: {all} of 10 without, {share} with a share of 30 %");
        assert!(all > 3 && (1..=3).contains(&share), "{all} {share}");
    }
}

#[test]
fn an_offering_that_is_taken_back_every_ten_minutes_is_left_after_three_notices() {
    let offerings = [("m5a.large", 40_000_000, 6.0), ("m5.large", 44_000_000, 0.0)];
    let offerings = offerings.map(|(name, nanos, rate)| Spot {
        instance_type: name.into(),
        zone: "us-east-1a".into(),
        price: UsdPerHour::from_nanos(nanos),
        rate,
    });
    // A replica more every eight minutes: each needs a node of its own.
    let hours = |annotation: &str| {
        let scales = (1..15).map(|step| (8 * i64::from(step), 1 + step));
        let mut scenario = scenario(&offerings, annotation, SignedDuration::from_hours(2), scales);
        scenario.seed = 3;
        run(scenario)
    };
    let without = hours("");
    let with = hours("outrigger.dev/spot-interruption-cost: 15m");
    let counts = [&without, &with].map(|report| report.interruptions.count);
    assert!(counts[0] >= 10, "{counts:?}");
    assert!(counts[1] < 5, "{counts:?}");
    let third = with
        .timeline
        .iter()
        .filter(|entry| matches!(entry.what, Happening::InterruptionWarning { .. }));
    let Some(third) = third.map(|entry| entry.at).nth(2) else { return };
    let is_bad = |what: &Happening| matches!(what, Happening::Launched { instance_type, .. } if &**instance_type == "m5a.large");
    let after = third + SignedDuration::from_secs(30);
    let again = with.timeline.iter().find(|entry| entry.at > after && is_bad(&entry.what));
    assert!(again.is_none(), "{again:?}");
}

#[test]
fn a_week_over_offerings_that_differ_tenfold_sees_far_fewer_interruptions_and_costs_less() {
    let [without, with] = compared(7, worlds(8), |is_bad| if is_bad { 0.3 } else { 0.03 });
    let change = |after: f64, before: f64| (after / before - 1.0) * 100.0;
    println!(
        "interruptions {:.1} %, hours {:.2} %, with interruptions {:.1} %",
        change(f64::from(with.late), f64::from(without.late)),
        change(with.hours, without.hours),
        change(with.with_interruptions, without.with_interruptions)
    );
    // Eight worlds are few: over the first 24 it is 64 %.
    assert!(with.late * 2 <= without.late, "{} of {}", with.late, without.late);
    assert!(with.hours <= without.hours * 1.02);
    assert!(with.with_interruptions <= without.with_interruptions * 0.85);
}

#[test]
fn where_all_are_taken_back_alike_remembering_changes_next_to_nothing() {
    // Of few worlds, chance alone makes a difference of some thousandths.
    let [without, with] = compared(7, worlds(8), |_| 0.1);
    let change = with.hours / without.hours - 1.0;
    println!("hours: {:.3} %", change * 100.0);
    assert!(change.abs() <= 0.002, "{:.3} %", change * 100.0);
}
