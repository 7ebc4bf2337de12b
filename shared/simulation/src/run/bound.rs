//! What the pods of a world need at least, wherever they are now.

use controllers::core::Core;
use controllers::ports::ClusterView;
use controllers::steps::snapshot::{Observation, snapshot};
use domain::pod::{Pod, PodPhase};
use domain::settings::Settings;

use crate::ports::view_of;
use crate::world::World;

/// What all nodes cost an hour, in percent, rounded up, of the least that the pods need on a cluster without
/// nodes: the planner's lower bound where it has one, else what it would launch.
pub(super) fn percent(world: &World, core: &Core, settings: &Settings) -> u32 {
    let plan = (core.schedule)(&snapshot(&afresh(world), settings));
    let least = plan.totals.lower_bound.unwrap_or(plan.totals.hourly_after).nanos();
    let own = world.ec2().hourly().nanos();
    if least <= 0 {
        return if own <= 0 { 100 } else { u32::MAX };
    }
    let percent = (i128::from(own) * 100 + i128::from(least) - 1) / i128::from(least);
    u32::try_from(percent).unwrap_or(u32::MAX)
}

/// The cluster as it would look if all its nodes were gone and its pods waited.
fn afresh(world: &World) -> Observation {
    let view = view_of(world);
    let is_asking = |pod: &Pod| pod.is_active() && !pod.is_daemon() && !pod.is_static();
    let pods = view.pods.iter().filter(|pod| is_asking(pod)).map(|pod| Pod {
        node_name: None,
        phase: PodPhase::Pending,
        marked_unschedulable: true,
        ready: None,
        started: None,
        ..pod.clone()
    });
    Observation {
        now: world.now(),
        seed: 0,
        view: ClusterView {
            pods: pods.collect(),
            nodes: Vec::new(),
            node_claims: Vec::new(),
            ..view
        },
        claims: Vec::new(),
        commands: Vec::new(),
        unavailable: Vec::new(),
        nominations: Vec::new(),
        instance_types: world.ec2().types().clone(),
    }
}
