//! When pods came to Nodes and went: what `consolidateAfter` is counted from.

use std::collections::BTreeMap;

use domain::{SignedDuration, Text, Timestamp};

/// Lifecycle looks once a minute and whenever it has something to do. What is shorter may pass unseen.
const SEEN_AFTER: SignedDuration = SignedDuration::from_mins(1);

/// When each pod came to its Node and went, by Node and by the pod's uid; DaemonSets' left out.
#[derive(Debug, Default)]
pub(crate) struct PodEvents(BTreeMap<Text, BTreeMap<Text, EventsOfPod>>);

#[derive(Debug)]
struct EventsOfPod {
    came: Timestamp,
    /// When its deletion was asked for, or it was done.
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

    /// When a pod last came to a Node or went, as far as somebody who looked at a moment could know. A
    /// pod that was there for a short while, was gone by then, and came after all that was noted of the Node was
    /// seen by nobody: it fell between two looks, or the one who saw it died before writing it down.
    pub(crate) fn last_event(
        &self,
        node: &Text,
        seen: Timestamp,
        noted: Option<Timestamp>,
    ) -> Option<Timestamp> {
        let pods = self.0.get(node)?.values();
        pods.filter(|own| own.came <= seen && !own.was_missed(seen, noted))
            .map(|own| own.went.filter(|went| *went <= seen).unwrap_or(own.came))
            .max()
    }
}

impl EventsOfPod {
    fn was_missed(&self, seen: Timestamp, noted: Option<Timestamp>) -> bool {
        self.went.is_some_and(|went| {
            went <= seen && went.duration_since(self.came) < SEEN_AFTER && Some(self.came) > noted
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

    fn last(events: &PodEvents, seen: i64, noted: i64) -> Option<Timestamp> {
        events.last_event(&"node".into(), at(seen), Some(at(noted)))
    }

    #[test]
    fn the_last_event_is_the_last_that_was_before_the_look() {
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
        assert_eq!(last(&events, 130, 50), Some(at(100)), "it was there at the look");
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
