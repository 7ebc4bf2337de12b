//! The scheduling queue: how long kube-scheduler leaves a pod alone that found no node.
//!
//! It tries such a pod again when something has changed that may help, but not before its back-off
//! is over, which doubles with each attempt. Here every change may help.
//!
//! Source: `podInitialBackoffSeconds` and `podMaxBackoffSeconds` of `KubeSchedulerConfiguration`,
//! <https://kubernetes.io/docs/reference/config-api/kube-scheduler-config.v1/>.

use std::collections::BTreeMap;

use domain::{SignedDuration, Text, Timestamp};

const BACKOFF_MIN: SignedDuration = SignedDuration::from_secs(1);
const BACKOFF_MAX: SignedDuration = SignedDuration::from_secs(10);

/// Pods in back-off, by uid.
#[derive(Debug, Default)]
pub(crate) struct Queue(BTreeMap<Text, Backoff>);

#[derive(Debug)]
struct Backoff {
    attempts: u32,
    until: Timestamp,
    /// Whether something has changed meanwhile.
    is_awaited: bool,
}

impl Queue {
    /// Whether a pod may be tried now.
    pub(crate) fn lets_try(&self, uid: &Text, now: Timestamp) -> bool {
        self.0.get(uid).is_none_or(|own| own.until <= now)
    }

    /// Takes note of an attempt that failed.
    pub(crate) fn failed(&mut self, uid: &Text, now: Timestamp) {
        let attempts = self.0.get(uid).map_or(0, |own| own.attempts);
        let doubled = BACKOFF_MIN.saturating_mul(1 << attempts.min(8));
        let until = now.checked_add(doubled.min(BACKOFF_MAX)).unwrap_or(Timestamp::MAX);
        let backoff = Backoff { attempts: attempts + 1, until, is_awaited: false };
        self.0.insert(uid.clone(), backoff);
    }

    /// Takes note of a change; returns when pods are to be tried for it that may not be yet, each
    /// moment once. Forgets pods that wait no more.
    pub(crate) fn changed<'p>(
        &mut self,
        waiting: impl Iterator<Item = &'p Text>,
        now: Timestamp,
    ) -> Vec<Timestamp> {
        let mut before = std::mem::take(&mut self.0);
        let mut retries = Vec::new();
        for uid in waiting {
            let Some(mut own) = before.remove(uid) else { continue };
            if own.until > now && !own.is_awaited {
                own.is_awaited = true;
                retries.push(own.until);
            }
            self.0.insert(uid.clone(), own);
        }
        retries.sort_unstable();
        retries.dedup();
        retries
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds)
    }

    #[test]
    fn back_off_doubles_with_each_attempt_up_to_ten_seconds() {
        let mut queue = Queue::default();
        let uid = Text::from("a");
        let mut now = at(0);
        let mut pauses = Vec::new();
        for _ in 0..6 {
            assert!(queue.lets_try(&uid, now));
            queue.failed(&uid, now);
            assert!(!queue.lets_try(&uid, now));
            let until = queue.0[&uid].until;
            pauses.push(until.duration_since(now).as_secs());
            now = until;
        }
        assert_eq!(pauses, [1, 2, 4, 8, 10, 10]);
    }

    #[test]
    fn a_change_during_back_off_is_acted_upon_once_it_is_over() {
        let mut queue = Queue::default();
        let uid = Text::from("a");
        assert_eq!(queue.changed([&uid].into_iter(), at(0)), [], "it was not tried yet");
        queue.failed(&uid, at(0));
        assert_eq!(queue.changed([&uid].into_iter(), at(0)), [at(1)]);
        assert_eq!(queue.changed([&uid].into_iter(), at(0)), [], "that is known by now");
        assert_eq!(queue.changed([].into_iter(), at(0)), []);
        assert!(queue.lets_try(&uid, at(0)), "it is another pod, or was bound meanwhile");
    }
}
