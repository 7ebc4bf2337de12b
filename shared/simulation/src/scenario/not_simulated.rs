//! What a scenario applies and nobody simulates.

use std::collections::BTreeMap;

use manifests::Warning;

/// Kinds that make, scale or place pods, or that launch nodes, and what becomes of them.
const KINDS_THAT_COUNT: [(&str, &str); 8] = [
    ("HorizontalPodAutoscaler", "what it scales keeps its replicas: scale it in the timeline"),
    ("VerticalPodAutoscaler", "requests of pods stay as they are"),
    ("CronJob", "it makes no Jobs: apply those in the timeline"),
    ("ScaledJob", "it makes no Jobs: apply those in the timeline"),
    ("ReplicationController", "it makes no pods: a ReplicaSet does"),
    ("Rollout", "it makes no pods: a Deployment does"),
    ("PodGroup", "its pods do not wait for each other"),
    ("ResourceQuota", "it limits nothing"),
];

/// One warning for each kind that makes a difference, and one for all that make none.
pub(super) fn not_simulated(skipped: &BTreeMap<String, usize>) -> Vec<Warning> {
    let consequence = |kind: &str| {
        let own = kind.split('.').next().unwrap_or(kind);
        KINDS_THAT_COUNT.iter().find(|(known, _)| *known == own).map(|(_, what)| *what)
    };
    let mut warnings = Vec::new();
    let mut others = Vec::new();
    for (kind, count) in skipped {
        match consequence(kind) {
            Some(what) => warnings.push(format!("{count} {kind} not simulated: {what}")),
            None => others.push(format!("{count} {kind}")),
        }
    }
    if !others.is_empty() {
        warnings.push(format!("left out, as they are not simulated: {}", others.join(", ")));
    }
    warnings.into_iter().map(|what| Warning { what, place: None }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_that_make_pods_are_warned_about_one_by_one_and_others_together() {
        let skipped =
            [("ConfigMap", 3), ("CronJob", 2), ("HorizontalPodAutoscaler", 1), ("Service", 9)];
        let skipped = skipped.map(|(kind, count)| (kind.to_owned(), count)).into();
        let said: Vec<String> = not_simulated(&skipped).into_iter().map(|own| own.what).collect();
        assert_eq!(
            said,
            [
                "2 CronJob not simulated: it makes no Jobs: apply those in the timeline",
                "1 HorizontalPodAutoscaler not simulated: what it scales keeps its replicas: scale \
                 it in the timeline",
                "left out, as they are not simulated: 3 ConfigMap, 9 Service",
            ]
        );
        assert!(not_simulated(&BTreeMap::new()).is_empty());
    }
}
