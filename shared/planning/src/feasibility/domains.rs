//! Topology domains that a new node for pods of one shape could be in.

use std::sync::Arc;

use domain::Text;

use super::fit::Fit;
use super::topology::SoftSpread;
use super::topology::{Group, Rule, Topology};
use crate::ids::{PurchaseSet, ShapeIx, ZoneSet};
use crate::model::Model;
use crate::model::intern::KeyKind;
use crate::model::memo::Memo;
use crate::model::pool::{Compatible, Pool};

/// Keys other than the host name of which a pod's new node needs a settled value, because the pod
/// carries a constraint on it or another pod's constraint selects the pod. A pod that a spread
/// selects without that the pod carries it may come after those that do, as Karpenter has it.
///
/// A relaxed soft spread settles nothing.
pub(crate) fn pinned_keys(
    topology: &Topology,
    shape: ShapeIx,
    soft_spread: SoftSpread,
) -> Vec<Text> {
    let constraints = &topology.constraints[shape];
    let mut keys: Vec<Text> = constraints
        .owned
        .iter()
        .filter(|owned| soft_spread == SoftSpread::Required || !topology.is_soft_spread(owned))
        .map(|owned| owned.group)
        .chain(constraints.selected_by.iter().copied().filter(|group| {
            let is_awaited = match soft_spread {
                SoftSpread::Required => topology.is_awaited[*group],
                SoftSpread::Relaxed => topology.is_needed[*group],
            };
            topology.groups[*group].rule == Rule::AntiAffinity
                || is_awaited && topology.is_ahead_of(shape, *group)
        }))
        .map(|group| &topology.groups[group])
        .filter(|group| !group.is_by_host())
        .map(|group| group.key.clone())
        .collect();
    keys.sort();
    keys.dedup();
    keys
}

/// Values of the key that new nodes of the fits could have, sorted.
pub(crate) fn launchable_domains(
    model: &Model,
    memo: &Memo,
    shape: ShapeIx,
    key: &Text,
    fits: &[Arc<Fit>],
) -> Vec<Text> {
    let label = Label { key, requests: &model.shape(shape).requests };
    let mut domains: Vec<Text> = fits
        .iter()
        .flat_map(|fit| fit.pools.iter().chain(&fit.avoided))
        .flat_map(|fit| pool_domains(model, memo, &model.pools[fit.pool], &fit.compatible, label))
        .collect();
    domains.sort();
    domains.dedup();
    domains
}

/// Values of a spread's key that new nodes could have which the spread counts, whoever they are
/// launched for: also nodes that the shape's pods do not fit on or, as the constraint says, do not
/// tolerate or may not go to.
pub(crate) fn counted_domains(
    model: &Model,
    memo: &Memo,
    shape: ShapeIx,
    group: &Group,
) -> Vec<Text> {
    let own = model.shape(shape);
    let label = Label { key: &group.key, requests: &[] };
    let mut domains = Vec::new();
    for pool in model.pools.iter().filter(|pool| pool.unfit.is_none()) {
        if !group.counts_nodes_with(&pool.node_pool.template.taints) {
            continue;
        }
        if !group.honors_affinity() {
            domains.extend(pool_domains(model, memo, pool, &pool.everything(), label));
            continue;
        }
        for way in &own.node_alternatives {
            if let Ok(compatible) = memo.compatible(model, pool, *way) {
                domains.extend(pool_domains(model, memo, pool, &compatible, label));
            }
        }
    }
    domains
}

/// A label of nodes that have room for some requests.
#[derive(Clone, Copy)]
struct Label<'l> {
    key: &'l Text,
    requests: &'l [i64],
}

fn pool_domains(
    model: &Model,
    memo: &Memo,
    pool: &Pool,
    compatible: &Compatible,
    Label { key, requests }: Label,
) -> Vec<Text> {
    let fitting = || {
        compatible
            .types
            .iter()
            .map(|index| &pool.types[index])
            .filter(|one| one.has_room_for(requests))
    };
    let offerings =
        || fitting().flat_map(|one| one.offerings_in(compatible.zones, compatible.purchases));
    match model.key_kinds.get(key) {
        Some(KeyKind::Zone | KeyKind::ZoneId) => {
            let all = ZoneSet::full(model.zones.len());
            let mut zones = ZoneSet::default();
            for offering in offerings() {
                zones = zones.with(offering.zone);
                // Types are many and zones few: the first few types settle them.
                if zones == compatible.zones & all {
                    break;
                }
            }
            let is_zone = model.key_kinds.get(key) == Some(&KeyKind::Zone);
            let ids = &model.snapshot.instance_types.zone_ids;
            model
                .zones
                .iter_enumerated()
                .filter(|(index, _)| zones.contains(*index))
                .filter_map(|(_, zone)| if is_zone { Some(zone) } else { ids.get(zone) })
                .cloned()
                .collect()
        }
        Some(KeyKind::CapacityType) => {
            let mut purchases = PurchaseSet::default();
            for offering in offerings() {
                purchases = purchases.with(offering.purchase);
            }
            let bought = pool.purchases.iter_enumerated();
            let bought = bought.filter(|(index, _)| purchases.contains(*index));
            let mut words: Vec<Text> = Vec::new();
            for (_, purchase) in bought {
                let word = purchase.capacity_type.as_str();
                if words.iter().all(|known| **known != *word) {
                    words.push(word.into());
                }
            }
            words
        }
        Some(KeyKind::Region) => model.snapshot.instance_types.region.iter().cloned().collect(),
        Some(KeyKind::Hostname | KeyKind::Reservation | KeyKind::Interruption) => Vec::new(),
        Some(KeyKind::InstanceType { .. }) => {
            let rule = compatible.open.iter().find(|rule| rule.key == *key);
            let sets = memo.sets();
            fitting()
                .flat_map(|one| one.instance_type.labels.get(key).into_iter().flatten())
                .filter(|value| rule.is_none_or(|rule| sets.get(rule.set).contains(value)))
                .cloned()
                .collect()
        }
        None if pool.fixed_label(key).is_some() => {
            pool.fixed_label(key).cloned().into_iter().collect()
        }
        None => {
            let sets = memo.sets();
            compatible
                .open
                .iter()
                .find(|rule| rule.key == *key)
                .map(|rule| model.label_values(key, &sets.get(rule.set)))
                .unwrap_or_default()
        }
    }
}
