//! A NodePool and what it may launch: types, offerings, ways of buying.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::Text;
use domain::commitment::Instance;
use domain::instance_type::{CapacityType, InstanceType, Reservation};
use domain::label::{self, Labels};
use domain::money::UsdPerHour;
use domain::node_pool::NodePool;
use domain::reason::NodePoolUnfit;
use domain::requirement::Requirements;
use domain::resource::Resources;
use domain::spot::NodeInterruptionCost;

use crate::ids::{IndexVec, PoolIx, PurchaseIx, PurchaseSet, TypeIx, TypeSet, ZoneIx, ZoneSet};
use crate::model::commitments::OnDemand;
use crate::model::daemon::Overhead;
use crate::model::intern::KeyRule;
use crate::model::pool::local_room::LocalRoom;

/// What a pool may launch under some requirements.
#[derive(Clone, Debug)]
pub(crate) struct Compatible {
    /// Types, each with an offering in some zone and way of buying below.
    pub(crate) types: TypeSet,
    /// Zones, a bit each.
    pub(crate) zones: ZoneSet,
    /// Ways of buying, a bit each.
    pub(crate) purchases: PurchaseSet,
    /// Rules on labels that neither the type nor the offering settles, by key.
    pub(crate) open: Vec<KeyRule>,
}

/// An instance type with its cheapest offering under some requirements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PricedType {
    /// Index of the type.
    pub(crate) index: TypeIx,
    /// The offering.
    pub(crate) offering: TypeOffering,
}

/// What one unit of each resource costs on an instance type, in nano-USD an hour.
#[derive(Clone, Debug)]
pub(crate) struct TypeRate {
    /// Index of the type.
    pub(crate) index: TypeIx,
    /// By resource index; infinite where the type has none.
    pub(crate) rates: Vec<f64>,
}

/// How an offering is bought: its capacity type, and for reserved capacity which reservation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Purchase {
    /// The capacity type.
    pub(crate) capacity_type: CapacityType,
    /// The reservation.
    pub(crate) reservation: Option<Reservation>,
    /// What an interruption may cost at most of a node that is bought so; nothing of one that is
    /// not spot.
    pub(crate) interruption: NodeInterruptionCost,
}

/// One usable offering of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeOffering {
    /// Index of the zone.
    pub(crate) zone: ZoneIx,
    /// Index of the purchase.
    pub(crate) purchase: PurchaseIx,
    /// The first purchase that launches the same, whatever its interruptions may cost.
    pub(crate) launched_as: PurchaseIx,
    /// What it is chosen at: what it costs, and what its interruptions cost where the NodePool
    /// says that.
    pub(crate) price: UsdPerHour,
    /// What it costs, overlays applied.
    pub(crate) cost: UsdPerHour,
    /// Among equal prices the least comes first: shortage, then interruptions.
    pub(crate) rank: u64,
    /// It is interrupted more often than the NodePool wants: taken where nothing else remains.
    pub(crate) is_over: bool,
}

/// An instance type that the pool may launch.
pub(crate) struct PoolType<'a> {
    /// What the catalogue says.
    pub(crate) instance_type: &'a InstanceType,
    /// What is left for pods once DaemonSets have taken theirs, by resource index.
    pub(crate) room: Vec<i64>,
    /// What the instance has, as limits count it.
    pub(crate) capacity: Resources,
    /// What DaemonSets take.
    pub(crate) overhead: Arc<Overhead>,
    /// Usable offerings within the pool's requirements. A spot offering comes once for each cost of
    /// its interruptions, one after the other, and of two that the same pods may use the cheaper
    /// first.
    pub(crate) offerings: Vec<TypeOffering>,
}

/// Zones and ways of buying, a bit each.
pub(crate) type OfferingMask = (ZoneSet, PurchaseSet);

/// A NodePool made ready for planning.
#[expect(clippy::struct_field_names, reason = "a NodePool is what the API calls it")]
pub(crate) struct Pool<'a> {
    /// Its index in the model.
    pub(crate) index: PoolIx,
    /// The NodePool.
    pub(crate) node_pool: &'a NodePool,
    /// Resources of which the pool or the cluster limits what its nodes have, by name.
    pub(crate) limited: Vec<Text>,
    /// Types that meet the pool's own requirements, by name.
    pub(crate) types: IndexVec<TypeIx, PoolType<'a>>,
    /// Labels and requirements of its nodes.
    pub(crate) own: Requirements,
    /// Ways of buying that its offerings have.
    pub(crate) purchases: IndexVec<PurchaseIx, Purchase>,
    /// Keys with `minValues`, and how many.
    pub(crate) min_values: Vec<(Text, u32)>,
    /// Whether offerings are chosen by more than their prices.
    pub(crate) is_weighted: bool,
    /// Ways of buying that pods may use, by [what decides](crate::model::interruption) what their
    /// interruptions cost; empty where nothing tells pods apart.
    pub(super) bought_for: BTreeMap<Text, PurchaseSet>,
    /// Why it can launch nothing, whichever the pod.
    pub(crate) unfit: Option<NodePoolUnfit>,
    /// Whether no node could meet the pool's own requirements.
    pub(crate) has_no_node: bool,
    /// Room that its types have in some zones only, or bought in some ways only; worked out where
    /// it is asked for.
    pub(super) local_room: LocalRoom<'a>,
    pub(super) fixed: Labels,
    pub(super) zones: IndexVec<ZoneIx, Text>,
    pub(super) zone_ids: BTreeMap<Text, Text>,
    pub(super) region: Option<Text>,
    /// Whatever it may launch: types that have room for their DaemonSets, or all if none has.
    pub(super) all: Compatible,
}

/// A key of which fewer distinct values are left than `minValues` requires.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MinValuesUnmet {
    /// The label's key.
    pub(crate) key: Text,
    /// How many `minValues` requires.
    pub(crate) wanted: u32,
    /// How many there are.
    pub(crate) found: u32,
}

impl Pool<'_> {
    /// Types with an offering in some of the zones, bought in some of the ways. Worked out anew
    /// each time: see [`Memo::viable`](crate::model::memo::Memo::viable).
    pub(crate) fn viable(&self, zones: ZoneSet, purchases: PurchaseSet) -> TypeSet {
        let mut viable = TypeSet::full(self.types.len());
        viable.retain(|index| self.types[index].offerings_in(zones, purchases).next().is_some());
        viable
    }

    /// The first key of which fewer distinct values are left than `minValues` requires.
    pub(crate) fn min_values_unmet(
        &self,
        types: &TypeSet,
        zones: ZoneSet,
        purchases: PurchaseSet,
    ) -> Option<MinValuesUnmet> {
        self.min_values.iter().find_map(|(key, wanted)| {
            let mut values: Vec<&str> = Vec::new();
            for index in types.iter() {
                self.add_values(key, &self.types[index], (zones, purchases), &mut values);
            }
            values.sort_unstable();
            values.dedup();
            let found = u32::try_from(values.len()).unwrap_or(u32::MAX);
            (found < *wanted).then(|| MinValuesUnmet { key: key.clone(), wanted: *wanted, found })
        })
    }

    /// Adds the values of a label that nodes of the type may have.
    fn add_values<'s>(
        &'s self,
        key: &Text,
        one: &'s PoolType,
        (zones, purchases): OfferingMask,
        values: &mut Vec<&'s str>,
    ) {
        let offerings = one.offerings_in(zones, purchases);
        match &**key {
            label::ZONE => values.extend(offerings.map(|offering| &**self.zone(offering.zone))),
            label::CAPACITY_TYPE => {
                values.extend(
                    offerings
                        .map(|offering| self.purchases[offering.purchase].capacity_type.as_str()),
                );
            }
            _ => {
                let listed = one.instance_type.labels.get(key).into_iter().flatten();
                values.extend(listed.map(|value| &**value));
            }
        }
    }

    /// Those of the types that have room for the requests.
    pub(crate) fn with_room(&self, types: &TypeSet, requests: &[i64]) -> TypeSet {
        let mut left = types.clone();
        left.retain(|index| self.types[index].has_room_for(requests));
        left
    }

    /// On-demand offerings: what each is to commitments, with its type.
    pub(crate) fn on_demand(&self) -> impl Iterator<Item = (TypeIx, OnDemand)> {
        let bought = self.bought_as(CapacityType::OnDemand);
        self.types.iter_enumerated().flat_map(move |(index, one)| {
            one.offerings_in(ZoneSet::ALL, bought).map(move |offering| {
                let instance = self.instance(index, offering);
                (index, OnDemand { instance, price: offering.cost })
            })
        })
    }

    /// What an offering of a type is to commitments.
    pub(crate) fn instance(&self, type_index: TypeIx, offering: &TypeOffering) -> Instance {
        let instance_type = self.types[type_index].instance_type.name.clone();
        Instance { instance_type, zone: self.zone(offering.zone).clone() }
    }

    /// Whether pods differ in what their interruptions cost here.
    pub(crate) fn tells_pods_apart(&self) -> bool {
        !self.bought_for.is_empty()
    }

    /// The zone at an index.
    pub(crate) fn zone(&self, index: ZoneIx) -> &Text {
        &self.zones[index]
    }

    /// The zones of a set, in order.
    pub(crate) fn zones_in(&self, set: ZoneSet) -> impl Iterator<Item = (ZoneIx, &Text)> {
        let zones = self.zones.iter_enumerated().take(ZoneSet::MAX_LEN);
        zones.filter(move |(index, _)| set.contains(*index))
    }

    /// The value of a label that every node of the pool has, whatever is launched.
    pub(crate) fn fixed_label(&self, key: &Text) -> Option<&Text> {
        self.fixed.get(key)
    }
}

impl Purchase {
    /// Instances the reservation still has; `None` where there is no reservation or no count.
    pub(crate) fn remaining(&self) -> Option<u32> {
        self.reservation.as_ref().and_then(|own| own.remaining)
    }
}

impl PoolType<'_> {
    /// Offerings in some of the zones, bought in some of the ways.
    pub(crate) fn offerings_in(
        &self,
        zones: ZoneSet,
        purchases: PurchaseSet,
    ) -> impl Iterator<Item = &TypeOffering> {
        self.offerings.iter().filter(move |offering| {
            zones.contains(offering.zone) && purchases.contains(offering.purchase)
        })
    }

    /// Offerings in some of the zones, bought in some of the ways, each once: at the least that it
    /// may be chosen at.
    pub(crate) fn launchable_in(
        &self,
        zones: ZoneSet,
        purchases: PurchaseSet,
    ) -> impl Iterator<Item = &TypeOffering> {
        let mut before = None;
        self.offerings_in(zones, purchases).filter(move |offering| {
            let own = Some((offering.zone, offering.launched_as));
            std::mem::replace(&mut before, own) != own
        })
    }

    /// Whether its DaemonSets fit on it.
    pub(crate) fn hosts_its_daemons(&self) -> bool {
        self.room.iter().all(|room| *room >= 0)
    }

    /// Whether the amounts fit beside the DaemonSets.
    pub(crate) fn has_room_for(&self, amounts: &[i64]) -> bool {
        self.room.iter().zip(amounts).all(|(room, amount)| *amount == 0 || amount <= room)
    }
}
