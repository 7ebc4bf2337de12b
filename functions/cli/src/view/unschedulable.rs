//! Unschedulable pods, grouped by reasons.

use domain::plan::UnschedulablePod;
use domain::pod::PodKey;
use domain::reason::PodUnschedulable;

/// Pods that have no place for the same reasons.
#[derive(Debug)]
pub(crate) struct UnschedulableGroup<'a> {
    /// The pods, in the plan's order.
    pub(crate) pods: Vec<PodKey>,
    /// Why not.
    pub(crate) reasons: &'a [PodUnschedulable],
}

/// Groups in the order of their first pod. Only neighbours that are replicas usually share reasons,
/// but any two with equal reasons are put together.
pub(crate) fn groups(unschedulable: &[UnschedulablePod]) -> Vec<UnschedulableGroup<'_>> {
    groups_of(unschedulable.iter().map(|own| (&own.pod, own.reasons.as_slice())))
}

/// Groups of pods with their reasons, in the order of their first pod.
pub(crate) fn groups_of<'a>(
    pods: impl Iterator<Item = (&'a PodKey, &'a [PodUnschedulable])>,
) -> Vec<UnschedulableGroup<'a>> {
    let mut groups: Vec<UnschedulableGroup<'_>> = Vec::new();
    for (pod, reasons) in pods {
        match groups.iter_mut().find(|group| group.reasons == reasons) {
            Some(group) => group.pods.push(pod.clone()),
            None => groups.push(UnschedulableGroup { pods: vec![pod.clone()], reasons }),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_with_equal_reasons_are_one_group() {
        let pod = |name: &str, reason: &PodUnschedulable| UnschedulablePod {
            pod: PodKey::new("default", name),
            reasons: vec![reason.clone()],
        };
        let none = PodUnschedulable::NoNodePool;
        let refuses = PodUnschedulable::RefusesManagedNodes;
        let pods = [pod("a", &none), pod("b", &refuses), pod("c", &none)];

        let groups = groups(&pods);

        let names: Vec<Vec<&str>> =
            groups.iter().map(|group| group.pods.iter().map(|pod| &*pod.name).collect()).collect();
        assert_eq!(names, [vec!["a", "c"], vec!["b"]]);
    }
}
