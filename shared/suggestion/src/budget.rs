//! PodDisruptionBudgets that never allowed an eviction while pods that they guard were there.

use std::collections::BTreeMap;

use domain::pdb::{CountOrPercent, PodDisruptionBudget};
use domain::{SignedDuration, Text};
use manifests::{Object, Origin, Reader};
use recording::Recording;
use serde_json::{Value, json};

use crate::candidate::{Candidate, CandidateKind};
use crate::manifest::{Manifests, name_of, namespace_of};

/// A candidate for each PodDisruptionBudget of the manifests that, with the pods of a recording,
/// never allowed an eviction: it lets one pod be unavailable.
pub fn budgets(recording: &Recording, manifests: &Manifests) -> Vec<Candidate> {
    let found = manifests.of_kind("PodDisruptionBudget").filter_map(|manifest| {
        let own = read(manifest)?;
        let most = most_guarded(recording, &own)?;
        allowed_at_most(recording, &own)?.eq(&0).then(|| candidate(manifest, &own, most))
    });
    found.collect()
}

fn read(manifest: &Value) -> Option<PodDisruptionBudget> {
    let mut reader = Reader::default();
    let origin = Origin { file: "".into(), line: 0, json: None };
    reader.read_value(&manifests::Value::from_json(manifest), &origin);
    reader.into_objects().objects.into_iter().find_map(|own| match own.value {
        Object::PodDisruptionBudget(own) => Some(own),
        _ => None,
    })
}

/// How many pods it guarded after each change of their number.
fn counts(recording: &Recording, budget: &PodDisruptionBudget) -> Vec<u32> {
    let mut changes: BTreeMap<SignedDuration, i64> = BTreeMap::new();
    for own in recording.pods.iter().filter(|own| budget.guards(&own.pod)) {
        *changes.entry(own.created).or_default() += 1;
        if let Some(end) = own.end {
            *changes.entry(end.at).or_default() -= 1;
        }
    }
    let mut count = 0;
    let counts = changes.into_values().map(|change| {
        count += change;
        u32::try_from(count).unwrap_or(0)
    });
    counts.collect()
}

fn most_guarded(recording: &Recording, budget: &PodDisruptionBudget) -> Option<u32> {
    counts(recording, budget).into_iter().max().filter(|most| *most > 0)
}

/// The most evictions that it allowed at once, with all pods healthy; `None` if it guarded none.
fn allowed_at_most(recording: &Recording, budget: &PodDisruptionBudget) -> Option<u32> {
    let counts = counts(recording, budget);
    counts.into_iter().filter(|count| *count > 0).map(|count| allowed(budget, count)).max()
}

/// How many of so many healthy pods it lets go at once.
fn allowed(budget: &PodDisruptionBudget, pods: u32) -> u32 {
    match (budget.max_unavailable, budget.min_available) {
        (Some(most), _) => most.of(pods).min(pods),
        (None, Some(least)) => pods.saturating_sub(least.of(pods)),
        // A budget that says neither keeps one pod available.
        (None, None) => pods.saturating_sub(1),
    }
}

fn candidate(manifest: &Value, own: &PodDisruptionBudget, most: u32) -> Candidate {
    let (namespace, name) = (namespace_of(manifest), name_of(manifest));
    let rule = match (own.max_unavailable, own.min_available) {
        (Some(most), _) => format!("maxUnavailable: {}", shown(most)),
        (None, least) => {
            format!("minAvailable: {}", least.map_or_else(|| "1".to_owned(), shown))
        }
    };
    let pods = if most == 1 { "1 pod".to_owned() } else { format!("{most} pods") };
    let gap = if most == 1 { ": while it moves, there is none" } else { "" };
    let mut changed = manifest.clone();
    if let Some(spec) = changed.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("minAvailable");
        spec.insert("maxUnavailable".to_owned(), json!(1));
    }
    let id: Text = format!("budget-{namespace}/{name}").into();
    Candidate {
        group: id.clone(),
        id,
        kind: CandidateKind::Budget,
        what: format!("PodDisruptionBudget {namespace}/{name} lets one pod go at a time"),
        why: format!("{rule} of never more than {pods} allows no eviction{gap}"),
        manifests: vec![changed],
    }
}

fn shown(own: CountOrPercent) -> String {
    match own {
        CountOrPercent::Count(count) => count.to_string(),
        CountOrPercent::Percent(percent) => format!("{percent}%"),
    }
}
