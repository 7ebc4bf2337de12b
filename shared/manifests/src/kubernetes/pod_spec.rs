//! `spec` of a pod or of a pod template.

use std::sync::Arc;

use domain::Text;
use domain::label::{Labels, SPOT_INTERRUPTION_COST, SPOT_OFFERING_SHARE, normalized_key};
use domain::pod::{
    GracePeriodSeconds, HostPort, PodRequests, PodSpec, PreferredNodeTerm, VolumeUse,
};
use domain::resource::Resources;
use domain::scheduler::DEFAULT_SCHEDULER;
use domain::spot::{InterruptionCost, SpotOfferingShare, SpotPolicyError};

use super::priority::{PriorityRef, is_critical};
use super::selector::{node_selector_term, node_selector_terms, tolerations};
use super::topology::{OwnPod, weight};
use super::volume::claim_spec;
use crate::field::Field;

/// Reads `spec` of a pod with these labels, and what its priority hangs on. The priority itself is
/// that of `spec.priority`, until the PriorityClasses are known.
pub(crate) fn pod_spec(
    spec: Field<'_>,
    namespace: &Text,
    labels: &Labels,
) -> (PodSpec, PriorityRef) {
    let own = OwnPod { namespace, labels };
    let affinity = spec.get("affinity");
    let node_affinity = affinity.get("nodeAffinity");
    let required = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution");
    let priority = PriorityRef::of(spec);
    let names = |list: Field<'_>| {
        list.items().filter_map(|item| item.get("name").required().text()).collect::<Vec<_>>()
    };
    let read = PodSpec {
        requests: requests(spec),
        node_selector: node_selector(spec.get("nodeSelector")),
        required_node_terms: required
            .exists()
            .then(|| node_selector_terms(required.get("nodeSelectorTerms"))),
        preferred_node_terms: preferred_node_terms(node_affinity),
        tolerations: tolerations(spec.get("tolerations")),
        topology_spread: spec
            .get("topologySpreadConstraints")
            .items()
            .filter_map(|constraint| own.spread(constraint))
            .collect(),
        pod_affinity: own.required_terms(affinity.get("podAffinity")),
        preferred_pod_affinity: own.preferred_terms(affinity.get("podAffinity")),
        pod_anti_affinity: own.required_terms(affinity.get("podAntiAffinity")),
        preferred_pod_anti_affinity: own.preferred_terms(affinity.get("podAntiAffinity")),
        host_ports: host_ports(spec),
        volumes: volumes(spec.get("volumes")),
        scheduling_gates: names(spec.get("schedulingGates")),
        resource_claims: names(spec.get("resourceClaims")),
        priority: priority.own.unwrap_or_default(),
        is_critical: priority.class.as_deref().is_some_and(is_critical),
        termination_grace: spec
            .get("terminationGracePeriodSeconds")
            .integer()
            .map_or_else(GracePeriodSeconds::default, GracePeriodSeconds),
        spot_interruption_cost: None,
        spot_offering_share: None,
        scheduler_name: scheduler_name(spec.get("schedulerName")),
    };
    (read, priority)
}

/// The scheduler that a pod names; `None` for that of pods that name none.
fn scheduler_name(field: Field<'_>) -> Option<Text> {
    field.text().filter(|name| !name.is_empty() && **name != *DEFAULT_SCHEDULER)
}

/// What annotations of a pod or pod template add to its spec; one that says nothing has no effect,
/// and costs the pod nothing else.
pub(super) fn read_annotations(annotations: Field<'_>, spec: &mut PodSpec) {
    let cost = annotations.get(SPOT_INTERRUPTION_COST);
    if let Some(text) = cost.str() {
        spec.spot_interruption_cost = InterruptionCost::parse(text);
        if spec.spot_interruption_cost.is_none() {
            let error = SpotPolicyError::Cost(text.into());
            cost.warn(format!("{error}: it has no effect"));
        }
    }
    let share = annotations.get(SPOT_OFFERING_SHARE);
    if let Some(text) = share.str() {
        match SpotOfferingShare::parse(text) {
            Ok(own) => spec.spot_offering_share = Some(own),
            Err(error) => share.warn(format!("{error}: it has no effect")),
        }
    }
}

/// Requests of a container; a limit stands in for a request that is missing, as the API server has
/// it.
pub(super) fn container_requests(container: Field<'_>) -> Resources {
    let resources = container.get("resources");
    let mut requests = resources.get("limits").resources();
    for (name, amount) in resources.get("requests").resources().iter() {
        requests.set(name, amount);
    }
    requests
}

fn is_sidecar(init_container: Field<'_>) -> bool {
    init_container.get("restartPolicy").str() == Some("Always")
}

fn requests(spec: Field<'_>) -> Resources {
    requests_with(spec, container_requests)
}

/// Requests of a pod, by those of its containers and sidecars, which a function gives.
pub(super) fn requests_with<'v>(
    spec: Field<'v>,
    of_container: impl Fn(Field<'v>) -> Resources,
) -> Resources {
    let pod_level = spec.get("resources");
    let requests = PodRequests {
        containers: spec.get("containers").items().map(&of_container).collect(),
        init_containers: spec
            .get("initContainers")
            .items()
            .map(|container| {
                if is_sidecar(container) {
                    (of_container(container), true)
                } else {
                    (container_requests(container), false)
                }
            })
            .collect(),
        pod_level_requests: pod_level.get("requests").resources(),
        pod_level_limits: pod_level.get("limits").resources(),
        overhead: spec.get("overhead").resources(),
    };
    requests.effective()
}

fn node_selector(field: Field<'_>) -> Vec<(Text, Text)> {
    let interner = field.reader().interner();
    let mut selector: Vec<_> = field
        .entries()
        .filter_map(|(key, value)| Some((interner.text(normalized_key(key)), value.text()?)))
        .collect();
    selector.sort();
    selector.dedup();
    selector
}

fn preferred_node_terms(node_affinity: Field<'_>) -> Vec<PreferredNodeTerm> {
    node_affinity
        .get("preferredDuringSchedulingIgnoredDuringExecution")
        .items()
        .filter_map(|preferred| {
            let term = node_selector_term(preferred.get("preference").required());
            let weight = weight(preferred)?;
            // A preference without expressions prefers every node alike.
            let says_something = !term.expressions.is_empty() || !term.fields.is_empty();
            says_something.then_some(PreferredNodeTerm { weight, term })
        })
        .collect()
}

/// Ports that containers and sidecars open on the host: with `hostNetwork`, every port.
fn host_ports(spec: Field<'_>) -> Vec<HostPort> {
    let on_host_network = spec.get("hostNetwork").bool().unwrap_or_default();
    let sidecars = spec.get("initContainers").items().filter(|container| is_sidecar(*container));
    let mut ports: Vec<_> = spec
        .get("containers")
        .items()
        .chain(sidecars)
        .flat_map(|container| container.get("ports").items())
        .filter_map(|port| host_port(port, on_host_network))
        .collect();
    ports.sort();
    ports.dedup();
    ports
}

fn host_port(port: Field<'_>, on_host_network: bool) -> Option<HostPort> {
    let number = |key| port_number(port.get(key)).filter(|number| *number != 0);
    let inside = number("containerPort");
    let number = number("hostPort").or(inside.filter(|_| on_host_network))?;
    let interner = port.reader().interner();
    let text_or = |key, default| {
        port.get(key)
            .text()
            .filter(|text| !text.is_empty())
            .unwrap_or_else(|| interner.text(default))
    };
    let protocol = port.get("protocol");
    if protocol.str().is_some_and(|protocol| !protocol.is_empty()) {
        protocol.choice(&[((), "TCP"), ((), "UDP"), ((), "SCTP")]);
    }
    Some(HostPort {
        ip: text_or("hostIP", "0.0.0.0"),
        protocol: text_or("protocol", "TCP"),
        port: number,
    })
}

fn port_number(field: Field<'_>) -> Option<u16> {
    let number = field.integer()?;
    let port = u16::try_from(number).ok();
    if port.is_none() {
        field.note_rule(format!("{number} is not a port: they go from 1 to 65535"));
    }
    port
}

/// Volumes that are bound to claims, sorted.
fn volumes(field: Field<'_>) -> Vec<VolumeUse> {
    let mut volumes: Vec<_> = field.items().filter_map(volume).collect();
    volumes.sort();
    volumes.dedup();
    volumes
}

pub(super) fn volume(field: Field<'_>) -> Option<VolumeUse> {
    let claim = field.get("persistentVolumeClaim");
    if claim.exists() {
        let name = claim.get("claimName").required().own_text()?;
        return Some(VolumeUse::Pvc { name, template: None });
    }
    let ephemeral = field.get("ephemeral");
    ephemeral.exists().then_some(())?;
    Some(VolumeUse::Ephemeral {
        volume: field.get("name").required().text()?,
        template: Arc::new(claim_spec(ephemeral.get("volumeClaimTemplate").get("spec"))),
    })
}
