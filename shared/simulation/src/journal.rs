//! The record of what happens, from which the report's timeline is made.

use domain::pod::PodKey;
use domain::{Text, Timestamp};

use crate::report::{Entry, Happening};

/// Entries in order of time. Pods that share a fate in one moment share an entry.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    entries: Vec<Entry>,
}

impl Journal {
    pub(crate) fn add(&mut self, at: Timestamp, what: Happening) {
        self.add_because(at, what, None);
    }

    pub(crate) fn add_because(&mut self, at: Timestamp, what: Happening, why: Option<Text>) {
        for entry in self.entries.iter_mut().rev().take_while(|entry| entry.at == at) {
            if entry.why == why && joined(&mut entry.what, &what) {
                return;
            }
        }
        self.entries.push(Entry { at, what, why });
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

/// Adds the pods of an entry to one that says the same of others.
fn joined(entry: &mut Happening, other: &Happening) -> bool {
    let (own, pods): (&mut Vec<PodKey>, &[PodKey]) = match (entry, other) {
        (Happening::PodsPending(own), Happening::PodsPending(pods))
        | (Happening::PodsUnschedulable(own), Happening::PodsUnschedulable(pods)) => (own, pods),
        (
            Happening::PodsBound { node: own_node, pods: own },
            Happening::PodsBound { node, pods },
        )
        | (
            Happening::PodsEvicted { node: own_node, pods: own },
            Happening::PodsEvicted { node, pods },
        )
        | (Happening::PodsLost { node: own_node, pods: own }, Happening::PodsLost { node, pods })
            if own_node == node =>
        {
            (own, pods)
        }
        _ => return false,
    };
    own.extend_from_slice(pods);
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::start;
    use domain::pod::ObjectKey;

    #[test]
    fn pods_bound_in_one_moment_share_a_line_and_later_ones_do_not() {
        let mut journal = Journal::default();
        let bound = |pod: &str, node: &str| Happening::PodsBound {
            node: node.into(),
            pods: vec![ObjectKey::new("default", pod)],
        };
        journal.add(start(), bound("p0", "a"));
        journal.add(start(), bound("p1", "b"));
        journal.add(start(), bound("p2", "a"));
        journal.add(start() + domain::SignedDuration::from_secs(1), bound("p3", "a"));
        let lines: Vec<_> = journal.entries().iter().map(|entry| entry.what.to_string()).collect();
        assert_eq!(lines, ["2 pods bound to a", "1 pod bound to b", "1 pod bound to a"]);
    }
}
