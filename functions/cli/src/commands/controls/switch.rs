//! Setting switches, and showing them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use controllers::ports::PortError;
use controllers::record::controls::{
    Controls, END_ORPHANS_UNTIL, INSTALLATION, MAX_HOURLY_USD, MAX_LAUNCHES_PER_HOUR,
    MAX_LAUNCHES_PER_TICK, MAX_TERMINATIONS_PER_TICK_PERCENT, MODE, Mode,
};
use domain::{SignedDuration, Text, Timestamp};

use super::place::{Place, Values, block_on};
use crate::args::controls::{
    EndOrphansArgs, FusesArgs, PauseArgs, SwitchArgs, SwitchPlace, TakeOverArgs,
};
use crate::clock;
use crate::commands::CommandError;
use crate::console;
use crate::status::Status;

/// How soon a switch is noticed, in words.
const WITHIN: &str = "runs that are under way finish their step";

/// `outrigger pause`.
pub(crate) fn pause(args: &PauseArgs) -> Result<Status, CommandError> {
    let mode =
        if args.except_interruptions { Mode::PausedExceptInterruptions } else { Mode::Paused };
    let what = match mode {
        Mode::PausedExceptInterruptions => "paused, except for nodes that EC2 interrupts",
        _ => "paused: no function launches, drains or ends anything",
    };
    set_mode(&args.place, Some(mode), what)
}

/// `outrigger observe`.
pub(crate) fn observe(args: &SwitchArgs) -> Result<Status, CommandError> {
    let what = "observing: functions plan, and write events, metrics and the plan";
    set_mode(&args.place, Some(Mode::Observe), what)
}

/// `outrigger resume`.
pub(crate) fn resume(args: &SwitchArgs) -> Result<Status, CommandError> {
    set_mode(&args.place, None, "resumed: the installation's own mode holds")
}

fn set_mode(place: &SwitchPlace, mode: Option<Mode>, what: &str) -> Result<Status, CommandError> {
    let values = Values::from([(MODE, mode.map(|mode| mode.as_str().into()))]);
    set(place, &values, &format!("{what}; {WITHIN}"))
}

/// `outrigger fuses`.
pub(crate) fn fuses(args: &FusesArgs) -> Result<Status, CommandError> {
    let number = |value: Option<u32>| value.map(|value| Text::from(value.to_string()));
    let all = [
        (MAX_LAUNCHES_PER_TICK, number(args.max_launches_per_tick)),
        (MAX_LAUNCHES_PER_HOUR, number(args.max_launches_per_hour)),
        (MAX_TERMINATIONS_PER_TICK_PERCENT, number(args.max_terminations_per_tick_percent)),
        (MAX_HOURLY_USD, args.max_hourly_usd.map(|usd| Text::from(usd.to_string()))),
    ];
    let values: Values =
        all.into_iter().filter(|(_, value)| args.reset || value.is_some()).collect();
    if values.is_empty() {
        return status(&SwitchArgs { place: args.place.clone() });
    }
    set(&args.place, &values, "fuses are set; the next runs keep to them")
}

/// `outrigger end-orphans`.
pub(crate) fn end_orphans(args: &EndOrphansArgs) -> Result<Status, CommandError> {
    let until = clock::now() + SignedDuration::from_mins(args.minutes.into());
    let values = Values::from([(END_ORPHANS_UNTIL, Some(until.to_string().into()))]);
    set(&args.place, &values, &format!("instances without a claim are terminated until {until}"))
}

/// `outrigger take-over`.
pub(crate) fn take_over(args: &TakeOverArgs) -> Result<Status, CommandError> {
    let values = Values::from([(INSTALLATION, Some(args.installation.as_str().into()))]);
    block_on(async { Place::of_cluster(args.context.as_deref()).await?.set(&values).await })?;
    console::write(&format!("the cluster belongs to installation {}\n", args.installation))?;
    Ok(Status::Done)
}

fn set(place: &SwitchPlace, values: &Values, what: &str) -> Result<Status, CommandError> {
    let said = block_on(async {
        let place = Place::open(place).await?;
        place.set(values).await?;
        Ok::<_, PortError>(format!("{}: {what}\n", place.name()))
    })?;
    console::write(&said)?;
    Ok(Status::Done)
}

/// `outrigger status`.
pub(crate) fn status(args: &SwitchArgs) -> Result<Status, CommandError> {
    let (name, values, neighbours) = block_on(async {
        let place = Place::open(&args.place).await?;
        Ok((place.name(), place.values().await?, place.neighbours().await?))
    })?;
    let controls = Controls::read(|key| values.get(key).map(|value| &**value));
    let text = match controls {
        Ok(controls) => shown(name, &controls, &values) + &beside(neighbours),
        Err(error) => {
            console::write(&format!("{name}: {error}: functions do nothing until it is mended\n"))?;
            return Ok(Status::Unmet);
        }
    };
    console::write(&text)?;
    Ok(Status::Done)
}

fn shown(place: &str, controls: &Controls, values: &BTreeMap<Text, Text>) -> String {
    let mut text = format!("{place}\n");
    let mode = controls.mode.map_or("as the installation's parameter Mode says", Mode::as_str);
    let owner = controls.installation.as_deref();
    let mut line = |name: &str, value: &str| {
        // Writing to a string never fails.
        let _ = writeln!(text, "  {name:<34}{value}");
    };
    line("mode", mode);
    if place.starts_with("ConfigMap") {
        line("installation", owner.unwrap_or("none yet: the first that runs takes it"));
    }
    for key in [
        MAX_LAUNCHES_PER_TICK,
        MAX_LAUNCHES_PER_HOUR,
        MAX_TERMINATIONS_PER_TICK_PERCENT,
        MAX_HOURLY_USD,
    ] {
        line(key, values.get(key).map_or("as the installation's parameter", |value| value));
    }
    if let Some(until) = controls.end_orphans_until {
        line("orphans are terminated until", &until.to_string());
    }
    text
}

/// What else there is in the cluster.
fn beside(neighbours: Option<(Option<Timestamp>, usize)>) -> String {
    let Some((karpenter, claims)) = neighbours else { return String::new() };
    let karpenter = karpenter.map_or_else(
        || "holds no lease".to_owned(),
        |renewed| {
            format!("renewed its lease at {renewed}: nothing is done within a minute of that")
        },
    );
    format!("  {:<34}{claims}\n  {:<34}{karpenter}\n", "NodeClaims", "Karpenter")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_what_is_set_and_what_is_left_to_parameters() {
        let values =
            BTreeMap::from([(MODE.into(), "paused".into()), (MAX_HOURLY_USD.into(), "50".into())]);
        let controls = Controls::read(|key| values.get(key).map(|value: &Text| &**value)).unwrap();
        let text = shown("ConfigMap kube-system/outrigger", &controls, &values);
        assert!(text.contains("mode                              paused\n"), "{text}");
        assert!(text.contains("none yet"), "{text}");
        assert!(text.contains("maxHourlyUsd                      50\n"), "{text}");
    }
}
