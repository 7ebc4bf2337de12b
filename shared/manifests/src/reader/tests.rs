use super::*;

fn read_text(text: &str) -> Objects {
    read(&[Source::new("in.yaml", text)])
}

fn errors(text: &str) -> Vec<String> {
    read_text(text).errors.iter().map(ToString::to_string).collect()
}

fn names(objects: &Objects) -> Vec<String> {
    objects
        .objects
        .iter()
        .filter_map(|located| located.value.identity())
        .map(|identity| identity.to_string())
        .collect()
}

const BAD_POD_YAML: &str = "\
apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
spec:
  containers:
  - name: main
    resources:
      requests:
        cpu: 1.2.3
        memory: 1Gi
";

const BAD_POD_JSON: &str = r#"{
 "apiVersion": "v1", "kind": "Pod",
 "metadata": {"name": "web", "namespace": "shop"},
 "spec": {"containers": [
   {"name": "main",
    "resources": {"requests": {
      "cpu": "1.2.3"}}}]}
}"#;

#[test]
fn an_error_says_what_and_where_in_yaml_and_json() {
    let error = |line: u32| {
        format!(
            "\"1.2.3\" is not a quantity: it has two decimal points (in.yaml:{line}, object shop/web, field spec.containers[0].resources.requests.cpu)"
        )
    };
    assert_eq!(errors(BAD_POD_YAML), [error(11)]);
    assert_eq!(errors(BAD_POD_JSON), [error(7)]);
}

#[test]
fn lines_of_json_items_count_from_the_start_of_the_file() {
    let list =
        format!("{{\"kind\": \"List\", \"items\": [\n{{\"kind\": \"Secret\"}},\n{BAD_POD_JSON}]}}");
    assert!(errors(&list)[0].contains("(in.yaml:9, "), "{:?}", errors(&list));
}

#[test]
fn one_bad_object_is_left_out_and_the_rest_is_read() {
    let good = |name: &str| format!("kind: Pod\nmetadata: {{name: {name}}}\n");
    let objects = read_text(&[good("a"), BAD_POD_YAML.to_owned(), good("b")].join("---\n"));
    assert_eq!(names(&objects), ["Pod default/a", "Pod default/b"]);
    assert_eq!(objects.errors.len(), 1);
}

#[test]
fn a_list_whose_items_are_none_is_an_error() {
    assert_eq!(
        errors("apiVersion: v1\nkind: List\nitems: {}\n"),
        ["expected a list, found an object (in.yaml:3, object (unnamed), field items)"]
    );
    let empty = read_text("apiVersion: v1\nkind: List\nitems: []\n---\nkind: List\n");
    assert!(empty.errors.is_empty() && empty.skipped.is_empty(), "{empty:?}");
}

#[test]
fn every_problem_of_an_object_is_told_at_once() {
    let text = "\
kind: Pod
metadata: {name: web}
spec:
  nodeName: 7
  hostNetwork: \"yes\"
  tolerations:
  - {key: team, operator: Equals}
  topologySpreadConstraints:
  - maxSkew: 0
    whenUnsatisfiable: Maybe
";
    assert_eq!(
        errors(text),
        [
            "\"Equals\" is not one of Exists, Equal (in.yaml:7, object default/web, field spec.tolerations[0].operator)",
            "it must be at least 1 (in.yaml:9, object default/web, field spec.topologySpreadConstraints[0].maxSkew)",
            "the field is missing (in.yaml:9, object default/web, field spec.topologySpreadConstraints[0].topologyKey)",
            "expected true or false, found the string \"yes\" (in.yaml:5, object default/web, field spec.hostNetwork)",
            "expected a string, found the number 7 (in.yaml:4, object default/web, field spec.nodeName)",
        ]
    );
}

#[test]
fn an_object_outside_namespaces_is_called_by_its_name() {
    let text = "kind: Node\nmetadata: {name: n1}\nstatus:\n  capacity: {cpu: -1}\n";
    assert_eq!(
        errors(text),
        ["-1 is below zero (in.yaml:4, object n1, field status.capacity.cpu)"]
    );
}

#[test]
fn a_workload_in_the_default_namespace_is_called_so_wherever_it_is_wrong() {
    for (kind, field) in [
        ("Deployment", "replicas"),
        ("StatefulSet", "replicas"),
        ("ReplicaSet", "replicas"),
        ("Job", "parallelism"),
    ] {
        let text = format!("kind: {kind}\nmetadata: {{name: web}}\nspec:\n  {field}: -1\n");
        let expected =
            format!("-1 is below zero (in.yaml:4, object default/web, field spec.{field})");
        assert!(errors(&text).contains(&expected), "{:?}", errors(&text));
    }
}

#[test]
fn an_object_that_cannot_be_read_is_known_by_its_namespace_too() {
    let text = "kind: Deployment\nmetadata: {name: web}\nspec: {replicas: -1}\n---\n\
                kind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {replicas: -1}\n---\n\
                kind: Node\nmetadata: {name: n1}\nstatus: {capacity: {cpu: -1}}\n";
    let objects = read_text(text);
    let unreadable: Vec<String> = objects.unreadable.iter().map(ToString::to_string).collect();
    assert_eq!(unreadable, ["Deployment default/web", "Deployment shop/web", "Node n1"]);
}

#[test]
fn keys_with_dots_stand_in_brackets() {
    let text = "kind: Pod\nmetadata:\n  name: web\n  labels: {example.com/team: 4}\n";
    assert_eq!(
        errors(text),
        [
            "expected a string, found the number 4 (in.yaml:4, object default/web, field metadata.labels[\"example.com/team\"])"
        ]
    );
}

#[test]
fn the_file_of_kustomize_is_skipped_though_it_says_no_kind() {
    for name in ["kustomization.yaml", "infra/kustomization.yml", "main:infra/kustomization.yaml"] {
        let objects = read(&[Source::new(name, "resources: [pool.yaml]\n")]);
        assert!(objects.errors.is_empty(), "{:?}", objects.errors);
        assert_eq!(objects.skipped.get("Kustomization"), Some(&1), "{name}");
    }
    let objects = read(&[Source::new("values.yaml", "resources: [pool.yaml]\n")]);
    assert_eq!(objects.errors.len(), 1);
    let objects = read(&[Source::new("kustomization.yaml", "kind: Node\n")]);
    assert!(objects.skipped.is_empty() && !objects.errors.is_empty());
}

#[test]
fn an_object_without_kind_or_name_says_what_is_missing() {
    assert_eq!(
        errors("metadata: {name: a}\n"),
        ["the field is missing (in.yaml:1, object a, field kind)"]
    );
    assert_eq!(
        errors("kind: Node\n"),
        ["the field is missing (in.yaml:1, object (unnamed), field metadata)"]
    );
    assert_eq!(errors("- a\n"), ["expected an object, found a list (in.yaml:1)"]);
}

#[test]
fn a_field_of_the_wrong_type_is_told_once() {
    assert_eq!(
        errors("kind: Pod\nmetadata: web\nspec: {affinity: 4}\n"),
        [
            "expected an object, found the string \"web\" (in.yaml:2, object (unnamed), field metadata)",
            "expected an object, found the number 4 (in.yaml:3, object (unnamed), field spec.affinity)"
        ]
    );
}

#[test]
fn a_version_of_our_kinds_that_nobody_knows_is_an_error() {
    let text = "apiVersion: karpenter.sh/v7\nkind: NodeOverlay\nmetadata: {name: a}\nspec: {requirements: [], price: \"1\"}\n";
    assert_eq!(
        errors(text),
        [
            "NodeOverlay is not read in version v7, only in v1alpha1 (in.yaml:1, object a, field apiVersion)"
        ]
    );
}

#[test]
fn unknown_kinds_are_counted_and_foreign_groups_are_told_apart() {
    let text =
        "kind: Secret\n---\nkind: Secret\n---\napiVersion: batch.volcano.sh/v1alpha1\nkind: Job\n";
    let objects = read_text(text);
    let skipped: Vec<_> =
        objects.skipped.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!(skipped, [("Job.batch.volcano.sh", 1), ("Secret", 2)]);
    assert!(objects.errors.is_empty());
}

#[test]
fn fields_of_kubernetes_kinds_that_are_not_read_are_not_judged() {
    let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, managedFields: [{x: 1}]}\nspec: {dnsPolicy: 4, somethingNew: {}}\n";
    assert!(errors(text).is_empty());
}

#[test]
fn null_is_the_same_as_an_absent_field() {
    let text = "kind: Pod\nmetadata: {name: web, labels: null, creationTimestamp: null}\nspec: {containers: ~, affinity: null, nodeSelector:}\nstatus:\n";
    assert!(errors(text).is_empty());
}

#[test]
fn an_instance_catalog_is_handed_on_as_it_stands() {
    let text = "apiVersion: outrigger.dev/v1alpha1\nkind: InstanceCatalog\nspec: {region: r, prices: [0.5, 2]}\n";
    let objects = read_text(text);
    let [Located { value: Object::InstanceCatalog(catalog), .. }] = objects.objects.as_slice()
    else {
        panic!("expected one catalogue, found {objects:?}");
    };
    assert_eq!(catalog.to_json()["spec"]["prices"], serde_json::json!([0.5, 2]));
}

#[test]
fn objects_inside_another_document_keep_their_lines() {
    let source = Source::new(
        "scenario.yaml",
        "name: x\nobjects:\n- kind: Node\n  metadata: {name: n1}\n- kind: Node\n  metadata:\n    labels: {a: 1}\n",
    );
    let documents = crate::documents(&source);
    let document = documents[0].as_ref().unwrap();
    let mut reader = Reader::default();
    for object in document.value.get("objects").and_then(Value::as_list).unwrap() {
        reader.read_value(object, &document.origin);
    }
    let objects = reader.into_objects();
    assert_eq!(objects.objects[0].line, 3);
    let errors: Vec<_> = objects.errors.iter().map(ToString::to_string).collect();
    assert_eq!(
        errors[0],
        "the field is missing (scenario.yaml:6, object (unnamed), field metadata.name)"
    );
    assert_eq!(
        errors[1],
        "expected a string, found the number 1 (scenario.yaml:7, object (unnamed), field metadata.labels.a)"
    );
}

#[test]
fn an_object_that_is_wrong_all_over_lists_a_hundred_problems() {
    let values = "1, ".repeat(20_000);
    let text = format!(
        "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {{name: p}}\nspec: {{template: {{spec: {{nodeClassRef: {{group: karpenter.k8s.aws, \
         kind: EC2NodeClass, name: c}}, requirements: [{{key: a, operator: In, values: [{values}]}}]}}}}}}\n"
    );
    let errors = read(&[Source::new("in.yaml", text)]).errors;
    assert_eq!(errors.len(), 101);
    let last = errors[100].to_string();
    assert_eq!(last, "more is wrong than the 100 problems listed (in.yaml:1, object p)");
}
