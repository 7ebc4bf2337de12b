//! Pods whose containers are resized in place: until the kubelet is done, what they have and what
//! they are meant to have differ, and a pod takes the larger of both.
//!
//! Source: `PodRequests` with `UseStatusResources`, as kube-scheduler and Karpenter count requests,
//! <https://github.com/kubernetes/component-helpers/blob/master/resource/helpers.go>.

use domain::resource::Resources;

use super::pod_spec::{container_requests, requests_with};
use crate::field::Field;

/// What a pod takes of its node, if its status says what its containers have. Where the resize is
/// refused, that is all.
pub(super) fn requests_in_place(
    spec: Field<'_>,
    status: Field<'_>,
    is_refused: bool,
) -> Option<Resources> {
    let running: Vec<_> = ["containerStatuses", "initContainerStatuses"]
        .into_iter()
        .flat_map(|list| status.get(list).items())
        .filter(|container| container.get("resources").exists())
        .collect();
    if running.is_empty() {
        return None;
    }
    let requests = requests_with(spec, |container| {
        let meant = container_requests(container);
        let name = container.get("name").str();
        let Some(own) = running.iter().find(|own| own.get("name").str() == name) else {
            return meant;
        };
        let mut requests = if is_refused { Resources::new() } else { meant };
        requests.raise_to(&own.get("resources").get("requests").resources());
        requests.raise_to(&own.get("allocatedResources").resources());
        requests
    });
    Some(requests)
}
