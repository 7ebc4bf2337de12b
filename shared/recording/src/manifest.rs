//! Pods as manifests: what of a pod matters to scheduling, in the words of Kubernetes.
//!
//! What is written reads back as an equal [`PodSpec`]; but a StatefulSet's claim template, which no
//! pod carries, is left out.

use std::collections::BTreeMap;

use domain::label::{
    DO_NOT_DISRUPT, POD_DELETION_COST, SPOT_INTERRUPTION_COST, SPOT_OFFERING_SHARE,
};
use domain::pod::{
    DoNotDisrupt, NodeInclusionPolicy, NodeSelectorTerm, Pod, PodAffinityTerm, PodSpec,
    PreferredPodTerm, TopologySpreadConstraint, VolumeUse,
};
use domain::pvc_spec::PvcSpec;
use domain::requirement::Requirement;
use domain::resource::{PODS, Resources};
use domain::selector::LabelSelector;
use domain::taint::Toleration;
use serde_json::{Map, Value, json};

/// A class of pods that are drained last; their priority stands in the spec.
const CRITICAL: &str = "system-cluster-critical";
const DEFAULT_GRACE_SECONDS: i64 = 30;

/// Annotations of a pod that disruption depends on.
pub(crate) fn annotations(pod: &Pod) -> BTreeMap<String, String> {
    let mut annotations = BTreeMap::new();
    match pod.do_not_disrupt {
        None => {}
        Some(DoNotDisrupt::Always) => {
            annotations.insert(DO_NOT_DISRUPT.to_owned(), "true".to_owned());
        }
        Some(DoNotDisrupt::For(duration)) => {
            let seconds = format!("{}s", duration.as_secs());
            annotations.insert(DO_NOT_DISRUPT.to_owned(), seconds);
        }
    }
    if let Some(cost) = pod.deletion_cost {
        annotations.insert(POD_DELETION_COST.to_owned(), cost.to_string());
    }
    if let Some(cost) = pod.spec.spot_interruption_cost {
        annotations.insert(SPOT_INTERRUPTION_COST.to_owned(), cost.to_string());
    }
    if let Some(share) = pod.spec.spot_offering_share {
        annotations.insert(SPOT_OFFERING_SHARE.to_owned(), format!("{}%", share.percent));
    }
    annotations
}

/// `spec` of a pod.
pub(crate) fn spec(spec: &PodSpec) -> Value {
    let mut written = Map::new();
    written.insert("containers".to_owned(), containers(spec));
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            written.insert(key.to_owned(), value);
        }
    };
    let selector: Map<String, Value> =
        spec.node_selector.iter().map(|(key, value)| (key.to_string(), json!(**value))).collect();
    put("nodeSelector", (!selector.is_empty()).then(|| selector.into()));
    put("affinity", affinity(spec));
    put("tolerations", list(&spec.tolerations, toleration));
    put("topologySpreadConstraints", list(&spec.topology_spread, spread));
    put("volumes", list(&spec.volumes, volume));
    put("schedulingGates", list(&spec.scheduling_gates, |name| json!({"name": **name})));
    put("resourceClaims", list(&spec.resource_claims, |name| json!({"name": **name})));
    let scheduler = spec.scheduler_name.as_ref();
    put("schedulerName", scheduler.map(|name| json!(**name)));
    put("priority", (spec.priority != 0).then(|| spec.priority.into()));
    put("priorityClassName", spec.is_critical.then(|| CRITICAL.into()));
    let grace = spec.termination_grace.0;
    put("terminationGracePeriodSeconds", (grace != DEFAULT_GRACE_SECONDS).then(|| grace.into()));
    written.into()
}

/// A PersistentVolumeClaim that a StatefulSet's template makes.
pub(crate) fn claim(namespace: &str, name: &str, template: &PvcSpec) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"namespace": namespace, "name": name},
        "spec": claim_spec(template),
    })
}

fn list<T>(items: &[T], write: impl Fn(&T) -> Value) -> Option<Value> {
    (!items.is_empty()).then(|| items.iter().map(write).collect::<Vec<_>>().into())
}

/// One container that requests what all do.
fn containers(spec: &PodSpec) -> Value {
    let mut container = Map::from_iter([("name".to_owned(), json!("main"))]);
    let requests = quantities(&spec.requests);
    if !requests.is_empty() {
        container.insert("resources".to_owned(), json!({"requests": requests}));
    }
    let ports = list(&spec.host_ports, |port| {
        json!({
            "containerPort": port.port,
            "hostPort": port.port,
            "hostIP": *port.ip,
            "protocol": *port.protocol,
        })
    });
    container.extend(ports.map(|ports| ("ports".to_owned(), ports)));
    json!([container])
}

fn quantities(resources: &Resources) -> Map<String, Value> {
    let written = resources.iter().filter(|(name, _)| &***name != PODS).map(|(name, amount)| {
        (name.to_string(), Resources::quantity_of(name, amount).to_string().into())
    });
    written.collect()
}

fn affinity(spec: &PodSpec) -> Option<Value> {
    let mut affinity = Map::new();
    let mut node = Map::new();
    if let Some(terms) = &spec.required_node_terms {
        let terms: Vec<Value> = terms.iter().map(node_term).collect();
        node.insert(REQUIRED.to_owned(), json!({"nodeSelectorTerms": terms}));
    }
    let preferred = list(
        &spec.preferred_node_terms,
        |own| json!({"weight": own.weight, "preference": node_term(&own.term)}),
    );
    node.extend(preferred.map(|terms| (PREFERRED.to_owned(), terms)));
    let pod = pod_terms(&spec.pod_affinity, &spec.preferred_pod_affinity);
    let anti = pod_terms(&spec.pod_anti_affinity, &spec.preferred_pod_anti_affinity);
    for (key, own) in [("nodeAffinity", node), ("podAffinity", pod), ("podAntiAffinity", anti)] {
        if !own.is_empty() {
            affinity.insert(key.to_owned(), own.into());
        }
    }
    (!affinity.is_empty()).then(|| affinity.into())
}

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

fn pod_terms(required: &[PodAffinityTerm], preferred: &[PreferredPodTerm]) -> Map<String, Value> {
    let preferred = list(
        preferred,
        |own| json!({"weight": own.weight, "podAffinityTerm": pod_term(&own.term)}),
    );
    let lists = [(REQUIRED, list(required, pod_term)), (PREFERRED, preferred)];
    lists.into_iter().filter_map(|(key, terms)| Some((key.to_owned(), terms?))).collect()
}

fn node_term(term: &NodeSelectorTerm) -> Value {
    let expressions = list(&term.expressions, requirement);
    let fields = list(&term.fields, requirement);
    let lists = [("matchExpressions", expressions), ("matchFields", fields)];
    let written = lists.into_iter().filter_map(|(key, terms)| Some((key.to_owned(), terms?)));
    written.collect::<Map<_, _>>().into()
}

fn requirement(own: &Requirement) -> Value {
    let mut written = Map::from_iter([
        ("key".to_owned(), json!(*own.key)),
        ("operator".to_owned(), own.operator.as_str().into()),
    ]);
    let values = list(&own.values, |value| json!(**value));
    written.extend(values.map(|values| ("values".to_owned(), values)));
    written.into()
}

fn pod_term(term: &PodAffinityTerm) -> Value {
    let mut written = Map::from_iter([("topologyKey".to_owned(), json!(*term.topology_key))]);
    let namespaces = list(&term.namespaces, |name| json!(**name));
    written.extend(namespaces.map(|names| ("namespaces".to_owned(), names)));
    let own = term.selector.as_ref();
    written.extend(own.map(|own| ("labelSelector".to_owned(), selector(own))));
    let own = term.namespace_selector.as_ref();
    written.extend(own.map(|own| ("namespaceSelector".to_owned(), selector(own))));
    written.into()
}

fn selector(own: &LabelSelector) -> Value {
    let expressions = own.expressions().iter().map(|own| {
        let operator: &'static str = own.operator.into();
        let mut written = Map::from_iter([
            ("key".to_owned(), json!(*own.key)),
            ("operator".to_owned(), operator.into()),
        ]);
        let values = list(&own.values, |value| json!(**value));
        written.extend(values.map(|values| ("values".to_owned(), values)));
        Value::from(written)
    });
    let expressions: Vec<Value> = expressions.collect();
    if expressions.is_empty() { json!({}) } else { json!({"matchExpressions": expressions}) }
}

fn toleration(own: &Toleration) -> Value {
    let mut written = Map::new();
    let mut put = |key: &str, value: &str| {
        if !value.is_empty() {
            written.insert(key.to_owned(), value.into());
        }
    };
    put("key", own.key.as_deref().unwrap_or_default());
    put("operator", if own.exists { "Exists" } else { "" });
    put("value", &own.value);
    put("effect", own.effect.map_or("", domain::taint::TaintEffect::as_str));
    written.into()
}

fn spread(own: &TopologySpreadConstraint) -> Value {
    let when: &'static str = own.when_unsatisfiable.into();
    let policy = |own: NodeInclusionPolicy| -> Value { <&'static str>::from(own).into() };
    let mut written = Map::from_iter([
        ("maxSkew".to_owned(), own.max_skew.into()),
        ("topologyKey".to_owned(), json!(*own.topology_key)),
        ("whenUnsatisfiable".to_owned(), when.into()),
        ("nodeAffinityPolicy".to_owned(), policy(own.node_affinity_policy)),
        ("nodeTaintsPolicy".to_owned(), policy(own.node_taints_policy)),
    ]);
    let counted = own.selector.as_ref();
    written.extend(counted.map(|own| ("labelSelector".to_owned(), selector(own))));
    written.extend(own.min_domains.map(|least| ("minDomains".to_owned(), least.into())));
    written.into()
}

fn volume(own: &VolumeUse) -> Value {
    match own {
        VolumeUse::Pvc { name, template: _ } => {
            json!({"name": **name, "persistentVolumeClaim": {"claimName": **name}})
        }
        VolumeUse::Ephemeral { volume, template } => json!({
            "name": **volume,
            "ephemeral": {"volumeClaimTemplate": {"spec": claim_spec(template)}},
        }),
    }
}

fn claim_spec(own: &PvcSpec) -> Value {
    let mode = if own.one_pod_only { "ReadWriteOncePod" } else { "ReadWriteOnce" };
    let mut written = Map::from_iter([("accessModes".to_owned(), json!([mode]))]);
    let class = own.storage_class.as_ref();
    written.extend(class.map(|class| ("storageClassName".to_owned(), json!(**class))));
    let volume = own.volume_name.as_ref();
    written.extend(volume.map(|name| ("volumeName".to_owned(), json!(**name))));
    written.into()
}
