//! Workload objects of what a snapshot keeps of them.

use domain::pod::Pod;
use domain::workload::Workload;
use manifests::{PodTraits, PriorityRef, WorkloadObject};

/// What a pod's metadata says to whoever evicts it.
pub(super) fn traits_of(pod: &Pod) -> PodTraits {
    PodTraits { do_not_disrupt: pod.do_not_disrupt, deletion_cost: pod.deletion_cost }
}

/// The object of a workload, without claim templates, owner and rollout.
pub(super) fn workload_object(workload: Workload, traits: PodTraits) -> WorkloadObject {
    let priority = PriorityRef { own: Some(workload.template.spec.priority), class: None };
    WorkloadObject {
        workload,
        uid: "".into(),
        owner: None,
        selector: None,
        claim_templates: Vec::new(),
        priority,
        traits,
        job: None,
        rollout: None,
    }
}
