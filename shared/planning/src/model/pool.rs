//! A NodePool made ready for planning: the instance types it may launch, as bit sets and arrays.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use domain::Text;
use domain::instance_type::{CapacityType, InstanceType};
use domain::label::{self, Labels};
use domain::money::UsdPerHour;
use domain::node_pool::NodePool;
use domain::reason::NodePoolUnfit;
use domain::requirement::{Requirements, ValueSet};
use domain::resource::Resources;
use domain::snapshot::ClusterSnapshot;
use fixedbitset::FixedBitSet;
use rustc_hash::FxHashMap;

use super::ResourceNames;
use super::daemon::{Daemons, NODE_NAME_FIELD, Overhead};
use super::intern::{ConjunctionId, KeyKind, KeyRule, Sets};
use super::overlay::{Overlays, pool_requirements};

/// How an offering is bought: its capacity type, and for reserved capacity which reservation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Purchase {
    /// The capacity type.
    pub(crate) capacity_type: CapacityType,
    /// The reservation.
    pub(crate) reservation: Option<Text>,
    /// Instances the reservation still has; `None` where there is no reservation or no count.
    pub(crate) remaining: Option<u32>,
}

/// One usable offering of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeOffering {
    /// Index of the zone.
    pub(crate) zone: u32,
    /// Index of the purchase.
    pub(crate) purchase: u32,
    /// What it costs, overlays applied.
    pub(crate) price: UsdPerHour,
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
    pub(crate) overhead: Rc<Overhead>,
    /// Usable offerings within the pool's requirements, by zone and purchase.
    pub(crate) offerings: Vec<TypeOffering>,
}

/// A NodePool made ready for planning.
pub(crate) struct Pool<'a> {
    /// The NodePool.
    pub(crate) node_pool: &'a NodePool,
    /// Types that meet the pool's own requirements, by name.
    pub(crate) types: Vec<PoolType<'a>>,
    /// Labels and requirements of its nodes.
    pub(crate) own: Requirements,
    /// Ways of buying that its offerings have.
    pub(crate) purchases: Vec<Purchase>,
    /// Keys with `minValues`, and how many.
    pub(crate) min_values: Vec<(Text, u32)>,
    /// Why it can launch nothing whatever the pod asks for.
    pub(crate) unfit: Option<NodePoolUnfit>,
    fixed: Labels,
    zones: Vec<Text>,
    zone_ids: BTreeMap<Text, Text>,
    region: Option<Text>,
    all: Compatible,
    fits: RefCell<FxHashMap<ConjunctionId, Result<Rc<Compatible>, NodePoolUnfit>>>,
    type_sets: RefCell<FxHashMap<KeyRule, Rc<FixedBitSet>>>,
    viable: RefCell<FxHashMap<(u64, u64), Rc<FixedBitSet>>>,
    cheapest: RefCell<FxHashMap<(u64, u64), Rc<[PricedType]>>>,
    rates: RefCell<FxHashMap<ConjunctionId, Rc<[TypeRate]>>>,
}

/// An instance type with its cheapest offering under some requirements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PricedType {
    /// Index of the type.
    pub(crate) index: usize,
    /// The offering.
    pub(crate) offering: TypeOffering,
}

/// What one unit of each resource costs on an instance type, in nano-USD an hour.
#[derive(Clone, Debug)]
pub(crate) struct TypeRate {
    /// Index of the type.
    pub(crate) index: usize,
    /// By resource index; infinite where the type has none.
    pub(crate) rates: Vec<f64>,
}

/// What a pool may launch under some requirements.
#[derive(Clone, Debug)]
pub(crate) struct Compatible {
    /// Types, each with an offering in some zone and way of buying below.
    pub(crate) types: FixedBitSet,
    /// Zones, a bit each.
    pub(crate) zones: u64,
    /// Ways of buying, a bit each.
    pub(crate) purchases: u64,
    /// Rules on labels that neither the type nor the offering settles, by key.
    pub(crate) open: Vec<KeyRule>,
}

/// The pools of a snapshot, heaviest first, then by name; those that cannot serve pending pods last.
pub(crate) fn pools<'a>(
    snapshot: &'a ClusterSnapshot,
    resources: &ResourceNames,
    key_kinds: &BTreeMap<Text, KeyKind>,
    zones: &[Text],
    sets: &mut Sets,
) -> Vec<Pool<'a>> {
    let overlays = Overlays::of(snapshot);
    let mut node_pools: Vec<&NodePool> = snapshot.node_pools.iter().collect();
    node_pools.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| a.name.cmp(&b.name)));
    let builder = Builder { snapshot, resources, key_kinds, zones, overlays: &overlays };
    node_pools.into_iter().map(|node_pool| builder.pool(node_pool, sets)).collect()
}

struct Builder<'a, 'b> {
    snapshot: &'a ClusterSnapshot,
    resources: &'b ResourceNames,
    key_kinds: &'b BTreeMap<Text, KeyKind>,
    zones: &'b [Text],
    overlays: &'b Overlays<'a>,
}

impl<'a> Builder<'a, '_> {
    fn pool(&self, node_pool: &'a NodePool, sets: &mut Sets) -> Pool<'a> {
        let own = pool_requirements(node_pool);
        let mut seen_by_daemons = own.clone();
        for (key, value) in &fixed_labels(node_pool) {
            seen_by_daemons.add_label(key, value);
        }
        let daemons = Daemons::tolerating(
            &self.snapshot.daemon_sets,
            &node_pool.template.taints,
            self.resources,
        );
        let mut purchases = Vec::new();
        let mut overheads: Vec<Rc<Overhead>> = Vec::new();
        let offered = self.snapshot.instance_types.of(&node_pool.template.node_class_ref.name);
        let types: Vec<PoolType> = offered
            .iter()
            .filter(|instance_type| self.meets_own(instance_type, &own))
            .filter_map(|instance_type| {
                let offerings = self.offerings(instance_type, &own, &mut purchases);
                if offerings.is_empty() {
                    return None;
                }
                let overhead = daemons.overhead_on(
                    instance_type,
                    &seen_by_daemons,
                    self.key_kinds,
                    self.resources.len(),
                );
                let overhead = match overheads.iter().find(|known| ***known == overhead) {
                    Some(known) => known.clone(),
                    None => {
                        overheads.push(Rc::new(overhead));
                        overheads[overheads.len() - 1].clone()
                    }
                };
                Some(self.pool_type(instance_type, &own, overhead, offerings))
            })
            .collect();
        self.finish(node_pool, own, types, purchases, sets)
    }

    fn finish(
        &self,
        node_pool: &'a NodePool,
        own: Requirements,
        types: Vec<PoolType<'a>>,
        purchases: Vec<Purchase>,
        sets: &mut Sets,
    ) -> Pool<'a> {
        let mut every = FixedBitSet::with_capacity(types.len());
        every.insert_range(..);
        let mask = |count: usize| if count >= 64 { u64::MAX } else { (1 << count) - 1 };
        let open = own
            .iter()
            .filter(|(key, _)| is_open(self.key_kinds.get(*key)))
            .filter(|(key, _)| &***key != label::NODE_POOL)
            .map(|(key, rule)| KeyRule {
                key: key.clone(),
                set: sets.set(rule.values.clone()),
                // A node gets some value of every label its pool names, unless the pool forbids it.
                may_be_absent: rule.values.is_empty() && rule.may_be_absent,
            })
            .collect();
        let all = Compatible {
            types: every,
            zones: mask(self.zones.len()),
            purchases: mask(purchases.len()),
            open,
        };
        let min_values = own
            .iter()
            .filter_map(|(key, rule)| rule.min_values.map(|wanted| (key.clone(), wanted)))
            .collect();
        let unfit = self.unfit(node_pool, &own, &types);
        Pool {
            node_pool,
            types,
            own,
            purchases,
            min_values,
            unfit,
            fixed: fixed_labels(node_pool),
            zones: self.zones.to_vec(),
            zone_ids: self.snapshot.instance_types.zone_ids.clone(),
            region: self.snapshot.instance_types.region.clone(),
            all,
            fits: RefCell::default(),
            type_sets: RefCell::default(),
            viable: RefCell::default(),
            cheapest: RefCell::default(),
            rates: RefCell::default(),
        }
    }

    fn unfit(
        &self,
        node_pool: &NodePool,
        own: &Requirements,
        types: &[PoolType],
    ) -> Option<NodePoolUnfit> {
        if node_pool.is_deleting {
            return Some(NodePoolUnfit::Deleting);
        }
        if node_pool.replicas.is_some() {
            return Some(NodePoolUnfit::Static);
        }
        if node_pool.ready == Some(false) {
            return Some(NodePoolUnfit::NotReady);
        }
        let hostname_pinned = own.get(label::HOSTNAME).is_some();
        (types.is_empty() || own.contradiction().is_some() || hostname_pinned)
            .then_some(NodePoolUnfit::NoInstanceType { requirement: None })
    }

    /// Whether the type's labels meet the pool's requirements, as far as the type decides them.
    fn meets_own(&self, instance_type: &InstanceType, own: &Requirements) -> bool {
        own.iter().all(|(key, rule)| match self.key_kinds.get(key) {
            Some(KeyKind::InstanceType { .. }) => match instance_type.labels.get(key) {
                Some(values) => values.iter().any(|value| rule.values.contains(value)),
                None => rule.may_be_absent,
            },
            Some(KeyKind::Region) => self
                .snapshot
                .instance_types
                .region
                .as_ref()
                .is_none_or(|region| rule.values.contains(region)),
            _ => true,
        })
    }

    fn offerings(
        &self,
        instance_type: &InstanceType,
        own: &Requirements,
        purchases: &mut Vec<Purchase>,
    ) -> Vec<TypeOffering> {
        let allows =
            |key: &str, value: &Text| own.get(key).is_none_or(|rule| rule.values.contains(value));
        let reserved_capacity = self.snapshot.settings.feature_gates.reserved_capacity;
        let mut offerings = Vec::new();
        for offering in instance_type.offerings.iter().filter(|offering| offering.is_usable()) {
            if offering.capacity_type == CapacityType::Reserved && !reserved_capacity {
                continue;
            }
            let reservation = offering.reservation.as_ref();
            let zone_id = self.snapshot.instance_types.zone_ids.get(&offering.zone);
            let within = allows(label::ZONE, &offering.zone)
                && allows(label::CAPACITY_TYPE, &offering.capacity_type.as_str().into())
                && zone_id.is_none_or(|zone_id| allows(label::ZONE_ID, zone_id))
                && own.get(label::RESERVATION_ID).is_none_or(|rule| match reservation {
                    Some(reservation) => rule.values.contains(&reservation.id),
                    None => rule.may_be_absent,
                });
            let Some(zone) = self.zones.iter().position(|zone| *zone == offering.zone) else {
                continue;
            };
            if !within {
                continue;
            }
            let purchase = Purchase {
                capacity_type: offering.capacity_type,
                reservation: reservation.map(|reservation| reservation.id.clone()),
                remaining: reservation.and_then(|reservation| reservation.remaining),
            };
            let known = purchases.iter().position(|known: &Purchase| {
                (known.capacity_type, &known.reservation)
                    == (purchase.capacity_type, &purchase.reservation)
            });
            let index = known.unwrap_or_else(|| {
                purchases.push(purchase);
                purchases.len() - 1
            });
            if index >= 64 {
                continue;
            }
            let price = if self.overlays.is_empty() {
                offering.price
            } else {
                self.overlays.price(own, instance_type, offering)
            };
            offerings.push(TypeOffering { zone: small(zone), purchase: small(index), price });
        }
        offerings
    }

    fn pool_type(
        &self,
        instance_type: &'a InstanceType,
        own: &Requirements,
        overhead: Rc<Overhead>,
        offerings: Vec<TypeOffering>,
    ) -> PoolType<'a> {
        let mut allocatable = instance_type.allocatable.clone();
        let mut capacity = instance_type.capacity.clone();
        if !self.overlays.is_empty() {
            for (name, amount) in self.overlays.devices(own, instance_type).iter() {
                allocatable.set(name, amount);
                capacity.set(name, amount);
            }
        }
        let room = self
            .resources
            .array(&allocatable)
            .iter()
            .zip(&overhead.requests)
            .map(|(allocatable, overhead)| allocatable - overhead)
            .collect();
        PoolType { instance_type, room, capacity, overhead, offerings }
    }
}

/// Labels that every node of the pool has whatever is launched: of the pool, its class, and a node's life.
pub(crate) fn fixed_labels(node_pool: &NodePool) -> Labels {
    let mut fixed: Labels = [
        (label::NODE_POOL.into(), node_pool.name.clone()),
        (label::REGISTERED.into(), "true".into()),
        (label::INITIALIZED.into(), "true".into()),
    ]
    .into();
    let class = &node_pool.template.node_class_ref;
    if !class.name.is_empty() {
        let key = format!("{}/{}", class.group, class.kind.to_lowercase());
        fixed.insert(key.into(), class.name.clone());
    }
    fixed
}

fn small(index: usize) -> u32 {
    // Bounded by the width of the masks.
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// Whether a launch, rather than the choice of type and offering, settles the label.
fn is_open(kind: Option<&KeyKind>) -> bool {
    matches!(kind, None | Some(KeyKind::InstanceType { has_several_values: true }))
}

impl Pool<'_> {
    /// What the pool may launch under requirements, or the first of them that rules everything out.
    pub(crate) fn compatible(
        &self,
        conjunction: ConjunctionId,
        key_kinds: &BTreeMap<Text, KeyKind>,
        sets: &mut Sets,
    ) -> Result<Rc<Compatible>, NodePoolUnfit> {
        if let Some(known) = self.fits.borrow().get(&conjunction) {
            return known.clone();
        }
        let found = self.narrowed(conjunction, key_kinds, sets).map(Rc::new);
        self.fits.borrow_mut().insert(conjunction, found.clone());
        found
    }

    fn narrowed(
        &self,
        conjunction: ConjunctionId,
        key_kinds: &BTreeMap<Text, KeyKind>,
        sets: &mut Sets,
    ) -> Result<Compatible, NodePoolUnfit> {
        if let Some(unfit) = &self.unfit {
            return Err(unfit.clone());
        }
        let mut left = self.all.clone();
        for rule in sets.rules(conjunction).iter() {
            let wanted = sets.get(rule.set);
            let before = (left.zones, left.purchases);
            match key_kinds.get(&rule.key) {
                Some(KeyKind::Zone) => {
                    left.zones &= self.mask(&self.zones, |zone| wanted.contains(zone));
                }
                Some(KeyKind::ZoneId) => {
                    left.zones &= self.mask(&self.zones, |zone| match self.zone_ids.get(zone) {
                        Some(zone_id) => wanted.contains(zone_id),
                        None => rule.may_be_absent,
                    });
                }
                Some(KeyKind::CapacityType) => {
                    left.purchases &= self.mask(&self.purchases, |purchase| {
                        wanted.contains(purchase.capacity_type.as_str())
                    });
                }
                Some(KeyKind::Reservation) => {
                    left.purchases &=
                        self.mask(&self.purchases, |purchase| match &purchase.reservation {
                            Some(reservation) => wanted.contains(reservation),
                            None => rule.may_be_absent,
                        });
                }
                Some(KeyKind::InstanceType { .. }) => self.narrow_types(&mut left, rule, sets)?,
                Some(KeyKind::Region) => self.check_label(
                    rule,
                    self.region.as_ref().map(|region| ValueSet::one(region.clone())).as_ref(),
                    &wanted,
                )?,
                Some(KeyKind::Hostname) => self.check_unknown_name(rule, &wanted)?,
                None if &*rule.key == NODE_NAME_FIELD => self.check_unknown_name(rule, &wanted)?,
                None => match self.fixed.get(&rule.key) {
                    Some(value) => {
                        let own = ValueSet::one(value.clone());
                        self.check_label(rule, Some(&own), &wanted)?;
                    }
                    None => self.narrow_open(&mut left, rule, sets)?,
                },
            }
            if before != (left.zones, left.purchases) && (left.zones == 0 || left.purchases == 0) {
                return Err(self.label_unfit(rule, &wanted));
            }
        }
        let viable = self.viable(left.zones, left.purchases);
        left.types.intersect_with(&viable);
        if left.types.is_clear() {
            return Err(NodePoolUnfit::NoOffering);
        }
        Ok(left)
    }

    fn mask<T>(&self, items: &[T], keep: impl Fn(&T) -> bool) -> u64 {
        items
            .iter()
            .take(64)
            .enumerate()
            .filter(|(_, item)| keep(item))
            .fold(0, |mask, (index, _)| mask | 1 << index)
    }

    fn label_unfit(&self, rule: &KeyRule, wanted: &ValueSet) -> NodePoolUnfit {
        let pool = match &*rule.key {
            label::ZONE => self.offered_zones(),
            label::CAPACITY_TYPE => {
                let mut words: Vec<&str> =
                    self.purchases.iter().map(|purchase| purchase.capacity_type.as_str()).collect();
                words.sort_unstable();
                words.dedup();
                format!("In [{}]", words.join(" ")).into()
            }
            key => self
                .own
                .get(key)
                .map(|own| own.values.to_string())
                .or_else(|| self.fixed.get(key).map(|value| format!("In {value}")))
                .unwrap_or_else(|| "none".to_owned())
                .into(),
        };
        NodePoolUnfit::Label { key: rule.key.clone(), pod: wanted.to_string().into(), pool }
    }

    fn offered_zones(&self) -> Text {
        let mut offered = 0_u64;
        for offering in self.types.iter().flat_map(|one| &one.offerings) {
            offered |= 1 << offering.zone;
        }
        let names: Vec<&str> = self
            .zones
            .iter()
            .enumerate()
            .filter(|(index, _)| offered >> index & 1 == 1)
            .map(|(_, zone)| &**zone)
            .collect();
        format!("In [{}]", names.join(" ")).into()
    }

    fn check_label(
        &self,
        rule: &KeyRule,
        own: Option<&ValueSet>,
        wanted: &ValueSet,
    ) -> Result<(), NodePoolUnfit> {
        if own.is_some_and(|own| own.intersects(wanted)) {
            return Ok(());
        }
        Err(self.label_unfit(rule, wanted))
    }

    /// Nobody can list the name that a new node will have; everybody can exclude others.
    fn check_unknown_name(&self, rule: &KeyRule, wanted: &ValueSet) -> Result<(), NodePoolUnfit> {
        if wanted.as_list().is_none() {
            return Ok(());
        }
        Err(NodePoolUnfit::Label {
            key: rule.key.clone(),
            pod: wanted.to_string().into(),
            pool: "names that are not known before launch".into(),
        })
    }

    fn narrow_types(
        &self,
        left: &mut Compatible,
        rule: &KeyRule,
        sets: &mut Sets,
    ) -> Result<(), NodePoolUnfit> {
        let combined = self.combined_with_own(rule, sets);
        left.types.intersect_with(&self.types_meeting(&combined, sets));
        if left.types.is_clear() {
            let wanted = sets.get(rule.set);
            return Err(NodePoolUnfit::NoInstanceType {
                requirement: Some(format!("{} {wanted}", rule.key).into()),
            });
        }
        if let Some(open) = left.open.iter_mut().find(|open| open.key == rule.key) {
            *open = combined;
        } else if self.has_several_values(&rule.key) {
            let index = left.open.partition_point(|open| open.key < rule.key);
            left.open.insert(index, combined);
        }
        Ok(())
    }

    fn has_several_values(&self, key: &Text) -> bool {
        self.types
            .iter()
            .any(|one| one.instance_type.labels.get(key).is_some_and(|values| values.len() > 1))
    }

    /// The rule together with what the pool itself requires of the key.
    fn combined_with_own(&self, rule: &KeyRule, sets: &mut Sets) -> KeyRule {
        let Some(own) = self.own.get(&rule.key) else { return rule.clone() };
        let own_set = sets.set(own.values.clone());
        KeyRule {
            key: rule.key.clone(),
            set: sets.intersection(rule.set, own_set),
            may_be_absent: rule.may_be_absent && own.may_be_absent,
        }
    }

    /// Types of which some value of the label is in the set, or that may lack it.
    pub(crate) fn types_meeting(&self, rule: &KeyRule, sets: &Sets) -> Rc<FixedBitSet> {
        if let Some(known) = self.type_sets.borrow().get(rule) {
            return known.clone();
        }
        let wanted = sets.get(rule.set);
        let mut meeting = FixedBitSet::with_capacity(self.types.len());
        for (index, one) in self.types.iter().enumerate() {
            let meets = match one.instance_type.labels.get(&rule.key) {
                Some(values) => values.iter().any(|value| wanted.contains(value)),
                None => rule.may_be_absent,
            };
            meeting.set(index, meets);
        }
        let meeting = Rc::new(meeting);
        self.type_sets.borrow_mut().insert(rule.clone(), meeting.clone());
        meeting
    }

    fn narrow_open(
        &self,
        left: &mut Compatible,
        rule: &KeyRule,
        sets: &mut Sets,
    ) -> Result<(), NodePoolUnfit> {
        let Some(index) = left.open.iter().position(|open| open.key == rule.key) else {
            return if rule.may_be_absent {
                Ok(())
            } else {
                Err(NodePoolUnfit::UndefinedLabel(rule.key.clone()))
            };
        };
        let set = sets.intersection(left.open[index].set, rule.set);
        let may_be_absent = left.open[index].may_be_absent && rule.may_be_absent;
        if sets.get(set).is_empty() && !may_be_absent {
            return Err(self.label_unfit(rule, &sets.get(rule.set)));
        }
        left.open[index] = KeyRule { key: rule.key.clone(), set, may_be_absent };
        Ok(())
    }

    /// Types with an offering in some of the zones, bought in some of the ways.
    pub(crate) fn viable(&self, zones: u64, purchases: u64) -> Rc<FixedBitSet> {
        if let Some(known) = self.viable.borrow().get(&(zones, purchases)) {
            return known.clone();
        }
        let mut viable = FixedBitSet::with_capacity(self.types.len());
        for (index, one) in self.types.iter().enumerate() {
            viable.set(index, one.offerings_in(zones, purchases).next().is_some());
        }
        let viable = Rc::new(viable);
        self.viable.borrow_mut().insert((zones, purchases), viable.clone());
        viable
    }

    /// Types with an offering in some of the zones, bought in some of the ways, each with its cheapest:
    /// by price, then name.
    pub(crate) fn cheapest(&self, zones: u64, purchases: u64) -> Rc<[PricedType]> {
        if let Some(known) = self.cheapest.borrow().get(&(zones, purchases)) {
            return known.clone();
        }
        let mut priced: Vec<PricedType> = self
            .types
            .iter()
            .enumerate()
            .filter_map(|(index, one)| {
                one.cheapest_in(zones, purchases).map(|offering| PricedType { index, offering })
            })
            .collect();
        // Types come by name, and the sort is stable.
        priced.sort_by_key(|priced| priced.offering.price);
        let priced: Rc<[PricedType]> = priced.into();
        self.cheapest.borrow_mut().insert((zones, purchases), priced.clone());
        priced
    }

    /// What units of resources cost under some requirements: types that no other beats in every rate and
    /// in room. Worked out once for each conjunction.
    pub(crate) fn rates(
        &self,
        conjunction: ConjunctionId,
        compatible: &Compatible,
    ) -> Rc<[TypeRate]> {
        if let Some(known) = self.rates.borrow().get(&conjunction) {
            return known.clone();
        }
        let rates: Rc<[TypeRate]> = self.best_rates(compatible).into();
        self.rates.borrow_mut().insert(conjunction, rates.clone());
        rates
    }

    #[expect(clippy::cast_precision_loss, reason = "estimates that only rank")]
    fn best_rates(&self, compatible: &Compatible) -> Vec<TypeRate> {
        let mut best: Vec<TypeRate> = Vec::new();
        for priced in self.cheapest(compatible.zones, compatible.purchases).iter().rev() {
            if !compatible.types.contains(priced.index) {
                continue;
            }
            let room = &self.types[priced.index].room;
            let price = priced.offering.price.nanos() as f64;
            let rate = |room: &i64| if *room > 0 { price / *room as f64 } else { f64::INFINITY };
            let own = TypeRate { index: priced.index, rates: room.iter().map(rate).collect() };
            let beats = |a: &TypeRate, b: &TypeRate| {
                a.rates.iter().zip(&b.rates).all(|(a, b)| a <= b)
                    && self.types[a.index]
                        .room
                        .iter()
                        .zip(&self.types[b.index].room)
                        .all(|(a, b)| a >= b)
            };
            if !best.iter().any(|known| beats(known, &own)) {
                best.retain(|known| !beats(&own, known));
                best.push(own);
            }
        }
        best
    }

    /// What the pool may launch where both hold; `None` where nothing is left.
    pub(crate) fn both(
        &self,
        a: &Compatible,
        b: &Compatible,
        sets: &mut Sets,
    ) -> Option<Compatible> {
        let mut types = a.types.clone();
        types.intersect_with(&b.types);
        let (zones, purchases) = (a.zones & b.zones, a.purchases & b.purchases);
        let mut open = a.open.clone();
        for rule in &b.open {
            match open.iter_mut().find(|own| own.key == rule.key) {
                Some(own) => {
                    let set = sets.intersection(own.set, rule.set);
                    own.may_be_absent &= rule.may_be_absent;
                    if own.set != set {
                        own.set = set;
                        if sets.get(set).is_empty() && !own.may_be_absent {
                            return None;
                        }
                        if self.has_several_values(&rule.key) {
                            types.intersect_with(&self.types_meeting(own, sets));
                        }
                    }
                }
                None => open.push(rule.clone()),
            }
        }
        open.sort_by(|a, b| a.key.cmp(&b.key));
        if zones != a.zones
            || purchases != a.purchases
            || zones != b.zones
            || purchases != b.purchases
        {
            types.intersect_with(&self.viable(zones, purchases));
        }
        (!types.is_clear()).then_some(Compatible { types, zones, purchases, open })
    }

    /// The first key of which fewer distinct values are left than `minValues` asks for, with how many there are.
    pub(crate) fn min_values_unmet(
        &self,
        types: &FixedBitSet,
        zones: u64,
        purchases: u64,
    ) -> Option<(Text, u32, u32)> {
        for (key, wanted) in &self.min_values {
            let mut values: Vec<&str> = Vec::new();
            for one in types.ones().map(|index| &self.types[index]) {
                match &**key {
                    label::ZONE => values.extend(
                        one.offerings_in(zones, purchases)
                            .map(|offering| &*self.zones[offering.zone as usize]),
                    ),
                    label::CAPACITY_TYPE => {
                        values.extend(one.offerings_in(zones, purchases).map(|offering| {
                            self.purchases[offering.purchase as usize].capacity_type.as_str()
                        }));
                    }
                    _ => values.extend(
                        one.instance_type
                            .labels
                            .get(key)
                            .into_iter()
                            .flatten()
                            .map(|value| &**value),
                    ),
                }
            }
            values.sort_unstable();
            values.dedup();
            let found = small(values.len());
            if found < *wanted {
                return Some((key.clone(), *wanted, found));
            }
        }
        None
    }

    /// The zone at an index.
    pub(crate) fn zone(&self, index: u32) -> &Text {
        &self.zones[index as usize]
    }

    /// The value of a label that every node of the pool has, whatever is launched.
    pub(crate) fn fixed_label(&self, key: &Text) -> Option<&Text> {
        self.fixed.get(key)
    }
}

impl PoolType<'_> {
    /// Offerings in some of the zones, bought in some of the ways.
    pub(crate) fn offerings_in(
        &self,
        zones: u64,
        purchases: u64,
    ) -> impl Iterator<Item = &TypeOffering> {
        self.offerings.iter().filter(move |offering| {
            zones >> offering.zone & 1 == 1 && purchases >> offering.purchase & 1 == 1
        })
    }

    /// The cheapest of them, by price, then zone, then way of buying.
    pub(crate) fn cheapest_in(&self, zones: u64, purchases: u64) -> Option<TypeOffering> {
        self.offerings_in(zones, purchases)
            .min_by_key(|offering| (offering.price, offering.zone, offering.purchase))
            .copied()
    }

    /// Whether the amounts fit beside the DaemonSets.
    pub(crate) fn has_room_for(&self, amounts: &[i64]) -> bool {
        self.room.iter().zip(amounts).all(|(room, amount)| *amount == 0 || amount <= room)
    }
}
