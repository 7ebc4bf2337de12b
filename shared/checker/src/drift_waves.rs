//! Drift in waves that halt: no drifted node is replaced while that is halted, and no more drift
//! than a wave allows.
//!
//! Judged are nodes of which it is recorded that they were made from something else than their
//! NodePool launches now. Others may have drifted in ways that waves do not hold back.

use std::collections::BTreeMap;

use domain::drift_target::{drift_target, is_made_from, is_soaked};
use domain::drift_waves::DriftWaves;
use domain::node_claim::NodeClaim;
use domain::node_class::Ec2NodeClass;
use domain::node_pool::NodePool;
use domain::reason::DisruptionReason;

use crate::disruption_entry::Disruptions;
use crate::place::Place;
use crate::plan_index::PlanIndex;
use crate::report::Report;
use crate::violation::Rule;

/// Judges drifted nodes of NodePools that drift in waves or may be halted.
pub(crate) fn check(index: &PlanIndex<'_>, disruptions: &Disruptions<'_>, report: &mut Report) {
    let mut taken: BTreeMap<usize, u32> = BTreeMap::new();
    let is_judged =
        |reason| matches!(reason, DisruptionReason::Drifted | DisruptionReason::Underutilized);
    for entry in disruptions.entries.iter().filter(|entry| is_judged(entry.planned.reason)) {
        for place in entry.places.iter().map(|place| &index.places[*place]) {
            let Some((pool, own)) = place.pool.zip(place.claim) else { continue };
            let Some(judge) = Judge::of(index, pool) else { continue };
            if judge.is_target(own) {
                continue;
            }
            if entry.planned.reason == DisruptionReason::Drifted {
                *taken.entry(pool).or_default() += 1;
            }
            if let Some(cause) = judge.waves.halt_of(&drift_target(judge.pool, judge.class)) {
                let message = format!("{} has drifted, and drift is halted: {cause}", place.name);
                report.add(Rule::DriftWaves, &judge.pool.name, message);
            }
        }
    }
    for (pool, taken) in taken {
        if let Some(judge) = Judge::of(index, pool) {
            judge.check_wave(index, (pool, disruptions), taken, report);
        }
    }
}

/// A NodePool with waves, and its class.
struct Judge<'w> {
    pool: &'w NodePool,
    class: Option<&'w Ec2NodeClass>,
    waves: &'w DriftWaves,
}

impl<'w> Judge<'w> {
    fn of(index: &PlanIndex<'w>, pool: usize) -> Option<Self> {
        let pool = index.cluster.pools[pool].spec;
        let waves = pool.options.drift_waves.as_ref()?;
        let name = &pool.template.node_class_ref.name;
        let classes = &index.cluster.snapshot.objects.node_classes;
        let class = classes.iter().find(|class| class.name == *name);
        Some(Self { pool, class, waves })
    }

    fn is_target(&self, claim: &NodeClaim) -> bool {
        is_made_from(claim, self.pool, self.class)
    }

    /// Nodes that go and nodes that have not been ready for the soak are together at most as many
    /// as the largest wave that can have begun adds.
    fn check_wave(
        &self,
        index: &PlanIndex<'_>,
        (pool, disruptions): (usize, &Disruptions<'_>),
        taken: u32,
        report: &mut Report,
    ) {
        let now = index.cluster.snapshot.now;
        let (mut total, mut soaked, mut starting) = (0_u32, 0_u32, 0_u32);
        let goes = |id: usize| disruptions.disrupted.get(id).copied().unwrap_or(false);
        let of_pool = |own: &&Place<'_>| own.pool == Some(pool) && !own.is_leaving();
        let existing = index.place_ids().filter(|id| index.places[*id].claim.is_some());
        for (id, place) in existing.map(|id| (id, &index.places[id])).filter(|own| of_pool(&own.1))
        {
            let Some(claim) = place.claim else { continue };
            let is_target = self.is_target(claim);
            if is_target && self.waves.failures.contains(&claim.name) {
                continue;
            }
            total += 1;
            if is_target && is_soaked(claim, place.node, self.waves.soak, now) {
                soaked += 1;
            } else if is_target && !goes(id) {
                starting += 1;
            }
        }
        let sizes = self.waves.sizes_of(total);
        let before = std::iter::once(0).chain(sizes.iter().copied());
        let steps = before.zip(&sizes).filter(|(before, _)| *before <= soaked);
        let most = steps.map(|(before, size)| size - before).max().unwrap_or(0);
        if taken + starting > most {
            let message = format!(
                "{taken} drifted nodes go and {starting} nodes are starting: a wave has at most {most}"
            );
            report.add(Rule::DriftWaves, &self.pool.name, message);
        }
    }
}
