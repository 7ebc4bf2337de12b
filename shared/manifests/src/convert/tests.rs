//! Older manifests as users have them, and what they become.

use std::fmt::Write as _;

use documents::Source;
use domain::SignedDuration;
use domain::node_pool::{ConsolidationPolicy, NeverOr};

use crate::object::Object;
use crate::{convert, read};

/// What `convert` prints of a manifest: the new manifests, then what it has to say.
fn converted(text: &str) -> String {
    let converted = convert(&[Source::new("old.yaml", text)]);
    let mut shown = converted.to_yaml();
    for warning in &converted.warnings {
        writeln!(shown, "# warning: {warning}").unwrap();
    }
    for error in &converted.errors {
        writeln!(shown, "# error: {error}").unwrap();
    }
    shown
}

/// What `convert` says is wrong.
fn errors(text: &str) -> Vec<String> {
    convert(&[Source::new("old.yaml", text)]).errors.iter().map(ToString::to_string).collect()
}

/// What `convert` warns of.
fn warnings(text: &str) -> Vec<String> {
    convert(&[Source::new("old.yaml", text)]).warnings.iter().map(ToString::to_string).collect()
}

/// The blog posts' Provisioner: spot only, a limit, and nodes that go when empty.
const INFLATE: &str = "apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata:
  name: default
spec:
  requirements:
    - key: karpenter.sh/capacity-type
      operator: In
      values: [\"spot\"]
  limits:
    resources:
      cpu: 1000
  provider:
    subnetSelector:
      karpenter.sh/discovery: demo
    securityGroupSelector:
      karpenter.sh/discovery: demo
  ttlSecondsAfterEmpty: 30
";

const NODE_TEMPLATE: &str = "apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata:
  name: general
  uid: 5a1e
  annotations: {team: platform}
spec:
  amiFamily: Bottlerocket
  instanceProfile: KarpenterNodeInstanceProfile-demo
  subnetSelector: {aws-ids: 'subnet-01,subnet-02', Name: ignored}
  securityGroupSelector: {Name: 'nodes-a, nodes-b', env: '*'}
  tags: {team: platform, kubernetes.io/cluster/demo: owned}
  metadataOptions: {httpPutResponseHopLimit: 3}
  blockDeviceMappings:
    - deviceName: /dev/xvdb
      ebs: {volumeSize: 100Gi, volumeType: gp3, encrypted: true}
  userData: |
    [settings.kubernetes]
    image-gc-high-threshold-percent = \"85\"
  detailedMonitoring: true
  launchTemplate: mine
";

const BETA: &str = "apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata:
  name: default
  resourceVersion: '12'
  creationTimestamp: '2024-01-01T00:00:00Z'
spec:
  template:
    metadata:
      labels: {team: web}
    spec:
      requirements:
        - {key: kubernetes.io/arch, operator: In, values: [amd64]}
        - {key: karpenter.k8s.aws/instance-generation, operator: Gt, values: ['2']}
      nodeClassRef: {apiVersion: karpenter.k8s.aws/v1beta1, kind: EC2NodeClass, name: default}
      kubelet: {maxPods: 110, clusterDNS: [10.0.1.100]}
      taints: [{key: web, effect: NoSchedule}]
  limits: {cpu: 1k}
  disruption:
    consolidationPolicy: WhenUnderutilized
    expireAfter: 720h
    budgets: [{nodes: 20%}]
  weight: 10
status:
  resources: {cpu: 4}
---
apiVersion: karpenter.k8s.aws/v1beta1
kind: EC2NodeClass
metadata: {name: default}
spec:
  amiFamily: AL2023
  role: KarpenterNodeRole-demo
  subnetSelectorTerms: [{tags: {karpenter.sh/discovery: demo}}]
  securityGroupSelectorTerms: [{tags: {karpenter.sh/discovery: demo}}]
  instanceStorePolicy: RAID0
  associatePublicIPAddress: false
";

fn provisioner(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {{name: {name}}}\nspec:\n  \
         providerRef: {{name: general}}\n  requirements:\n  - {{key: node.kubernetes.io/instance-type, operator: In, \
         values: [m5.large]}}\n{spec}"
    )
}

#[test]
fn the_inflate_provisioner_brings_its_node_class() {
    insta::assert_snapshot!(converted(INFLATE));
}

#[test]
fn a_node_template_becomes_a_node_class() {
    insta::assert_snapshot!(converted(NODE_TEMPLATE));
}

#[test]
fn a_provisioner_with_everything_becomes_a_node_pool() {
    let text = provisioner(
        "batch",
        "  labels: {team: data, beta.kubernetes.io/arch: arm64}
  annotations: {karpenter.sh/do-not-consolidate: 'true'}
  taints: [{key: batch, value: 'yes', effect: NoSchedule}]
  startupTaints: [{key: cilium, effect: NoExecute}]
  weight: 20
  ttlSecondsUntilExpired: 2592000
  consolidation: {enabled: true}
  limits: {resources: {cpu: '500', memory: 1000Gi}}
  kubeletConfiguration: {maxPods: 58, containerRuntime: dockerd, evictionHard: {memory.available: 5%}}
",
    );
    let text = format!("{text}---\n{NODE_TEMPLATE}");
    insta::assert_snapshot!(converted(&text));
}

#[test]
fn pools_with_different_kubelet_settings_get_a_class_each() {
    let few = "  kubeletConfiguration: {maxPods: 20}\n";
    let texts = [
        provisioner("plain", ""),
        provisioner("dense", "  kubeletConfiguration: {maxPods: 200}\n"),
        provisioner("few", few),
        provisioner("few-too", few),
        NODE_TEMPLATE.to_owned(),
    ];
    let converted = convert(&[Source::new("old.yaml", texts.join("---\n"))]);
    let shown: Vec<String> = converted.files[0]
        .objects
        .iter()
        .map(|document| {
            let json = document.to_json();
            let class = &json["spec"]["template"]["spec"]["nodeClassRef"]["name"];
            let max_pods = &json["spec"]["kubelet"]["maxPods"];
            format!("{} {} {class} {max_pods}", json["kind"], json["metadata"]["name"])
        })
        .collect();
    assert_eq!(
        shown,
        [
            r#""NodePool" "plain" "general" null"#,
            r#""NodePool" "dense" "general-dense" null"#,
            r#""NodePool" "few" "general-few" null"#,
            r#""NodePool" "few-too" "general-few" null"#,
            r#""EC2NodeClass" "general" null null"#,
            r#""EC2NodeClass" "general-dense" null 200"#,
            r#""EC2NodeClass" "general-few" null 20"#,
        ]
    );
    let messages: Vec<_> = converted
        .warnings
        .iter()
        .filter(|warning| warning.what.contains("a copy"))
        .map(ToString::to_string)
        .collect();
    assert_eq!(messages.len(), 3);
    assert_eq!(
        messages[0],
        "other pools use general with other kubelet settings: EC2NodeClass general-dense, a copy, has these \
         (old.yaml:16, object dense, field spec.kubeletConfiguration)"
    );
}

#[test]
fn kubelet_settings_without_their_class_are_told() {
    let text = provisioner("lonely", "  kubeletConfiguration: {maxPods: 20}\n");
    assert_eq!(
        warnings(&text),
        [
            "kubelet settings are the EC2NodeClass's in v1, and general is not among these older manifests: add \
             them to its spec.kubelet (old.yaml:8, object lonely, field spec.kubeletConfiguration)"
        ]
    );
}

#[test]
fn beta_manifests_become_v1() {
    insta::assert_snapshot!(converted(BETA));
}

#[test]
fn what_is_v1_or_none_of_ours_passes_through() {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kept\n  uid: x\ndata:\n  \"yes\": \"1\"\n";
    assert_eq!(converted(text), text);
}

#[test]
fn a_provisioner_that_never_consolidates_stays_so() {
    let yaml = converted(&provisioner("steady", ""));
    assert!(
        yaml.contains("consolidationPolicy: WhenEmpty\n    consolidateAfter: Never\n"),
        "{yaml}"
    );
    assert!(yaml.contains("expireAfter: Never\n"), "{yaml}");
}

#[test]
fn seconds_become_durations_in_their_largest_unit() {
    for (seconds, expected) in
        [(0, "0s"), (30, "30s"), (90, "90s"), (600, "10m"), (2_592_000, "720h")]
    {
        let yaml = converted(&provisioner("p", &format!("  ttlSecondsAfterEmpty: {seconds}\n")));
        assert!(yaml.contains(&format!("consolidateAfter: {expected}\n")), "{yaml}");
    }
}

#[test]
fn images_without_a_selector_are_the_latest_of_their_family() {
    for (spec, expected) in [
        ("", "alias: al2@latest"),
        ("amiFamily: AL2023", "alias: al2023@latest"),
        ("amiFamily: Windows2022", "alias: windows2022@latest"),
        ("amiSelector: {aws-ids: ami-1}", "amiFamily: AL2\n  amiSelectorTerms:\n  - id: ami-1"),
        (
            "amiFamily: Custom, amiSelector: {aws::name: mine, aws::owners: self}",
            "amiFamily: Custom\n  amiSelectorTerms:\n  - name: mine\n    owner: self",
        ),
    ] {
        let yaml = converted(&format!(
            "kind: AWSNodeTemplate\nmetadata: {{name: t}}\nspec: {{instanceProfile: p, {spec}}}\n"
        ));
        assert!(yaml.contains(expected), "{yaml}");
    }
}

#[test]
fn images_that_v1_has_no_alias_for_are_marked_with_advice() {
    let template = |family: &str| {
        format!(
            "apiVersion: karpenter.k8s.aws/v1alpha1\nkind: AWSNodeTemplate\nmetadata: {{name: t}}\nspec:\n  instanceProfile: p\n  \
             amiFamily: {family}\n  subnetSelector: {{a: b}}\n  securityGroupSelector: {{a: b}}\n"
        )
    };
    for family in ["Ubuntu", "Custom"] {
        let text = template(family);
        let converted = convert(&[Source::new("old.yaml", text.as_str())]);
        assert!(converted.errors.is_empty(), "{:?}", converted.errors);
        let gaps: Vec<String> = converted.gaps.iter().map(ToString::to_string).collect();
        assert_eq!(
            gaps,
            [
                "the field is missing: it takes the images of nodes, such as [{id: ami-…}], [{name: …, owner: …}] or \
                 [{ssmParameter: …}] (old.yaml:4, object t, field spec.amiSelectorTerms)"
            ]
        );
        let advice = format!("images of family {family} have no alias in v1");
        assert!(warnings(&text)[0].starts_with(&advice), "{:?}", warnings(&text));
        let yaml = converted.to_yaml();
        assert!(
            yaml.contains("spec:\n  # FILL IN: spec.amiSelectorTerms: the field is missing"),
            "{yaml}"
        );
        // Whoever plans with it learns the same.
        let errors = read(&[Source::new("old.yaml", text)]).errors;
        assert!(errors[0].to_string().starts_with("the field is missing"), "{errors:?}");
    }
}

#[test]
fn beta_rules_of_consolidation_hold_before_conversion() {
    let pool = |disruption: &str| {
        format!(
            "apiVersion: karpenter.sh/v1beta1\nkind: NodePool\nmetadata: {{name: p}}\nspec:\n  disruption: {disruption}\n  \
             template: {{spec: {{requirements: [], nodeClassRef: {{name: c}}}}}}\n"
        )
    };
    assert_eq!(
        errors(&pool("{consolidationPolicy: WhenUnderutilized, consolidateAfter: 30s}")),
        [
            "consolidateAfter cannot stand beside consolidationPolicy WhenUnderutilized, unless it is Never \
             (old.yaml:5, object p, field spec.disruption.consolidateAfter)"
        ]
    );
    assert_eq!(
        errors(&pool("{consolidationPolicy: WhenEmpty}")),
        [
            "consolidationPolicy WhenEmpty needs consolidateAfter beside it (old.yaml:5, object p, field \
             spec.disruption.consolidateAfter)"
        ]
    );
    let yaml = converted(&pool("{consolidationPolicy: WhenEmpty, consolidateAfter: 30s}"));
    assert!(yaml.contains("consolidationPolicy: WhenEmpty\n    consolidateAfter: 30s\n"), "{yaml}");
    let yaml = converted(&pool("{consolidateAfter: Never, expireAfter: Never}"));
    assert!(
        yaml.contains("consolidateAfter: Never\n") && yaml.contains("expireAfter: Never\n"),
        "{yaml}"
    );
}

#[test]
fn what_is_converted_needs_no_conversion_any_more() {
    for text in [INFLATE, BETA] {
        let once = convert(&[Source::new("old.yaml", text)]).to_yaml();
        let twice = convert(&[Source::new("new.yaml", once.as_str())]);
        assert!(twice.warnings.is_empty(), "{:?}", twice.warnings);
        assert_eq!(twice.to_yaml(), once);
        let objects = read(&[Source::new("new.yaml", once)]);
        assert!(objects.errors.is_empty(), "{:?}", objects.errors);
        assert_eq!(objects.objects.len(), 2);
    }
}

#[test]
fn what_breaks_a_rule_of_its_own_version_is_an_error() {
    for (spec, expected) in [
        (
            "  consolidation: {enabled: true}\n  ttlSecondsAfterEmpty: 30\n",
            "consolidation and ttlSecondsAfterEmpty exclude each other (old.yaml:9, object p, field \
             spec.ttlSecondsAfterEmpty)",
        ),
        (
            "  ttlSecondsAfterEmpty: '30'\n",
            "expected a whole number, found the string \"30\" (old.yaml:8, object p, field spec.ttlSecondsAfterEmpty)",
        ),
        (
            "  provider: {}\n",
            "provider and providerRef exclude each other (old.yaml:8, object p, field spec.provider)",
        ),
        (
            "  ttlSecondsAfterempty: 30\n",
            "the field is not known (did you mean ttlSecondsAfterEmpty?) (old.yaml:8, object p, field \
             spec.ttlSecondsAfterempty)",
        ),
    ] {
        let text = provisioner("p", spec);
        assert_eq!(errors(&text), [expected]);
        let converted = convert(&[Source::new("old.yaml", &*text)]);
        let [document] = converted.files[0].documents.as_slice() else { panic!("{converted:?}") };
        let marked = document.lines().filter(|line| line.trim_start().starts_with("# FILL IN: "));
        assert_eq!(marked.count(), 1, "it stays as it is, and is marked: {document}");
    }
    assert_eq!(
        errors("apiVersion: karpenter.sh/v1alpha4\nkind: Provisioner\nmetadata: {name: p}\n"),
        [
            "Provisioner of karpenter.sh/v1alpha4 cannot be converted: Provisioner of v1alpha5, AWSNodeTemplate of \
             v1alpha1, NodePool and EC2NodeClass of v1beta1 can (old.yaml:1, object p, field apiVersion)"
        ]
    );
}

#[test]
fn reading_takes_older_manifests_for_what_they_become() {
    let objects = read(&[Source::new("old.yaml", INFLATE)]);
    assert!(objects.errors.is_empty(), "{:?}", objects.errors);
    let [class, pool] = objects.objects.as_slice() else { panic!() };
    let (Object::Ec2NodeClass(class), Object::NodePool(pool)) = (&class.value, &pool.value) else {
        panic!()
    };
    assert_eq!(&*class.name, "default");
    assert_eq!(class.spec.role.as_deref(), Some("KarpenterNodeRole-demo"));
    assert_eq!(class.spec.metadata_options.hop_limit, 2);
    assert_eq!(pool.disruption.consolidation_policy, ConsolidationPolicy::WhenEmpty);
    assert_eq!(pool.disruption.consolidate_after, NeverOr::After(SignedDuration::from_secs(30)));
    assert_eq!(pool.limits.get("cpu"), 1_000_000);
}

#[test]
fn errors_found_after_conversion_name_the_line_in_the_older_file() {
    let objects = read(&[Source::new("old.yaml", INFLATE.replace("\"spot\"", "\"cheap\""))]);
    assert_eq!(
        objects.errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "none of the values of karpenter.sh/capacity-type is known: they are on-demand, spot, reserved \
             (old.yaml:9, object default, field spec.template.spec.requirements[0].values)"
        ]
    );
    // JSON has lines too.
    let json = "{\"apiVersion\": \"karpenter.sh/v1beta1\", \"kind\": \"NodePool\",\n \"metadata\": {\"name\": \"p\"},\n \
                \"spec\": {\"template\": {\"spec\": {\"requirements\": [],\n  \"nodeClassRef\": {\"name\": \"c\"}}},\n  \
                \"weight\": 500}}";
    let objects = read(&[Source::new("old.json", json)]);
    assert_eq!(
        objects.errors.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["weight 500 is out of range: it takes 1 to 100 (old.json:5, object p, field spec.weight)"]
    );
}

#[test]
fn pods_that_rely_on_old_names_are_told() {
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: web, annotations: {karpenter.sh/do-not-evict: 'true'}}\n\
               spec:\n  nodeSelector:\n    karpenter.sh/provisioner-name: default\n  containers: [{name: a, image: b}]\n";
    let warnings: Vec<String> =
        read(&[Source::new("old.yaml", pod)]).warnings.iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            "no node has label karpenter.sh/provisioner-name any more: it is now karpenter.sh/nodepool (old.yaml:6, \
             object web, field spec.nodeSelector[\"karpenter.sh/provisioner-name\"])",
            "annotation karpenter.sh/do-not-evict has no effect any more: it is now karpenter.sh/do-not-disrupt \
             (old.yaml:3, object web, field metadata.annotations[\"karpenter.sh/do-not-evict\"])",
        ]
    );
}

#[test]
fn old_names_in_workloads_are_rewritten_and_nothing_else_is_touched() {
    let before = "# mine\napiVersion: apps/v1\nkind: Deployment   # kept\nmetadata: {name: web}\nspec:\n  template:\n    \
                  metadata: {annotations: {karpenter.sh/do-not-evict: 'true'}}\n    spec:\n      nodeSelector:\n        \
                  karpenter.sh/provisioner-name:   default  # why\n      affinity:\n        nodeAffinity:\n          \
                  requiredDuringSchedulingIgnoredDuringExecution:\n            nodeSelectorTerms:\n            \
                  - matchExpressions: [{key: karpenter.sh/provisioner-name, operator: Exists}]\n      \
                  topologySpreadConstraints:\n      - topologyKey: karpenter.sh/provisioner-name\n      \
                  containers: [{name: a, env: [{name: A, value: karpenter.sh/provisioner-name}]}]\n";
    let converted = convert(&[Source::new("old.yaml", before)]);
    let after = before
        .replace("provisioner-name:   default", "nodepool:   default")
        .replace("key: karpenter.sh/provisioner-name", "key: karpenter.sh/nodepool")
        .replace("topologyKey: karpenter.sh/provisioner-name", "topologyKey: karpenter.sh/nodepool")
        .replace("do-not-evict", "do-not-disrupt");
    assert_eq!(converted.to_yaml(), after);
    assert_eq!(converted.files[0].text, after);
    assert_eq!(converted.warnings.len(), 4, "{:?}", converted.warnings);
}

#[test]
fn an_old_name_next_to_its_new_one_yields_to_it() {
    let text = "kind: Pod\nmetadata: {name: a}\nspec:\n  nodeSelector: {karpenter.sh/nodepool: x, karpenter.sh/provisioner-name: y} # both\n";
    let yaml = convert(&[Source::new("old.yaml", text)]).to_yaml();
    assert!(
        yaml.contains("  # both\n  nodeSelector:\n    karpenter.sh/nodepool: x\n")
            || yaml.contains("nodeSelector: # both\n    karpenter.sh/nodepool: x\n"),
        "{yaml}"
    );
    assert!(!yaml.contains("provisioner-name"), "{yaml}");
}

#[test]
fn documents_that_need_no_conversion_stay_byte_for_byte() {
    let kept = "---\r\napiVersion:   v1   # odd\r\nkind: ConfigMap\r\nmetadata: {name: x}\r\n";
    let beta = BETA.replace('\n', "\r\n");
    let text = format!("\u{feff}{kept}---\r\n{beta}{kept}");
    let converted = convert(&[Source::new("old.yaml", text.as_str())]);
    let file = &converted.files[0];
    assert!(
        file.text.starts_with(&format!("\u{feff}{kept}")) && file.text.ends_with(kept),
        "{}",
        file.text
    );
    assert!(!file.text.replace("\r\n", "").contains('\n'), "line ends stay those of the file");
    let json = "{\"kind\": \"ConfigMap\"}\n";
    let converted = convert(&[Source::new("a.json", json)]);
    assert!(!converted.files[0].is_changed && converted.files[0].text == json);
    assert_eq!(converted.to_yaml(), "kind: ConfigMap\n");
}

#[test]
fn what_is_v1_already_and_wrong_is_marked_as_well() {
    let text = "# ours\napiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: p}\nspec:\n  weight: 500\n  template:\n    \
                spec:\n      requirements: []\n      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: c}\n";
    let converted = convert(&[Source::new("v1.yaml", text)]);
    let mark = "  # FILL IN: spec.weight: weight 500 is out of range: it takes 1 to 100\n";
    assert_eq!(converted.to_yaml(), text.replace("  weight", &format!("{mark}  weight")));
    assert_eq!(converted.gaps.len(), 1);
    assert_eq!(converted.gaps[0].place.line, 6);
}
