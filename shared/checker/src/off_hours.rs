//! NodePools in their off hours: nothing is launched in them, and only in them do nodes go for it.

use domain::off_hours::OffPeriod;
use domain::reason::DisruptionReason;

use crate::disruption_entry::DisruptionEntry;
use crate::place::Place;
use crate::plan_index::PlanIndex;
use crate::report::Report;
use crate::violation::Rule;

fn period(index: &PlanIndex<'_>, pool: usize) -> Option<OffPeriod> {
    let options = &index.cluster.pools[pool].spec.options;
    options.off_hours.as_ref()?.period(index.cluster.snapshot.now)
}

/// Refuses every claim of a NodePool that is off, replacements included.
pub(crate) fn check(index: &PlanIndex<'_>, report: &mut Report) {
    for planned in index.planned() {
        let pool = index.places[planned.place].pool;
        if let Some(off) = pool.and_then(|pool| period(index, pool)) {
            let message =
                format!("NodePool {} is off until {}", planned.claim.node_pool, off.until);
            report.add(Rule::OffHours, &planned.claim.name, message);
        }
    }
}

/// Refuses a disruption for off hours, which nothing holds back, of a node whose NodePool is on.
pub(crate) fn check_node(
    index: &PlanIndex<'_>,
    entry: &DisruptionEntry<'_>,
    place: &Place<'_>,
    report: &mut Report,
) {
    let is_off = || place.pool.is_some_and(|pool| period(index, pool).is_some());
    if entry.planned.reason == DisruptionReason::OffHours && !is_off() {
        let message = format!("{} goes for off hours, and its NodePool is not off", place.name);
        report.add(Rule::OffHours, entry.subject(), message);
    }
}
