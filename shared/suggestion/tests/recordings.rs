//! What recordings speak for: peaks that come again, budgets that never let a pod go, requests that
//! nobody used.

#![expect(clippy::unwrap_used, reason = "what cannot be read ends the test")]

use std::fmt::Write as _;

use domain::resource::{CPU, MEMORY};
use jiff::tz::TimeZone;
use recording::Recording;
use serde_json::json;
use suggestion::{
    Manifests, Peak, PeakTerms, UnusedRequests, budgets, measured_pods, peaks, schedules,
    unused_requests,
};

const MINUTE: i64 = 60_000;
const DAY: i64 = 1440 * MINUTE;

/// Pods of Deployment `shop/web`, on a recording that starts on Monday, 5 January 2026, 00:00 UTC.
struct Load {
    lines: String,
    pods: usize,
    days: i64,
}

impl Load {
    fn of(days: i64) -> Self {
        let mut lines = String::from(
            "{\"apiVersion\":\"outrigger.dev/v1alpha1\",\"kind\":\"Recording\",\"start\":\"2026-01-05T00:00:00Z\"}\n",
        );
        lines.push_str(
            "{\"spec\":{\"id\":1,\"labels\":{\"app\":\"web\"},\"spec\":{\"containers\":[{\"name\":\"main\",\
             \"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1Gi\"}}}]}}}\n",
        );
        Self { lines, pods: 0, days }.pods(3, -MINUTE, None)
    }

    /// So many pods from a moment until another.
    fn pods(mut self, count: usize, from: i64, until: Option<i64>) -> Self {
        for _ in 0..count {
            self.pods += 1;
            let id = self.pods;
            writeln!(
                self.lines,
                "{{\"pod\":{{\"at\":{from},\"id\":{id},\"namespace\":\"shop\",\"name\":\"web-{id}\",\"spec\":1,\
                 \"owner\":\"ReplicaSet/web-5d9\",\"workload\":\"Deployment/web\"}}}}"
            )
            .unwrap();
            writeln!(
                self.lines,
                "{{\"bound\":{{\"at\":{},\"id\":{id},\"node\":\"n1\"}}}}",
                from + MINUTE
            )
            .unwrap();
            if let Some(at) = until {
                writeln!(
                    self.lines,
                    "{{\"ended\":{{\"at\":{at},\"id\":{id},\"how\":\"Deleted\"}}}}"
                )
                .unwrap();
            }
        }
        self
    }

    /// Six pods more for an hour of a day, from a minute of it on.
    fn peak(self, day: i64, minute: i64) -> Self {
        let from = day * DAY + minute * MINUTE + 5_000;
        self.pods(6, from, Some(from + 60 * MINUTE))
    }

    fn used(mut self, id: usize, cpu: i64, memory: i64) -> Self {
        writeln!(
            self.lines,
            "{{\"used\":{{\"at\":{MINUTE},\"id\":{id},\"cpuMillis\":{cpu},\"memoryBytes\":{memory}}}}}"
        )
        .unwrap();
        self
    }

    fn used_by(mut self, id: usize, container: &str, sidecar: bool, cpu: i64) -> Self {
        writeln!(
            self.lines,
            "{{\"used\":{{\"at\":{MINUTE},\"id\":{id},\"container\":\"{container}\",\"sidecar\":{sidecar},\
             \"cpuMillis\":{cpu},\"memoryBytes\":{}}}}}",
            900 << 20
        )
        .unwrap();
        self
    }

    fn recording(self) -> Recording {
        let stopped = format!("{{\"stopped\":{{\"at\":{}}}}}\n", self.days * DAY);
        let read = recording::read("load", &(self.lines + &stopped)).unwrap();
        assert_eq!(read.problems, []);
        read.recording
    }
}

fn found(recording: &Recording) -> Vec<Peak> {
    peaks(recording, &PeakTerms { zone: TimeZone::UTC, days_min: 3 })
}

#[test]
fn a_peak_at_nine_on_every_day_is_found() {
    let load = (0..7).fold(Load::of(7), |load, day| load.peak(day, 540));
    let found = found(&load.recording());
    let [own] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((own.start, own.days), (540, [true; 7]));
    assert_eq!((own.from, own.to, own.came, own.of), (3, 9, 7, 7));
    let candidates = schedules(&found, "UTC");
    let [candidate] = candidates.as_slice() else { panic!("{candidates:?}") };
    assert_eq!(&*candidate.id, "prewarm-0900-daily");
    let [schedule] = candidate.manifests.as_slice() else { panic!("{candidate:?}") };
    assert_eq!(
        schedule["spec"],
        json!({
            "scaleTargetRef": {"kind": "Deployment", "name": "web"},
            "triggers": [{"type": "cron", "metadata": {
                "timezone": "UTC", "start": "0 9 * * *", "end": "6 9 * * *", "desiredReplicas": "9",
            }}],
        })
    );
}

#[test]
fn one_that_comes_a_little_earlier_or_later_starts_with_the_earliest() {
    let load = (0..4).fold(Load::of(4), |load, day| load.peak(day, 540 + day * 3));
    let found = found(&load.recording());
    let [own] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((own.start, own.end), (540, 540 + 9 + 1 + 5));
}

#[test]
fn one_of_workdays_is_told_from_one_of_every_day() {
    let load = (0..5).fold(Load::of(7), |load, day| load.peak(day, 540));
    let candidates = schedules(&found(&load.recording()), "UTC");
    assert_eq!(candidates[0].id.as_ref(), "prewarm-0900-workdays");
    let start = &candidates[0].manifests[0]["spec"]["triggers"][0]["metadata"]["start"];
    assert_eq!(start, "0 9 * * 1-5");
}

#[test]
fn one_of_a_day_of_the_week_takes_as_many_weeks() {
    let weeks = |count: i64| {
        let load = (0..count).fold(Load::of(count * 7), |load, week| load.peak(week * 7 + 2, 840));
        found(&load.recording())
    };
    assert_eq!(weeks(2), [], "two Wednesdays may be an accident");
    let found = weeks(3);
    let [own] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(own.days, [false, false, false, true, false, false, false]);
}

#[test]
fn flat_load_and_rises_at_no_time_of_their_own_are_no_peaks() {
    assert_eq!(found(&Load::of(7).recording()), []);
    let load = (0..6).fold(Load::of(7), |load, day| load.peak(day, 60 + day * 180));
    assert_eq!(found(&load.recording()), []);
    let load = (0..2).fold(Load::of(2), |load, day| load.peak(day, 540));
    assert_eq!(found(&load.recording()), [], "two days are too few");
}

#[test]
fn the_time_of_the_day_is_that_of_the_time_zone() {
    let load = (0..4).fold(Load::of(5), |load, day| load.peak(day, 720));
    let zone = TimeZone::get("Asia/Seoul").unwrap();
    let found = peaks(&load.recording(), &PeakTerms { zone, days_min: 3 });
    let [own] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(own.start, 21 * 60);
}

fn budget(rule: &str, value: serde_json::Value) -> Manifests {
    let mut own = json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"namespace": "shop", "name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
    });
    own["spec"][rule] = value;
    Manifests::of([own])
}

#[test]
fn a_budget_that_never_lets_a_pod_go_is_named() {
    let flat = Load::of(1).recording();
    for (rule, value) in [
        ("maxUnavailable", json!(0)),
        ("maxUnavailable", json!("0%")),
        ("minAvailable", json!("100%")),
        ("minAvailable", json!(3)),
    ] {
        let found = budgets(&flat, &budget(rule, value.clone()));
        let [own] = found.as_slice() else { panic!("{rule} {value}: {found:?}") };
        assert_eq!(own.id.as_ref(), "budget-shop/web");
        let spec = &own.manifests[0]["spec"];
        assert_eq!((&spec["maxUnavailable"], spec.get("minAvailable")), (&json!(1), None));
    }
}

#[test]
fn a_budget_that_let_a_pod_go_at_any_time_is_not() {
    let flat = Load::of(1).recording();
    for (rule, value) in [
        ("maxUnavailable", json!(1)),
        ("maxUnavailable", json!("1%")),
        ("minAvailable", json!("60%")),
        ("minAvailable", json!(2)),
    ] {
        assert_eq!(budgets(&flat, &budget(rule, value.clone())), [], "{rule} {value}");
    }
    let peak = Load::of(1).peak(0, 540).recording();
    assert_eq!(budgets(&peak, &budget("minAvailable", json!(3))), []);
    let mut nobodys = budget("maxUnavailable", json!(0)).into_values();
    nobodys[0]["metadata"]["namespace"] = json!("other");
    assert_eq!(budgets(&flat, &Manifests::of(nobodys)), []);
}

#[test]
fn requests_that_no_pod_used_are_found_where_usage_is_recorded() {
    assert_eq!(measured_pods(&Load::of(1).recording()), 0);
    assert_eq!(unused_requests(&Load::of(1).recording()), []);
    let measured = |cpu| {
        Load::of(1)
            .used(1, 100, 900 << 20)
            .used(2, cpu, 900 << 20)
            .used(3, 90, 800 << 20)
            .recording()
    };
    let found = unused_requests(&measured(150));
    let [own] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!((own.enough.get(CPU), own.enough.get(MEMORY)), (180, 1 << 30));
    assert_eq!(own.pods, 3);
    assert_eq!(unused_requests(&measured(950)), [], "one of them uses it");
    let most = Load::of(1).used(1, 100, 1).used(2, 100, 1).recording();
    assert_eq!(unused_requests(&most), [], "the third may use all of it");
}

#[test]
fn where_containers_were_measured_each_gets_requests_of_its_own() {
    let measured = |third: &str| {
        (1..=3).fold(Load::of(1), |load, id| {
            let app = if id == 3 { third } else { "app" };
            load.used_by(id, app, false, 50 + 10 * i64::try_from(id).unwrap())
                .used_by(id, "proxy", true, 5)
        })
    };
    let found = unused_requests(&measured("app").recording());
    let [own] = found.as_slice() else { panic!("{found:?}") };
    assert_eq!(own.enough.get(CPU), 100 + 10, "each with headroom, in whole steps");
    assert_eq!(own.changed().find(MEMORY), None, "of memory they use what they request");
    assert_eq!(
        own.manifest().unwrap(),
        json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"namespace": "shop", "name": "web"},
            "spec": {"template": {"spec": {
                "initContainers": [{"name": "proxy", "resources": {"requests": {"cpu": "10m"}}}],
                "containers": [{"name": "app", "resources": {"requests": {"cpu": "100m"}}}],
            }}},
        })
    );
    let changed = unused_requests(&measured("renamed").recording());
    assert_eq!(
        changed.first().and_then(UnusedRequests::manifest),
        None,
        "their template has changed"
    );
    let whole = Load::of(1).used(1, 100, 1).used(2, 100, 1).used(3, 100, 1).recording();
    assert_eq!(unused_requests(&whole).first().and_then(UnusedRequests::manifest), None);
}
