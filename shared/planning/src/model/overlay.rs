//! NodeOverlays applied: what an offering costs and which devices a type has, for one NodePool.
//!
//! Heavier overlays win. Among overlays of one weight that disagree about the same offering or the
//! same device, the one whose name comes last stays in force and the other counts as a whole for
//! nothing, as upstream rejects it.

use std::collections::BTreeMap;

use domain::Text;
use domain::instance_type::{InstanceType, Offering};
use domain::label::{self, Labels};
use domain::money::UsdPerHour;
use domain::node_offering::offering_of;
use domain::node_pool::NodePool;
use domain::overlay::NodeOverlay;
use domain::requirement::{Requirement, Requirements, ValueSet};
use domain::resource::Resources;
use domain::snapshot::ClusterSnapshot;

/// The overlays that are in force.
#[derive(Default)]
pub(crate) struct Overlays<'a> {
    /// The strongest first.
    in_force: Vec<&'a NodeOverlay>,
    /// What overlays may know of nodes of each pool, by its name. Empty without overlays.
    pools: BTreeMap<&'a str, Requirements>,
}

impl<'a> Overlays<'a> {
    /// Those of a snapshot, rejected ones left out.
    pub(crate) fn of(snapshot: &'a ClusterSnapshot) -> Self {
        if !snapshot.settings.feature_gates.node_overlay
            || snapshot.objects.node_overlays.is_empty()
        {
            return Self::default();
        }
        let pools = snapshot.objects.node_pools.iter();
        let pools: BTreeMap<&str, Requirements> =
            pools.map(|pool| (&*pool.name, nodes_of(pool, snapshot))).collect();
        let mut ordered: Vec<&NodeOverlay> = snapshot.objects.node_overlays.iter().collect();
        ordered.sort_by(|a, b| b.weight.cmp(&a.weight).then_with(|| b.name.cmp(&a.name)));
        let mut in_force: Vec<&NodeOverlay> = Vec::new();
        for overlay in ordered {
            let is_rejected = in_force.iter().any(|stronger| {
                stronger.weight == overlay.weight
                    && disagree(stronger, overlay)
                    && meet_somewhere(snapshot, &pools, stronger, overlay)
            });
            if !is_rejected {
                in_force.push(overlay);
            }
        }
        Self { in_force, pools }
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.in_force.is_empty()
    }

    /// What the offering costs in the pool of that name.
    pub(crate) fn price(
        &self,
        pool: &str,
        instance_type: &InstanceType,
        offering: &Offering,
    ) -> UsdPerHour {
        let Some(pool) = self.pools.get(pool) else { return offering.price };
        self.in_force
            .iter()
            .filter(|overlay| overlay.price.is_some())
            .find(|overlay| applies(&overlay.requirements, pool, instance_type, offering))
            .and_then(|overlay| overlay.price)
            .map_or(offering.price, |change| change.apply(offering.price))
    }

    /// The devices that overlays give the type in the pool of that name.
    pub(crate) fn devices(&self, pool: &str, instance_type: &InstanceType) -> Resources {
        let mut devices = Resources::new();
        let Some(pool) = self.pools.get(pool) else { return devices };
        for overlay in &self.in_force {
            let matches = || {
                instance_type
                    .offerings
                    .iter()
                    .any(|offering| applies(&overlay.requirements, pool, instance_type, offering))
            };
            if overlay.capacity.is_empty() || !matches() {
                continue;
            }
            for (name, amount) in overlay.capacity.iter() {
                if devices.find(name).is_none() {
                    devices.set(name, amount);
                }
            }
        }
        devices
    }
}

/// NodeOverlays as they apply to nodes that are there: as they do to the next node of their pools.
/// Else a node would be worth replacing by its like.
pub struct AppliedOverlays<'a> {
    overlays: Overlays<'a>,
}

impl<'a> AppliedOverlays<'a> {
    /// Those of a snapshot.
    pub fn of(snapshot: &'a ClusterSnapshot) -> Self {
        Self { overlays: Overlays::of(snapshot) }
    }

    /// What an instance of the type with these labels costs: the price of the offering that it was
    /// launched from, overlaid. `None` where the catalogue does not say.
    pub fn price(&self, labels: &Labels, instance_type: &InstanceType) -> Option<UsdPerHour> {
        let offering = offering_of(labels, instance_type)?;
        let pool = labels.get(label::NODE_POOL).map_or("", |name| &**name);
        Some(self.overlays.price(pool, instance_type, offering))
    }
}

fn disagree(a: &NodeOverlay, b: &NodeOverlay) -> bool {
    let price = matches!((a.price, b.price), (Some(a), Some(b)) if a != b);
    let capacity = a
        .capacity
        .iter()
        .any(|(name, amount)| b.capacity.find(name).is_some_and(|other| other != amount));
    price || capacity
}

/// Whether some offering that some pool could launch meets the requirements of both.
fn meet_somewhere(
    snapshot: &ClusterSnapshot,
    pools: &BTreeMap<&str, Requirements>,
    a: &NodeOverlay,
    b: &NodeOverlay,
) -> bool {
    let both: Vec<Requirement> = a.requirements.iter().chain(&b.requirements).cloned().collect();
    snapshot.objects.node_pools.iter().any(|pool| {
        let own = &pools[&*pool.name];
        snapshot.instance_types.of(&pool.template.node_class_ref.name).iter().any(|instance_type| {
            instance_type
                .offerings
                .iter()
                .any(|offering| applies(&both, own, instance_type, offering))
        })
    })
}

/// What overlays may know of a pool's nodes: besides what the pool says of them, the node class
/// that it refers to and the region.
fn nodes_of(pool: &NodePool, snapshot: &ClusterSnapshot) -> Requirements {
    let mut own = pool_requirements(pool);
    let class = &pool.template.node_class_ref;
    if let Some(key) = class.label_key() {
        own.add_label(&key, &class.name);
    }
    if let Some(region) = &snapshot.instance_types.region {
        own.add_label(&label::REGION.into(), region);
    }
    own
}

/// Labels and requirements of a pool's nodes, its name among them.
pub(crate) fn pool_requirements(pool: &NodePool) -> Requirements {
    let mut own = Requirements::of(&pool.template.requirements);
    for (key, value) in &pool.template.labels {
        own.add_label(key, value);
    }
    own.add_label(&label::NODE_POOL.into(), &pool.name);
    own
}

/// Whether the pool could launch the offering as something that meets the requirements.
fn applies(
    requirements: &[Requirement],
    pool: &Requirements,
    instance_type: &InstanceType,
    offering: &Offering,
) -> bool {
    let all = Requirements::of(requirements);
    let known: BTreeMap<&str, ValueSet> = [
        (label::ZONE, ValueSet::one(offering.zone.clone())),
        (label::CAPACITY_TYPE, ValueSet::one(offering.capacity_type.as_str().into())),
    ]
    .into();
    let value_of = |key: &Text| -> Option<ValueSet> {
        known.get(&**key).cloned().or_else(|| {
            instance_type.labels.get(key).map(|values| ValueSet::list(values.iter().cloned()))
        })
    };
    let meets =
        |key: &Text, wanted: &ValueSet, may_be_absent: bool| match (value_of(key), pool.get(key)) {
            (Some(own), Some(pool)) => own.intersection(&pool.values).intersects(wanted),
            (Some(own), None) => own.intersects(wanted),
            (None, Some(pool)) => pool.values.intersects(wanted),
            (None, None) => may_be_absent,
        };
    all.iter().all(|(key, wanted)| meets(key, &wanted.values, wanted.may_be_absent))
        && pool
            .iter()
            .all(|(key, own)| value_of(key).is_none_or(|value| value.intersects(&own.values)))
}
