//! Pods fit in what a node has, beside its DaemonSets and the pods that are there.

use std::collections::BTreeMap;
use std::rc::Rc;

use domain::Text;
use domain::resource::{Resources, ShownAmount};

use crate::cluster_index::ClusterIndex;
use crate::daemons::Overhead;
use crate::launch::{Launch, Load, Narrowing};
use crate::place::{Place, PlaceKind};
use crate::plan_index::PlanIndex;
use crate::pods::PodId;
use crate::report::Report;
use crate::violation::Rule;

/// What pods request together.
pub(crate) fn requests(index: &PlanIndex<'_>, pods: &[PodId]) -> Resources {
    let mut total = Resources::new();
    for pod in pods {
        total.add(&index.pods().spec(*pod).requests);
    }
    total
}

/// The resources of which there is less than is asked for; one that is absent is zero.
pub(crate) fn shortfalls<'r>(
    asked: &'r Resources,
    room: &'r Resources,
) -> impl Iterator<Item = (&'r Text, i64, i64)> {
    // Both are sorted by name: walk them side by side.
    let mut room = room.iter().peekable();
    asked.iter().filter_map(move |(name, amount)| {
        while room.next_if(|(other, _)| *other < name).is_some() {}
        let available = room.peek().filter(|(other, _)| *other == name).map_or(0, |(_, has)| *has);
        (amount > 0 && amount > available).then_some((name, amount, available))
    })
}

/// Pods and DaemonSets fit on every type that may be launched.
pub(crate) fn check_launch(
    index: &PlanIndex<'_>,
    place: &Place<'_>,
    launch: &Launch<'_>,
    pods: &[PodId],
    report: &mut Report,
) {
    let total = requests(index, pods);
    let mut asked: Option<(*const Overhead, Resources)> = None;
    // By resource: the first type that is too small for it, and on how many types it is.
    let mut misfits: BTreeMap<Text, (String, usize)> = BTreeMap::new();
    for of_type in &launch.types {
        for load in &of_type.loads {
            let daemons = Rc::as_ptr(&load.daemons);
            if asked.as_ref().is_none_or(|(known, _)| *known != daemons) {
                let mut with_daemons = total.clone();
                with_daemons.add(&load.daemons.requests);
                asked = Some((daemons, with_daemons));
            }
            let Some((_, asked)) = &asked else { continue };
            for (name, needed, available) in shortfalls(asked, load.allocatable) {
                let show = |amount| ShownAmount { name, amount };
                let (_, count) = misfits.entry(name.clone()).or_insert_with(|| {
                    let message = format!(
                        "{} has {name} {}, its pods and DaemonSets ask for {}",
                        of_type.of.instance_type.name,
                        show(available),
                        show(needed)
                    );
                    (message, 0)
                });
                *count += 1;
            }
        }
    }
    if misfits.is_empty() || is_launched_regardless(index, place, pods) {
        return;
    }
    for (message, count) in misfits.into_values() {
        let more = if count > 1 { format!(" ({} more like it)", count - 1) } else { String::new() };
        report.add(Rule::Fit, &place.name, format!("{message}{more}"));
    }
}

/// Whether the place is launched though its DaemonSets do not fit: a static NodePool has as many
/// nodes as it says, also where none of its types has room for them.
fn is_launched_regardless(index: &PlanIndex<'_>, place: &Place<'_>, pods: &[PodId]) -> bool {
    let Some(number) = place.pool.filter(|_| pods.is_empty()) else { return false };
    let Some(offer) = &index.cluster.offers[number] else { return false };
    index.cluster.pools[number].spec.replicas.is_some()
        && !offer.hosts_daemons.get_or_init(|| hosts_daemons(index.cluster, number))
}

/// Whether some type that a NodePool may launch has room for the DaemonSets of its nodes.
fn hosts_daemons(cluster: &ClusterIndex<'_>, pool: usize) -> bool {
    let taints = &cluster.pools[pool].spec.template.taints;
    let fits =
        |load: &Load<'_>| shortfalls(&load.daemons.requests, load.allocatable).next().is_none();
    Narrowing::of_markets(cluster, pool, &[], taints)
        .is_some_and(|all| all.all_types().any(|own| own.loads.iter().all(fits)))
}

/// Arrivals fit beside those that are there; what they ask nothing of is not held against them.
pub(crate) fn check_existing(
    index: &PlanIndex<'_>,
    place: &Place<'_>,
    residents: &[PodId],
    arrivals: &[PodId],
    report: &mut Report,
) {
    let Some(allocatable) = &place.allocatable else { return };
    let asked = requests(index, arrivals);
    let mut used = requests(index, residents);
    used.add(&asked);
    if place.kind == PlaceKind::InFlight
        && let Some(labels) = place.known_labels()
    {
        let daemons = &index.cluster.daemons;
        let overhead = daemons.overhead(&daemons.tolerant(&place.taints), labels);
        used.add(&overhead.requests);
    }
    for (name, needed, available) in shortfalls(&used, allocatable) {
        if asked.get(name) == 0 {
            continue;
        }
        let show = |amount| ShownAmount { name, amount };
        let message = format!(
            "has {name} {}, its pods and those that come ask for {}",
            show(available),
            show(needed)
        );
        report.add(Rule::Fit, &place.name, message);
    }
}
