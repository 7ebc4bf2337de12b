//! `outrigger plan` as scripts and people use it.

use crate::support::{HUGE, SHOP, WRONG_OPERATOR, Workspace};

const PLAN: &str = "plan --catalog catalog.yaml --now 2026-01-01T12:00:00Z";

#[test]
fn a_workload_without_pods_gets_nodes_for_its_replicas() {
    let run = Workspace::with(&[("shop.yaml", SHOP)]).run(&format!("{PLAN} -f shop.yaml -o json"));

    assert_eq!(run.status, 0, "{run:?}");
    let plan = run.json();
    assert_eq!(
        (&plan["apiVersion"], &plan["kind"]),
        (&"outrigger.dev/v1alpha1".into(), &"Plan".into())
    );
    let mut pods: Vec<String> = plan["nodeClaims"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|claim| claim["pods"].as_array().unwrap())
        .map(|pod| pod.as_str().unwrap().to_owned())
        .collect();
    pods.sort();
    assert_eq!(pods, ["default/web-0", "default/web-1", "default/web-2"]);
    assert_eq!(plan["nodeClaims"][0]["offering"]["hourlyUsd"], 0.031);
    assert_eq!(plan["totals"]["pendingPods"], 3);
}

#[test]
fn input_without_an_object_is_no_silent_success() {
    let workspace = Workspace::with(&[("empty.yaml", ""), ("shop.yaml", SHOP)]);
    for (line, name) in [("-f empty.yaml", "empty.yaml"), ("-f -", "standard input")] {
        let run = workspace.run_with_input(&format!("{PLAN} {line}"), "");
        assert_eq!((run.status, &*run.out), (2, ""), "{run:?}");
        assert_eq!(run.err, format!("error: there is no object to read in {name}\n"));
    }
    let run = workspace.run(&format!("{PLAN} -f empty.yaml shop.yaml"));
    assert_eq!((run.status, &*run.err), (0, ""), "{run:?}");
    let list = "apiVersion: v1\nkind: List\nitems: []\n";
    let run = workspace.run_with_input(&format!("{PLAN} -f -"), list);
    assert_eq!((run.status, &*run.err), (0, "warning: the input holds no objects\n"), "{run:?}");
}

/// Five replicas of `web` from noon until one o'clock, of which three are in the input.
const NOON: &str = "\
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: noon}
spec:
  scaleTargetRef: {name: web}
  triggers:
  - type: cron
    metadata: {timezone: UTC, start: 0 12 * * *, end: 0 13 * * *, desiredReplicas: '5'}
";

#[test]
fn pods_to_come_are_planned_for_and_told_apart() {
    let workspace = Workspace::with(&[("shop.yaml", SHOP), ("noon.yaml", NOON)]);
    let plan = workspace.run(&format!("{PLAN} -f shop.yaml noon.yaml -o json")).json();
    assert_eq!(plan["totals"]["pendingPods"], 3);
    let ahead = plan["virtualPods"].as_array().unwrap();
    assert_eq!(ahead.len(), 2, "{plan}");
    assert_eq!(ahead[0]["pod"], "default/scaledobject-noon-0");
    assert_eq!(ahead[0]["for"]["kind"], "ScaledObject");
    let claims = plan["nodeClaims"].as_array().unwrap();
    assert!(claims.iter().any(|claim| claim["name"] == ahead[0]["node"]), "{plan}");
    let text = workspace.run(&format!("{PLAN} -f shop.yaml noon.yaml")).out;
    assert!(text.contains("virtual, for ScaledObject default/noon"), "{text}");
}

#[test]
fn a_virtual_pod_is_explained_by_what_wants_it() {
    let workspace = Workspace::with(&[("shop.yaml", SHOP), ("noon.yaml", NOON)]);
    let explain = |what: &str| {
        let input = "--catalog catalog.yaml --now 2026-01-01T12:00:00Z -f shop.yaml noon.yaml";
        workspace.run(&format!("explain {what} {input}")).out
    };
    let pod = explain("pod scaledobject-noon-1");
    assert!(pod.contains("ScaledObject default/noon is going to have such pods made"), "{pod}");
    assert!(pod.contains("NODEPOOLS"), "{pod}");
    let plan = workspace.run(&format!("{PLAN} -f shop.yaml noon.yaml -o json")).json();
    let node = explain(&format!("node {}", plan["virtualPods"][1]["node"].as_str().unwrap()));
    assert!(node.contains("for ScaledObject default/noon"), "{node}");
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let workspace = Workspace::with(&[("shop.yaml", SHOP)]);
    let run = || workspace.run(&format!("{PLAN} -f shop.yaml -o json")).out;
    assert_eq!(run(), run());
}

#[test]
fn standard_input_is_read_for_a_dash() {
    let run = Workspace::with(&[]).run_with_input(&format!("{PLAN} -f - -o json"), SHOP);
    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(run.json()["totals"]["pendingPods"], 3);
}

#[test]
fn a_folder_is_read_with_the_folders_in_it() {
    let workspace = Workspace::with(&[("all/shop.yaml", SHOP), ("all/more/huge.yml", HUGE)]);
    let run = workspace.run(&format!("{PLAN} -f all -o json"));
    assert_eq!(run.json()["totals"]["pendingPods"], 4, "{run:?}");
}

#[test]
fn a_pod_without_a_place_says_why() {
    let workspace = Workspace::with(&[("shop.yaml", SHOP), ("huge.yaml", HUGE)]);
    let plan = workspace.run(&format!("{PLAN} -f shop.yaml huge.yaml -o json")).json();
    assert_eq!(plan["unschedulable"][0]["pod"], "default/huge");
    let reason = plan["unschedulable"][0]["reasons"][0].as_str().unwrap();
    assert!(reason.contains("more cpu than the largest instance type"), "{reason}");
}

#[test]
fn only_strict_makes_a_pod_without_a_place_a_failure() {
    let workspace = Workspace::with(&[("shop.yaml", SHOP), ("huge.yaml", HUGE)]);
    assert_eq!(workspace.run(&format!("{PLAN} -f shop.yaml huge.yaml")).status, 0);
    assert_eq!(workspace.run(&format!("{PLAN} -f shop.yaml huge.yaml --strict")).status, 1);
    assert_eq!(workspace.run(&format!("{PLAN} -f shop.yaml --strict")).status, 0);
}

#[test]
fn a_bad_object_is_named_and_the_rest_is_planned() {
    let workspace = Workspace::with(&[("shop.yaml", SHOP), ("broken.yaml", WRONG_OPERATOR)]);

    let run = workspace.run(&format!("{PLAN} -f shop.yaml broken.yaml -o json"));

    assert_eq!(run.status, 2, "{run:?}");
    let error = run.err.lines().find(|line| line.starts_with("error: ")).unwrap();
    assert!(
        error.ends_with(
            "(broken.yaml:9, object broken, field spec.template.spec.requirements[0].operator)"
        ),
        "{error}"
    );
    assert!(error.contains("Within"), "{error}");
    assert_eq!(run.json()["totals"]["pendingPods"], 3);
}

#[test]
fn nothing_is_launched_by_a_node_class_that_is_not_valid() {
    let workspace = Workspace::with(&[("shop.yaml", &SHOP.replace("  role: nodes\n", ""))]);

    let run = workspace.run(&format!("{PLAN} -f shop.yaml -o json"));

    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.contains("exactly one of role and instanceProfile is needed"), "{}", run.err);
    let warning = "EC2NodeClass default is not valid: NodePools that refer to it launch nothing";
    assert!(run.err.contains(warning), "{}", run.err);
    assert_eq!(run.json()["nodeClaims"].as_array().map(Vec::len), Some(0), "{}", run.out);
}

#[test]
fn text_that_is_no_yaml_is_bad_input_with_its_line() {
    let run = Workspace::with(&[("bad.yaml", "kind: Pod\nmetadata: [\n")])
        .run(&format!("{PLAN} -f bad.yaml"));
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.starts_with("error: ") && run.err.contains("(bad.yaml:"), "{run:?}");
}

#[test]
fn unknown_kinds_are_counted_in_one_line() {
    let others = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n\
                  apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\n---\n\
                  apiVersion: v1\nkind: Secret\nmetadata: {name: c}\n";
    let workspace = Workspace::with(&[("shop.yaml", SHOP), ("others.yaml", others)]);

    let run = workspace.run(&format!("{PLAN} -f shop.yaml others.yaml -o json"));

    assert_eq!(run.status, 0, "{run:?}");
    assert_eq!(
        run.err,
        "note: skipped 3 objects of kinds that are not read: ConfigMap 2, Secret 1\n"
    );
}

#[test]
fn a_node_class_that_is_missing_is_a_warning() {
    let without_class: Vec<&str> =
        SHOP.split("---\n").filter(|document| !document.contains("kind: EC2NodeClass\n")).collect();
    let workspace = Workspace::with(&[("shop.yaml", &without_class.join("---\n"))]);
    for line in [format!("{PLAN} -f shop.yaml -o json"), "plan -f shop.yaml -o json".to_owned()] {
        let run = workspace.run(&line);
        assert_eq!(run.status, 0, "{run:?}");
        assert!(
            run.err.starts_with("warning: EC2NodeClass default is not in the input"),
            "{run:?}"
        );
        let plan = run.json();
        assert_eq!(plan["unschedulable"].as_array().unwrap().len(), 0, "{plan}");
        assert!(plan["warnings"][0].as_str().unwrap().contains("EC2NodeClass default"), "{plan}");
    }
}

#[test]
fn without_a_catalogue_the_embedded_one_is_used() {
    let run = Workspace::with(&[("shop.yaml", SHOP)]).run("plan -f shop.yaml -o json");
    assert_eq!(run.status, 0, "{run:?}");
    let offered = run.json()["nodeClaims"][0]["instanceTypes"].to_string();
    assert!(offered.contains("t3.") || offered.contains("t4g."), "{offered}");
}

#[test]
fn the_embedded_catalogue_is_that_of_the_region() {
    let workspace = Workspace::with(&[("shop.yaml", SHOP)]);
    let plan = workspace.run("plan -f shop.yaml --region eu-west-1 -o json").json();
    let zone = plan["nodeClaims"][0]["offering"]["zone"].as_str().unwrap();
    assert!(zone.starts_with("eu-west-1"), "{zone}");
}

#[test]
fn the_example_that_comes_along_is_planned() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/shop.yaml");
    let run = Workspace::with(&[]).run(&format!("plan -f {example} -o json"));
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{run:?}");
    assert_eq!(run.json()["unschedulable"][0]["pod"], "default/training-0");
}

#[test]
fn people_see_the_nodes_and_the_cost() {
    let run = Workspace::with(&[("shop.yaml", SHOP)]).run(&format!("{PLAN} -f shop.yaml"));
    for part in ["LAUNCH  1 node", "default/web-* (3 pods)", "NODES", "█", "COST", "a month"] {
        assert!(run.out.contains(part), "{part} in {}", run.out);
    }
}

#[test]
fn a_pipe_gets_no_colour_unless_it_is_forced() {
    let plain = Workspace::with(&[("shop.yaml", SHOP)]).run(&format!("{PLAN} -f shop.yaml"));
    assert!(!plain.out.contains('\x1b'));

    let forced = Workspace::with(&[("shop.yaml", SHOP)])
        .environment("CLICOLOR_FORCE", "1")
        .run(&format!("{PLAN} -f shop.yaml"));
    assert!(forced.out.contains('\x1b'));
}

#[test]
fn no_color_switches_colours_off() {
    let run = Workspace::with(&[("shop.yaml", SHOP)])
        .environment("CLICOLOR_FORCE", "1")
        .environment("NO_COLOR", "1")
        .run(&format!("{PLAN} -f shop.yaml"));
    assert!(!run.out.contains('\x1b'), "{}", run.out);
}

#[test]
fn a_page_is_one_document() {
    let run = Workspace::with(&[("shop.yaml", SHOP)])
        .run(&format!("{PLAN} -f shop.yaml -o html --cluster shop"));
    assert!(run.out.starts_with("<!DOCTYPE html>") && run.out.ends_with("</html>"), "{run:?}");
    assert!(run.out.contains("Plan for shop"));
}

#[test]
fn a_catalogue_that_cannot_be_read_is_bad_input() {
    let workspace = Workspace::with(&[("shop.yaml", SHOP), ("no.yaml", "kind: Nonsense\n")]);
    for catalog in ["no.yaml", "missing.yaml"] {
        let run = workspace.run(&format!("plan -f shop.yaml --catalog {catalog}"));
        assert_eq!(run.status, 2, "{run:?}");
        assert!(run.err.starts_with("error: ") && run.err.contains(catalog), "{run:?}");
        assert_eq!(run.out, "");
    }
}

/// A node of a managed node group in Seoul, another in a zone that no catalogue lists, and a pod.
const SEOUL: &str = "\
apiVersion: v1
kind: Node
metadata:
  name: group
  labels:
    node.kubernetes.io/instance-type: m5.large
    topology.kubernetes.io/zone: ap-northeast-2a
    eks.amazonaws.com/capacityType: ON_DEMAND
spec: {providerID: aws:///ap-northeast-2a/i-00000000000000001}
status: {capacity: {cpu: '2', memory: 8Gi, pods: '29'}}
---
apiVersion: v1
kind: Node
metadata:
  name: elsewhere
  labels:
    node.kubernetes.io/instance-type: c6a.4xlarge
    topology.kubernetes.io/zone: ap-northeast-2z
    karpenter.sh/capacity-type: spot
status: {capacity: {cpu: '16', memory: 32Gi, pods: '234'}}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  amiSelectorTerms: [{alias: al2023@latest}]
  role: nodes
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
---
apiVersion: v1
kind: Pod
metadata: {name: big}
spec: {containers: [{name: a, resources: {requests: {cpu: '20'}}}]}
";

#[test]
fn a_plan_is_for_the_region_that_the_nodes_are_in_and_says_whose_prices_it_shows() {
    let workspace = Workspace::with(&[("seoul.yaml", SEOUL)]);
    let run = workspace.run("plan -f seoul.yaml --now 2026-01-01T12:00:00Z -o json");
    assert_eq!(run.status, 0, "{run:?}");
    let plan = run.json();
    assert_eq!(plan["region"], "ap-northeast-2");
    assert_eq!(plan["pricing"]["source"], "estimated");
    assert_eq!(plan["now"], "2026-01-01T12:00:00Z");
    let zone = plan["nodeClaims"][0]["offering"]["zone"].as_str().unwrap();
    assert!(zone.starts_with("ap-northeast-2"), "{zone}");
    let nodes = plan["existingNodes"].as_array().unwrap();
    let bought: Vec<_> = nodes.iter().map(|node| node["capacityType"].as_str()).collect();
    assert_eq!(bought, [Some("spot"), Some("on-demand")]);
    assert!(nodes.iter().all(|node| node["hourlyUsd"].as_f64() > Some(0.0)), "{plan}");
    assert_eq!(plan["leftOut"], serde_json::json!([]));
    let text = workspace.run("plan -f seoul.yaml --now 2026-01-01T12:00:00Z").out;
    let note = "prices of ap-northeast-2 (2 nodes say so), estimated: list prices of us-east-1";
    assert!(text.contains(note), "{text}");
}

#[test]
fn a_region_that_does_not_exist_is_refused() {
    let workspace = Workspace::with(&[("seoul.yaml", SEOUL)]);
    let run = workspace.run("plan -f seoul.yaml --region ap-norhteast-2");
    assert_eq!(run.status, 2, "{run:?}");
    assert!(run.err.contains("region ap-norhteast-2 is not known"), "{}", run.err);
    let simulate = workspace.run("simulate inflate --region ap-norhteast-2");
    assert_eq!(simulate.status, 2, "{simulate:?}");
}

#[test]
fn after_input_that_cannot_be_read_nothing_is_said_to_be_done() {
    let workspace = Workspace::with(&[("broken.yaml", WRONG_OPERATOR)]);
    let run = workspace.run(&format!("{PLAN} -f broken.yaml"));
    assert_eq!((run.status, run.out.as_str()), (2, ""), "{run:?}");
    assert!(run.err.starts_with("error: "), "{run:?}");
}

#[test]
fn control_characters_of_names_never_reach_the_terminal() {
    let text = "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: \"a\\e[31mb\", labels: {\"\\e[2J\": \"\\u009b2J\"}}\nspec: {\"\\e]0;x\\a\": 1}\n\
                ---\nkind: \"\\e[31mPod\"\nmetadata: {name: x}\n";
    let workspace = Workspace::with(&[("bad.yaml", text)]).environment("CLICOLOR_FORCE", "1");
    let run = workspace.run("plan -f bad.yaml");
    assert_eq!(run.status, 2, "{run:?}");
    let styles = ["\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[0m"];
    let message = styles.iter().fold(run.err.clone(), |text, style| text.replace(style, ""));
    assert!(!message.contains(|c: char| c.is_control() && c != '\n'), "{run:?}");
    assert!(message.contains("a\\u{1b}[31mb"), "{run:?}");
}

#[test]
fn bounds_keep_the_operators_that_a_nodepool_has_them_with() {
    let bounded = SHOP.replace(
        "      requirements:\n",
        "      requirements:\n      \
         - {key: karpenter.k8s.aws/instance-cpu, operator: Gt, values: ['3']}\n      \
         - {key: karpenter.k8s.aws/instance-memory, operator: Lt, values: ['64000']}\n",
    );
    let workspace = Workspace::with(&[("shop.yaml", &bounded)]);
    let run = workspace.run("plan -f shop.yaml --now 2026-01-01T12:00:00Z -o json");
    let plan = run.json();
    let requirements = plan["nodeClaims"][0]["requirements"].as_array().unwrap();
    for (key, operator, value) in [("cpu", "Gt", "3"), ("memory", "Lt", "64000")] {
        let key = format!("karpenter.k8s.aws/instance-{key}");
        let own = requirements.iter().find(|own| own["key"] == key.as_str()).unwrap();
        assert_eq!((&own["operator"], &own["values"][0]), (&operator.into(), &value.into()));
    }
    assert!(!run.out.contains("Gte") && !run.out.contains("Lte"), "{}", run.out);
}

#[test]
fn a_pool_that_allows_no_instance_type_says_which_requirement_it_is() {
    let wrong = SHOP.replace(
        "      requirements:\n",
        "      requirements:\n      \
         - {key: karpenter.k8s.aws/instance-cpu, operator: In, values: [c, m, r]}\n",
    );
    let workspace = Workspace::with(&[("shop.yaml", &wrong)]);
    let text = workspace.run("plan -f shop.yaml --now 2026-01-01T12:00:00Z").out;
    let expected = "NodePool default: no instance type has karpenter.k8s.aws/instance-cpu c, m or \
                    r: did you mean karpenter.k8s.aws/instance-category?";
    assert!(text.contains(expected), "{text}");
}
