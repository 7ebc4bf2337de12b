//! What an API server refuses although every field is of its type: names, label keys and values,
//! selectors that select other pods, requests above limits.
//!
//! Only what users write is held against it; what an API server sends has passed its own checks,
//! which change from release to release.
//!
//! Source: <https://kubernetes.io/docs/concepts/overview/working-with-objects/names/>,
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/> and
//! <https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/>.

use super::selector::label_selector;
use crate::field::Field;
use crate::label_rule::{check_key, check_value, is_dns_label, is_dns_subdomain};

/// Notes whatever an API server refuses in an object of a kind that is read.
pub(crate) fn check(root: Field<'_>, kind: &str) {
    // An older kind of catalogue has no metadata, and none is an object of a cluster.
    if kind == "InstanceCatalog" {
        return;
    }
    metadata(root.get("metadata"), kind);
    let spec = root.get("spec");
    match kind {
        "Pod" => pod_spec(spec),
        "PodTemplate" => template(root.get("template")),
        "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet" => {
            selected_template(spec);
        }
        "Job" => template(spec.get("template")),
        "PodDisruptionBudget" => selector(spec.get("selector")),
        _ => {}
    }
}

fn metadata(metadata: Field<'_>, kind: &str) {
    let name = metadata.get("name");
    if let Some(text) = name.str() {
        let is_namespace = kind == "Namespace";
        if is_namespace && !is_dns_label(text) {
            name.note_rule(not_a_name(text, "63 letters in lower case, digits and '-'"));
        } else if !is_namespace && !is_dns_subdomain(text) {
            name.note_rule(not_a_name(text, "253 letters in lower case, digits, '-' and '.'"));
        }
    }
    let namespace = metadata.get("namespace");
    if let Some(text) = namespace.str().filter(|text| !text.is_empty() && !is_dns_label(text)) {
        namespace.note_rule(not_a_name(text, "63 letters in lower case, digits and '-'"));
    }
    // Nodes carry it as the value of a label.
    if ["NodePool", "EC2NodeClass"].contains(&kind) {
        label_value(name);
    }
    labels(metadata.get("labels"));
    for (key, annotation) in metadata.get("annotations").entries() {
        if let Err(rule) = check_key(&key.to_lowercase()) {
            annotation.note_rule(rule);
        }
    }
}

fn not_a_name(text: &str, takes: &str) -> String {
    format!(
        "{text:?} is not a name: it takes at most {takes}, and begins and ends with a letter or digit"
    )
}

/// Labels, or a selector by equality.
fn labels(field: Field<'_>) {
    for (key, value) in field.entries() {
        if let Err(rule) = check_key(key) {
            value.note_rule(rule);
        }
        label_value(value);
    }
}

fn label_value(field: Field<'_>) {
    if let Some(Err(rule)) = field.str().map(check_value) {
        field.note_rule(rule);
    }
}

/// A label selector.
fn selector(field: Field<'_>) {
    labels(field.get("matchLabels"));
    expressions(field.get("matchExpressions"));
}

fn expressions(field: Field<'_>) {
    for expression in field.items() {
        let key = expression.get("key");
        if let Some(Err(rule)) = key.str().map(check_key) {
            key.note_rule(rule);
        }
        for value in expression.get("values").items() {
            label_value(value);
        }
    }
}

/// The template of a workload that selects its pods by labels.
fn selected_template(spec: Field<'_>) {
    let (own, pods) = (spec.get("selector"), spec.get("template"));
    selector(own);
    template(pods);
    let Some(selects) = label_selector(own) else {
        // What its pods are is clear without, so that planning goes on.
        own.warn("the field is missing, without which an API server refuses the object");
        return;
    };
    let labels = pods.get("metadata").get("labels");
    if !own.reader().is_broken() && !selects.matches(&labels.labels()) {
        own.note_rule("it does not select the pods of its own template: their labels are others");
    }
}

fn template(template: Field<'_>) {
    labels(template.get("metadata").get("labels"));
    pod_spec(template.get("spec"));
}

fn pod_spec(spec: Field<'_>) {
    labels(spec.get("nodeSelector"));
    for named in ["nodeName", "priorityClassName", "runtimeClassName"] {
        object_name(spec.get(named));
    }
    for volume in spec.get("volumes").items() {
        object_name(volume.get("persistentVolumeClaim").get("claimName"));
    }
    for list in ["initContainers", "containers"] {
        for container in spec.get(list).items() {
            requests_and_limits(container.get("resources"));
        }
    }
    requests_and_limits(spec.get("resources"));
    let containers = spec.get("containers");
    if containers.items().next().is_none() {
        // What the pod requests is clear without, so that planning goes on.
        containers.warn("it has no container, without which an API server refuses the object");
    }
    let affinity = spec.get("affinity");
    let nodes = affinity.get("nodeAffinity");
    let required = nodes.get("requiredDuringSchedulingIgnoredDuringExecution");
    for term in required.get("nodeSelectorTerms").items() {
        expressions(term.get("matchExpressions"));
    }
    for term in nodes.get("preferredDuringSchedulingIgnoredDuringExecution").items() {
        expressions(term.get("preference").get("matchExpressions"));
    }
    for between in ["podAffinity", "podAntiAffinity"] {
        pod_terms(affinity.get(between));
    }
    for constraint in spec.get("topologySpreadConstraints").items() {
        topology_key(constraint.get("topologyKey"));
        selector(constraint.get("labelSelector"));
    }
    for toleration in spec.get("tolerations").items() {
        let key = toleration.get("key");
        if let Some(Err(rule)) = key.str().filter(|key| !key.is_empty()).map(check_key) {
            key.note_rule(rule);
        }
    }
}

fn pod_terms(affinity: Field<'_>) {
    let required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution").items();
    let preferred = affinity.get("preferredDuringSchedulingIgnoredDuringExecution").items();
    for term in required.chain(preferred.map(|weighted| weighted.get("podAffinityTerm"))) {
        topology_key(term.get("topologyKey"));
        selector(term.get("labelSelector"));
        selector(term.get("namespaceSelector"));
    }
}

fn topology_key(field: Field<'_>) {
    if let Some(Err(rule)) = field.str().map(check_key) {
        field.note_rule(rule);
    }
}

/// The name of another object, where one is given.
fn object_name(field: Field<'_>) {
    if let Some(text) = field.str().filter(|text| !text.is_empty() && !is_dns_subdomain(text)) {
        field.note_rule(not_a_name(text, "253 letters in lower case, digits, '-' and '.'"));
    }
}

/// A container may request at most its limit, and of what cannot be overcommitted exactly that.
fn requests_and_limits(resources: Field<'_>) {
    let limits = resources.get("limits");
    for (name, amount) in limits.entries().chain(resources.get("requests").entries()) {
        if let Err(rule) = check_key(name) {
            amount.note_rule(rule);
        }
    }
    for (name, request) in resources.get("requests").entries() {
        let limit = limits.get(name);
        let (Some(requested), Some(most)) = (request.quantity(), limit.quantity()) else {
            continue;
        };
        if requested > most {
            request.note_rule(format!("more is requested than the limit of {most}"));
        } else if requested < most && !can_be_overcommitted(name) {
            request.note_rule(format!("of {name} the request must equal the limit of {most}"));
        }
    }
}

/// Kubernetes' own resources, but for huge pages; extended resources are whole devices.
fn can_be_overcommitted(name: &str) -> bool {
    let is_native = !name.contains('/') || name.starts_with("kubernetes.io/");
    is_native && !name.starts_with("hugepages-")
}

#[cfg(test)]
mod tests {
    use documents::Source;

    fn errors(text: &str) -> Vec<String> {
        let objects = crate::read(&[Source::new("in.yaml", text)]);
        objects.errors.iter().map(|error| error.problem.to_string()).collect()
    }

    fn pod(spec: &str) -> String {
        format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: a}}\nspec: {spec}\n")
    }

    fn deployment(selector: &str) -> String {
        format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: a}}\nspec:\n  {selector}\n  \
             template: {{metadata: {{labels: {{app: web, tier: front}}}}}}\n"
        )
    }

    #[track_caller]
    fn refused(text: &str, why: &str) {
        let errors = errors(text);
        assert!(errors.iter().any(|error| error.contains(why)), "{errors:?}");
        assert_eq!(errors.len(), 1, "{errors:?}");
    }

    #[track_caller]
    fn accepted(text: &str) {
        assert_eq!(errors(text), Vec::<String>::new());
    }

    #[test]
    fn names_are_dns_names() {
        for name in ["Web_1", "-a", "a..b", "\"a\\e[31mb\"", "\"a b\"", &"a".repeat(254)] {
            refused(&format!("kind: Pod\nmetadata: {{name: {name}}}\n"), "is not a name");
            refused(
                &format!(
                    "kind: NodeClaim\nmetadata: {{name: {name}}}\nspec: {{requirements: [], nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}}}}\n"
                ),
                "is not a name",
            );
        }
        refused("kind: Namespace\nmetadata: {name: a.b}\n", "is not a name");
        refused("kind: Pod\nmetadata: {name: a, namespace: A}\n", "is not a name");
        accepted("kind: Node\nmetadata: {name: ip-10-0-45-21.eu-west-1.compute.internal}\n");
        accepted("kind: PersistentVolume\nmetadata: {name: pvc-0f}\n");
        let pool = |letters: usize| {
            format!(
                "kind: NodePool\nmetadata: {{name: {}}}\nspec: {{template: {{spec: {{requirements: [], nodeClassRef: {{group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}}}}}}}}\n",
                "a".repeat(letters)
            )
        };
        refused(&pool(64), "it has more than 63 characters");
        accepted(&pool(63));
    }

    #[test]
    fn labels_and_selectors_have_keys_and_values_of_labels() {
        refused("kind: Pod\nmetadata: {name: a, labels: {\"a b\": c}}\n", "is not a label key");
        refused("kind: Pod\nmetadata: {name: a, labels: {a: c d}}\n", "is not a label value");
        refused("kind: Pod\nmetadata: {name: a, annotations: {a//b: c}}\n", "is not a label key");
        refused(&pod("{nodeSelector: {a: c d}}"), "is not a label value");
        refused(&pod("{tolerations: [{key: a b, operator: Exists}]}"), "is not a label key");
        let affinity = "{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: \
             {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: In, values: [c d]}]}]}}}}";
        refused(&pod(affinity), "is not a label value");
        let spread = "{topologySpreadConstraints: [{maxSkew: 1, topologyKey: a b, \
             whenUnsatisfiable: DoNotSchedule}]}";
        refused(&pod(spread), "is not a label key");
    }

    #[test]
    fn what_a_pod_refers_to_has_a_name() {
        refused(&pod("{nodeName: \"a\\e[31mb\"}"), "is not a name");
        refused(&pod("{priorityClassName: High}"), "is not a name");
        refused(
            &pod("{volumes: [{name: v, persistentVolumeClaim: {claimName: a b}}]}"),
            "is not a name",
        );
        refused(
            &pod("{containers: [{name: c, resources: {requests: {\"a b\": 1}}}]}"),
            "is not a label key",
        );
        accepted(&pod("{nodeName: \"\", priorityClassName: system-node-critical}"));
    }

    #[test]
    fn a_request_above_its_limit_is_refused() {
        let container = |requests: &str, limits: &str| {
            pod(&format!(
                "{{containers: [{{name: c, resources: {{requests: {{{requests}}}, limits: {{{limits}}}}}}}]}}"
            ))
        };
        refused(&container("cpu: 2", "cpu: 1500m"), "more is requested than the limit of 1500m");
        refused(&container("nvidia.com/gpu: 1", "nvidia.com/gpu: 2"), "must equal the limit of 2");
        accepted(&container("cpu: 1, memory: 1Gi", "cpu: 1000m, memory: 2Gi"));
        accepted(&container("nvidia.com/gpu: 1", ""));
    }

    #[test]
    fn a_pod_without_containers_is_planned_with_a_warning() {
        let warned = |spec: &str| {
            accepted(&pod(spec));
            let warnings = crate::read(&[Source::new("in.yaml", pod(spec))]).warnings;
            warnings.iter().any(|warning| warning.what.contains("it has no container"))
        };
        assert!(warned("{containers: []}") && warned("{nodeName: a}"));
        assert!(!warned("{containers: [{name: c}]}"));
    }

    #[test]
    fn a_workload_selects_the_pods_of_its_own_template() {
        refused(&deployment("selector: {matchLabels: {app: other}}"), "does not select the pods");
        refused(
            &deployment("selector: {matchExpressions: [{key: tier, operator: DoesNotExist}]}"),
            "does not select the pods",
        );
        accepted(&deployment("selector: {matchLabels: {app: web}}"));
    }

    #[test]
    fn a_workload_without_a_selector_is_planned_with_a_warning() {
        let text = deployment("replicas: 2");
        accepted(&text);
        let warnings = crate::read(&[Source::new("in.yaml", text)]).warnings;
        assert!(warnings[0].what.contains("an API server refuses"), "{warnings:?}");
    }
}
