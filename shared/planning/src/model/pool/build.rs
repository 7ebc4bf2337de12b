//! Building pools from a snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::Text;
use domain::address_ledger::AddressLedger;
use domain::cluster_limit::limits_dollars;
use domain::commitment::Commitments;
use domain::instance_type::{CapacityType, InstanceType, InstanceTypeList, Offering};
use domain::label::{self, Labels};
use domain::money::UsdPerHour;
use domain::node_pool::NodePool;
use domain::reason::NodePoolUnfit;
use domain::requirement::Requirements;
use domain::resource::{MEMORY, USD_PER_HOUR, is_huge_pages};
use domain::snapshot::ClusterSnapshot;
use domain::spot::{InterruptionCosts, NodeInterruptionCost, PodInterruption, SpotPolicy};
use rustc_hash::FxHashMap;

use super::launchable::{Compatible, Pool, PoolType, Purchase, TypeOffering};
use super::local_room::LocalRoom;
use super::unmet::Unmet;
use crate::ids::{
    Idx, IndexVec, PoolIx, PurchaseIx, PurchaseSet, TypeIx, TypeSet, ZoneIx, ZoneSet,
};
use crate::model::commitments::counted;
use crate::model::daemon::{Daemons, Overhead};
use crate::model::intern::{KeyKind, KeyRule, Sets};
use crate::model::interruption::{costs_of_nodes, named};
use crate::model::overlay::{Overlays, pool_requirements};
use crate::model::resources::ResourceNames;
use crate::model::weight::{Measure, Weighted, Weights};

/// What a model has interned before its pools.
#[derive(Clone, Copy)]
pub(crate) struct Names<'b> {
    pub(crate) resources: &'b ResourceNames,
    pub(crate) key_kinds: &'b BTreeMap<Text, KeyKind>,
    pub(crate) zones: &'b IndexVec<ZoneIx, Text>,
    /// Free addresses of zones, where an EC2NodeClass asks about them.
    pub(crate) addresses: Option<&'b AddressLedger>,
    /// What decides of pods what their interruptions cost.
    pub(crate) interruptions: &'b BTreeSet<PodInterruption>,
}

/// The pools of a snapshot, heaviest first, then by name; those that cannot serve pending pods
/// last.
pub(crate) fn pools<'a>(
    snapshot: &'a ClusterSnapshot,
    weights: &Weights,
    names: Names<'_>,
    sets: &mut Sets,
) -> IndexVec<PoolIx, Pool<'a>> {
    let overlays = Overlays::of(snapshot);
    let mut node_pools: Vec<&NodePool> = snapshot.objects.node_pools.iter().collect();
    node_pools.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.name.cmp(&b.name)));
    let commitments = Commitments::of(&snapshot.objects.commitments, snapshot.now);
    let commitments = commitments.as_ref();
    let builder = Builder { snapshot, weights, names, overlays: &overlays, commitments };
    let pools = node_pools.into_iter().enumerate();
    pools.map(|(index, node_pool)| builder.pool(PoolIx::new(index), node_pool, sets)).collect()
}

struct Builder<'a, 'b> {
    snapshot: &'a ClusterSnapshot,
    weights: &'b Weights,
    names: Names<'b>,
    overlays: &'b Overlays<'a>,
    /// Commitments that hold now.
    commitments: Option<&'b Commitments>,
}

/// What a NodePool makes of interruptions.
struct Measures<'b> {
    measure: Measure<'b>,
    /// What an interruption of its nodes may cost, by the dearest of their pods.
    costs: Vec<NodeInterruptionCost>,
}

impl<'a> Builder<'a, '_> {
    fn pool(&self, index: PoolIx, node_pool: &'a NodePool, sets: &mut Sets) -> Pool<'a> {
        let own = pool_requirements(node_pool);
        let policy = SpotPolicy::of(&node_pool.annotations);
        let measures = self.measures(node_pool, policy);
        let mut seen_by_daemons = own.clone();
        for (key, value) in &fixed_labels(node_pool) {
            seen_by_daemons.add_label(key, value);
        }
        let daemons = Daemons::tolerating(
            &self.snapshot.objects.daemon_sets,
            &node_pool.template.taints,
            self.names.resources,
        );
        let mut purchases = IndexVec::new();
        let mut overheads = Overheads::default();
        let offered = self.snapshot.instance_types.of(&node_pool.template.node_class_ref.name);
        let admitted = self.admitted(node_pool, &own);
        let meeting = offered.iter().zip(self.meets_own(offered, &own));
        let types: IndexVec<TypeIx, PoolType> = meeting
            .filter(|(_, meets)| *meets)
            .filter_map(|(instance_type, _)| {
                let offerings = self.offerings(instance_type, &admitted, &measures, &mut purchases);
                if offerings.is_empty() {
                    return None;
                }
                let overhead = overheads.shared(daemons.overhead_on(
                    instance_type,
                    &seen_by_daemons,
                    self.names.key_kinds,
                    self.names.resources.len(),
                ));
                let pool_type = self.pool_type(instance_type, &node_pool.name, overhead, offerings);
                let pool_type = self.counted_in_commitments(pool_type, &purchases);
                Some(counted_in_usd(self.snapshot, node_pool, pool_type))
            })
            .collect();
        let has_no_node = has_no_node(&own, &types);
        let unmet = || {
            let (snapshot, key_kinds) = (self.snapshot, self.names.key_kinds);
            Unmet { snapshot, key_kinds, node_pool, own: &own, offered }.reason()
        };
        Pool {
            index,
            node_pool,
            limited: limited(self.snapshot, node_pool),
            unfit: unfit(self.snapshot, node_pool).or_else(|| {
                has_no_node.then(|| NodePoolUnfit::UnmetRequirements(Box::new(unmet())))
            }),
            has_no_node,
            is_weighted: policy.is_set() || measures.costs.len() > 1,
            bought_for: self.bought_for(&measures, &purchases),
            all: self.everything(&own, &types, purchases.len(), sets),
            min_values: own
                .iter()
                .filter_map(|(key, rule)| rule.min_values.map(|wanted| (key.clone(), wanted)))
                .collect(),
            local_room: LocalRoom::of(daemons.local(self.names.key_kinds), seen_by_daemons),
            types,
            own,
            purchases,
            fixed: fixed_labels(node_pool),
            zones: self.names.zones.clone(),
            zone_ids: self.snapshot.instance_types.zone_ids.clone(),
            region: self.snapshot.instance_types.region.clone(),
        }
    }

    fn measures(&self, node_pool: &NodePool, policy: SpotPolicy) -> Measures<'_> {
        let costs = self.weights.costs(node_pool);
        let usual = costs.map(InterruptionCosts::usual).unwrap_or_default();
        let measure = Measure { max: policy.max, costs, cost: usual };
        let costs = costs.map(|costs| costs_of_nodes(costs, self.names.interruptions));
        Measures { measure, costs: costs.unwrap_or_else(|| vec![usual]) }
    }

    /// Ways of buying that pods may use, by what decides what their interruptions cost: of spot,
    /// those that are chosen at that or more. Empty where nothing tells pods apart.
    fn bought_for(
        &self,
        measures: &Measures<'_>,
        purchases: &IndexVec<PurchaseIx, Purchase>,
    ) -> BTreeMap<Text, PurchaseSet> {
        let Some(costs) = measures.measure.costs.filter(|_| measures.costs.len() > 1) else {
            return BTreeMap::new();
        };
        let bought_for = |pod: PodInterruption| {
            let cost = costs.of_pod(pod);
            let may_use = |purchase: &Purchase| {
                purchase.capacity_type != CapacityType::Spot
                    || purchase.interruption.and(cost) == purchase.interruption
            };
            let used = purchases.iter_enumerated().filter(|(_, own)| may_use(own));
            used.map(|(index, _)| index).filter(|own| own.index() < PurchaseSet::MAX_LEN).collect()
        };
        self.names.interruptions.iter().map(|pod| (named(*pod), bought_for(*pod))).collect()
    }

    /// Whatever the pool may launch, before the requirements of any pod. Types on which their
    /// DaemonSets do not fit host no pod; where those fit on none, all types are left, which a
    /// static NodePool launches all the same.
    fn everything(
        &self,
        own: &Requirements,
        types: &IndexVec<TypeIx, PoolType>,
        purchases: usize,
        sets: &mut Sets,
    ) -> Compatible {
        let mut hosting = TypeSet::full(types.len());
        hosting.retain(|index| types[index].hosts_its_daemons());
        if hosting.is_empty() {
            hosting = TypeSet::full(types.len());
        }
        let open = own
            .iter()
            .filter(|(key, _)| is_open(self.names.key_kinds.get(*key)))
            .filter(|(key, _)| &***key != label::NODE_POOL)
            .map(|(key, rule)| KeyRule {
                key: key.clone(),
                set: sets.set(rule.values.clone()),
                // A node gets some value of every label its pool names, unless the pool forbids it,
                // or its pods do and the pool only excludes values.
                may_be_absent: rule.may_be_absent,
            })
            .collect();
        Compatible {
            types: hosting,
            zones: self.admitted_zones(own),
            purchases: PurchaseSet::full(purchases),
            open,
        }
    }

    /// Zones that the pool's own requirements admit, a bit each.
    fn admitted_zones(&self, own: &Requirements) -> ZoneSet {
        let allows =
            |key: &str, value: &Text| own.get(key).is_none_or(|rule| rule.values.contains(value));
        self.names
            .zones
            .iter_enumerated()
            .filter(|(_, zone)| {
                let zone_id = self.snapshot.instance_types.zone_ids.get(*zone);
                allows(label::ZONE, zone)
                    && zone_id.is_none_or(|zone_id| allows(label::ZONE_ID, zone_id))
            })
            .map(|(index, _)| index)
            .collect()
    }

    /// By type, whether its labels meet the pool's requirements, as far as the type decides them.
    fn meets_own(&self, offered: &InstanceTypeList, own: &Requirements) -> Vec<bool> {
        let mut meets = vec![true; offered.len()];
        for (key, rule) in own.iter() {
            match self.names.key_kinds.get(key) {
                Some(KeyKind::InstanceType { .. }) => {
                    let column = offered.column(key);
                    let distinct = column.map(|own| own.distinct.as_slice()).unwrap_or_default();
                    let has_allowed =
                        |values: &Vec<Text>| values.iter().any(|value| rule.values.contains(value));
                    let allowed: Vec<bool> = distinct.iter().map(has_allowed).collect();
                    for (index, meets) in meets.iter_mut().enumerate() {
                        let values = column.and_then(|own| own.of_type[index]);
                        *meets &= values.map_or(rule.may_be_absent, |own| allowed[own]);
                    }
                }
                Some(KeyKind::Region) => {
                    let region = self.snapshot.instance_types.region.as_ref();
                    if !region.is_none_or(|region| rule.values.contains(region)) {
                        meets.fill(false);
                    }
                }
                _ => {}
            }
        }
        meets
    }

    fn offerings(
        &self,
        instance_type: &InstanceType,
        admitted: &Admitted<'_>,
        measures: &Measures<'_>,
        purchases: &mut IndexVec<PurchaseIx, Purchase>,
    ) -> Vec<TypeOffering> {
        let mut offerings = Vec::new();
        for offering in instance_type.offerings.iter().filter(|offering| offering.is_usable()) {
            let Some(zone) = admitted.zone_of(offering) else {
                continue;
            };
            let cost = if self.overlays.is_empty() {
                offering.price
            } else {
                self.overlays.price(admitted.pool, instance_type, offering)
            };
            let bought = (&*offering.zone, offering.capacity_type);
            let is_spot = offering.capacity_type == CapacityType::Spot;
            let ways = if is_spot { measures.costs.as_slice() } else { &NOT_INTERRUPTED };
            let mut first = None;
            for interruption in ways {
                let purchase = index_of(purchases, offering, *interruption);
                if purchase.index() >= PurchaseSet::MAX_LEN {
                    // Masks hold 64 ways of buying: a pool with more reservations does without the
                    // rest.
                    continue;
                }
                let measure = Measure { cost: *interruption, ..measures.measure };
                let Weighted { price, rank, is_over } =
                    self.weights.weighted(measure, instance_type, bought, cost);
                let launched_as = *first.get_or_insert(purchase);
                offerings.push(TypeOffering {
                    zone,
                    purchase,
                    launched_as,
                    price,
                    cost,
                    rank,
                    is_over,
                });
            }
        }
        offerings
    }

    /// A type that counts what its nodes draw of commitments too, where there are any.
    fn counted_in_commitments(
        &self,
        pool_type: PoolType<'a>,
        purchases: &IndexVec<PurchaseIx, Purchase>,
    ) -> PoolType<'a> {
        let Some(commitments) = self.commitments else { return pool_type };
        let bought =
            |own: &&TypeOffering| purchases[own.purchase].capacity_type == CapacityType::OnDemand;
        let offerings = pool_type.offerings.iter().filter(bought);
        let offerings = offerings.map(|own| (&self.names.zones[own.zone], own.cost));
        let offerings: Vec<(&Text, UsdPerHour)> = offerings.collect();
        let (instance_type, capacity) = (pool_type.instance_type, pool_type.capacity.clone());
        let capacity = counted(commitments, instance_type, &offerings, capacity);
        PoolType { capacity, ..pool_type }
    }

    /// Whether the subnets of a zone have addresses for a node with one pod: a zone below that is
    /// no offering.
    fn has_addresses(&self, node_pool: &NodePool, zone: &Text) -> bool {
        let class = &node_pool.template.node_class_ref.name;
        self.names.addresses.is_none_or(|own| own.has_room(class, zone, 1))
    }

    /// What the pool's own requirements, the settings and free addresses admit.
    fn admitted<'r>(&'r self, node_pool: &'r NodePool, own: &'r Requirements) -> Admitted<'r> {
        let zones = self.admitted_zones(own);
        let zones =
            self.names.zones.iter_enumerated().filter(|(index, zone)| {
                zones.contains(*index) && self.has_addresses(node_pool, zone)
            });
        let allows = |capacity_type: &CapacityType| {
            let rule = own.get(label::CAPACITY_TYPE);
            (*capacity_type != CapacityType::Reserved
                || self.snapshot.settings.feature_gates.reserved_capacity)
                && rule.is_none_or(|rule| rule.values.contains(capacity_type.as_str()))
        };
        let of_reservation = label::OF_RESERVATION.into_iter();
        Admitted {
            pool: &node_pool.name,
            own,
            zones: zones.map(|(index, zone)| (&**zone, index)).collect(),
            capacity_types: CapacityType::ALL.into_iter().filter(allows).collect(),
            of_reservation: of_reservation.filter(|key| own.get(key).is_some()).collect(),
        }
    }

    fn pool_type(
        &self,
        instance_type: &'a InstanceType,
        pool: &str,
        overhead: Arc<Overhead>,
        offerings: Vec<TypeOffering>,
    ) -> PoolType<'a> {
        let mut allocatable = instance_type.allocatable.clone();
        let mut capacity = instance_type.capacity.clone();
        if !self.overlays.is_empty() {
            for (name, amount) in self.overlays.devices(pool, instance_type).iter() {
                if is_huge_pages(name) {
                    let left = allocatable.get(MEMORY) - (amount - allocatable.get(name));
                    allocatable.set(&MEMORY.into(), left.max(0));
                }
                allocatable.set(name, amount);
                capacity.set(name, amount);
            }
        }
        let room = self
            .names
            .resources
            .array(&allocatable)
            .iter()
            .zip(&overhead.requests)
            .map(|(allocatable, overhead)| allocatable - overhead)
            .collect();
        PoolType { instance_type, room, capacity, overhead, offerings }
    }
}

/// What a pool may buy, worked out once for all of its types.
struct Admitted<'r> {
    /// The pool's name.
    pool: &'r str,
    /// The pool's own requirements.
    own: &'r Requirements,
    /// Zones, by their names.
    zones: FxHashMap<&'r str, ZoneIx>,
    capacity_types: Vec<CapacityType>,
    /// Labels of reservations that the requirements name.
    of_reservation: Vec<&'static str>,
}

impl Admitted<'_> {
    /// The zone of an offering that may be bought; `None` for others.
    fn zone_of(&self, offering: &Offering) -> Option<ZoneIx> {
        let zone = *self.zones.get(&*offering.zone)?;
        let is_admitted = self.capacity_types.contains(&offering.capacity_type)
            && self.of_reservation.iter().all(|key| self.allows_reservation(offering, key));
        is_admitted.then_some(zone)
    }

    fn allows_reservation(&self, offering: &Offering, key: &str) -> bool {
        let label = offering.reservation.as_deref().and_then(|own| own.label(key));
        let Some(rule) = self.own.get(key) else { return true };
        label.map_or(rule.may_be_absent, |value| rule.values.contains(value))
    }
}

/// What DaemonSets take, each distinct value kept once: most types of a pool share one.
#[derive(Default)]
struct Overheads(Vec<Arc<Overhead>>);

impl Overheads {
    fn shared(&mut self, overhead: Overhead) -> Arc<Overhead> {
        if let Some(known) = self.0.iter().find(|known| ***known == overhead) {
            return known.clone();
        }
        let overhead = Arc::new(overhead);
        self.0.push(overhead.clone());
        overhead
    }
}

/// EC2 interrupts what is not spot for no price.
const NOT_INTERRUPTED: [NodeInterruptionCost; 1] = [NodeInterruptionCost::NONE];

/// The index of the offering's way of buying, added where it is new.
fn index_of(
    purchases: &mut IndexVec<PurchaseIx, Purchase>,
    offering: &Offering,
    interruption: NodeInterruptionCost,
) -> PurchaseIx {
    let reservation = offering.reservation.as_deref();
    let id = reservation.map(|reservation| &reservation.id);
    let known = purchases.position(|known| {
        known.capacity_type == offering.capacity_type
            && known.reservation.as_ref().map(|known| &known.id) == id
            && known.interruption == interruption
    });
    known.unwrap_or_else(|| {
        purchases.push(Purchase {
            capacity_type: offering.capacity_type,
            reservation: reservation.cloned(),
            interruption,
        })
    })
}

/// Resources of which the pool or the cluster limits what its nodes have, by name.
fn limited(snapshot: &ClusterSnapshot, node_pool: &NodePool) -> Vec<Text> {
    let by_cluster = snapshot.objects.cluster_limits.iter().flat_map(|own| own.limits.iter());
    let names: BTreeSet<Text> =
        node_pool.limits.iter().chain(by_cluster).map(|(name, _)| name.clone()).collect();
    names.into_iter().collect()
}

/// Why the pool launches nothing for pending pods, whatever its requirements are.
fn unfit(snapshot: &ClusterSnapshot, node_pool: &NodePool) -> Option<NodePoolUnfit> {
    if node_pool.is_deleting {
        return Some(NodePoolUnfit::Deleting);
    }
    if let Some(off) = node_pool.options.off_period(snapshot.now) {
        return Some(NodePoolUnfit::OffHours { until: off.until });
    }
    if node_pool.replicas.is_some() {
        return Some(NodePoolUnfit::Static);
    }
    let not_ready = || (node_pool.ready == Some(false)).then_some(NodePoolUnfit::NotReady);
    class_unfit(snapshot, node_pool).or_else(not_ready)
}

/// Why nothing can be launched from the pool's class: whatever its condition says, or its minimum
/// age of images holds all of them back.
fn class_unfit(snapshot: &ClusterSnapshot, node_pool: &NodePool) -> Option<NodePoolUnfit> {
    let name = &node_pool.template.node_class_ref.name;
    let class = snapshot.objects.node_classes.iter().find(|class| class.name == *name)?;
    if let Some(fault) = class.fault() {
        return Some(NodePoolUnfit::NodeClass { node_class: name.clone(), fault });
    }
    let until = class.image_age.next().filter(|_| class.status.amis.is_empty())?;
    Some(NodePoolUnfit::ImagesTooYoung { node_class: name.clone(), until })
}

/// Whether no node could meet the pool's own requirements: none is sold, they contradict each
/// other, or they name a host, which no node is before it is launched.
fn has_no_node(own: &Requirements, types: &IndexVec<TypeIx, PoolType>) -> bool {
    let names_a_host = own.get(label::HOSTNAME).is_some();
    types.is_empty() || own.contradiction().is_some() || names_a_host
}

/// Labels that every node of the pool has whatever is launched: of the pool, its class, and a
/// node's life.
fn fixed_labels(node_pool: &NodePool) -> Labels {
    let mut fixed: Labels = [
        (label::NODE_POOL.into(), node_pool.name.clone()),
        (label::REGISTERED.into(), "true".into()),
        (label::INITIALIZED.into(), "true".into()),
    ]
    .into();
    let class = &node_pool.template.node_class_ref;
    fixed.extend(class.label_key().map(|key| (key, class.name.clone())));
    fixed
}

/// Whether a launch, rather than the choice of type and offering, settles the label.
fn is_open(kind: Option<&KeyKind>) -> bool {
    matches!(kind, None | Some(KeyKind::InstanceType { has_several_values: true }))
}

/// A type that counts against a limit in dollars too, where the NodePool has one.
fn counted_in_usd<'a>(
    snapshot: &ClusterSnapshot,
    node_pool: &NodePool,
    mut pool_type: PoolType<'a>,
) -> PoolType<'a> {
    let by_cluster = limits_dollars(&snapshot.objects.cluster_limits);
    if by_cluster || node_pool.limits.find(USD_PER_HOUR).is_some() {
        // EC2 picks the offering: the dearest bounds what a node may turn out to cost.
        let dearest = pool_type.offerings.iter().map(|offering| offering.cost.nanos()).max();
        pool_type.capacity = pool_type.capacity.with(USD_PER_HOUR, dearest.unwrap_or(0));
    }
    pool_type
}
