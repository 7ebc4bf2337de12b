//! Why a planned claim has the instance types it has.

use domain::plan::PlannedNodeClaim;
use domain::requirement::{Requirement, Requirements};
use domain::snapshot::ClusterSnapshot;
use domain::{Text, label};

use super::funnel::{Filter, Funnel, Offer, Step};
use crate::feasibility::limits::Limits;
use crate::ids::PoolIx;
use crate::model::Model;
use crate::model::intern::KeyRule;
use crate::model::memo::Memo;

/// What a claim was chosen from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimExplanation {
    /// Instance types of its NodePool, filter by filter; the last leaves those it lists.
    pub steps: Vec<Step>,
    /// What is offered to EC2, each with its cheapest offering, cheapest first.
    pub offers: Vec<Offer>,
}

/// Explains a claim of a plan for the snapshot; `None` where its NodePool does not exist.
///
/// Limits count as they are before anything is launched.
pub fn explain_claim(
    snapshot: &ClusterSnapshot,
    claim: &PlannedNodeClaim,
) -> Option<ClaimExplanation> {
    let virtual_pods = crate::virtual_pods::virtual_pods(snapshot);
    let model = Model::new(snapshot, &virtual_pods);
    let index = model.pools.position(|pool| pool.node_pool.name == claim.node_pool)?;
    let pool = &model.pools[index];
    let memo = Memo::of(&model);
    let mut funnel = Funnel::of(&model, &memo, pool);
    let of_pods = keys_of_pods(&model, claim);
    let rules = rules(&model, &memo, &pool.own, claim);
    funnel.require(&rules, |rule, text| {
        if of_pods.contains(&rule.key) { Filter::Pods(text) } else { Filter::Topology(text) }
    });
    funnel.room(&requests_of_pods(&model, index, claim));
    funnel.limits(&Limits::of(&model, |_| false), index);
    funnel.listed(&claim.instance_types);
    Some(ClaimExplanation { offers: funnel.offers(), steps: funnel.steps })
}

/// What the claim requires beyond its pool, as far as that decides which types are left.
fn rules(model: &Model, memo: &Memo, own: &Requirements, claim: &PlannedNodeClaim) -> Vec<KeyRule> {
    let mut sets = memo.sets_mut();
    let is_beyond = |requirement: &&Requirement| {
        let key = &requirement.key;
        let is_of_pool = own.get(key).is_some_and(|own| own.values == requirement.value_set());
        &**key != label::INSTANCE_TYPE && model.key_kinds.contains_key(key) && !is_of_pool
    };
    let beyond: Vec<Requirement> = claim.requirements.iter().filter(is_beyond).cloned().collect();
    let conjunction = sets.conjunction_of(&beyond);
    sets.rules(conjunction).to_vec()
}

/// Keys that the claim's pods name in node selectors, affinity and volumes.
fn keys_of_pods(model: &Model, claim: &PlannedNodeClaim) -> Vec<Text> {
    let sets = &model.sets;
    let mut keys: Vec<Text> = model
        .shapes
        .pods
        .iter_enumerated()
        .filter(|(_, pod)| claim.pods.binary_search(&pod.key).is_ok())
        .filter_map(|(index, _)| model.shapes.of_pod[index])
        .flat_map(|shape| &model.shape(shape).alternatives)
        .flat_map(|way| sets.rules(*way).iter().map(|rule| rule.key.clone()).collect::<Vec<_>>())
        .collect();
    keys.sort();
    keys.dedup();
    keys
}

/// What the claim's pods request, without DaemonSets: virtual pods, which a claim does not list,
/// included.
fn requests_of_pods(model: &Model, pool: PoolIx, claim: &PlannedNodeClaim) -> Vec<i64> {
    let mut requests = model.resources.array(&claim.requests);
    let planned = model.pools[pool]
        .types
        .iter()
        .find(|one| one.instance_type.name == claim.offering.instance_type);
    if let Some(planned) = planned {
        for (amount, overhead) in requests.iter_mut().zip(&planned.overhead.requests) {
            *amount -= overhead;
        }
    }
    requests
}
