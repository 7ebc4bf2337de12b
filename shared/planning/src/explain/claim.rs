//! Why a planned claim has the instance types it has.

use std::collections::BTreeSet;

use domain::plan::PlannedNodeClaim;
use domain::pod::PodKey;
use domain::requirement::{Requirement, Requirements};
use domain::snapshot::ClusterSnapshot;
use domain::{Text, label};
use rustc_hash::FxHashMap;

use super::funnel::{Filter, Funnel, Offer, Step};
use crate::feasibility::limits::Limits;
use crate::ids::{PodIx, PoolIx, ShapeIx};
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

/// Explains claims of a plan for the snapshot, in their order; `None` where a claim's NodePool does
/// not exist.
///
/// Limits count as they are before anything is launched.
pub fn explain_claims<'a>(
    snapshot: &ClusterSnapshot,
    claims: impl IntoIterator<Item = &'a PlannedNodeClaim>,
) -> Vec<Option<ClaimExplanation>> {
    let snapshot = &*snapshot.with_default_constraints();
    let virtual_pods = crate::virtual_pods::virtual_pods(snapshot);
    let model = Model::new(snapshot, &virtual_pods);
    let memo = Memo::of(&model);
    let limits = Limits::of(&model, |_| false);
    let pods = model.shapes.pods.iter_enumerated().map(|(index, pod)| (&pod.key, index)).collect();
    let explainer = Explainer { model: &model, memo: &memo, limits: &limits, pods };
    claims.into_iter().map(|claim| explainer.explain(claim)).collect()
}

/// Explains one claim, as [`explain_claims`] does.
pub fn explain_claim(
    snapshot: &ClusterSnapshot,
    claim: &PlannedNodeClaim,
) -> Option<ClaimExplanation> {
    explain_claims(snapshot, [claim]).pop().flatten()
}

/// What every claim of a plan is explained from.
struct Explainer<'a> {
    model: &'a Model<'a>,
    memo: &'a Memo,
    limits: &'a Limits,
    pods: FxHashMap<&'a PodKey, PodIx>,
}

impl Explainer<'_> {
    fn explain(&self, claim: &PlannedNodeClaim) -> Option<ClaimExplanation> {
        let Self { model, memo, limits, .. } = self;
        let index = model.pools.position(|pool| pool.node_pool.name == claim.node_pool)?;
        let pool = &model.pools[index];
        let mut funnel = Funnel::of(model, memo, pool);
        let of_pods = self.keys_of_pods(claim);
        let rules = rules(model, memo, &pool.own, claim);
        funnel.require(&rules, |rule, text| {
            if of_pods.contains(&rule.key) { Filter::Pods(text) } else { Filter::Topology(text) }
        });
        funnel.room(&requests_of_pods(model, index, claim));
        funnel.limits(limits, index);
        funnel.listed(&claim.instance_types);
        Some(ClaimExplanation { offers: funnel.offers(), steps: funnel.steps })
    }

    /// Keys that the claim's pods name in node selectors, affinity and volumes.
    fn keys_of_pods(&self, claim: &PlannedNodeClaim) -> BTreeSet<Text> {
        let Self { model, pods, .. } = self;
        let shapes: BTreeSet<ShapeIx> = claim
            .pods
            .iter()
            .filter_map(|pod| pods.get(pod))
            .filter_map(|pod| model.shapes.of_pod[*pod])
            .collect();
        shapes
            .into_iter()
            .flat_map(|shape| &model.shape(shape).alternatives)
            .flat_map(|way| {
                let rules = model.sets.rules(*way);
                rules.iter().map(|rule| rule.key.clone()).collect::<Vec<_>>()
            })
            .collect()
    }
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
