//! Which zone pending pods may go to: by their requirements, their volumes, and the pods that are
//! there.
//!
//! Source: Karpenter's metric `karpenter_scheduler_pending_pods_by_effective_zone_count`.

use std::collections::BTreeMap;

use domain::plan::{NO_ZONE, SEVERAL_ZONES};
use domain::{Text, label};

use crate::feasibility::state::State;
use crate::ids::{PodIx, ShapeIx};
use crate::model::Model;
use crate::placement::Placer;

/// Pending pods by zone, before any of them has a place; virtual pods are left out.
pub(super) fn pending_by_zone(
    placer: &mut Placer,
    before: State,
    waiting: &[PodIx],
) -> BTreeMap<Text, u32> {
    let model = placer.scope().model;
    let reached = std::mem::replace(&mut placer.state, before);
    let mut by_shape: BTreeMap<ShapeIx, u32> = BTreeMap::new();
    for pod in waiting.iter().filter(|pod| model.pod(**pod).virtual_of.is_none()) {
        if let Some(shape) = model.shapes.of_pod[*pod] {
            *by_shape.entry(shape).or_default() += 1;
        }
    }
    let mut pending: BTreeMap<Text, u32> = BTreeMap::new();
    for (shape, pods) in by_shape {
        let zones: Vec<&Text> = required_zones(model, shape)
            .filter(|zone| placer.may_be_in(shape, &label::ZONE.into(), zone))
            .collect();
        let zone = match zones.as_slice() {
            [] => NO_ZONE.into(),
            [zone] => (*zone).clone(),
            _ => SEVERAL_ZONES.into(),
        };
        *pending.entry(zone).or_default() += pods;
    }
    placer.state = reached;
    pending
}

/// Zones that some way of meeting the pods' requirements and volumes allows.
fn required_zones<'m>(model: &'m Model, shape: ShapeIx) -> impl Iterator<Item = &'m Text> {
    let allows = move |zone: &Text| {
        model.shape(shape).alternatives.iter().any(|way| {
            let rules = model.sets.rules(*way);
            rules
                .iter()
                .filter(|rule| &*rule.key == label::ZONE)
                .all(|rule| model.sets.get(rule.set).contains(zone))
        })
    };
    model.zones.iter().filter(move |zone| allows(zone))
}
