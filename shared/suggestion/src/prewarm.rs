//! PrewarmSchedules for peaks: those of one time together, since they wait for the same nodes.

use std::collections::BTreeSet;

use domain::Text;
use serde_json::{Value, json};

use crate::candidate::{Candidate, CandidateKind};
use crate::peak::Peak;
use recording::WorkloadKey;

/// Peaks that begin within so many minutes are one candidate.
const TOGETHER_MAX: u16 = 15;
/// What a PrewarmSchedule's `maxReplicas` is when it is not given.
const DEFAULT_MAX_REPLICAS: u32 = 100;
const NAMES: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const WORDS: [&str; 7] =
    ["Sundays", "Mondays", "Tuesdays", "Wednesdays", "Thursdays", "Fridays", "Saturdays"];

/// A candidate for each time at which peaks come. `zone` is the name of the time zone that the
/// peaks were found in.
pub fn schedules(peaks: &[Peak], zone: &str) -> Vec<Candidate> {
    let mut sorted: Vec<&Peak> = peaks.iter().collect();
    sorted.sort_by_key(|own| (own.days, own.start, own.workload.clone()));
    let mut candidates = Vec::new();
    let mut rest = sorted.as_slice();
    while let Some(first) = rest.first() {
        let is_together =
            |own: &&&Peak| own.days == first.days && own.start - first.start <= TOGETHER_MAX;
        let (together, others) = rest.split_at(rest.iter().take_while(is_together).count());
        candidates.push(candidate(together, zone));
        rest = others;
    }
    candidates.sort_by(|one, other| one.id.cmp(&other.id));
    candidates
}

fn candidate(peaks: &[&Peak], zone: &str) -> Candidate {
    let start = peaks.iter().map(|own| own.start).min().unwrap_or(0);
    let days = peaks.first().map_or([false; 7], |own| own.days);
    let id: Text = format!("prewarm-{}-{}", digits(start), days_name(days)).into();
    let workloads: BTreeSet<&WorkloadKey> = peaks.iter().map(|own| &own.workload).collect();
    let of = match peaks {
        [only] => only.workload.to_string(),
        _ => format!("{} workloads", workloads.len()),
    };
    let what = format!("capacity for {of} before {}", when(start, days, zone));
    let replicas = |own: &&Peak| own.to.saturating_sub(own.from);
    let why = if let [own] = peaks {
        let Peak { from, to, came, of, .. } = own;
        format!("from {from} to {to} replicas on {came} of {of} recorded days")
    } else {
        let more = peaks.iter().map(replicas).sum::<u32>();
        format!("{more} replicas more, of {}", listed(&workloads))
    };
    Candidate {
        group: id.clone(),
        id,
        kind: CandidateKind::Prewarm,
        what,
        why,
        manifests: peaks.iter().map(|own| manifest(own, zone)).collect(),
    }
}

fn listed(workloads: &BTreeSet<&WorkloadKey>) -> String {
    const SHOWN_MAX: usize = 4;
    let names: Vec<String> = workloads.iter().take(SHOWN_MAX).map(ToString::to_string).collect();
    match workloads.len().checked_sub(SHOWN_MAX) {
        None | Some(0) => names.join(", "),
        Some(more) => format!("{} and {more} more", names.join(", ")),
    }
}

fn manifest(peak: &Peak, zone: &str) -> Value {
    let cron =
        |minute: u16| format!("{} {} * * {}", minute % 60, minute / 60, days_cron(peak.days));
    let WorkloadKey { namespace, kind, name } = &peak.workload;
    let own = format!("{name}-{}-{}", digits(peak.start), days_name(peak.days));
    let mut spec = json!({
        "scaleTargetRef": {"kind": kind.as_str(), "name": **name},
        "triggers": [{
            "type": "cron",
            "metadata": {
                "timezone": zone,
                "start": cron(peak.start),
                "end": cron(peak.end),
                "desiredReplicas": peak.to.to_string(),
            },
        }],
    });
    if let (true, Some(spec)) = (peak.to > DEFAULT_MAX_REPLICAS, spec.as_object_mut()) {
        spec.insert("maxReplicas".to_owned(), peak.to.into());
    }
    json!({
        "apiVersion": "outrigger.dev/v1alpha1",
        "kind": "PrewarmSchedule",
        "metadata": {"namespace": **namespace, "name": own},
        "spec": spec,
    })
}

fn digits(minute: u16) -> String {
    format!("{:02}{:02}", minute / 60, minute % 60)
}

fn when(minute: u16, days: [bool; 7], zone: &str) -> String {
    let words = match days_name(days).as_str() {
        "daily" => "every day".to_owned(),
        "workdays" => "on workdays".to_owned(),
        "weekends" => "on weekends".to_owned(),
        _ => {
            let chosen = days.iter().zip(WORDS).filter(|(is_in, _)| **is_in);
            format!("on {}", chosen.map(|(_, word)| word).collect::<Vec<_>>().join(", "))
        }
    };
    format!("{:02}:{:02} {zone} {words}", minute / 60, minute % 60)
}

fn days_name(days: [bool; 7]) -> String {
    match days {
        [true, true, true, true, true, true, true] => "daily".to_owned(),
        [false, true, true, true, true, true, false] => "workdays".to_owned(),
        [true, false, false, false, false, false, true] => "weekends".to_owned(),
        _ => {
            let chosen = days.iter().zip(NAMES).filter(|(is_in, _)| **is_in);
            chosen.map(|(_, name)| name).collect::<Vec<_>>().join("-")
        }
    }
}

fn days_cron(days: [bool; 7]) -> String {
    match days {
        [true, true, true, true, true, true, true] => "*".to_owned(),
        [false, true, true, true, true, true, false] => "1-5".to_owned(),
        _ => {
            let chosen = (0..7).zip(days).filter(|(_, is_in)| *is_in);
            chosen.map(|(day, _)| day.to_string()).collect::<Vec<_>>().join(",")
        }
    }
}
