use domain::pod::{
    DoNotDisrupt, NodeInclusionPolicy, OwnerKind, PodPhase, PodSpec, VolumeUse, WhenUnsatisfiable,
};
use domain::resource::{CPU, EPHEMERAL_STORAGE, MEMORY, PODS, Resources};
use domain::selector::LabelSelector;
use domain::{SignedDuration, Text};

use super::{problems, read_as};
use crate::kubernetes::PodObject;
use crate::object::Object;

fn pod(text: &str) -> PodObject {
    read_as!(text, Object::Pod)
}

/// The specification of a pod `shop/web` with label `app: web`.
fn spec(text: &str) -> PodSpec {
    let text = text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n");
    let pod = pod(&format!(
        "kind: Pod\nmetadata: {{name: web, namespace: shop, labels: {{app: web}}}}\nspec:\n{text}\n"
    ));
    PodSpec::clone(&pod.pod.spec)
}

fn texts(texts: &[&str]) -> Vec<Text> {
    texts.iter().map(|text| Text::from(*text)).collect()
}

#[test]
fn requests_count_containers_sidecars_init_steps_overhead_and_limits() {
    let spec = spec(
        "containers:
- resources: {requests: {cpu: 250m, memory: 1Gi}, limits: {cpu: 4, nvidia.com/gpu: 1}}
- resources: {limits: {memory: 512Mi}}
initContainers:
- {restartPolicy: Always, resources: {requests: {cpu: 100m}}}
- {resources: {requests: {cpu: 1, ephemeral-storage: 2G}}}
overhead: {cpu: 10m}",
    );
    let expected = Resources::new()
        .with(CPU, 1110)
        .with(MEMORY, 1536 << 20)
        .with("nvidia.com/gpu", 1)
        .with(EPHEMERAL_STORAGE, 2_000_000_000)
        .with(PODS, 1);
    assert_eq!(spec.requests, expected);
}

/// A pod of a container that requests 1 cpu and a sidecar that requests 500m.
fn resized(status: &str) -> i64 {
    let text = format!(
        "kind: Pod
metadata: {{name: a}}
spec:
  containers: [{{name: main, resources: {{requests: {{cpu: 1}}}}}}]
  initContainers:
  - {{name: proxy, restartPolicy: Always, resources: {{requests: {{cpu: 500m}}}}}}
  - {{name: step, resources: {{requests: {{cpu: 100m}}}}}}
status:
{status}
"
    );
    pod(&text).pod.spec.requests.get(CPU)
}

#[test]
fn a_pod_that_is_resized_in_place_counts_what_it_has_or_will_have() {
    let has = |requests: &str| format!("  containerStatuses: [{{name: main, {requests}}}]");
    assert_eq!(resized("  phase: Running"), 1500);
    assert_eq!(resized(&has("resources: {requests: {cpu: 3}}")), 3500);
    assert_eq!(resized(&has("resources: {requests: {cpu: 200m}}")), 1500);
    assert_eq!(resized(&has("resources: {}, allocatedResources: {cpu: 2}")), 2500);
    // Kubelets that cannot resize say nothing of what a container has.
    assert_eq!(resized(&has("allocatedResources: {cpu: 2}")), 1500);
    let init = "  initContainerStatuses: [{name: proxy, resources: {requests: {cpu: 2}}}, \
                {name: step, resources: {requests: {cpu: 9}}}]";
    assert_eq!(resized(init), 3000);
}

#[test]
fn a_resize_that_the_node_refuses_does_not_count() {
    let pending = |reason: &str| {
        resized(&format!(
            "  conditions: [{{type: PodResizePending, status: 'True', reason: {reason}}}]
  containerStatuses: [{{name: main, resources: {{requests: {{cpu: 250m}}}}}}]"
        ))
    };
    assert_eq!(pending("Infeasible"), 750);
    assert_eq!(pending("Deferred"), 1500);
}

#[test]
fn pod_level_requests_replace_the_sum() {
    let spec = spec(
        "resources: {requests: {cpu: 2}, limits: {memory: 1Gi}}
containers:
- resources: {requests: {cpu: 250m}}",
    );
    assert_eq!(spec.requests, Resources::new().with(CPU, 2000).with(MEMORY, 1 << 30).with(PODS, 1));
}

#[test]
fn quantities_may_be_numbers_and_bad_ones_are_refused() {
    let with = |cpu: &str| {
        format!(
            "kind: Pod\nmetadata: {{name: a}}\nspec: {{containers: [{{resources: {{requests: {{cpu: {cpu}}}}}}}]}}\n"
        )
    };
    for (cpu, millis) in
        [("2", 2000), ("0.5", 500), ("1e3", 1_000_000), ("\"250m\"", 250), ("100u", 1)]
    {
        assert_eq!(pod(&with(cpu)).pod.spec.requests.get(CPU), millis, "{cpu}");
    }
    assert_eq!(problems(&with("2 cores")).len(), 1);
    assert_eq!(problems(&with("true")), ["expected a quantity, found true"]);
    assert_eq!(problems(&with("-1")), ["-1 is below zero"]);
}

#[test]
fn host_ports_are_those_asked_for_and_on_the_host_network_all() {
    let ports = |network: bool| {
        spec(&format!(
            "hostNetwork: {network}
containers:
- ports:
  - {{containerPort: 80, hostPort: 8080, hostIP: 10.0.0.1, protocol: UDP}}
  - {{containerPort: 90}}
initContainers:
- {{restartPolicy: Always, ports: [{{containerPort: 70}}]}}
- ports: [{{containerPort: 60, hostPort: 60}}]"
        ))
        .host_ports
        .iter()
        .map(|port| format!("{}:{}/{}", port.ip, port.port, port.protocol))
        .collect::<Vec<_>>()
    };
    assert_eq!(ports(false), ["10.0.0.1:8080/UDP"]);
    assert_eq!(ports(true), ["0.0.0.0:70/TCP", "0.0.0.0:90/TCP", "10.0.0.1:8080/UDP"]);
}

#[test]
fn older_label_keys_mean_the_current_ones() {
    let spec = spec(
        "nodeSelector: {beta.kubernetes.io/arch: arm64, failure-domain.beta.kubernetes.io/zone: z}
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions: [{key: beta.kubernetes.io/os, operator: In, values: [linux]}]
  podAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - {topologyKey: failure-domain.beta.kubernetes.io/zone}
topologySpreadConstraints:
- {maxSkew: 1, topologyKey: failure-domain.beta.kubernetes.io/region}",
    );
    let keys: Vec<_> = spec.node_selector.iter().map(|(key, _)| key.to_string()).collect();
    assert_eq!(keys, ["kubernetes.io/arch", "topology.kubernetes.io/zone"]);
    assert_eq!(&*spec.required_node_terms.unwrap()[0].expressions[0].key, "kubernetes.io/os");
    assert_eq!(&*spec.pod_affinity[0].topology_key, "topology.kubernetes.io/zone");
    assert_eq!(&*spec.topology_spread[0].topology_key, "topology.kubernetes.io/region");
}

#[test]
fn empty_node_selector_terms_match_nothing_and_are_left_out() {
    let terms = |terms: &str| {
        spec(&format!("affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: {terms}}}}}}}"))
            .required_node_terms
    };
    assert_eq!(terms("[{}]"), Some(vec![]));
    let by_name = "[{}, {matchFields: [{key: metadata.name, operator: In, values: [n1]}]}]";
    let terms = terms(by_name).unwrap();
    assert_eq!(terms.len(), 1);
    assert_eq!(terms[0].fields[0].to_string(), "metadata.name In n1");
    assert_eq!(spec("containers: []").required_node_terms, None);
}

#[test]
fn node_expressions_take_the_values_that_their_operators_need() {
    let problems = |expression: &str| {
        problems(&format!(
            "kind: Pod\nmetadata: {{name: a}}\nspec: {{affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: {{nodeSelectorTerms: [{{matchExpressions: [{expression}]}}]}}}}}}}}\n"
        ))
    };
    assert!(problems("{key: k, operator: Gt, values: [\"4\"]}").is_empty());
    assert_eq!(problems("{key: k, operator: Gt, values: [four]}").len(), 1);
    assert_eq!(problems("{key: k, operator: In}").len(), 1);
    assert_eq!(problems("{key: k, operator: Exists, values: [v]}").len(), 1);
    assert_eq!(
        problems("{key: k, operator: Is, values: [v]}"),
        ["\"Is\" is not one of In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte"]
    );
}

#[test]
fn preferences_keep_their_order_and_those_that_say_nothing_are_left_out() {
    let spec = spec(
        "affinity:
  nodeAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - {weight: 1, preference: {matchExpressions: [{key: b, operator: Exists}]}}
    - {weight: 9, preference: {}}
    - {weight: 5, preference: {matchExpressions: [{key: a, operator: Exists}]}}",
    );
    let shown: Vec<_> = spec
        .preferred_node_terms
        .iter()
        .map(|term| (term.weight, term.term.expressions[0].to_string()))
        .collect();
    assert_eq!(shown, [(1, "b Exists".to_owned()), (5, "a Exists".to_owned())]);
}

#[test]
fn spread_constraints_take_their_defaults_and_merge_match_label_keys() {
    let spec = spec(
        "topologySpreadConstraints:
- topologyKey: zone
  labelSelector: {matchLabels: {tier: front}}
  matchLabelKeys: [app, absent]
- {topologyKey: host, maxSkew: 2, minDomains: 3, whenUnsatisfiable: ScheduleAnyway, nodeAffinityPolicy: Ignore, nodeTaintsPolicy: Honor, matchLabelKeys: [app]}",
    );
    let [zone, host] = spec.topology_spread.as_slice() else { panic!("two constraints") };
    assert_eq!((zone.max_skew, zone.min_domains), (1, None));
    assert_eq!(zone.when_unsatisfiable, WhenUnsatisfiable::DoNotSchedule);
    assert_eq!(zone.node_affinity_policy, NodeInclusionPolicy::Honor);
    assert_eq!(zone.node_taints_policy, NodeInclusionPolicy::Ignore);
    assert_eq!(zone.selector, Some(LabelSelector::of_labels([("app", "web"), ("tier", "front")])));
    assert_eq!((host.max_skew, host.min_domains), (2, Some(3)));
    assert_eq!(host.when_unsatisfiable, WhenUnsatisfiable::ScheduleAnyway);
    assert_eq!(host.selector, None, "a null selector stays null");
}

#[test]
fn affinity_terms_reach_the_own_namespace_unless_they_say_otherwise() {
    let spec = spec(
        "affinity:
  podAntiAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
    - {topologyKey: a, labelSelector: {}, mismatchLabelKeys: [app]}
    - {topologyKey: b, namespaces: [y, x]}
    - {topologyKey: c, namespaceSelector: {}}
    preferredDuringSchedulingIgnoredDuringExecution:
    - {weight: 7, podAffinityTerm: {topologyKey: d}}",
    );
    let terms = &spec.pod_anti_affinity;
    assert_eq!(terms[0].namespaces, texts(&["shop"]));
    assert!(!terms[0].selector.as_ref().unwrap().matches(&[("app".into(), "web".into())].into()));
    assert!(terms[0].selector.as_ref().unwrap().matches(&[("app".into(), "db".into())].into()));
    assert_eq!(terms[1].namespaces, texts(&["x", "y"]));
    assert_eq!((terms[2].namespaces.len(), terms[2].namespace_selector.is_some()), (0, true));
    assert_eq!(spec.preferred_pod_anti_affinity[0].weight, 7);
}

#[test]
fn tolerations_take_operators_and_empty_words_as_the_api_does() {
    let spec = spec(
        "tolerations:
- {operator: Exists}
- {key: team, value: blue, effect: \"\"}
- {key: gpu, operator: Exists, effect: NoSchedule}",
    );
    let shown: Vec<_> = spec
        .tolerations
        .iter()
        .map(|toleration| {
            (toleration.key.as_deref(), toleration.exists, toleration.effect.is_some())
        })
        .collect();
    assert_eq!(
        shown,
        [(None, true, false), (Some("gpu"), true, true), (Some("team"), false, false)]
    );
    assert_eq!(
        problems("kind: Pod\nmetadata: {name: a}\nspec: {tolerations: [{value: x}]}\n"),
        ["a toleration without a key needs operator Exists"]
    );
}

#[test]
fn volumes_that_claims_stand_behind_are_kept() {
    let spec = spec(
        "volumes:
- {name: tmp, emptyDir: {}}
- {name: scratch, ephemeral: {volumeClaimTemplate: {spec: {storageClassName: gp3, accessModes: [ReadWriteOncePod]}}}}
- {name: data, persistentVolumeClaim: {claimName: data-0}}",
    );
    let [VolumeUse::Pvc { name, template: None }, VolumeUse::Ephemeral { volume, template }] =
        spec.volumes.as_slice()
    else {
        panic!("a claim and an ephemeral volume, found {:?}", spec.volumes);
    };
    assert_eq!((&**name, &**volume), ("data-0", "scratch"));
    assert_eq!((template.storage_class.as_deref(), template.one_pod_only), (Some("gp3"), true));
}

#[test]
fn gates_claims_grace_and_priority_are_read() {
    let spec = spec(
        "schedulingGates: [{name: wait}]
resourceClaims: [{name: gpu, resourceClaimTemplateName: t}]
terminationGracePeriodSeconds: 5
priority: 12
priorityClassName: system-node-critical",
    );
    assert_eq!(spec.scheduling_gates, texts(&["wait"]));
    assert_eq!(spec.resource_claims, texts(&["gpu"]));
    assert_eq!((spec.termination_grace.0, spec.priority, spec.is_critical), (5, 12, true));
}

#[test]
fn status_and_metadata_of_a_pod_are_read() {
    let PodObject { pod, .. } = pod("\
kind: Pod
metadata:
  name: web
  uid: u-1
  creationTimestamp: 2026-01-01T00:00:00Z
  deletionTimestamp: \"2026-01-01T01:00:00Z\"
  annotations: {controller.kubernetes.io/pod-deletion-cost: \"-5\", kubernetes.io/config.mirror: x}
  ownerReferences:
  - {kind: Deployment, name: other}
  - {kind: ReplicaSet, name: web-1, uid: r-1, controller: true}
spec: {nodeName: n1}
status:
  phase: Running
  nominatedNodeName: n2
  startTime: 2026-01-01T00:00:05Z
  conditions:
  - {type: Ready, status: \"False\"}
  - {type: PodScheduled, status: \"False\", reason: Unschedulable}
");
    assert_eq!(pod.key.to_string(), "default/web");
    assert_eq!((&*pod.uid, pod.deletion_cost, pod.is_mirror), ("u-1", Some(-5), true));
    assert_eq!(pod.created, Some("2026-01-01T00:00:00Z".parse().unwrap()));
    assert!(pod.is_terminating());
    let owner = pod.owner.unwrap();
    assert_eq!((owner.kind, &*owner.name, &*owner.uid), (OwnerKind::ReplicaSet, "web-1", "r-1"));
    assert_eq!(
        (pod.node_name.as_deref(), pod.nominated_node_name.as_deref()),
        (Some("n1"), Some("n2"))
    );
    assert_eq!(
        (pod.phase, pod.ready, pod.marked_unschedulable),
        (PodPhase::Running, Some(false), true)
    );
    assert_eq!(pod.started, Some("2026-01-01T00:00:05Z".parse().unwrap()));
}

#[test]
fn do_not_disrupt_is_true_or_a_duration_and_anything_else_is_nothing() {
    let value = |text: &str| {
        pod(&format!("kind: Pod\nmetadata: {{name: a, annotations: {{karpenter.sh/do-not-disrupt: \"{text}\"}}}}\n"))
            .pod
            .do_not_disrupt
    };
    let after = |seconds| Some(DoNotDisrupt::For(SignedDuration::from_secs(seconds)));
    assert_eq!(value("true"), Some(DoNotDisrupt::Always));
    assert_eq!(value("6h"), after(6 * 3600));
    assert_eq!(value("1h30m"), after(5400));
    for text in ["1.5h", "+1.5h", "30m1h", "0.5h60m", ".5h1h", "1.h30m", "30m30m30m", "5400000ms"] {
        assert_eq!(value(text), after(5400), "{text:?}");
    }
    for text in
        ["false", "tomorrow", "", "2 hours", "-1h", "0s", "P1D", "10", "9999999h", "h", ".h"]
    {
        assert_eq!(value(text), None, "{text:?}");
    }
}

#[test]
fn bad_times_and_words_are_refused() {
    assert_eq!(
        problems(
            "kind: Pod\nmetadata: {name: a, creationTimestamp: yesterday}\nstatus: {phase: Dancing}\n"
        ),
        [
            "\"yesterday\" is not a time of the form 2006-01-02T15:04:05Z",
            "\"Dancing\" is not one of Pending, Running, Succeeded, Failed, Unknown"
        ]
    );
}

#[test]
fn a_deletion_cost_is_the_users_unless_both_annotations_say_the_same() {
    let costs = |own: &str| {
        let pod = pod(&format!(
            "
apiVersion: v1
kind: Pod
metadata: {{name: web, annotations: {{controller.kubernetes.io/pod-deletion-cost: \"-5\"{own}}}}}
spec: {{}}
"
        ));
        (pod.pod.deletion_cost, pod.pod.managed_deletion_cost)
    };
    assert_eq!(costs(""), (Some(-5), 0));
    assert_eq!(costs(", outrigger.dev/pod-deletion-cost: \"-5\""), (None, -5));
    assert_eq!(costs(", outrigger.dev/pod-deletion-cost: \"-6\""), (Some(-5), 0));
}
