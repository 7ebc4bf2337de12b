//! What the pods of a world need at least, whatever nodes they are on now.
//!
//! The lower bound of the planner leaves spreads out, and would have all pods in the cheapest zone.
//! Those that must be spread over zones cannot be there, so they are held to the zones in which
//! they are; where a workload's pods do not divide evenly, another zone might have the one more.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use controllers::core::Core;
use controllers::ports::ClusterListing;
use controllers::steps::snapshot::SpotMemory;
use controllers::steps::snapshot::{ClusterState, snapshot};
use domain::Text;
use domain::label;
use domain::money::UsdPerHour;
use domain::node::Node;
use domain::pod::{Pod, PodPhase, PodSpec, WhenUnsatisfiable};
use domain::settings::Settings;
use domain::shared_list::SharedList;
use domain::snapshot::ClusterObjects;

use crate::ports::listing_of;
use crate::world::World;

/// What the pods of a moment need.
pub(super) struct Least {
    /// The least that they cost on a cluster without nodes: the planner's lower bound where it has
    /// one, else what it would launch.
    pub hourly: UsdPerHour,
    /// How many they are, without those of DaemonSets.
    pub pods: usize,
}

/// What the pods of this moment need.
pub(super) fn least(world: &World, core: &Core, settings: &Settings) -> Least {
    let afresh = afresh(world);
    let plan = (core.schedule)(&snapshot(&afresh, settings));
    Least {
        hourly: plan.totals.lower_bound.unwrap_or(plan.totals.hourly_after),
        pods: afresh.listing.objects.pods.len(),
    }
}

/// What all nodes cost an hour beyond commitments, in percent, rounded up, of the least that the
/// pods need.
pub(super) fn percent(world: &World, core: &Core, settings: &Settings) -> u32 {
    let least = least(world, core, settings).hourly;
    let hourly = world.ec2().hourly() - world.covered_hourly();
    percent_of(hourly.nanos().into(), least.nanos().into())
}

/// A cost in percent of another, rounded up.
pub(super) fn percent_of(own: i128, least: i128) -> u32 {
    if least <= 0 {
        return if own <= 0 { 100 } else { u32::MAX };
    }
    u32::try_from((own * 100 + least - 1) / least).unwrap_or(u32::MAX)
}

/// Pods in the zones that their spread over zones gives them.
#[derive(Default)]
struct Pinned {
    zones: BTreeMap<Text, Text>,
    /// By what was pinned to which zone: pods of one workload have their specification in common.
    specs: Vec<(Arc<PodSpec>, Text, Arc<PodSpec>)>,
}

impl Pinned {
    fn of(nodes: &[Node]) -> Self {
        let zone = |node: &Node| Some((node.name.clone(), node.labels.get(label::ZONE)?.clone()));
        Self { zones: nodes.iter().filter_map(zone).collect(), specs: Vec::new() }
    }

    fn spec(&mut self, pod: &Pod) -> Arc<PodSpec> {
        let must_spread = pod.spec.topology_spread.iter().any(|own| {
            &*own.topology_key == label::ZONE
                && own.when_unsatisfiable == WhenUnsatisfiable::DoNotSchedule
        });
        let zone = pod.node_name.as_ref().and_then(|node| self.zones.get(node));
        let Some(zone) = zone.filter(|_| must_spread) else { return pod.spec.clone() };
        let is_known = |own: &&(Arc<PodSpec>, Text, Arc<PodSpec>)| {
            Arc::ptr_eq(&own.0, &pod.spec) && own.1 == *zone
        };
        if let Some((_, _, known)) = self.specs.iter().find(is_known) {
            return known.clone();
        }
        let mut spec = PodSpec::clone(&pod.spec);
        spec.node_selector.retain(|(key, _)| &**key != label::ZONE);
        spec.node_selector.push((label::ZONE.into(), zone.clone()));
        spec.node_selector.sort();
        let spec = Arc::new(spec);
        self.specs.push((pod.spec.clone(), zone.clone(), spec.clone()));
        spec
    }
}

/// The cluster without its nodes, with all pods pending.
fn afresh(world: &World) -> ClusterState {
    let mut listing = listing_of(world);
    if let Cow::Owned(objects) = listing.objects.with_default_constraints() {
        listing.objects = objects;
    }
    let mut pinned = Pinned::of(&listing.objects.nodes);
    let is_asking = |pod: &Pod| pod.is_active() && !pod.is_daemon() && !pod.is_static();
    let pods = listing.objects.pods.iter().filter(|pod| is_asking(pod)).map(|pod| Pod {
        spec: pinned.spec(pod),
        node_name: None,
        phase: PodPhase::Pending,
        marked_unschedulable: true,
        ready: None,
        started: None,
        ..pod.clone()
    });
    let pods = pods.collect();
    let objects = ClusterObjects { pods, nodes: SharedList::default(), ..listing.objects };
    ClusterState {
        now: world.now(),
        seed: 0,
        listing: ClusterListing { objects, node_claims: Vec::new(), ..listing },
        claims: Vec::new(),
        commands: Vec::new(),
        unavailable: Vec::new(),
        nominations: Vec::new(),
        spot: SpotMemory::default(),
        instance_types: world.ec2().types().clone(),
    }
}
