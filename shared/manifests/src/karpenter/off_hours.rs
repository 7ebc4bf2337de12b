//! Annotations `outrigger.dev/off-schedule`, `off-duration`, `off-time-zone`, `off-grace` and
//! `awake-until` of a NodePool.

use domain::Timestamp;
use domain::budget::{BudgetWindow, WindowSchedule, WindowZone};
use domain::label::{AWAKE_UNTIL, OFF_DURATION, OFF_GRACE, OFF_SCHEDULE, OFF_TIME_ZONE};
use domain::off_hours::OffHours;
use domain::schedule::time_zone;

use crate::duration;
use crate::field::Field;

/// When a NodePool is off. Where an annotation says nothing, the safe side is that nodes stay: what
/// has gone does not come back. So a schedule, duration or zone that is none leaves the pool on,
/// and so does a malformed `awake-until`; a malformed grace lets nothing go by force.
pub(super) fn read_off_hours(annotations: Field<'_>) -> Option<OffHours> {
    let schedule = annotations.get(OFF_SCHEDULE);
    let text = schedule.str()?;
    let schedule = match text.parse() {
        Ok(schedule) => Some(WindowSchedule::Known(schedule)),
        Err(error) => {
            schedule.warn(format!("{error}: the NodePool is never off"));
            None
        }
    };
    let duration = annotations.get(OFF_DURATION);
    if !duration.exists() {
        annotations
            .get(OFF_SCHEDULE)
            .warn(format!("{OFF_DURATION} is needed beside it: the NodePool is never off"));
    }
    let lasts = read_duration(duration, "the NodePool is never off");
    let zone = read_zone(annotations.get(OFF_TIME_ZONE));
    let grace = read_duration(annotations.get(OFF_GRACE), "no pod goes by force");
    let window = BudgetWindow { schedule: schedule?, duration: lasts?, zone: zone? };
    Some(OffHours { window, grace, awake_until: read_awake(annotations.get(AWAKE_UNTIL)) })
}

fn read_duration(field: Field<'_>, instead: &str) -> Option<domain::SignedDuration> {
    match duration::parse(field.str()?) {
        Ok(duration) => Some(duration),
        Err(error) => {
            field.warn(format!("{error}: {instead}"));
            None
        }
    }
}

fn read_zone(field: Field<'_>) -> Option<WindowZone> {
    let Some(name) = field.str() else { return Some(WindowZone::default()) };
    match time_zone(name) {
        Ok(zone) => Some(WindowZone::Known(zone)),
        Err(error) => {
            field.warn(format!("{error}: the NodePool is never off"));
            None
        }
    }
}

fn read_awake(field: Field<'_>) -> Option<Timestamp> {
    let text = field.str()?;
    if let Ok(until) = text.parse() {
        return Some(until);
    }
    field.warn(format!(
        "{text:?} is no time such as 2026-11-23T15:00:00Z: the NodePool is not off while it stands"
    ));
    Some(Timestamp::MAX)
}
