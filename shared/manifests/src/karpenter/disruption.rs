//! `spec.disruption` of a NodePool.

use domain::SignedDuration;
use domain::budget::{Budget, BudgetWindow, WindowSchedule, WindowZone};
use domain::node_pool::Disruption;
use domain::pdb::CountOrPercent;
use domain::reason::DisruptionReason;
use domain::schedule::{ScheduleError, time_zone};

use crate::duration;
use crate::field::Field;

/// Most budgets, and most reasons of a budget.
pub(super) const LIST_MAX: usize = 50;

/// Reasons that a budget can name: those that Karpenter weighs against it.
pub(super) const REASONS: [(DisruptionReason, &str); 3] = [
    (DisruptionReason::Underutilized, DisruptionReason::Underutilized.as_str()),
    (DisruptionReason::Empty, DisruptionReason::Empty.as_str()),
    (DisruptionReason::Drifted, DisruptionReason::Drifted.as_str()),
];

/// Which rule a budget breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BudgetRule {
    /// Too long a list.
    #[error("{0} are too many: at most 50 are allowed")]
    TooMany(usize),
    /// Not a number of nodes.
    #[error("{0:?} is neither a number of nodes, such as 5, nor a percentage of 0% to 100%")]
    Nodes(String),
    /// A window without its length.
    #[error("schedule needs duration beside it")]
    ScheduleWithoutDuration,
    /// A length without its window.
    #[error("duration needs schedule beside it")]
    DurationWithoutSchedule,
    /// A time zone of no clock.
    #[error("timeZone needs schedule beside it")]
    TimeZoneWithoutSchedule,
}

/// Reads `spec.disruption`; every field has a default.
pub(crate) fn read_disruption(field: Field<'_>) -> Disruption {
    field.only_or_newer(&["consolidateAfter", "consolidationPolicy", "budgets"]);
    let defaults = Disruption::default();
    let budgets = field.get("budgets");
    Disruption {
        consolidate_after: field
            .get("consolidateAfter")
            .parsed(duration::parse_or_never)
            .unwrap_or(defaults.consolidate_after),
        consolidation_policy: field
            .get("consolidationPolicy")
            .word()
            .unwrap_or(defaults.consolidation_policy),
        // An empty list is kept: it means that nothing limits disruption.
        budgets: if budgets.exists() { read_budgets(budgets) } else { defaults.budgets },
    }
}

fn read_budgets(list: Field<'_>) -> Vec<Budget> {
    check_length(list);
    list.items().filter_map(read_budget).collect()
}

fn check_length(list: Field<'_>) {
    let count = list.items().len();
    if count > LIST_MAX {
        list.note_rule(BudgetRule::TooMany(count));
    }
}

fn read_budget(item: Field<'_>) -> Option<Budget> {
    item.only(&["nodes", "reasons", "schedule", "duration", "timeZone"]);
    let nodes = item.get("nodes");
    let reasons = item.get("reasons");
    check_length(reasons);
    let named: Vec<_> = reasons.items().filter_map(|reason| reason.choice(&REASONS)).collect();
    Some(Budget {
        nodes: if nodes.exists() {
            nodes.parsed(parse_nodes)?
        } else {
            Budget::default_budget().nodes
        },
        reasons: (!named.is_empty()).then_some(named),
        window: read_window(item),
    })
}

fn read_window(item: Field<'_>) -> Option<BudgetWindow> {
    let schedule = item.get("schedule");
    let duration = item.get("duration");
    let zone = item.get("timeZone");
    if zone.exists() && !schedule.exists() {
        zone.note_rule(BudgetRule::TimeZoneWithoutSchedule);
    }
    match (schedule.exists(), duration.exists()) {
        (true, false) => schedule.note_rule(BudgetRule::ScheduleWithoutDuration),
        (false, true) => duration.note_rule(BudgetRule::DurationWithoutSchedule),
        _ => {}
    }
    let schedule = read_schedule(schedule);
    let duration: Option<SignedDuration> = duration.parsed(duration::parse_window);
    Some(BudgetWindow { schedule: schedule?, duration: duration?, zone: read_zone(zone) })
}

/// `schedule`. Launches do not depend on a budget, so that a text which an API server lets pass and
/// which is no schedule does not stop the NodePool: it is said, and the budget lets no node go at
/// any time, as upstream.
fn read_schedule(field: Field<'_>) -> Option<WindowSchedule> {
    let error: ScheduleError = match field.str()?.parse() {
        Ok(schedule) => return Some(WindowSchedule::Known(schedule)),
        Err(error) => error,
    };
    if !error.has_form() {
        field.note_rule(error);
        return None;
    }
    field.warn(format!("{error}: until it is, the budget allows no disruption"));
    Some(WindowSchedule::Malformed(error))
}

/// `timeZone`. A name that is not known may be one of a newer database, so it does not stop the
/// NodePool: it is said, and the budget lets no node go at any time, which cannot break into the
/// hours that were meant to be calm.
fn read_zone(field: Field<'_>) -> WindowZone {
    let Some(name) = field.text() else { return WindowZone::default() };
    match time_zone(&name) {
        Ok(zone) => WindowZone::Known(zone),
        Err(error) => {
            field.warn(format!("{error}: until it is, the budget allows no disruption"));
            WindowZone::Unknown(name)
        }
    }
}

/// Reads `nodes` of a budget: `5` or `20%`.
fn parse_nodes(text: &str) -> Result<CountOrPercent, BudgetRule> {
    let digits = text.strip_suffix('%').unwrap_or(text);
    let number = (!digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| digits.parse::<u32>().ok())
        .flatten();
    match number {
        Some(count) if digits.len() == text.len() => Ok(CountOrPercent::Count(count)),
        Some(percent) if percent <= 100 && digits.len() <= 3 => {
            Ok(CountOrPercent::Percent(percent))
        }
        _ => Err(BudgetRule::Nodes(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_nodes_is_a_count_or_a_percentage() {
        assert_eq!(parse_nodes("5"), Ok(CountOrPercent::Count(5)));
        assert_eq!(parse_nodes("0"), Ok(CountOrPercent::Count(0)));
        assert_eq!(parse_nodes("100%"), Ok(CountOrPercent::Percent(100)));
        for text in ["", "%", "101%", "-1", "1.5", "10 %", "ten", "+5", "99999999999"] {
            assert_eq!(parse_nodes(text), Err(BudgetRule::Nodes(text.into())));
        }
    }
}
