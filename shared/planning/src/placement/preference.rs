//! Preferences of a pod about its node: as many as can be met together, heaviest first.

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use domain::settings::PreferencePolicy;

use super::placer::Placer;
use crate::feasibility::fit::Fit;
use crate::ids::ShapeIx;
use crate::model::intern::ConjunctionId;

/// A way of meeting requirements, with the preferences that can be met beside them.
pub(super) struct Preferred {
    /// What the node must meet.
    pub(super) conjunction: ConjunctionId,
    /// Where such a node could come from: at least one pool.
    pub(super) fit: Arc<Fit>,
    /// The weight of the preferences left out.
    pub(super) penalty: i64,
}

impl Placer<'_, '_> {
    /// The best alternative: a pool without a taint that the pod would rather avoid, then the
    /// fewest preferences left out, then the heaviest pool, then the cheapest, then the first
    /// written.
    pub(super) fn unpinned(&mut self, shape: ShapeIx) -> Option<Preferred> {
        let ways = self.ways(shape);
        let mut best: Option<Preferred> = None;
        for way in ways {
            let Some(preferred) = self.with_preferences(shape, way) else { continue };
            if best.as_ref().is_none_or(|best| self.is_preferred(&preferred, best)) {
                best = Some(preferred);
            }
        }
        best
    }

    /// Ways of meeting the requirements of a pod of the shape: all, or the one that takes
    /// precedence.
    pub(super) fn ways(&mut self, shape: ShapeIx) -> Vec<ConjunctionId> {
        let all = self.model.shape(shape).alternatives.clone();
        let chosen = self.precedence.way.and_then(|number| all.get(number).copied());
        match chosen {
            Some(way) if !self.fit(shape, way).pools.is_empty() => vec![way],
            _ => all,
        }
    }

    fn is_preferred(&self, a: &Preferred, b: &Preferred) -> bool {
        let weight =
            |own: &Preferred| Reverse(self.model.pools[own.fit.pools[0].pool].node_pool.weight);
        let rank = |own: &Preferred| (own.fit.is_avoided, own.penalty, weight(own));
        match rank(a).cmp(&rank(b)) {
            Ordering::Equal => a.fit.value(self.model) < b.fit.value(self.model),
            order => order.is_lt(),
        }
    }

    /// Adds each preference that can be met together with those before it, heaviest first, without
    /// going to a pool that the pod would rather avoid: upstream tolerates `PreferNoSchedule` last.
    /// `None` where no pool meets the requirements themselves.
    pub(super) fn with_preferences(
        &mut self,
        shape: ShapeIx,
        way: ConjunctionId,
    ) -> Option<Preferred> {
        let fit = self.fit(shape, way);
        if fit.pools.is_empty() {
            return None;
        }
        let mut preferred = Preferred { conjunction: way, fit, penalty: 0 };
        let is_ignored = self.model.snapshot.settings.preference_policy == PreferencePolicy::Ignore;
        if is_ignored || self.precedence.shapes.contains(&shape) {
            return Some(preferred);
        }
        for (weight, preference) in &self.model.shape(shape).preferences {
            let both = self.memo.sets_mut().and(preferred.conjunction, *preference);
            let narrowed = both.map(|both| (both, self.fit(shape, both)));
            let avoids = preferred.fit.is_avoided;
            let is_met = |fit: &Fit| !fit.pools.is_empty() && fit.is_avoided == avoids;
            match narrowed.filter(|(_, fit)| is_met(fit)) {
                Some((conjunction, fit)) => {
                    preferred = Preferred { conjunction, fit, ..preferred };
                }
                None => preferred.penalty += i64::from(*weight),
            }
        }
        Some(preferred)
    }
}
