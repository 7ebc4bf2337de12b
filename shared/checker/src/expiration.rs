//! Nodes of pools that expire gracefully go by force only at their last date.

use domain::reason::DisruptionReason;

use crate::disruption_entry::DisruptionEntry;
use crate::place::Place;
use crate::plan_index::PlanIndex;
use crate::report::Report;
use crate::violation::Rule;

/// Refuses a disruption as Expired, which nothing holds back, of a node whose NodePool lets it go
/// by force later or never. Pools without such an annotation are not judged here.
pub(crate) fn check(
    index: &PlanIndex<'_>,
    entry: &DisruptionEntry<'_>,
    place: &Place<'_>,
    report: &mut Report,
) {
    let Some(pool) = place.pool.map(|pool| index.cluster.pools[pool].spec) else { return };
    let expiration = &pool.options.expiration;
    if entry.planned.reason != DisruptionReason::Expired || !expiration.is_graceful {
        return;
    }
    let age = place.claim.and_then(|claim| {
        let limit = expiration.age_limit(claim)?;
        Some((index.cluster.snapshot.now.duration_since(claim.created?), limit))
    });
    let is_due = expiration
        .expire_by
        .zip(age)
        .is_some_and(|(by, (age, limit))| age >= limit.saturating_add(by));
    if !is_due {
        let message = format!(
            "{} goes by force, and NodePool {} lets nodes expire gracefully for longer",
            place.name, pool.name
        );
        report.add(Rule::Expiration, entry.subject(), message);
    }
}
