//! A packed node as a NodeClaim: its instance types, requirements, labels and price.

use std::collections::BTreeSet;

use domain::Text;
use domain::label::{self, Labels};
use domain::plan::{LaunchOffering, PlannedNodeClaim};
use domain::pod::{Pod, PodKey};
use domain::requirement::{Requirement, Requirements};
use domain::resource::Resources;
use domain::settings::MinValuesPolicy;

use super::offerings::{self, INSTANCE_TYPES_MAX};
use crate::feasibility::limits::Limits;
use crate::ids::{PurchaseSet, TypeIx, TypeSet, ZoneSet};
use crate::model::Model;
use crate::model::intern::{ConjunctionId, KeyKind};
use crate::model::memo::Memo;
use crate::model::pool::{MinValuesUnmet, Pool, PoolType, PricedType};
use crate::work::NewNode;

/// Types are listed while they cost at most this many percent of the cheapest: spot has a choice
/// without paying much more than planned. All of them are listed, so a claim keeps the five that
/// on-demand wants and the fifteen that spot wants wherever its NodePool and its pods leave that
/// many within this price.
const PRICE_PERCENT_MAX: i64 = 150;

/// Types that are listed where one spot node replaces another, as in Karpenter's single-node
/// spot-to-spot consolidation. (What launches on demand is warned about below five.)
pub(crate) const SPOT_TO_SPOT_TYPES: usize = 15;

const _: () = assert!(SPOT_TO_SPOT_TYPES <= INSTANCE_TYPES_MAX, "a launch takes what spot wants");

/// Names that are taken, and how new ones are drawn.
pub(crate) struct Names {
    taken: BTreeSet<Text>,
    seed: u64,
}

impl Names {
    /// Names of nodes and claims are taken.
    pub(crate) fn of(model: &Model) -> Self {
        let taken = model
            .snapshot
            .objects
            .nodes
            .iter()
            .map(|node| node.name.clone())
            .chain(model.snapshot.node_claims.iter().map(|claim| claim.name.clone()))
            .collect();
        Self { taken, seed: model.snapshot.seed }
    }

    /// Marks a name as taken.
    pub(crate) fn take(&mut self, name: &Text) {
        self.taken.insert(name.clone());
    }

    /// `POOL-xxxxx`, drawn from the seed, the pool and what the claim holds.
    fn draw(&mut self, pool: &str, content: &str) -> Text {
        // Kubernetes' generated names leave out vowels and digits that resemble letters.
        const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
        let mut state = self.seed ^ 0xcbf2_9ce4_8422_2325;
        for byte in pool.bytes().chain([0]).chain(content.bytes()) {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        loop {
            let mut rest = state ^ (state >> 29);
            let mut suffix = String::with_capacity(5);
            for _ in 0..5 {
                let index = usize::try_from(rest % LETTERS.len() as u64).unwrap_or(0);
                suffix.push(char::from(LETTERS[index]));
                rest /= LETTERS.len() as u64;
            }
            let name = Text::from(format!("{pool}-{suffix}"));
            if self.taken.insert(name.clone()) {
                return name;
            }
            state = state.wrapping_mul(0x0000_0100_0000_01b3).wrapping_add(1);
        }
    }
}

/// Turns a new node into a claim. Types beyond the one it was packed for are listed as far as the
/// pool's limits leave room for them; `None` where that leaves fewer values than `minValues`
/// strictly requires.
pub(crate) fn claim(
    model: &Model,
    memo: &Memo,
    packed: &NewNode,
    limits: &mut Limits,
    names: &mut Names,
) -> Option<PlannedNodeClaim> {
    let pool = &model.pools[packed.pool];
    let is_strict = model.snapshot.settings.min_values_policy == MinValuesPolicy::Strict;
    let untouched = (is_strict && !pool.min_values.is_empty()).then(|| limits.clone());
    let listed = listed_types(memo, pool, packed, limits);
    if let Some(before) = untouched
        && unmet(pool, packed, &listed).is_some()
    {
        *limits = before;
        limits.give_back(packed.pool, &pool.types[packed.type_index].capacity);
        return None;
    }
    let compatible = &packed.compatible;
    let pods = pods_of(model, packed);
    let content =
        pods.iter().fold(String::new(), |content, pod| content + &pod.key.to_string() + " ");

    let best = &listed[0];
    let one = &pool.types[best.index];
    let purchase = &pool.purchases[best.offering.purchase];
    let instance_types: Vec<Text> =
        listed.iter().map(|priced| pool.types[priced.index].instance_type.name.clone()).collect();
    let (requirements, labels) = requirements_and_labels(model, memo, pool, packed, &listed);
    let template = &pool.node_pool.template;
    Some(PlannedNodeClaim {
        name: names.draw(&pool.node_pool.name, &content),
        node_pool: pool.node_pool.name.clone(),
        node_class: template.node_class_ref.name.clone(),
        requirements: narrowed_to_offerings(requirements, pool, packed, &listed),
        instance_types,
        offering: LaunchOffering {
            instance_type: one.instance_type.name.clone(),
            zone: pool.zone(best.offering.zone).clone(),
            capacity_type: purchase.capacity_type,
            price: best.offering.cost,
            reservation_id: purchase.reservation.as_ref().map(|own| own.id.clone()),
        },
        offerings: offerings::of_node(pool, packed, &listed),
        labels: within(labels, compatible.zones, compatible.purchases, pool),
        taints: template.taints.clone(),
        startup_taints: template.startup_taints.clone(),
        requests: requests_on(model, packed, one),
        pods: keys_of(&pods),
    })
}

/// A planned claim as it would be launched now: for the pods that it serves by now, at today's
/// prices, under the planned name. `None` where [`claim`] has none.
pub(crate) fn renewed(
    model: &Model,
    memo: &Memo,
    packed: &NewNode,
    limits: &mut Limits,
    planned: &PlannedNodeClaim,
) -> Option<PlannedNodeClaim> {
    let fresh = claim(model, memo, packed, limits, &mut Names::of(model))?;
    Some(PlannedNodeClaim { name: planned.name.clone(), ..fresh })
}

/// The pods that a claim of a packed node lists, sorted.
pub(crate) fn pods_of_claim(model: &Model, packed: &NewNode) -> Vec<PodKey> {
    keys_of(&pods_of(model, packed))
}

/// Pods of a packed node, sorted.
fn pods_of<'m>(model: &'m Model, packed: &NewNode) -> Vec<&'m Pod> {
    let pods = packed.members.iter().flat_map(|member| &member.pods);
    let mut pods: Vec<&Pod> = pods.map(|pod| model.pod(*pod)).collect();
    pods.sort_by(|a, b| a.key.cmp(&b.key));
    pods
}

/// Those that are there.
fn keys_of(pods: &[&Pod]) -> Vec<PodKey> {
    pods.iter().filter(|pod| pod.virtual_of.is_none()).map(|pod| pod.key.clone()).collect()
}

/// Requests of a new node's pods and of the DaemonSets on a type.
fn requests_on(model: &Model, packed: &NewNode, own: &PoolType) -> Resources {
    let amounts = packed.requests.iter().zip(&own.overhead.requests);
    let sums: Vec<i64> = amounts.map(|(pods, daemons)| pods + daemons).collect();
    model.resources.resources(&sums)
}

/// What `minValues` requires beyond the listed types.
fn unmet(pool: &Pool, packed: &NewNode, listed: &[PricedType]) -> Option<MinValuesUnmet> {
    let mut types = TypeSet::empty(pool.types.len());
    for priced in listed {
        types.insert(priced.index);
    }
    pool.min_values_unmet(&types, packed.compatible.zones, packed.compatible.purchases)
}

/// Types that can host all its pods, cheapest first, each with its cheapest offering.
fn listed_types(
    memo: &Memo,
    pool: &Pool,
    packed: &NewNode,
    limits: &mut Limits,
) -> Vec<PricedType> {
    let compatible = &packed.compatible;
    let own_capacity = &pool.types[packed.type_index].capacity;
    let priced = memo.cheapest(pool, compatible.zones, compatible.purchases);
    let hosting = priced
        .iter()
        .filter(|priced| compatible.types.contains(priced.index))
        .filter(|priced| pool.types[priced.index].has_room_for(&packed.requests))
        .filter(|priced| {
            limits.allow_instead(packed.pool, &pool.types[priced.index].capacity, own_capacity)
        })
        .copied();
    // Dearer types than are listed matter only where `minValues` may need them.
    let most = if pool.min_values.is_empty() { INSTANCE_TYPES_MAX } else { usize::MAX };
    let offers: Vec<PricedType> = hosting.take(most).collect();
    let ceiling = i128::from(offers.first().map_or(0, |first| first.offering.price.nanos()))
        * i128::from(PRICE_PERCENT_MAX)
        / 100;
    let listed = flexible(pool, packed, &offers, ceiling);
    // The node turns out to be one of them.
    let mut most = own_capacity.clone();
    for priced in &listed {
        most.raise_to(&pool.types[priced.index].capacity);
    }
    limits.take_instead(packed.pool, &most, own_capacity);
    listed
}

/// As many of the cheapest offers as the node wants, otherwise those up to a price; and dearer ones
/// as far as `minValues` needs them.
fn flexible(
    pool: &Pool,
    packed: &NewNode,
    offers: &[PricedType],
    ceiling: i128,
) -> Vec<PricedType> {
    let is_unmet = |listed: &[PricedType]| unmet(pool, packed, listed);
    let is_near = |priced: &&PricedType| i128::from(priced.offering.price.nanos()) <= ceiling;
    let within = match packed.types_wanted {
        Some(wanted) => wanted.min(offers.len()),
        None => offers.iter().take(INSTANCE_TYPES_MAX).take_while(is_near).count(),
    };
    let mut listed: Vec<PricedType> = offers[..within].to_vec();
    let mut dearer = offers[within..].iter();
    while let Some(MinValuesUnmet { key, .. }) = is_unmet(&listed) {
        // Take the next type that has a value of the key that none listed has.
        let has_new = |index: TypeIx| {
            let values = |index: TypeIx| pool.types[index].instance_type.labels.get(&key);
            let seen = |value: &Text| {
                listed.iter().any(|own| values(own.index).is_some_and(|own| own.contains(value)))
            };
            values(index).is_none_or(|own| own.iter().any(|value| !seen(value)))
        };
        let Some(next) = dearer.by_ref().find(|priced| has_new(priced.index)) else { break };
        listed.push(*next);
    }
    while listed.len() > INSTANCE_TYPES_MAX {
        // Give up the dearest that no `minValues` needs.
        let before = listed.len();
        for index in (1..listed.len()).rev() {
            let mut fewer = listed.clone();
            fewer.remove(index);
            if is_unmet(&fewer).is_none() {
                listed = fewer;
                break;
            }
        }
        if listed.len() == before {
            break;
        }
    }
    listed
}

/// What the pool and the pods require, with the labels that follow from it.
fn requirements_and_labels(
    model: &Model,
    memo: &Memo,
    pool: &Pool,
    packed: &NewNode,
    listed: &[PricedType],
) -> (Requirements, Labels) {
    let mut labels = pool.node_pool.template.labels.clone();
    labels.insert(label::NODE_POOL.into(), pool.node_pool.name.clone());
    let class = &pool.node_pool.template.node_class_ref;
    labels.extend(class.label_key().map(|key| (key, class.name.clone())));
    let mut all = pool.own.clone();
    let sets = memo.sets();
    let mut conjunctions: Vec<ConjunctionId> = Vec::new();
    for member in &packed.members {
        if !conjunctions.contains(&member.conjunction) {
            conjunctions.push(member.conjunction);
        }
    }
    for rule in conjunctions.iter().flat_map(|id| sets.rules(*id).to_vec()) {
        let is_of_type =
            matches!(model.key_kinds.get(&rule.key), Some(KeyKind::InstanceType { .. }));
        if is_of_type && !rule.may_be_absent {
            for requirement in sets.get(rule.set).to_requirements(&rule.key, None) {
                all.add(&requirement);
            }
        }
    }
    for rule in &packed.compatible.open {
        let set = sets.get(rule.set);
        if model.key_kinds.contains_key(&rule.key) {
            for requirement in set.to_requirements(&rule.key, None) {
                all.add(&requirement);
            }
            continue;
        }
        // A label of the user's own gets one value, always the same, unless there is none that all
        // would have.
        match model.label_values(&rule.key, &set).into_iter().next() {
            Some(value) => {
                labels.insert(rule.key.clone(), value.clone());
                all.add_label(&rule.key, &value);
            }
            None => {
                for requirement in set.to_requirements(&rule.key, None) {
                    all.add(&requirement);
                }
            }
        }
    }
    for (key, value) in settled_labels(model, pool, listed) {
        labels.entry(key).or_insert(value);
    }
    (all, labels)
}

/// Labels of which every listed type has the same single value.
fn settled_labels(model: &Model, pool: &Pool, listed: &[PricedType]) -> Labels {
    let mut settled = Labels::new();
    for key in [label::ARCH, label::OS] {
        let mut values = listed.iter().map(|priced| {
            pool.types[priced.index].instance_type.labels.get(key).map(Vec::as_slice)
        });
        let first = values.next().flatten();
        if let Some([value]) = first
            && values.all(|other| other == first)
        {
            settled.insert(key.into(), value.clone());
        }
    }
    if let Some(region) = &model.snapshot.instance_types.region {
        settled.insert(label::REGION.into(), region.clone());
    }
    settled
}

/// Zone and capacity type as labels where only one is left.
fn within(mut labels: Labels, zones: ZoneSet, purchases: PurchaseSet, pool: &Pool) -> Labels {
    if let Some(zone) = zones.single() {
        labels.insert(label::ZONE.into(), pool.zone(zone).clone());
    }
    let mut words: Vec<&str> = pool
        .purchases
        .iter_enumerated()
        .filter(|(index, _)| purchases.contains(*index))
        .map(|(_, purchase)| purchase.capacity_type.as_str())
        .collect();
    words.dedup();
    if let [word] = words.as_slice() {
        labels.insert(label::CAPACITY_TYPE.into(), (*word).into());
    }
    labels
}

/// Narrows the requirements on instance type, zone and way of buying to what is listed.
fn narrowed_to_offerings(
    mut requirements: Requirements,
    pool: &Pool,
    packed: &NewNode,
    listed: &[PricedType],
) -> Vec<Requirement> {
    let compatible = &packed.compatible;
    let (mut zones, mut purchases) = (ZoneSet::default(), PurchaseSet::default());
    for priced in listed {
        for offering in
            pool.types[priced.index].offerings_in(compatible.zones, compatible.purchases)
        {
            zones = zones.with(offering.zone);
            purchases = purchases.with(offering.purchase);
        }
    }
    let types = listed.iter().map(|priced| pool.types[priced.index].instance_type.name.clone());
    let zones = zones.iter().map(|zone| pool.zone(zone).clone());
    let words = purchases.iter().filter_map(|purchase| {
        pool.purchases.get(purchase).map(|own| Text::from(own.capacity_type.as_str()))
    });
    requirements.add(&Requirement::is_in(label::INSTANCE_TYPE, types));
    requirements.add(&Requirement::is_in(label::ZONE, zones));
    requirements.add(&Requirement::is_in(label::CAPACITY_TYPE, words));
    requirements.to_requirements()
}
