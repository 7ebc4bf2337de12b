//! What pages show of a snapshot and its plan: every node and pod before and after, and what is
//! said about each.

use std::collections::{HashMap, HashSet};

use domain::plan::{Plan, PlannedNodeClaim};
use domain::pod::{Pod, PodKey};
use domain::resource::{CPU, MEMORY};
use domain::snapshot::ClusterSnapshot;
use planning::explain::{ClaimExplanation, explain_claims};

use crate::html::data::{PageData, PodRow, SideBlock, SideNode};
use crate::terminal::Canvas;
use crate::text::explain::{self, NewNode};
use crate::text::plan::PodNaming;
use crate::view::node_row;

/// Claims of a plan with what is said about each, by name.
type Claims<'a> = HashMap<&'a str, (&'a PlannedNodeClaim, Option<ClaimExplanation>)>;

/// The data of a snapshot and its plan.
pub(super) fn data(kind: &'static str, snapshot: &ClusterSnapshot, plan: &Plan) -> PageData {
    let before = node_row::rows(snapshot, &Plan::default());
    let after = node_row::rows(snapshot, plan);
    let mut nodes = SideNode::matched(&before, &after);
    let explanations = explain_claims(snapshot, explain::new_claims(plan));
    let claims: Claims = explain::new_claims(plan)
        .zip(explanations)
        .map(|(claim, explanation)| (&*claim.name, (claim, explanation)))
        .collect();
    for node in &mut nodes {
        let row = node.rows.iter().rev().flatten().next().copied();
        node.text = row.map(|row| {
            let claim = claims.get(&*row.name);
            let new = claim.map(|(claim, explanation)| NewNode {
                claim,
                explanation: explanation.as_ref(),
                // The page lists the pods of a node beside what is said about it.
                naming: PodNaming::Counted,
            });
            explain::about_node(row, snapshot, plan, new, Canvas::PLAIN)
        });
    }
    let mut data = PageData::new(kind);
    data.add_side(|texts| {
        SideBlock::new(("", "What one tick leaves."), &["before", "after"], &nodes, texts)
    });
    data.set_pods(&pods(snapshot, plan));
    data
}

/// Pods that are there and not over, and virtual ones, in the order of the snapshot.
fn pods<'a>(snapshot: &'a ClusterSnapshot, plan: &'a Plan) -> Vec<PodRow<'a>> {
    let places = planned_places(plan);
    let unschedulable: HashSet<&PodKey> = plan.unschedulable.iter().map(|own| &own.pod).collect();
    let is_there = |pod: &&Pod| !pod.is_terminal();
    let row = |pod: &'a Pod| {
        let from = pod.node_name.as_deref();
        let to = places.get(&pod.key).copied().filter(|to| Some(*to) != from);
        let state = match (from, to) {
            _ if unschedulable.contains(&pod.key) => "no place",
            (None, Some(_)) => "gets a place",
            (None, None) => "waits",
            (Some(_), Some(_)) => "moves",
            (Some(_), None) => "stays",
        };
        // Of a pod with a place, the node that it is on or goes to says why.
        let text = matches!(state, "no place" | "waits")
            .then(|| explain::about_pod(pod, plan, None, None, Canvas::PLAIN));
        let requests = (pod.spec.requests.get(CPU), pod.spec.requests.get(MEMORY));
        PodRow { name: pod.key.to_string(), from, to, state, requests, text }
    };
    snapshot.objects.pods.iter().filter(is_there).map(row).collect()
}

/// Where a plan puts pods: the name of a node or of a claim.
fn planned_places(plan: &Plan) -> HashMap<&PodKey, &str> {
    let claims = explain::new_claims(plan);
    let mut places: HashMap<&PodKey, &str> =
        claims.flat_map(|claim| claim.pods.iter().map(|pod| (pod, &*claim.name))).collect();
    let moves = plan.disruptions.iter().flat_map(|disruption| &disruption.moves);
    places.extend(plan.placements.iter().chain(moves).map(|own| (&own.pod, &*own.node)));
    places
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn what_is_said_of_a_new_node_does_not_name_the_pods_that_are_listed_beside_it() {
        let (snapshot, plan) = (testing::snapshot(), testing::plan());
        let block = data("plan", &snapshot, &plan).block().unwrap();
        assert!(block.contains("It is launched for pods that wait"), "{block}");
        assert!(block.contains("\"      1 pod (cpu 500m, memory 512Mi)\""), "{block}");
    }
}
