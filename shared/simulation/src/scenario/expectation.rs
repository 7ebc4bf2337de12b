//! What a scenario expects.

use std::fmt;

use domain::money::UsdPerHour;
use domain::{SignedDuration, Text};
use manifests::{Data, Field, Problem};

use super::duration::duration;
use super::filter::{FILTER_FIELDS, InstanceFilter};

/// Something expected of a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expectation {
    /// When, from the start; `None` is the end.
    pub at: Option<SignedDuration>,
    /// What.
    pub what: Expected,
}

/// What can be expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The number of nodes, those in flight included.
    Nodes(InstanceFilter, Range),
    /// The number of zones with nodes.
    Zones(Range),
    /// The number of instances launched since the start.
    Launched(InstanceFilter, Range),
    /// The hourly price of all nodes.
    Hourly {
        /// At least.
        above: Option<PriceBound>,
        /// At most.
        below: Option<PriceBound>,
    },
    /// The cost of all instances since the start, in billionths of a dollar: minimum and maximum.
    Cost(Option<i64>, Option<i64>),
    /// The number of running or pending pods.
    Pods {
        /// Of this workload; of all of them when unset.
        workload: Option<Text>,
        /// How many of what.
        counts: Vec<(PodCount, Range)>,
    },
    /// A pod waits, and it is said why.
    Waiting {
        /// How its name begins.
        pod: Text,
        /// What the reason contains.
        because: Text,
    },
    /// The longest wait, in seconds, of a pod that some NodePool could host.
    UnplacedSeconds {
        /// Only pods made at least so long after the start.
        since: Option<SignedDuration>,
        /// How long.
        range: Range,
    },
    /// The longest time, in seconds, without a node after an eviction by choice.
    AfterEvictionSeconds(Range),
    /// For how many seconds a workload had no ready pod, once it has had one.
    WithoutReadySeconds {
        /// Its name, which its pods' names begin with.
        workload: Text,
        /// How long.
        range: Range,
    },
    /// The number of spot instances that EC2 announced to take back since the start.
    Interruptions(Range),
    /// What all nodes cost, in percent, rounded up, of what the same pods need at least on an empty
    /// cluster.
    PercentOfBound(Range),
    /// What the run has cost so far, in percent, rounded up, of the least that its pods needed.
    CostPercentOfBound(Range),
}

impl Expected {
    /// Whether it needs to know what pods need at least.
    pub const fn is_of_bound(&self) -> bool {
        matches!(self, Self::PercentOfBound(_) | Self::CostPercentOfBound(_))
    }
}

/// Which pods are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodCount {
    /// Running and ready.
    Running,
    /// Without a node.
    Pending,
}

/// Bounds of a whole number, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// At least.
    pub min: u32,
    /// At most.
    pub max: u32,
}

impl Range {
    fn of(field: Field<'_>) -> Self {
        let exact = field.get("count").count();
        let (min, max) = (field.get("min").count(), field.get("max").count());
        if exact.is_some() && (min.is_some() || max.is_some()) {
            field.note(Problem::rule("count says it: neither min nor max is needed"));
        }
        let (min, max) = (exact.or(min), exact.or(max));
        if min.is_none() && max.is_none() {
            field.note(Problem::rule("it needs count, min or max"));
        }
        if let (Some(min), Some(max)) = (min, max)
            && min > max
        {
            field.note(Problem::rule(format!("no number is at least {min} and at most {max}")));
        }
        Self { min: min.unwrap_or(0), max: max.unwrap_or(u32::MAX) }
    }

    const fn exactly(count: u32) -> Self {
        Self { min: count, max: count }
    }

    /// Whether a number is within the bounds.
    pub fn contains(self, number: u32) -> bool {
        (self.min..=self.max).contains(&number)
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.min, self.max) {
            (min, max) if min == max => write!(f, "{min}"),
            (min, u32::MAX) => write!(f, "at least {min}"),
            (0, max) => write!(f, "at most {max}"),
            (min, max) => write!(f, "{min} to {max}"),
        }
    }
}

/// A price to compare with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PriceBound {
    /// A figure, included.
    Figure(UsdPerHour),
    /// What it was at a mark, not included.
    Mark(Text),
}

/// Reads one expectation.
pub(super) fn read(field: Field<'_>) -> Option<Expectation> {
    let at = field.get("at").parsed(duration);
    let what = field.entries().find(|(key, _)| *key != "at");
    let Some((kind, body)) = what else {
        field.note(Problem::rule("it expects nothing"));
        return None;
    };
    field.only(&["at", kind]);
    let what = match kind {
        "nodes" => of_instances(body, Expected::Nodes),
        "launched" => of_instances(body, Expected::Launched),
        "zones" => with(body, &["count", "min", "max"], |body| Expected::Zones(Range::of(body))),
        "hourlyUsd" => hourly(body),
        "costUsd" => with(body, &["min", "max"], |body| {
            let figure = |key| usd(body.get(key)).map(UsdPerHour::nanos);
            let (min, max) = (figure("min"), figure("max"));
            if min.is_none() && max.is_none() {
                body.note(Problem::rule("it needs min or max"));
            }
            Expected::Cost(min, max)
        }),
        "pods" => pods(body),
        "waiting" => {
            body.only(&["pod", "because"]);
            Expected::Waiting {
                pod: body.get("pod").required().text()?,
                because: body.get("because").text().unwrap_or_default(),
            }
        }
        "unplacedSeconds" => {
            with(body, &["count", "min", "max", "since"], |body| Expected::UnplacedSeconds {
                since: body.get("since").parsed(duration),
                range: Range::of(body),
            })
        }
        "withoutHomeSeconds" => with(body, &["count", "min", "max"], |body| {
            Expected::AfterEvictionSeconds(Range::of(body))
        }),
        "withoutReadySeconds" => {
            body.only(&["workload", "count", "min", "max"]);
            Expected::WithoutReadySeconds {
                workload: body.get("workload").required().text()?,
                range: Range::of(body),
            }
        }
        "interruptions" => {
            with(body, &["count", "min", "max"], |body| Expected::Interruptions(Range::of(body)))
        }
        "percentOfBound" => {
            with(body, &["count", "min", "max"], |body| Expected::PercentOfBound(Range::of(body)))
        }
        "costPercentOfBound" => with(body, &["count", "min", "max"], |body| {
            Expected::CostPercentOfBound(Range::of(body))
        }),
        _ => {
            body.note(Problem::UnknownField(None));
            return None;
        }
    };
    Some(Expectation { at, what })
}

fn with<'v>(body: Field<'v>, known: &[&str], read: impl FnOnce(Field<'v>) -> Expected) -> Expected {
    body.only(known);
    read(body)
}

fn of_instances(body: Field<'_>, kind: fn(InstanceFilter, Range) -> Expected) -> Expected {
    let known: Vec<&str> = FILTER_FIELDS.into_iter().chain(["count", "min", "max"]).collect();
    body.only(&known);
    kind(InstanceFilter::of(body), Range::of(body))
}

fn hourly(body: Field<'_>) -> Expected {
    body.only(&["min", "max", "lessThan", "greaterThan"]);
    let bound = |figure: &'static str, mark: &'static str| {
        usd(body.get(figure))
            .map(PriceBound::Figure)
            .or_else(|| body.get(mark).text().map(PriceBound::Mark))
    };
    let (above, below) = (bound("min", "greaterThan"), bound("max", "lessThan"));
    if above.is_none() && below.is_none() {
        body.note(Problem::rule("it needs min, max, lessThan or greaterThan"));
    }
    Expected::Hourly { above, below }
}

fn pods(body: Field<'_>) -> Expected {
    body.only(&["workload", "running", "pending"]);
    let counts = [("running", PodCount::Running), ("pending", PodCount::Pending)]
        .into_iter()
        .filter_map(|(key, count)| Some((count, range_or_count(body.get(key))?)))
        .collect::<Vec<_>>();
    if !body.get("running").exists() && !body.get("pending").exists() {
        body.note(Problem::rule("it needs running or pending"));
    }
    Expected::Pods { workload: body.get("workload").text(), counts }
}

/// A number, or a range.
fn range_or_count(field: Field<'_>) -> Option<Range> {
    match &field.value()?.data {
        Data::Object(_) => Some(Range::of(field)),
        _ => field.count().map(Range::exactly),
    }
}

/// A figure in US dollars.
fn usd(field: Field<'_>) -> Option<UsdPerHour> {
    let figure = match &field.value()?.data {
        Data::Integer(number) => number.to_string(),
        Data::Decimal(text) | Data::Text(text) => text.to_string(),
        _ => String::new(),
    };
    let price = figure.parse().ok().and_then(UsdPerHour::from_f64);
    if price.is_none() {
        field.note(Problem::rule("it is not a figure in US dollars"));
    }
    price
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nodes(filter, range) => write!(f, "nodes{}: {range}", filter.shown()),
            Self::Zones(range) => write!(f, "zones with nodes: {range}"),
            Self::Launched(filter, range) => {
                write!(f, "instances launched{}: {range}", filter.shown())
            }
            Self::Hourly { above, below } => {
                write!(f, "price of all nodes:")?;
                match above {
                    Some(PriceBound::Figure(price)) => write!(f, " at least {price}")?,
                    Some(PriceBound::Mark(mark)) => write!(f, " more than at {mark}")?,
                    None => {}
                }
                match below {
                    Some(PriceBound::Figure(price)) => write!(f, " at most {price}"),
                    Some(PriceBound::Mark(mark)) => write!(f, " less than at {mark}"),
                    None => Ok(()),
                }
            }
            Self::Cost(min, max) => {
                let shown = |nanos: &i64| UsdPerHour::from_nanos(*nanos).to_f64();
                write!(f, "cost so far:")?;
                if let Some(min) = min {
                    write!(f, " at least ${:.4}", shown(min))?;
                }
                if let Some(max) = max {
                    write!(f, " at most ${:.4}", shown(max))?;
                }
                Ok(())
            }
            Self::Pods { workload, counts } => {
                write!(f, "pods")?;
                if let Some(workload) = workload {
                    write!(f, " of {workload}")?;
                }
                for (index, (count, range)) in counts.iter().enumerate() {
                    let word = match count {
                        PodCount::Running => "running",
                        PodCount::Pending => "pending",
                    };
                    write!(f, "{} {range} {word}", if index == 0 { ":" } else { "," })?;
                }
                Ok(())
            }
            Self::Waiting { pod, because } => write!(f, "pod {pod}… waits because {because}"),
            Self::UnplacedSeconds { since, range } => {
                write!(f, "longest wait of a pod that can be hosted: {range} s")?;
                since.map_or(Ok(()), |since| write!(f, ", of those made after {since:#}"))
            }
            Self::AfterEvictionSeconds(range) => {
                write!(f, "longest time without a node after an eviction by choice: {range} s")
            }
            Self::WithoutReadySeconds { workload, range } => {
                write!(f, "time without a ready pod of {workload}: {range} s")
            }
            Self::Interruptions(range) => write!(f, "spot interruptions: {range}"),
            Self::PercentOfBound(range) => {
                write!(f, "price in percent of the least for these pods: {range}")
            }
            Self::CostPercentOfBound(range) => {
                write!(f, "cost in percent of the least that its pods needed: {range}")
            }
        }
    }
}
