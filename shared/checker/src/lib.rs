//! Says what is wrong with a plan, by the rules of Kubernetes and of NodePools.
//!
//! It judges any plan over any snapshot and shares no algorithm with the planner, so that a plan
//! which passes was found right twice. It does not ask whether a plan is good, only whether it is
//! allowed: a pod left unschedulable breaks nothing here.
//!
//! A claim that is not launched yet is read as everything that the cloud may answer it with: its
//! instance types in each available offering that meets its own and its NodePool's requirements. A
//! rule holds only if it holds for every one of them, so a pod bound to one zone, on a claim that
//! may still land in another, breaks `node-affinity`.
//!
//! Where the documentation leaves room, rules lean towards the plan.

mod admission;
mod affinity;
mod budget;
mod catalogue;
mod claim;
mod claim_weight;
mod cluster_index;
mod commitment;
mod daemons;
mod disruption;
mod disruption_entry;
mod drift_waves;
mod eviction;
mod expendable;
mod expiration;
mod family_part;
mod image_age;
mod label_state;
mod launch;
mod limit;
mod moves;
mod obligation;
mod off_hours;
mod offering;
mod offerings;
mod overlay;
mod place;
mod placement;
mod plan_index;
mod pods;
mod pool;
mod port;
mod reach;
mod report;
mod resource;
mod saving;
mod spot_share;
mod spread;
mod state;
mod terms;
mod utilization;
mod violation;
mod volume;
mod volume_rules;
mod weight;
mod zones;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use domain::plan::Plan;
use domain::snapshot::ClusterSnapshot;

pub use violation::{Rule, Violation};

use cluster_index::ClusterIndex;
use plan_index::PlanIndex;
use report::Report;
use state::State;

/// Every rule that the plan breaks over the snapshot, in a stable order; nothing for a plan that is
/// allowed.
///
/// The work grows with pods plus nodes plus, for each claim, the instance types that it lists.
pub fn check(snapshot: &ClusterSnapshot, plan: &Plan) -> Vec<Violation> {
    let snapshot = &*snapshot.with_default_constraints();
    let scheduled = placement::scheduled_pods(snapshot, plan);
    let cluster = ClusterIndex::read(snapshot, plan, &scheduled);
    let mut report = Report::default();
    let mut index = PlanIndex::of_cluster(&cluster, plan);
    placement::read(&mut index, &mut report);
    let disruptions = disruption::read(&mut index, &mut report);

    claim::check_new(&index, &mut report);
    claim::check_placements(&index, &mut report);
    offering::check_reservations(&index, &mut report);
    spot_share::check(&index, &mut report);
    let state = State::after_launch(&index);
    volume_rules::check_exclusive(&index, &state, &mut report);
    affinity::check_anti_affinity(&index, &state, &mut report);
    affinity::check_affinity(&index, &state, &mut report);
    spread::check(&index, &state, &mut report);
    disruption::check(&index, &disruptions, &mut report);
    expendable::check(&index, &mut report);
    image_age::check(&index, &mut report);
    off_hours::check(&index, &mut report);
    zones::check(&index, &mut report);
    limit::check(&index, &disruptions.disrupted, &mut report);
    saving::check_lower_bound(&index, &mut report);
    report.into_violations()
}
