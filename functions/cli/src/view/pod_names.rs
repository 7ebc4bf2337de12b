//! Lists of pods in which the replicas of a workload are one item.

use std::fmt;

use domain::pod::PodKey;

/// More replicas than this are listed as one item.
const LISTED_ONE_BY_ONE_MAX: usize = 2;

/// Pods as a list: `default/web-* (12 pods), default/db-0`.
///
/// Replicas are neighbours in the sorted list whose names are the same up to the last dash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PodNames<'a>(pub(crate) &'a [PodKey]);

impl fmt::Display for PodNames<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for replicas in self.0.chunk_by(|a, b| workload(a) == workload(b)) {
            if let Some((namespace, stem)) = replicas.first().and_then(workload)
                && replicas.len() > LISTED_ONE_BY_ONE_MAX
            {
                write!(f, "{separator}{namespace}/{stem}-* ({} pods)", replicas.len())?;
                separator = ", ";
                continue;
            }
            for pod in replicas {
                write!(f, "{separator}{pod}")?;
                separator = ", ";
            }
        }
        Ok(())
    }
}

/// The namespace, and the name up to its last dash.
fn workload(pod: &PodKey) -> Option<(&str, &str)> {
    pod.name.rsplit_once('-').map(|(stem, _)| (&*pod.namespace, stem))
}

/// `1 pod`, `2 pods`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(names: &[&str], expected: &str) {
        let pods: Vec<_> = names.iter().map(|name| PodKey::new("default", *name)).collect();
        assert_eq!(PodNames(&pods).to_string(), expected);
    }

    #[test]
    fn replicas_are_one_item() {
        check(&["db-0", "web-0", "web-1", "web-2"], "default/db-0, default/web-* (3 pods)");
    }

    #[test]
    fn a_few_pods_are_listed_one_by_one() {
        check(&["plain", "web-0", "web-1"], "default/plain, default/web-0, default/web-1");
        check(&["one", "three", "two"], "default/one, default/three, default/two");
        check(&[], "");
    }

    #[test]
    fn one_is_singular() {
        assert_eq!(counted(1, "pod"), "1 pod");
        assert_eq!(counted(0, "node"), "0 nodes");
    }
}
