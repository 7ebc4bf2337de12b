//! A run over time: the lives of its nodes and pods, and its curves.

use domain::Timestamp;
use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use serde::Serialize;
use simulation::history::{Came, History, HowEnded, NodeLife, PodLife};
use simulation::report::Report;

use super::series::thinned;
use super::texts::{NONE, Texts};
use crate::view::node_name::short;
use crate::view::pod_names::counted;

/// Nodes of a run that a page holds.
const NODES_MAX: usize = 5_000;
/// Pods of a run that a page holds: with a few dozen bytes each, a page stays below 2 MB.
const PODS_MAX: usize = 20_000;
/// Nodes that a reason names.
const NAMED_MAX: usize = 3;
const MEBI: i64 = 1 << 20;

/// One run. Moments are tenths of a second since its start, prices billionths of a US dollar an
/// hour, CPU millicores, memory MiB; names are places in the texts.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunBlock {
    name: i64,
    /// Milliseconds since 1970 at which it began.
    start: i64,
    length: i64,
    nodes: NodeColumns,
    pods: PodColumns,
    /// Nodes and pods that were too many for a page.
    left_out: [usize; 2],
    cost: Vec<i64>,
    least: Vec<i64>,
    /// How much time passes at least between two values of `least`.
    least_interval: i64,
    pending: Vec<i64>,
    bound: Vec<i64>,
}

#[derive(Debug, Default, Serialize)]
struct NodeColumns {
    name: Vec<i64>,
    claim: Vec<i64>,
    pool: Vec<i64>,
    zone: Vec<i64>,
    kind: Vec<i64>,
    capacity: Vec<i64>,
    price: Vec<i64>,
    cpu: Vec<i64>,
    memory: Vec<i64>,
    launched: Vec<i64>,
    joined: Vec<i64>,
    ready: Vec<i64>,
    draining: Vec<i64>,
    gone: Vec<i64>,
    came: Vec<i64>,
    went: Vec<i64>,
}

#[derive(Debug, Default, Serialize)]
struct PodColumns {
    /// The namespace, and the name up to its last dash.
    stem: Vec<i64>,
    /// The rest of the name.
    rest: Vec<String>,
    daemon: Vec<u8>,
    cpu: Vec<i64>,
    memory: Vec<i64>,
    created: Vec<i64>,
    bound: Vec<i64>,
    node: Vec<i64>,
    ended: Vec<i64>,
    how: Vec<i64>,
    why: Vec<i64>,
}

/// A clock that begins with a run.
#[derive(Clone, Copy)]
struct Clock {
    start: Timestamp,
}

impl Clock {
    fn of(self, at: Timestamp) -> i64 {
        let millis = at.duration_since(self.start).as_millis();
        i64::try_from(millis / 100).unwrap_or(i64::MAX)
    }

    fn of_some(self, at: Option<Timestamp>) -> i64 {
        // What was before the start counts as the start: `-1` means nothing.
        at.map_or(NONE, |at| self.of(at).max(0))
    }
}

fn price(price: UsdPerHour) -> i64 {
    price.nanos()
}

impl RunBlock {
    pub(super) fn new(name: &str, report: &Report, history: &History, texts: &mut Texts) -> Self {
        let clock = Clock { start: report.started };
        let History { nodes, pods, samples, bounds, bound_interval } = history;
        let curve = |value: &dyn Fn(&simulation::history::Sample) -> i64| {
            let mut points: Vec<(i64, i64)> =
                samples.iter().map(|own| (clock.of(own.at), value(own))).collect();
            points.dedup_by_key(|point| point.1);
            thinned(&points)
        };
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let least: Vec<(i64, i64)> =
            bounds.iter().map(|own| (clock.of(own.at), price(own.hourly))).collect();
        let node_count = nodes.len().min(NODES_MAX);
        let kept_pods: &[PodLife] = if pods.len() > PODS_MAX { &[] } else { pods };
        Self {
            name: texts.place(name),
            start: report.started.as_millisecond(),
            length: clock.of(report.ended),
            nodes: node_columns(&nodes[..node_count], clock, texts),
            pods: pod_columns(kept_pods, clock, node_count, texts),
            left_out: [nodes.len() - node_count, pods.len() - kept_pods.len()],
            cost: curve(&|own| price(own.hourly)),
            least: thinned(&least),
            least_interval: i64::try_from(bound_interval.as_millis() / 100).unwrap_or(0),
            pending: curve(&|own| count(own.pending)),
            bound: curve(&|own| count(own.bound)),
        }
    }
}

fn node_columns(nodes: &[NodeLife], clock: Clock, texts: &mut Texts) -> NodeColumns {
    let mut all = NodeColumns::default();
    for life in nodes {
        let NodeLife {
            name,
            claim,
            node_pool,
            instance_type,
            zone,
            capacity_type,
            price: hourly,
            cpu,
            memory,
            launched,
            joined,
            ready,
            draining,
            gone,
            came,
            went,
        } = life;
        all.name.push(texts.place(name));
        let claim = claim.as_deref().filter(|claim| *claim != &**name);
        all.claim.push(texts.place_of(claim));
        all.pool.push(texts.place_of(node_pool.as_deref()));
        all.zone.push(texts.place_of(Some(zone)));
        all.kind.push(texts.place_of(Some(instance_type)));
        all.capacity.push(texts.place_of(capacity_type.map(CapacityType::as_str)));
        all.price.push(hourly.map_or(NONE, price));
        all.cpu.push(*cpu);
        all.memory.push(memory / MEBI);
        all.launched.push(clock.of_some(Some(*launched)));
        all.joined.push(clock.of_some(*joined));
        all.ready.push(clock.of_some(*ready));
        all.draining.push(clock.of_some(*draining));
        all.gone.push(clock.of_some(*gone));
        all.came.push(texts.place_of(why_it_came(came).as_deref()));
        all.went.push(texts.place_of(went.as_deref()));
    }
    all
}

fn why_it_came(came: &Came) -> Option<String> {
    match came {
        Came::Applied => Some("it was there".to_owned()),
        Came::ForPods(pods) => Some(format!("for {} without a place", counted(*pods, "pod"))),
        Came::Replaces(nodes, reason) => {
            let named: Vec<&str> = nodes.iter().take(NAMED_MAX).map(|node| short(node)).collect();
            let more = nodes.len() - named.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            Some(format!("in place of {}{more} ({reason})", named.join(", ")))
        }
        Came::Unknown => None,
    }
}

fn pod_columns(pods: &[PodLife], clock: Clock, nodes: usize, texts: &mut Texts) -> PodColumns {
    let mut all = PodColumns::default();
    for life in pods {
        let PodLife { key, is_daemon, cpu, memory, created, bound, ended, unschedulable } = life;
        let (stem, rest) = cut(&key.to_string());
        all.stem.push(texts.place(&stem));
        all.rest.push(rest);
        all.daemon.push(u8::from(*is_daemon));
        all.cpu.push(*cpu);
        all.memory.push(memory / MEBI);
        all.created.push(clock.of_some(Some(*created)));
        all.bound.push(clock.of_some(bound.map(|(at, _)| at)));
        let node = bound.map(|(_, node)| node).filter(|node| *node < nodes);
        all.node.push(node.and_then(|node| i64::try_from(node).ok()).unwrap_or(NONE));
        all.ended.push(clock.of_some(ended.map(|(at, _)| at)));
        all.how.push(ended.map_or(NONE, |(_, how)| texts.place(how_it_ended(how))));
        all.why.push(texts.place_of(unschedulable.as_deref()));
    }
    all
}

fn how_it_ended(how: HowEnded) -> &'static str {
    match how {
        HowEnded::Deleted => "deleted",
        HowEnded::Evicted => "evicted",
        HowEnded::Lost => "lost with its instance",
        HowEnded::Succeeded => "ran to its end",
        HowEnded::Failed => "failed",
    }
}

/// A name in front of its last dash, which is of the first part, and behind it.
pub(super) fn cut(name: &str) -> (String, String) {
    match name.rfind('-') {
        Some(place) => (name[..=place].to_owned(), name[place + 1..].to_owned()),
        None => (name.to_owned(), String::new()),
    }
}
