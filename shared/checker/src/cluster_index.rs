//! A cluster as one snapshot describes it, indexed for the rules. It judges nothing.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use domain::Text;
use domain::address_ledger::AddressLedger;
use domain::plan::{Plan, PlannedNodeClaim};
use domain::pod::Pod;
use domain::snapshot::ClusterSnapshot;

use crate::catalogue::Catalogue;
use crate::daemons::Daemons;
use crate::overlay::Overlays;
use crate::pods::{PodId, Pods};
use crate::pool::{Pool, PoolOffer};
use crate::volume::{VolumeNeeds, Volumes};
use crate::weight::Weights;

/// Everything that can be said about a cluster before a plan is read.
pub(crate) struct ClusterIndex<'a> {
    pub(crate) snapshot: &'a ClusterSnapshot,
    pub(crate) pods: Pods<'a>,
    pub(crate) pools: Vec<Pool<'a>>,
    /// By pool, what it may launch; `None` for pools that no rule will ask about.
    pub(crate) offers: Vec<Option<PoolOffer<'a>>>,
    /// Whether NodeOverlays may change prices and devices.
    pub(crate) has_overlays: bool,
    /// What spot offerings are to be chosen at.
    pub(crate) weights: Weights,
    /// Free addresses of zones; `None` where no EC2NodeClass asks about them.
    pub(crate) addresses: Option<AddressLedger>,
    pub(crate) daemons: Daemons<'a>,
    pub(crate) topology_keys: Vec<&'a Text>,
    volumes: FxHashMap<PodId, VolumeNeeds>,
    pool_numbers: FxHashMap<&'a str, usize>,
    catalogues: FxHashMap<&'a str, Rc<Catalogue<'a>>>,
}

/// All claims of a plan: new ones and replacements.
pub(crate) fn planned_claims(plan: &Plan) -> impl Iterator<Item = &PlannedNodeClaim> {
    let replacements = plan.disruptions.iter().flat_map(|disruption| &disruption.replacements);
    plan.node_claims.iter().chain(replacements)
}

impl<'a> ClusterIndex<'a> {
    /// Reads a snapshot as far as a plan over it needs; `ahead` are pods that schedules will add.
    pub(crate) fn read(snapshot: &'a ClusterSnapshot, plan: &Plan, ahead: &'a [Pod]) -> Self {
        // Virtual pods stand for capacity, not for anything that is placed.
        let real = snapshot.objects.pods.iter().filter(|pod| pod.virtual_of.is_none());
        let mut pods = Pods::read(real.chain(ahead), &snapshot.objects.namespaces);
        let volumes = read_volumes(snapshot, &mut pods);
        let mut catalogues: FxHashMap<&'a str, Rc<Catalogue<'a>>> = FxHashMap::default();
        let of_pools =
            snapshot.objects.node_pools.iter().map(|pool| &pool.template.node_class_ref.name);
        let of_claims = snapshot.node_claims.iter().map(|claim| &claim.node_class_ref.name);
        for class in of_pools.chain(of_claims) {
            catalogues
                .entry(class)
                .or_insert_with(|| Rc::new(Catalogue::of(&snapshot.instance_types, class)));
        }
        let pools: Vec<_> = snapshot
            .objects
            .node_pools
            .iter()
            .map(|spec| {
                Pool::new(spec, Rc::clone(&catalogues[&*spec.template.node_class_ref.name]))
            })
            .collect();
        let overlays = if snapshot.settings.feature_gates.node_overlay {
            snapshot.objects.node_overlays.as_slice()
        } else {
            &[]
        };
        let seen: Vec<&Catalogue<'a>> = pools.iter().map(|pool| &*pool.catalogue).collect();
        let overlays = Overlays::read(overlays, &seen);
        let wanted: FxHashSet<&Text> = planned_claims(plan).map(|claim| &claim.node_pool).collect();
        let spreads = pods.shapes.iter().any(|shape| shape.spreads().next().is_some());
        let weights = Weights::read(snapshot);
        let addresses = AddressLedger::of(snapshot);
        let offers = pools
            .iter()
            .map(|pool| {
                let asked = wanted.contains(&pool.spec.name)
                    || (spreads && pool.spec.serves_pending_pods());
                asked.then(|| pool.offer(&overlays, &weights, addresses.as_ref()))
            })
            .collect();
        Self {
            snapshot,
            topology_keys: pods.topology_keys(),
            pods,
            pool_numbers: pools
                .iter()
                .enumerate()
                .map(|(index, pool)| (&*pool.spec.name, index))
                .collect(),
            pools,
            offers,
            has_overlays: !overlays.is_empty(),
            weights,
            addresses,
            daemons: Daemons::read(&snapshot.objects.daemon_sets),
            volumes,
            catalogues,
        }
    }

    /// The number of a NodePool.
    pub(crate) fn pool(&self, name: &str) -> Option<usize> {
        self.pool_numbers.get(name).copied()
    }

    /// What nodes of a node class may be.
    pub(crate) fn catalogue_of_class(&self, class: &str) -> Option<&Catalogue<'a>> {
        self.catalogues.get(class).map(|catalogue| &**catalogue)
    }

    /// What the pod's volumes ask of a node; `None` for a pod without volumes.
    pub(crate) fn volumes(&self, pod: PodId) -> Option<&VolumeNeeds> {
        self.volumes.get(&pod)
    }
}

fn read_volumes(snapshot: &ClusterSnapshot, pods: &mut Pods<'_>) -> FxHashMap<PodId, VolumeNeeds> {
    let volumes = Volumes::read(snapshot);
    let with_volumes: Vec<PodId> =
        (0..pods.list.len()).filter(|id| !pods.spec(*id).volumes.is_empty()).collect();
    let mut needs = FxHashMap::default();
    for id in with_volumes {
        let pod = pods.pod(id);
        needs.insert(id, volumes.needs(pod, &mut pods.terms));
    }
    needs
}
