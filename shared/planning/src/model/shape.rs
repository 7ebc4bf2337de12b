//! Pods grouped by shape (pod equivalence class): pods of one shape are equal in everything that
//! scheduling depends on, so work grows with shapes, not with pods.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use domain::Text;
use domain::label::{self, Labels};
use domain::pod::{Pod, PodSpec};
use domain::reason::PodUnschedulable;
use domain::requirement::{Requirement, Requirements, ValueSet};
use domain::snapshot::ClusterSnapshot;
use domain::spot::PodInterruption;
use rustc_hash::FxHashMap;

use super::daemon::NODE_NAME_FIELD;
use super::intern::{ConjunctionId, KeyRule, Sets};
use super::interruption::{INTERRUPTION_FIELD, Interruptions, named};
use super::resources::ResourceNames;
use super::volume::{VolumeRules, Volumes};
use crate::ids::{IndexVec, PodIx, ShapeIx};

/// Pods of one shape.
pub(crate) struct Shape<'a> {
    /// The namespace.
    pub(crate) namespace: &'a Text,
    /// Labels.
    pub(crate) labels: &'a Labels,
    /// The specification that they share.
    pub(crate) spec: &'a PodSpec,
    /// Requests, by resource index.
    pub(crate) requests: Vec<i64>,
    /// Ways of meeting node selector, required affinity and volumes; one must hold. In the order
    /// written.
    pub(crate) alternatives: Vec<ConjunctionId>,
    /// Ways of meeting node selector and required affinity without volumes, as topology spread
    /// counts nodes.
    pub(crate) node_alternatives: Vec<ConjunctionId>,
    /// Preferred node terms, heaviest first.
    pub(crate) preferences: Vec<(i32, ConjunctionId)>,
    /// Volumes.
    pub(crate) volumes: VolumeRules,
    /// Why its pods cannot run on any new node, whatever the NodePools.
    pub(crate) unschedulable: Option<PodUnschedulable>,
}

/// Shapes of all pods that matter, and which pod has which.
pub(crate) struct Shapes<'a> {
    /// The shapes.
    pub(crate) list: IndexVec<ShapeIx, Shape<'a>>,
    /// Pods of the snapshot, then virtual ones.
    pub(crate) pods: IndexVec<PodIx, &'a Pod>,
    /// The shape of each pod; pods that ended have none.
    pub(crate) of_pod: IndexVec<PodIx, Option<ShapeIx>>,
}

/// Namespace, and where labels and spec are.
type Address<'p> = (&'p str, *const Labels, *const PodSpec, PodInterruption);

#[derive(PartialEq, Eq)]
struct ShapeKey<'a> {
    namespace: &'a Text,
    labels: &'a Labels,
    spec: &'a PodSpec,
    interruption: PodInterruption,
    volumes: VolumeRules,
}

impl Hash for ShapeKey<'_> {
    /// Of what tells nearly all apart: specifications are long.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self { namespace, labels, spec, interruption: _, volumes: _ } = self;
        namespace.hash(state);
        labels.hash(state);
        spec.requests.hash(state);
    }
}

/// What narrows the offerings of pods beside what they require.
#[derive(Clone, Copy)]
pub(crate) struct Narrows {
    /// What decides what their interruptions cost.
    pub(crate) interruptions: Interruptions,
    /// Whether they differ by that in some NodePool.
    pub(crate) are_distinct: bool,
}

impl<'a> Shapes<'a> {
    /// Groups the pods of a snapshot and the virtual ones.
    pub(crate) fn of(
        snapshot: &'a ClusterSnapshot,
        virtual_pods: &'a [Pod],
        resources: &ResourceNames,
        narrows: Narrows,
        sets: &mut Sets,
    ) -> Self {
        let volumes = Volumes::of(snapshot);
        let pods: IndexVec<PodIx, &Pod> =
            snapshot.objects.pods.iter().chain(virtual_pods).collect();
        let mut list: IndexVec<ShapeIx, Shape> = IndexVec::new();
        let mut by_content: FxHashMap<ShapeKey, ShapeIx> = FxHashMap::default();
        // Pods of one workload share their parts, so their addresses tell most of them apart at
        // once.
        let mut by_address: FxHashMap<Address, ShapeIx> = FxHashMap::default();
        // Pods of one workload stand side by side.
        let mut last: Option<(Address, ShapeIx)> = None;
        let mut of_pod: Vec<Option<ShapeIx>> = Vec::with_capacity(pods.len());
        for pod in &pods {
            if pod.is_terminal() {
                of_pod.push(None);
                continue;
            }
            let interruption = narrows.interruptions.of_pod(snapshot, pod);
            let (labels, spec) = (Arc::as_ptr(&pod.labels), Arc::as_ptr(&pod.spec));
            let address = (&*pod.key.namespace, labels, spec, interruption);
            let has_volumes = !pod.spec.volumes.is_empty();
            let same = last.filter(|(known, _)| *known == address).map(|(_, shape)| shape);
            let known = same.or_else(|| by_address.get(&address).copied());
            if let Some(known) = known.filter(|_| !has_volumes) {
                last = Some((address, known));
                of_pod.push(Some(known));
                continue;
            }
            let rules = if has_volumes { volumes.rules_of(pod) } else { VolumeRules::default() };
            let key = ShapeKey {
                namespace: &pod.key.namespace,
                labels: &pod.labels,
                spec: &pod.spec,
                interruption,
                volumes: rules.clone(),
            };
            let distinct = narrows.are_distinct.then_some(interruption);
            let index = *by_content
                .entry(key)
                .or_insert_with(|| list.push(Shape::of(pod, rules, distinct, resources, sets)));
            if !has_volumes {
                by_address.insert(address, index);
            }
            of_pod.push(Some(index));
        }
        Self { list, pods, of_pod: of_pod.into() }
    }
}

impl<'a> Shape<'a> {
    /// `distinct` decides what an interruption of its pods costs, where pods differ in that.
    fn of(
        pod: &'a Pod,
        volumes: VolumeRules,
        distinct: Option<PodInterruption>,
        resources: &ResourceNames,
        sets: &mut Sets,
    ) -> Self {
        let spec = &*pod.spec;
        let strict = super::daemon::strict_terms(spec);
        let node_alternatives: Vec<ConjunctionId> = strict
            .iter()
            .filter(|term| term.contradiction().is_none())
            .map(|term| sets.conjunction(term))
            .collect();
        let ways: Vec<ConjunctionId> =
            volumes.alternatives().iter().map(|way| sets.conjunction_of(way)).collect();
        let mut alternatives = Vec::new();
        for node in &node_alternatives {
            for way in &ways {
                alternatives.extend(sets.and(*node, *way));
            }
        }
        if let Some(distinct) = distinct {
            let rule = interruption_rule(distinct, sets);
            alternatives = alternatives.iter().filter_map(|way| sets.and(*way, rule)).collect();
        }
        let mut preferred: Vec<_> = spec.preferred_node_terms.iter().collect();
        preferred.sort_by_key(|preference| -preference.weight);
        let preferences = preferred
            .iter()
            .map(|preference| {
                let requirements: Vec<Requirement> =
                    preference
                        .term
                        .expressions
                        .iter()
                        .cloned()
                        .chain(preference.term.fields.iter().map(|field| Requirement {
                            key: NODE_NAME_FIELD.into(),
                            ..field.clone()
                        }))
                        .collect();
                (preference.weight, sets.conjunction_of(&requirements))
            })
            .collect();
        let unschedulable = unschedulable(spec, &strict, &volumes, &ways);
        Self {
            namespace: &pod.key.namespace,
            labels: &pod.labels,
            spec,
            requests: resources.array(&spec.requests),
            alternatives,
            node_alternatives,
            preferences,
            volumes,
            unschedulable,
        }
    }
}

/// What pods require of an offering by what decides what their interruptions cost. Of nodes that
/// are there, it requires nothing.
fn interruption_rule(distinct: PodInterruption, sets: &mut Sets) -> ConjunctionId {
    let set = sets.set(ValueSet::one(named(distinct)));
    sets.intern(vec![KeyRule { key: INTERRUPTION_FIELD.into(), set, may_be_absent: true }])
}

fn unschedulable(
    spec: &PodSpec,
    strict: &[Requirements],
    volumes: &VolumeRules,
    ways: &[ConjunctionId],
) -> Option<PodUnschedulable> {
    if let Some(claim) = spec.resource_claims.first() {
        return Some(PodUnschedulable::DeviceClaim { claim: claim.clone() });
    }
    if let Some((claim, problem)) = &volumes.problem {
        return Some(PodUnschedulable::Volume { claim: claim.clone(), problem: problem.clone() });
    }
    if ways.is_empty() {
        let problem = domain::reason::VolumeProblem::Incompatible;
        return Some(PodUnschedulable::Volume { claim: "of the pod".into(), problem });
    }
    let refuses = |term: &Requirements| {
        term.get(label::NODE_POOL).is_some_and(|rule| rule.values.is_empty() && rule.may_be_absent)
    };
    if !strict.is_empty() && strict.iter().all(refuses) {
        return Some(PodUnschedulable::RefusesManagedNodes);
    }
    None
}

impl Shape<'_> {
    /// Whether nothing of a host's own (ports, volumes of one pod) keeps its pods from sharing one.
    pub(crate) fn shares_hosts_freely(&self) -> bool {
        self.spec.host_ports.is_empty() && self.volumes.exclusive.is_empty()
    }

    /// Whether its volumes or device claims keep it from every node, existing ones included.
    pub(crate) fn is_blocked_by_claims(&self) -> bool {
        matches!(
            self.unschedulable,
            Some(PodUnschedulable::DeviceClaim { .. } | PodUnschedulable::Volume { .. })
        )
    }

    /// Whether its pods get no place in any cluster: nothing admits them, or they request no
    /// resource at all.
    pub(crate) fn is_never_schedulable(&self) -> bool {
        self.is_blocked_by_claims() || self.spec.requests.is_empty()
    }
}
