//! Drift in waves that halt: how many more drifted nodes of each NodePool may be replaced.

use std::collections::BTreeMap;

use domain::Text;
use domain::drift::DriftReason;
use domain::drift_target::{drift_target, is_soaked};
use domain::drift_waves::{DriftProgress, DriftWave, DriftWaves};
use domain::node_pool::NodePool;
use domain::plan::DriftFigures;
use domain::reason::NotDisruptable;
use domain::snapshot::ClusterSnapshot;

use super::drift;
use crate::ids::NodeIx;
use crate::model::Model;
use crate::model::node::NodeView;

/// What waves leave room for, by NodePool. NodePools without waves are not listed.
pub(super) struct Waves {
    pools: BTreeMap<Text, PoolWaves>,
}

struct PoolWaves {
    wave: DriftWave,
    /// Why drift is halted.
    halted: Option<Text>,
    /// Nodes that have drifted.
    drifted: u32,
    /// Nodes that this plan replaces.
    taken: u32,
}

impl Waves {
    /// How far drift has come in each NodePool that drifts in waves or may be halted.
    pub(super) fn of(model: &Model) -> Self {
        let with_waves = |pool: &'_ NodePool| pool.options.drift_waves.is_some();
        let mut pools: BTreeMap<Text, PoolWaves> = BTreeMap::new();
        if !model.snapshot.objects.node_pools.iter().any(with_waves) {
            return Self { pools };
        }
        let mut counts: BTreeMap<&Text, (DriftProgress, u32)> = BTreeMap::new();
        for node in model.nodes.iter().filter(|node| !node.is_leaving() || is_given_up(node)) {
            let Some((pool, own)) = waves_of(node) else { continue };
            let (progress, drifted) = counts.entry(&pool.name).or_default();
            count(model.snapshot, node, own, progress, drifted);
        }
        for pool in &model.snapshot.objects.node_pools {
            let Some(own) = &pool.options.drift_waves else { continue };
            let (progress, drifted) = counts.get(&pool.name).copied().unwrap_or_default();
            let target = target(model.snapshot, pool);
            pools.insert(
                pool.name.clone(),
                PoolWaves {
                    wave: DriftWave::of(own, progress),
                    halted: own.halt_of(&target),
                    drifted,
                    taken: 0,
                },
            );
        }
        Self { pools }
    }

    /// Whether one more node may go because it has drifted in this way.
    pub(super) fn check(
        &self,
        model: &Model,
        node: NodeIx,
        drift: &DriftReason,
    ) -> Result<(), NotDisruptable> {
        let Some(pool) = model.nodes[node].node_pool.filter(|_| drift.is_rollout()) else {
            return Ok(());
        };
        let Some(own) = self.pools.get(&pool.name) else { return Ok(()) };
        if let Some(cause) = &own.halted {
            return Err(drift_halted(pool, drift, cause));
        }
        let drift = drift.clone();
        if own.wave.left() > own.taken {
            return Ok(());
        }
        Err(NotDisruptable::DriftWave { drift, wave: own.wave })
    }

    /// Counts a node that this plan replaces because it has drifted in this way.
    pub(super) fn count(&mut self, model: &Model, node: NodeIx, drift: &DriftReason) {
        let pool = model.nodes[node].node_pool.filter(|_| drift.is_rollout());
        if let Some(own) = pool.and_then(|pool| self.pools.get_mut(&pool.name)) {
            own.taken += 1;
        }
    }

    /// How far drift has come, for metrics.
    pub(super) fn figures(&self) -> BTreeMap<Text, DriftFigures> {
        let figures = |own: &PoolWaves| DriftFigures {
            wave: if own.drifted > 0 { own.wave.number } else { 0 },
            is_halted: own.halted.is_some(),
        };
        self.pools.iter().map(|(pool, own)| (pool.clone(), figures(own))).collect()
    }
}

/// Whether a node has drifted towards what its NodePool is halted for: it does not go for anything
/// cheaper either, since that would be launched from the same.
pub(super) fn halted(
    model: &Model,
    node: &NodeView,
    drift: &DriftReason,
) -> Option<NotDisruptable> {
    let (pool, own) = waves_of(node).filter(|_| drift.is_rollout())?;
    if own.halted.is_none() && !own.is_unreadable {
        return None;
    }
    let cause = own.halt_of(&target(model.snapshot, pool))?;
    Some(drift_halted(pool, drift, &cause))
}

fn drift_halted(pool: &NodePool, drift: &DriftReason, cause: &Text) -> NotDisruptable {
    NotDisruptable::DriftHalted {
        drift: drift.clone(),
        node_pool: pool.name.clone(),
        cause: cause.clone(),
    }
}

fn waves_of<'a>(node: &NodeView<'a>) -> Option<(&'a NodePool, &'a DriftWaves)> {
    let pool = node.node_pool?;
    Some((pool, pool.options.drift_waves.as_ref()?))
}

/// Whether it is a claim that ends without having joined. Until lifecycle has recorded it as a
/// failure it is part of the wave: no other is tried before it is known whether drift goes on.
fn is_given_up(node: &NodeView) -> bool {
    node.node.is_none() && node.is_deleting
}

fn target(snapshot: &ClusterSnapshot, pool: &NodePool) -> Text {
    let name = &pool.template.node_class_ref.name;
    let class = snapshot.objects.node_classes.iter().find(|class| class.name == *name);
    drift_target(pool, class)
}

/// Counts a node as drifted, as made from the target, or not at all: one that has failed is none
/// of the wave, so that another may be tried until drift is halted.
fn count(
    snapshot: &ClusterSnapshot,
    node: &NodeView,
    waves: &DriftWaves,
    progress: &mut DriftProgress,
    drifted: &mut u32,
) {
    let Some(claim) = node.claim else { return };
    if drift::reason(snapshot, node).is_some_and(|drift| drift.is_rollout()) {
        *drifted += 1;
    } else if waves.failures.contains(&claim.name) {
        return;
    } else if is_soaked(claim, node.node, waves.soak, snapshot.now) {
        progress.soaked += 1;
    } else {
        progress.starting += 1;
    }
    progress.total += 1;
}
