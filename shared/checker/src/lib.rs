//! Says what is wrong with a plan, by the rules of Kubernetes and of NodePools.
//!
//! It judges any plan over any snapshot and shares no algorithm with the planner, so that a plan which
//! passes was found right twice. It does not ask whether a plan is good, only whether it is allowed: a pod
//! left unschedulable breaks nothing here.
//!
//! A claim that is not launched yet is read as everything that the cloud may answer it with: its instance
//! types in each available offering that meets its own and its NodePool's requirements. A rule holds only if
//! it holds for every one of them, so a pod bound to one zone, on a claim that may still land in another,
//! breaks `node-affinity`.
//!
//! Where the documentation leaves room, rules lean towards the plan.

mod admission;
mod affinity;
mod budget;
mod catalogue;
mod claim;
mod daemons;
mod disruption;
mod eviction;
mod label_state;
mod launch;
mod limit;
mod moves;
mod offering;
mod offerings;
mod overlay;
mod place;
mod placement;
mod pods;
mod pool;
mod port;
mod reach;
mod report;
mod resource;
mod saving;
mod scene;
mod spread;
mod state;
mod terms;
mod violation;
mod volume;
mod world;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use domain::plan::Plan;
use domain::snapshot::ClusterSnapshot;

pub use violation::{Rule, Violation};

use report::Report;
use scene::Scene;
use state::State;
use world::World;

/// Every rule that the plan breaks over the snapshot, in a stable order; nothing for a plan that is allowed.
///
/// The work grows with pods plus nodes plus, for each claim, the instance types that it lists.
pub fn check(snapshot: &ClusterSnapshot, plan: &Plan) -> Vec<Violation> {
    let ahead = placement::scheduled_ahead(snapshot, plan);
    let world = World::read(snapshot, plan, &ahead);
    let mut report = Report::default();
    let mut scene = Scene::of_cluster(&world, plan);
    placement::read(&mut scene, &mut report);
    let disruptions = disruption::read(&mut scene, &mut report);

    claim::check_new(&scene, &mut report);
    claim::check_placements(&scene, &mut report);
    offering::check_reservations(&scene, &mut report);
    let state = State::after_launch(&scene);
    volume::check_exclusive(&scene, &state, &mut report);
    affinity::check_anti_affinity(&scene, &state, &mut report);
    affinity::check_affinity(&scene, &state, &mut report);
    spread::check(&scene, &state, &mut report);
    disruption::check(&scene, &disruptions, &mut report);
    limit::check(&scene, &disruptions.disrupted, &mut report);
    saving::check_lower_bound(&scene, &mut report);
    report.into_violations()
}
