//! Metrics in CloudWatch's embedded metric format: JSON lines on standard output, which CloudWatch
//! Logs turns into metrics without any API call
//! ("Specification: Embedded metric format" in the CloudWatch user guide).
//!
//! Every metric has the cluster's name as a dimension beside its labels. CloudWatch charges each by
//! the hours in which it has a figure, so by default only what alarms and the first look need is
//! made a metric, most of it only while it is not zero. What is none still stands in the line, for
//! Logs Insights.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::str::FromStr;

use domain::Timestamp;
use serde_json::{Map, Value, json};

/// The most metrics that CloudWatch reads from one line.
const METRICS_A_LINE: usize = 100;
/// The most values that CloudWatch reads of one metric in a line.
const VALUES_A_METRIC: usize = 100;

/// The unit of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A count.
    Count,
    /// A duration in seconds.
    Seconds,
    /// Anything else, such as dollars per hour.
    None,
}

impl Unit {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Count => "Count",
            Self::Seconds => "Seconds",
            Self::None => "None",
        }
    }
}

/// What is made a metric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// What alarms and an operator's first look need.
    #[default]
    Essential,
    /// Everything.
    All,
}

impl FromStr for Detail {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "essential" => Ok(Self::Essential),
            "all" => Ok(Self::All),
            other => Err(format!("{other:?} is neither essential nor all")),
        }
    }
}

/// Metrics of which zero, or no figure at all, means something.
const ESSENTIAL: [&str; 2] = ["outrigger_cluster_cost_hourly_usd", "outrigger_functions_late"];

/// Metrics of which zero means that all is well, or that nothing happened: no figure says the same.
const ESSENTIAL_UNLESS_ZERO: [&str; 17] = [
    "karpenter_cloudprovider_instance_launch_failures_total",
    "karpenter_interruption_received_messages_total",
    "karpenter_nodeclaims_created_total",
    "karpenter_nodeclaims_disrupted_total",
    "karpenter_nodes_created_total",
    "karpenter_nodes_terminated_total",
    "karpenter_scheduler_queue_depth",
    "karpenter_scheduler_unschedulable_pods_count",
    "outrigger_errors_total",
    "outrigger_held_back",
    "outrigger_invocation_errors_total",
    "outrigger_needs_operator",
    "outrigger_not_acting",
    "outrigger_orphans_held",
    "outrigger_plans_refused_total",
    "outrigger_pods_unhostable_count",
    "outrigger_pods_wait_longest_seconds",
];

impl Detail {
    /// Whether these values of a metric are sent to CloudWatch as such.
    fn publishes(self, name: &str, values: &[f64]) -> bool {
        let is_zero = || values.iter().all(|value| *value == 0.0);
        self == Self::All
            || ESSENTIAL.contains(&name)
            || ESSENTIAL_UNLESS_ZERO.contains(&name) && !is_zero()
    }
}

/// Label names and values of a metric, sorted.
type Dimensions = BTreeMap<&'static str, String>;

/// Units and values by the metric's name.
type Named = BTreeMap<&'static str, (Unit, Vec<f64>)>;

/// The metrics of one invocation.
#[derive(Debug)]
pub struct Metrics {
    namespace: String,
    detail: Detail,
    cluster: String,
    sets: RefCell<BTreeMap<Dimensions, Named>>,
}

impl Metrics {
    /// An empty set of metrics about a cluster; an empty name stands for none.
    pub fn new(namespace: &str, detail: Detail, cluster: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            detail,
            cluster: cluster.to_owned(),
            sets: RefCell::default(),
        }
    }

    /// Adds to a counter.
    pub fn count(&self, name: &'static str, labels: &[(&'static str, &str)], by: usize) {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        let by = by as f64;
        self.with(name, labels, Unit::Count, |values| match values.as_mut_slice() {
            [sum] => *sum += by,
            _ => values.push(by),
        });
    }

    /// Adds to a counter of something that is no whole number.
    pub fn add(&self, name: &'static str, labels: &[(&'static str, &str)], by: f64) {
        self.with(name, labels, Unit::None, |values| match values.as_mut_slice() {
            [sum] => *sum += by,
            _ => values.push(by),
        });
    }

    /// Sets a gauge; the last value counts.
    pub fn gauge(
        &self,
        name: &'static str,
        labels: &[(&'static str, &str)],
        unit: Unit,
        value: f64,
    ) {
        self.with(name, labels, unit, |values| *values = vec![value]);
    }

    /// Adds a duration to those of this invocation.
    pub fn duration(&self, name: &'static str, labels: &[(&'static str, &str)], seconds: f64) {
        self.with(name, labels, Unit::Seconds, |values| {
            // Beyond what CloudWatch reads, the latest are kept.
            if values.len() == VALUES_A_METRIC {
                values.remove(0);
            }
            values.push(seconds);
        });
    }

    fn with(
        &self,
        name: &'static str,
        labels: &[(&'static str, &str)],
        unit: Unit,
        change: impl FnOnce(&mut Vec<f64>),
    ) {
        let mut dimensions: Dimensions =
            labels.iter().map(|(label, value)| (*label, (*value).to_owned())).collect();
        dimensions.insert("cluster", self.cluster.clone());
        // CloudWatch drops a line with an empty dimension.
        dimensions.retain(|_, value| !value.is_empty());
        let mut sets = self.sets.borrow_mut();
        let (_, values) =
            sets.entry(dimensions).or_default().entry(name).or_insert_with(|| (unit, Vec::new()));
        change(values);
    }

    /// The lines to write, one for each set of labels.
    pub fn lines(&self, now: Timestamp) -> Vec<Value> {
        let sets = self.sets.borrow();
        let mut lines = Vec::new();
        for (dimensions, metrics) in sets.iter() {
            let metrics: Vec<_> = metrics.iter().collect();
            lines.extend(
                metrics.chunks(METRICS_A_LINE).map(|chunk| self.line(now, dimensions, chunk)),
            );
        }
        lines
    }

    fn line(
        &self,
        now: Timestamp,
        dimensions: &Dimensions,
        metrics: &[(&&'static str, &(Unit, Vec<f64>))],
    ) -> Value {
        let mut line = Map::new();
        for (label, value) in dimensions {
            line.insert((*label).to_owned(), json!(value));
        }
        let mut definitions = Vec::with_capacity(metrics.len());
        for (name, (unit, values)) in metrics {
            if self.detail.publishes(name, values) {
                definitions.push(json!({"Name": name, "Unit": unit.as_str()}));
            }
            let value = match values.as_slice() {
                [one] => json!(one),
                many => json!(many),
            };
            line.insert((**name).to_owned(), value);
        }
        if definitions.is_empty() {
            return Value::Object(line);
        }
        let names: Vec<_> = dimensions.keys().collect();
        line.insert(
            "_aws".to_owned(),
            json!({
                "Timestamp": now.as_millisecond(),
                "CloudWatchMetrics": [{
                    "Namespace": self.namespace,
                    "Dimensions": [names],
                    "Metrics": definitions,
                }],
            }),
        );
        Value::Object(line)
    }

    /// Writes all metrics to standard output.
    pub fn write(&self, now: Timestamp) {
        let mut out = std::io::stdout().lock();
        for line in self.lines(now) {
            if let Err(error) = writeln!(out, "{line}") {
                tracing::warn!(%error, "failed to write metrics");
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    #[test]
    fn a_line_says_what_cloudwatch_needs_to_make_metrics_of_it() {
        let metrics = Metrics::new("Outrigger", Detail::All, "prod");
        metrics.count("karpenter_nodeclaims_created_total", &[("nodepool", "default")], 2);
        metrics.count("karpenter_nodeclaims_created_total", &[("nodepool", "default")], 1);
        let lines = metrics.lines(NOW);
        let expected = json!({
            "_aws": {
                "Timestamp": 0,
                "CloudWatchMetrics": [{
                    "Namespace": "Outrigger",
                    "Dimensions": [["cluster", "nodepool"]],
                    "Metrics": [{"Name": "karpenter_nodeclaims_created_total", "Unit": "Count"}],
                }],
            },
            "cluster": "prod",
            "nodepool": "default",
            "karpenter_nodeclaims_created_total": 3.0,
        });
        assert_eq!(lines, [expected]);
    }

    #[test]
    fn other_labels_are_another_line() {
        let metrics = Metrics::new("Outrigger", Detail::All, "prod");
        metrics.count("a", &[("nodepool", "x")], 1);
        metrics.count("a", &[("nodepool", "y")], 1);
        metrics.gauge("b", &[], Unit::None, 0.5);
        assert_eq!(metrics.lines(NOW).len(), 3);
    }

    #[test]
    fn durations_are_kept_one_by_one_as_far_as_cloudwatch_takes_them() {
        let metrics = Metrics::new("Outrigger", Detail::All, "prod");
        for second in 0..130_u32 {
            metrics.duration("t", &[], f64::from(second));
        }
        let values = metrics.lines(NOW)[0]["t"].as_array().unwrap().clone();
        assert_eq!((values.len(), values[0].as_f64()), (VALUES_A_METRIC, Some(30.0)));
    }

    #[test]
    fn a_gauge_is_what_was_noted_last() {
        let metrics = Metrics::new("Outrigger", Detail::All, "prod");
        metrics.gauge("g", &[], Unit::Count, 1.0);
        metrics.gauge("g", &[], Unit::Count, 2.0);
        assert_eq!(metrics.lines(NOW)[0]["g"], json!(2.0));
    }

    #[test]
    fn essential_metrics_are_sent_and_the_others_only_written() {
        let metrics = Metrics::new("Outrigger", Detail::Essential, "prod");
        metrics.gauge("outrigger_cluster_cost_hourly_usd", &[], Unit::None, 0.0);
        metrics.gauge("outrigger_held_back", &[], Unit::Count, 0.0);
        metrics.gauge("outrigger_orphans_held", &[], Unit::Count, 6.0);
        metrics.gauge("outrigger_launch_hourly_usd", &[], Unit::None, 1.5);
        let line = metrics.lines(NOW).remove(0);
        let sent: Vec<&str> = line["_aws"]["CloudWatchMetrics"][0]["Metrics"]
            .as_array()
            .unwrap()
            .iter()
            .map(|own| own["Name"].as_str().unwrap())
            .collect();
        assert_eq!(sent, ["outrigger_cluster_cost_hourly_usd", "outrigger_orphans_held"]);
        assert_eq!(line["outrigger_launch_hourly_usd"], json!(1.5));
        assert_eq!(line["outrigger_held_back"], json!(0.0));
    }

    #[test]
    fn a_line_without_essential_metrics_is_no_metric() {
        let metrics = Metrics::new("Outrigger", Detail::Essential, "prod");
        metrics.gauge("outrigger_nodes", &[("instance_type", "m5.large")], Unit::Count, 3.0);
        let expected =
            json!({"cluster": "prod", "instance_type": "m5.large", "outrigger_nodes": 3.0});
        assert_eq!(metrics.lines(NOW), [expected]);
    }
}
