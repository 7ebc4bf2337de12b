//! When pods came to Nodes and went: what `consolidateAfter` is counted from.

use std::collections::BTreeMap;

use domain::{SignedDuration, Text, Timestamp};

/// Pods that live shorter may go unnoticed: lifecycle lists the cluster once a minute, and whenever
/// it has work to do.
const NOTICED_AFTER: SignedDuration = SignedDuration::from_mins(1);

/// When each pod came to its Node and went, by Node and by the pod's uid; DaemonSets' left out.
#[derive(Debug, Default)]
pub(crate) struct PodEvents(BTreeMap<Text, BTreeMap<Text, EventsOfPod>>);

#[derive(Debug)]
struct EventsOfPod {
    came: Timestamp,
    /// When its deletion was requested, or it completed.
    went: Option<Timestamp>,
}

impl PodEvents {
    /// Notes that a pod was bound to a Node.
    pub(crate) fn came(&mut self, node: &Text, pod: &Text, at: Timestamp) {
        let events = EventsOfPod { came: at, went: None };
        self.0.entry(node.clone()).or_default().insert(pod.clone(), events);
    }

    /// Notes that a pod goes from a Node. One that was there from the start came when it was made.
    pub(crate) fn went(&mut self, node: &Text, pod: &Text, made: Timestamp, at: Timestamp) {
        let pods = self.0.entry(node.clone()).or_default();
        let events = pods.entry(pod.clone()).or_insert(EventsOfPod { came: made, went: None });
        events.went.get_or_insert(at);
    }

    /// When a pod last came to a Node or went, as far as a list of the cluster at `observed_at`
    /// shows.
    ///
    /// A short-lived pod that was gone by then and came after the last noted event is left out: it
    /// fell between two lists, or the process that listed it died before it wrote the event down.
    pub(crate) fn last_event(
        &self,
        node: &Text,
        observed_at: Timestamp,
        noted: Option<Timestamp>,
    ) -> Option<Timestamp> {
        let pods = self.0.get(node)?.values();
        pods.filter(|own| own.came <= observed_at && !own.was_missed(observed_at, noted))
            .map(|own| own.went.filter(|went| *went <= observed_at).unwrap_or(own.came))
            .max()
    }
}

impl EventsOfPod {
    fn was_missed(&self, observed_at: Timestamp, noted: Option<Timestamp>) -> bool {
        self.went.is_some_and(|went| {
            went <= observed_at
                && went.duration_since(self.came) < NOTICED_AFTER
                && Some(self.came) > noted
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::start;

    fn at(seconds: i64) -> Timestamp {
        start() + SignedDuration::from_secs(seconds)
    }

    /// Pod `a` was on the node from 100 s to the moment given, nothing else.
    fn events_until(went: i64) -> PodEvents {
        let mut events = PodEvents::default();
        events.came(&"node".into(), &"a".into(), at(100));
        events.went(&"node".into(), &"a".into(), at(90), at(went));
        events
    }

    fn last(events: &PodEvents, observed_at: i64, noted: i64) -> Option<Timestamp> {
        events.last_event(&"node".into(), at(observed_at), Some(at(noted)))
    }

    #[test]
    fn the_last_event_is_the_last_before_the_list() {
        let events = events_until(300);
        assert_eq!(last(&events, 99, 0), None);
        assert_eq!(last(&events, 299, 0), Some(at(100)));
        assert_eq!(last(&events, 300, 0), Some(at(300)));
        assert_eq!(events.last_event(&"other".into(), at(300), None), None);
    }

    #[test]
    fn a_pod_that_nobody_noted_is_no_event_if_it_was_soon_gone_and_one_that_was_noted_is() {
        let events = events_until(159);
        assert_eq!(last(&events, 200, 50), None);
        assert_eq!(last(&events, 200, 100), Some(at(159)));
        assert_eq!(last(&events, 130, 50), Some(at(100)), "it was there at the list");
        assert_eq!(last(&events_until(160), 200, 50), Some(at(160)), "lifecycle had to see it");
    }

    #[test]
    fn who_was_there_from_the_start_goes_as_well_and_goes_once() {
        let mut events = PodEvents::default();
        events.went(&"node".into(), &"a".into(), at(0), at(100));
        events.went(&"node".into(), &"a".into(), at(0), at(200));
        assert_eq!(last(&events, 300, 0), Some(at(100)));
    }
}
