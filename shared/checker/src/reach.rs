//! Where a node could still be launched for a pod: the domains that topology spread counts as
//! empty.

use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use domain::Text;
use domain::label::HOSTNAME;
use domain::pod::{HostPort, PodSpec};
use domain::resource::Resources;
use domain::taint::{Toleration, first_untolerated};

use crate::label_state::LabelState;
use crate::launch::{Narrowing, TypeLaunch};
use crate::limit::Usage;
use crate::plan_index::PlanIndex;
use crate::pods::{ShapeId, TermsId};
use crate::pool::NEW_NODE;
use crate::resource::shortfalls;
use crate::terms::{LabelView, With};

/// What decides where a pod could go on its own, and the topology key in question.
///
/// Its volumes are left aside: where a volume lies narrows the pod's choice, not the domains of its
/// spread.
type ReachKey<'w> = (&'w Resources, &'w [Toleration], TermsId, &'w [HostPort], &'w Text);

/// Answers which domains could get a new node for a pod, within the limits of NodePools.
pub(crate) struct Reach<'s, 'w> {
    index: &'s PlanIndex<'w>,
    usage: Usage,
    /// By NodePool that serves pending pods, everything that it may launch.
    pools: Vec<Narrowing<'w>>,
    known: FxHashMap<ReachKey<'w>, Rc<BTreeSet<Text>>>,
}

impl<'s, 'w> Reach<'s, 'w> {
    /// Over the NodePools as they are after the launch.
    pub(crate) fn new(index: &'s PlanIndex<'w>) -> Self {
        let cluster = index.cluster;
        let serving = cluster.pools.iter().enumerate();
        let serving = serving.filter(|(_, pool)| pool.spec.serves_pending_pods());
        let pools = serving.filter_map(|(number, pool)| {
            Narrowing::of_markets(cluster, number, &[], &pool.spec.template.taints)
        });
        Self {
            index,
            usage: Usage::after_launch(index),
            pools: pools.collect(),
            known: FxHashMap::default(),
        }
    }

    /// The domains of a topology key in which a node could be launched for a pod of the shape
    /// alone. For host names that is one name which nobody has yet.
    pub(crate) fn domains(&mut self, shape: ShapeId, key: &'w Text) -> Rc<BTreeSet<Text>> {
        let shape = &self.index.pods().shapes[shape];
        let spec = shape.spec;
        let signature =
            (&spec.requests, &*spec.tolerations, shape.node_terms, &*spec.host_ports, key);
        if let Some(known) = self.known.get(&signature) {
            return Rc::clone(known);
        }
        let found = Rc::new(self.find(spec, shape.node_terms, key));
        self.known.insert(signature, Rc::clone(&found));
        found
    }

    fn find(&self, spec: &PodSpec, terms: TermsId, key: &Text) -> BTreeSet<Text> {
        let mut found = BTreeSet::new();
        for pool in &self.pools {
            let taints = &self.index.cluster.pools[pool.pool].spec.template.taints;
            if first_untolerated(&spec.tolerations, taints).is_some() {
                continue;
            }
            for launch in pool.all_types() {
                if !offers_more(&launch, key, &found) {
                    continue;
                }
                found.extend(self.domains_of(&launch, pool.pool, (spec, terms), key));
                if &**key == HOSTNAME && !found.is_empty() {
                    return found;
                }
            }
        }
        found
    }

    /// The domains of a key that nodes of one instance type could give the pod.
    fn domains_of(
        &self,
        launch: &TypeLaunch<'w>,
        pool: usize,
        (spec, terms): (&PodSpec, TermsId),
        key: &Text,
    ) -> BTreeSet<Text> {
        let mut found = BTreeSet::new();
        let terms_of_pod = self.index.pods().terms.get(terms);
        if !launch.verdict(terms, terms_of_pod).possible {
            return found;
        }
        let is_able: Vec<bool> =
            (0..launch.loads.len()).map(|load| self.can_host(launch, load, pool, spec)).collect();
        let mut seen = Vec::new();
        for (offer, load) in launch.offers.iter().zip(&launch.load_of) {
            if !is_able[*load] || seen.contains(&(offer.market, *load)) {
                continue;
            }
            seen.push((offer.market, *load));
            let view = launch.view(Some(offer.market));
            if !terms_of_pod.possible(&view) {
                continue;
            }
            if &**key == HOSTNAME {
                found.insert(NEW_NODE.into());
                return found;
            }
            for value in view.state(key).listed().unwrap_or_default() {
                let state = LabelState::one(value.clone());
                if terms_of_pod.possible(&With { view: &view, key, state: &state }) {
                    found.insert(value.clone());
                }
            }
        }
        found
    }

    /// Whether a new node could run the pod beside its DaemonSets, within the NodePool's limits.
    fn can_host(&self, launch: &TypeLaunch<'w>, load: usize, pool: usize, spec: &PodSpec) -> bool {
        let load = &launch.loads[load];
        let mut asked = load.daemons.requests.clone();
        asked.add(&spec.requests);
        let clashes =
            |port: &HostPort| load.daemons.ports.iter().any(|other| port.conflicts_with(other));
        shortfalls(&asked, load.allocatable).next().is_none()
            && !spec.host_ports.iter().any(clashes)
            && self.usage.leaves_room(self.index, pool, load.capacity)
    }
}

/// Whether the type may be in a domain that is not found yet.
fn offers_more(launch: &TypeLaunch<'_>, key: &Text, found: &BTreeSet<Text>) -> bool {
    launch.distinct_markets().iter().any(|market| {
        let view = launch.view(Some(*market));
        let values = view.state(key).listed().unwrap_or_default();
        values.iter().any(|value| !found.contains(value))
    })
}
