//! `spec.limits` of NodePools: nodes that exist and new claims together stay within them.

use domain::Text;
use domain::cluster_limit::limits_dollars;
use domain::label::NODE_POOL;
use domain::money::UsdPerHour;
use domain::resource::{NODES, Resources, ShownAmount, USD_PER_HOUR};

use crate::place::{Place, PlaceId};
use crate::plan_index::{PlanIndex, PlannedPlace};
use crate::report::Report;
use crate::saving::node_price;
use crate::violation::Rule;

/// By NodePool, what counts against its limits.
pub(crate) struct Usage {
    by_pool: Vec<Resources>,
    /// Of nodes whose NodePool is gone: they count against the cluster's limits only.
    elsewhere: Resources,
}

/// Capacity of one node, counted as one of `nodes` as well.
fn with_node(capacity: &Resources) -> Resources {
    let mut counted = capacity.clone();
    counted.set(&Text::from(NODES), counted.get(NODES).saturating_add(1));
    counted
}

impl Usage {
    fn none(index: &PlanIndex<'_>) -> Self {
        let by_pool = vec![Resources::new(); index.cluster.pools.len()];
        Self { by_pool, elsewhere: Resources::new() }
    }

    /// What nodes and claims in flight take that stay. Those being deleted no longer count.
    fn of_existing(index: &PlanIndex<'_>, stays: impl Fn(PlaceId) -> bool) -> Self {
        let mut usage = Self::none(index);
        for id in index.place_ids().filter(|id| stays(*id)) {
            let place = &index.places[id];
            if place.launch().is_some() || place.is_deleting {
                continue;
            }
            if let Some(pool) = owner(index, place) {
                usage.by_pool[pool].add(&with_node(&place.capacity));
                // A claim in flight may say itself what it may come to.
                if has_usd_limit(index, pool) && place.capacity.find(USD_PER_HOUR).is_none() {
                    let price = node_price(index, place).unwrap_or(UsdPerHour::ZERO);
                    usage.add_usd(pool, price);
                }
            } else if place.is_managed {
                usage.elsewhere.add(&with_node(&place.capacity));
                let price = node_price(index, place).unwrap_or(UsdPerHour::ZERO);
                usage.elsewhere.add(&Resources::new().with(USD_PER_HOUR, price.nanos()));
            }
        }
        usage
    }

    /// What claims may take: of each resource, as much as the listed type with most of it has, and
    /// of money the price of the dearest offering that is asked for.
    fn of_claims<'s, 'w: 's>(
        index: &'s PlanIndex<'w>,
        claims: impl Iterator<Item = &'s PlannedPlace<'w>>,
    ) -> Self {
        let mut usage = Self::none(index);
        for planned in claims {
            let place = &index.places[planned.place];
            if let (Some(pool), Some(launch)) = (place.pool, place.launch())
                && (!index.cluster.pools[pool].spec.limits.is_empty() || limits_cluster(index))
            {
                usage.by_pool[pool].add(&with_node(&launch.largest_capacity));
                if has_usd_limit(index, pool) {
                    let offered = planned.claim.offerings.iter().map(|own| own.price).max();
                    usage.add_usd(pool, offered.unwrap_or(planned.claim.offering.price));
                }
            }
        }
        usage
    }

    fn add_usd(&mut self, pool: usize, price: UsdPerHour) {
        self.by_pool[pool].add(&Resources::new().with(USD_PER_HOUR, price.nanos()));
    }

    /// What counts once the plan's new claims are launched, before anything is disrupted.
    pub(crate) fn after_launch(index: &PlanIndex<'_>) -> Self {
        let mut usage = Self::of_existing(index, |_| true);
        let added = Self::of_claims(index, index.new.iter());
        for (total, added) in usage.by_pool.iter_mut().zip(&added.by_pool) {
            total.add(added);
        }
        usage
    }

    /// Whether the NodePool may launch one more node of that capacity.
    pub(crate) fn leaves_room(
        &self,
        index: &PlanIndex<'_>,
        pool: usize,
        capacity: &Resources,
    ) -> bool {
        let limits = &index.cluster.pools[pool].spec.limits;
        limits.iter().all(|(name, limit)| {
            let one = i64::from(&**name == NODES);
            self.by_pool[pool].get(name).saturating_add(capacity.get(name)).saturating_add(one)
                <= limit
        }) && self.leaves_room_in_cluster(index, capacity)
    }

    fn leaves_room_in_cluster(&self, index: &PlanIndex<'_>, capacity: &Resources) -> bool {
        let limits = &index.cluster.snapshot.objects.cluster_limits;
        limits.iter().flat_map(|own| own.limits.iter()).all(|(name, limit)| {
            let one = i64::from(&**name == NODES);
            let used: i64 = self.by_pool.iter().map(|own| own.get(name)).sum();
            let used = used.saturating_add(self.elsewhere.get(name));
            used.saturating_add(capacity.get(name)).saturating_add(one) <= limit
        })
    }
}

fn limits_cluster(index: &PlanIndex<'_>) -> bool {
    !index.cluster.snapshot.objects.cluster_limits.is_empty()
}

/// Whether the NodePool or the cluster limits what its nodes cost together.
fn has_usd_limit(index: &PlanIndex<'_>, pool: usize) -> bool {
    let by_cluster = || limits_dollars(&index.cluster.snapshot.objects.cluster_limits);
    index.cluster.pools[pool].spec.limits.find(USD_PER_HOUR).is_some() || by_cluster()
}

/// Limits of the whole cluster: all NodePools together.
fn compare_cluster(index: &PlanIndex<'_>, used: &Usage, added: &Usage, report: &mut Report) {
    let sum = |usage: &Usage| {
        let mut sum = usage.elsewhere.clone();
        for own in &usage.by_pool {
            sum.add(own);
        }
        sum
    };
    let (used, added) = (sum(used), sum(added));
    for own in &index.cluster.snapshot.objects.cluster_limits {
        for (name, limit) in own.limits.iter() {
            let (used, added) = (used.get(name), added.get(name));
            if added == 0 || used.saturating_add(added) <= limit {
                continue;
            }
            let show = |amount| ShownAmount { name, amount };
            let message = format!(
                "{name} limit {} of the cluster: nodes have {}, new claims may add {}",
                show(limit),
                show(used),
                show(added)
            );
            report.add(Rule::Limits, &own.name, message);
        }
    }
}

/// The NodePool that the node is labelled with.
fn owner(index: &PlanIndex<'_>, place: &Place<'_>) -> Option<usize> {
    let label = place.labels.and_then(|labels| labels.get(NODE_POOL));
    label.filter(|_| place.is_managed).and_then(|pool| index.cluster.pool(pool))
}

/// Judges the launch, while nothing is gone yet; and the end, when disrupted nodes are gone, by
/// this plan and by earlier ones, and their replacements are there.
pub(crate) fn check(index: &PlanIndex<'_>, disrupted: &[bool], report: &mut Report) {
    let used = Usage::of_existing(index, |_| true);
    let added = Usage::of_claims(index, index.new.iter());
    compare(index, &used, &added, report, |_| true);
    compare_cluster(index, &used, &added, report);
    if index.replacements.is_empty() {
        return;
    }
    let stays = |id: PlaceId| !disrupted[id] && !index.places[id].is_leaving();
    let left = Usage::of_existing(index, stays);
    let added = Usage::of_claims(index, index.planned());
    let is_replaced = |pool: usize| {
        let mut places = index.replacements.iter().map(|planned| &index.places[planned.place]);
        places.any(|place| place.pool == Some(pool))
    };
    compare(index, &left, &added, report, is_replaced);
    compare_cluster(index, &left, &added, report);
}

/// A resource that the plan adds none of is not held against it.
fn compare(
    index: &PlanIndex<'_>,
    used: &Usage,
    added: &Usage,
    report: &mut Report,
    concerns: impl Fn(usize) -> bool,
) {
    for (number, pool) in
        index.cluster.pools.iter().enumerate().filter(|(number, _)| concerns(*number))
    {
        for (name, limit) in pool.spec.limits.iter() {
            let (used, added) = (used.by_pool[number].get(name), added.by_pool[number].get(name));
            if added == 0 || used.saturating_add(added) <= limit {
                continue;
            }
            let show = |amount| ShownAmount { name, amount };
            let message = format!(
                "{name} limit {}: nodes have {}, new claims may add {}",
                show(limit),
                show(used),
                show(added)
            );
            report.add(Rule::Limits, &pool.spec.name, message);
        }
    }
}
