//! A cluster and a plan over it: every place that there is or will be, and the pods that the plan
//! puts there.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use domain::label::HOSTNAME;
use domain::node_pool::NodeClaimTemplate;
use domain::plan::{Plan, PlannedNodeClaim};
use domain::taint::Taint;
use domain::volume::CsiNode;
use domain::{SignedDuration, Text};

use crate::catalogue::is_market_label;
use crate::cluster_index::ClusterIndex;
use crate::label_state::Expression;
use crate::launch::{Launch, Narrowing, TypeLaunch};
use crate::obligation::PlanObligation;
use crate::place::{Place, PlaceId, PlaceKind, existing_places};
use crate::pods::{PodEntry, Pods};
use crate::report::Report;
use crate::terms::asks_for_a_value;
use crate::violation::Rule;
use crate::volume::csi_nodes;

/// A cluster and a plan over it.
pub(crate) struct PlanIndex<'w> {
    pub(crate) cluster: &'w ClusterIndex<'w>,
    pub(crate) plan: &'w Plan,
    /// What exists, then new claims, then replacements.
    pub(crate) places: Vec<Place<'w>>,
    /// Nodes and claims in flight, by name.
    pub(crate) existing: FxHashMap<Text, PlaceId>,
    /// New claims for pending pods.
    pub(crate) new: Vec<PlannedPlace<'w>>,
    /// Claims that replace disrupted nodes.
    pub(crate) replacements: Vec<PlannedPlace<'w>>,
    /// By pod, whether the plan may or must name it.
    pub(crate) obligations: Vec<PlanObligation>,
    pub(crate) csi_nodes: FxHashMap<&'w Text, &'w CsiNode>,
    launches: Launches<'w>,
}

/// A claim of the plan, and its place.
#[derive(Clone, Copy)]
pub(crate) struct PlannedPlace<'w> {
    pub(crate) claim: &'w PlannedNodeClaim,
    pub(crate) place: PlaceId,
}

/// A NodePool's number, requirements, and taints: claims that agree in them may be launched as the
/// same things.
type NarrowingKey = (usize, Vec<Expression>, Vec<Taint>);

#[derive(Default)]
struct Launches<'w> {
    narrowings: FxHashMap<NarrowingKey, Option<Rc<Narrowing<'w>>>>,
    launches: FxHashMap<(*const Narrowing<'w>, &'w [Text]), Rc<Launch<'w>>>,
}

impl<'w> PlanIndex<'w> {
    /// How long pods of a node that goes may stay, if that has an end.
    pub(crate) fn grace_period(&self, id: PlaceId) -> Option<SignedDuration> {
        let place = &self.places[id];
        match (place.claim, place.pool) {
            (Some(claim), _) => claim.termination_grace_period,
            (None, Some(pool)) => self.cluster.pools[pool].spec.template.termination_grace_period,
            (None, None) => None,
        }
    }

    /// The cluster's own places; the plan is read into it afterwards.
    pub(crate) fn of_cluster(cluster: &'w ClusterIndex<'w>, plan: &'w Plan) -> Self {
        let places = existing_places(cluster);
        let existing: FxHashMap<Text, PlaceId> =
            places.iter().enumerate().map(|(id, place)| (place.name.clone(), id)).collect();
        let obligation = |entry: &PodEntry<'_>| {
            let node = entry.pod.node_name.as_ref().and_then(|node| existing.get(node));
            PlanObligation::of(entry.pod, node.map(|place: &PlaceId| &places[*place]))
        };
        let obligations = cluster.pods.list.iter().map(obligation).collect();
        Self {
            cluster,
            plan,
            places,
            existing,
            new: Vec::new(),
            replacements: Vec::new(),
            obligations,
            csi_nodes: csi_nodes(cluster.snapshot),
            launches: Launches::default(),
        }
    }

    /// All pods.
    pub(crate) fn pods(&self) -> &'w Pods<'w> {
        &self.cluster.pods
    }

    /// All places.
    pub(crate) fn place_ids(&self) -> std::ops::Range<PlaceId> {
        0..self.places.len()
    }

    /// New claims and replacements.
    pub(crate) fn planned(&self) -> impl Iterator<Item = &PlannedPlace<'w>> {
        self.new.iter().chain(&self.replacements)
    }

    /// Adds a claim of the plan as a place, and says which of its types cannot be launched.
    pub(crate) fn add_claim(
        &mut self,
        claim: &'w PlannedNodeClaim,
        kind: PlaceKind,
        report: &mut Report,
    ) -> PlaceId {
        let id = self.places.len();
        let pool = self.cluster.pool(&claim.node_pool);
        let place = if let Some(pool) = pool {
            let taints = taints_of(&self.cluster.pools[pool].spec.template, claim);
            let launch = self.launch(claim, pool, &taints, report);
            Place::planned(kind, claim, Some(pool), launch, taints)
        } else {
            let message = format!("NodePool {} is not in the input", claim.node_pool);
            report.add(Rule::NodePoolUnknown, &claim.name, message);
            let nothing = Rc::new(Launch::new(Vec::new(), &[]));
            Place::planned(kind, claim, None, nothing, claim.taints.clone())
        };
        self.places.push(place);
        let planned = PlannedPlace { claim, place: id };
        match kind {
            PlaceKind::Replacement => self.replacements.push(planned),
            _ => self.new.push(planned),
        }
        id
    }

    /// Everything that the claim may be launched as.
    fn launch(
        &mut self,
        claim: &'w PlannedNodeClaim,
        pool: usize,
        taints: &[Taint],
        report: &mut Report,
    ) -> Rc<Launch<'w>> {
        let wanted = self.wanted(claim, pool, report);
        let Some(narrowing) = self.narrowing(pool, wanted, taints) else {
            return Rc::new(Launch::new(Vec::new(), &[]));
        };
        let key = (Rc::as_ptr(&narrowing), claim.instance_types.as_slice());
        let known = self.launches.launches.get(&key).cloned();
        // A claim that misses some of its types is worked out again, so that its missing types are
        // reported too.
        if let Some(known) = known.filter(|known| known.types.len() == claim.instance_types.len()) {
            return known;
        }
        let types = self.launchable_types(claim, pool, &narrowing, report);
        let launch = Rc::new(Launch::new(types, &self.cluster.topology_keys));
        self.launches.launches.insert(key, Rc::clone(&launch));
        launch
    }

    /// What the NodePool may launch under requirements, shared between claims.
    pub(crate) fn narrowing(
        &mut self,
        pool: usize,
        wanted: Vec<Expression>,
        taints: &[Taint],
    ) -> Option<Rc<Narrowing<'w>>> {
        let key = (pool, wanted, taints.to_vec());
        if let Some(known) = self.launches.narrowings.get(&key) {
            return known.clone();
        }
        let catalogue = &self.cluster.pools[pool].catalogue;
        let (of_market, of_type): (Vec<_>, Vec<_>) =
            key.1.iter().cloned().partition(|e| is_market_label(&e.key) && catalogue.knows(&e.key));
        let narrowing = if of_type.is_empty() {
            Narrowing::of_markets(self.cluster, pool, &of_market, taints).map(Rc::new)
        } else {
            let base = self.narrowing(pool, of_market, taints);
            base.map(|base| Rc::new(Narrowing::further(&base, of_type)))
        };
        self.launches.narrowings.insert(key, narrowing.clone());
        narrowing
    }

    /// The claim's requirements and labels, as far as its nodes can have such labels.
    fn wanted(
        &self,
        claim: &PlannedNodeClaim,
        pool: usize,
        report: &mut Report,
    ) -> Vec<Expression> {
        let pool = &self.cluster.pools[pool];
        let mut wanted = Vec::new();
        // A requirement on the host name stands in for a name that is not known yet.
        for requirement in claim.requirements.iter().filter(|r| &*r.key != HOSTNAME) {
            if pool.defines(&requirement.key) {
                wanted.push(Expression::of(requirement));
            } else if asks_for_a_value(requirement.operator) {
                let message = format!(
                    "requires label {}, which neither NodePool {} nor the catalogue defines",
                    requirement.key, pool.spec.name
                );
                report.add(Rule::ClaimLabel, &claim.name, message);
            }
        }
        for (key, value) in &claim.labels {
            if &**key != HOSTNAME && pool.defines(key) {
                wanted.push(Expression::is(key, value));
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        wanted
    }

    fn launchable_types(
        &self,
        claim: &PlannedNodeClaim,
        pool: usize,
        narrowing: &Narrowing<'w>,
        report: &mut Report,
    ) -> Vec<Rc<TypeLaunch<'w>>> {
        let pool = &self.cluster.pools[pool];
        let mut seen = rustc_hash::FxHashSet::default();
        let mut types = Vec::with_capacity(claim.instance_types.len());
        for name in claim.instance_types.iter().filter(|name| seen.insert(*name)) {
            let Some(position) = pool.catalogue.position(name) else {
                report.add(
                    Rule::TypeUnknown,
                    &claim.name,
                    format!("{name} is not in the catalogue"),
                );
                continue;
            };
            let Some(launch) = narrowing.of_type(position) else {
                let message = format!(
                    "{name} has no available offering that meets the labels and requirements of \
                     NodePool {} and of the claim",
                    pool.spec.name
                );
                report.add(Rule::TypeRequirements, &claim.name, message);
                continue;
            };
            types.push(launch);
        }
        types
    }
}

/// The taints that the claim's pods have to tolerate: the NodePool's, and further ones that the
/// claim lists and that are no startup taints.
fn taints_of(template: &NodeClaimTemplate, claim: &PlannedNodeClaim) -> Vec<Taint> {
    let further = claim.taints.iter().filter(|taint| {
        !template.taints.contains(taint) && !template.startup_taints.contains(taint)
    });
    template.taints.iter().chain(further).cloned().collect()
}
