use domain::label::ZONE;
use domain::pod::{NodeInclusionPolicy, WhenUnsatisfiable};
use domain::scheduler::scoring::{ResourceWeight, ScoringStrategy, ScoringType, UtilizationPoint};
use domain::scheduler::{SchedulerConfig, SchedulerProfile};
use domain::workload::Service;

use super::{problems, read_as, read_text};
use crate::kubernetes::read_scheduler_config;
use crate::object::Object;

#[track_caller]
fn config(text: &str) -> SchedulerConfig {
    let read = read_scheduler_config("scheduler.yaml", text);
    assert!(read.warnings.is_empty(), "{:?}", read.warnings);
    read.result.unwrap()
}

/// The only profile of a text.
#[track_caller]
fn profile(text: &str) -> SchedulerProfile {
    let mut config = config(text);
    assert_eq!(config.profiles.len(), 1, "{config:?}");
    config.profiles.remove(0)
}

fn warnings(text: &str) -> Vec<String> {
    let read = read_scheduler_config("scheduler.yaml", text);
    assert!(read.result.is_ok(), "{:?}", read.result);
    read.warnings.iter().map(ToString::to_string).collect()
}

/// The only thing that is wrong with a text, with its place.
#[track_caller]
fn error(text: &str) -> String {
    let errors = read_scheduler_config("scheduler.yaml", text).result.unwrap_err();
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors[0].to_string()
}

/// A `KubeSchedulerConfiguration` with these arguments in its only profile.
fn full(plugin: &str, args: &str) -> String {
    format!(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
         profiles: [{{pluginConfig: [{{name: {plugin}, args: {args}}}]}}]\n"
    )
}

const SPREAD: &str =
    "{maxSkew: 2, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}";

#[test]
fn both_forms_say_the_same_but_for_whose_pods_it_is_about() {
    let short = profile(&format!(
        "podTopologySpread: {{defaultConstraints: [{SPREAD}]}}\n\
         nodeResourcesFit: {{scoringStrategy: {{type: MostAllocated}}}}\n"
    ));
    let text = format!(
        "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {{leaderElect: true}}
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: PodTopologySpread
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: PodTopologySpreadArgs
      defaultingType: List
      defaultConstraints: [{SPREAD}]
  - name: NodeResourcesFit
    args: {{scoringStrategy: {{type: MostAllocated}}}}
"
    );
    let full = profile(&text);
    assert_eq!(short.scheduler_name, None);
    assert_eq!(full.scheduler_name.as_deref(), Some("default-scheduler"));
    assert_eq!(SchedulerProfile { scheduler_name: None, ..full }, short);
    let constraint = &short.default_constraints[0];
    assert_eq!((constraint.max_skew, &*constraint.topology_key), (2, ZONE));
    assert_eq!(constraint.when_unsatisfiable, WhenUnsatisfiable::DoNotSchedule);
    assert_eq!((&constraint.selector, constraint.min_domains), (&None, None));
    assert_eq!(constraint.node_affinity_policy, NodeInclusionPolicy::Honor);
    assert_eq!(constraint.node_taints_policy, NodeInclusionPolicy::Ignore);
}

#[test]
fn what_is_left_out_is_kube_schedulers_default() {
    let read = profile("nodeResourcesFit: {}\n");
    assert_eq!(read, SchedulerProfile::default());
    assert_eq!(read.scoring.kind, ScoringType::LeastAllocated);
    let system = profile(&full("PodTopologySpread", "{defaultingType: System}"));
    assert!(system.default_constraints.is_empty());
    let none = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
    assert_eq!(config(none), SchedulerConfig::default());
}

#[test]
fn strategies_weigh_resources_and_have_functions_of_utilization() {
    let read = profile(
        "nodeResourcesFit: {scoringStrategy: {type: RequestedToCapacityRatio, \
         resources: [{name: nvidia.com/gpu, weight: 5}, {name: cpu}], \
         requestedToCapacityRatio: {shape: [{utilization: 0, score: 0}, \
         {utilization: 100, score: 10}]}}}\n",
    );
    let weight = |name: &str, weight| ResourceWeight { name: name.into(), weight };
    let point = |utilization, score| UtilizationPoint { utilization, score };
    assert_eq!(
        read.scoring,
        ScoringStrategy {
            kind: ScoringType::RequestedToCapacityRatio(vec![point(0, 0), point(100, 10)]),
            resources: vec![weight("nvidia.com/gpu", 5), weight("cpu", 1)],
        }
    );
}

#[test]
fn profiles_have_the_names_of_their_schedulers() {
    let read = config(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
         profiles: [{schedulerName: packing}, {}]\n",
    );
    let names: Vec<_> =
        read.profiles.iter().map(|own| own.scheduler_name.as_deref().unwrap()).collect();
    assert_eq!(names, ["packing", "default-scheduler"]);
}

#[test]
fn what_has_no_effect_on_plans_is_warned_of() {
    let text = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders: [{urlPrefix: 'https://x'}]
profiles:
- plugins: {score: {disabled: [{name: '*'}]}}
  pluginConfig:
  - {name: InterPodAffinity, args: {hardPodAffinityWeight: 5}}
  - {name: NetworkCost}
";
    assert_eq!(
        warnings(text),
        [
            "extenders are not considered in plans (scheduler.yaml:4, field extenders)",
            "which plugins run, and their weights, is not considered in plans \
             (scheduler.yaml:6, field profiles[0].plugins)",
            "plugin InterPodAffinity is not considered in plans \
             (scheduler.yaml:8, field profiles[0].pluginConfig[0])",
            "plugin NetworkCost is not considered in plans \
             (scheduler.yaml:9, field profiles[0].pluginConfig[1])",
        ]
    );
    let ignored = full("NodeResourcesFit", "{ignoredResources: [example.com/fpga]}");
    assert!(warnings(&ignored)[0].starts_with("plans count every resource that pods request ("));
}

#[test]
fn what_kube_scheduler_refuses_is_refused_with_file_and_field() {
    let spread = |constraint: &str| {
        error(&format!("podTopologySpread: {{defaultConstraints: [{constraint}]}}\n"))
    };
    let at = |field: &str| {
        format!(" (scheduler.yaml:1, field podTopologySpread.defaultConstraints[0].{field})")
    };
    let with = |from: &str, to: &str| spread(&SPREAD.replace(from, to));
    assert_eq!(
        with("maxSkew: 2", "maxSkew: 0"),
        "it must be at least 1".to_owned() + &at("maxSkew")
    );
    assert_eq!(with("maxSkew: 2, ", ""), "the field is missing".to_owned() + &at("maxSkew"));
    assert_eq!(
        with("DoNotSchedule", "Sometimes"),
        "\"Sometimes\" is not one of DoNotSchedule, ScheduleAnyway".to_owned()
            + &at("whenUnsatisfiable")
    );
    assert_eq!(
        with("maxSkew: 2", "maxSkew: 2, labelSelector: {matchLabels: {app: web}}"),
        "a default constraint has no selector: the scheduler deduces one for each pod".to_owned()
            + &at("labelSelector")
    );
    assert!(with("topology.kubernetes.io/zone", "'a key'").contains("is not a label key"));
    assert!(spread(&format!("{SPREAD}, {SPREAD}")).starts_with("another constraint has this"));
    assert!(
        error(&full("PodTopologySpread", &format!("{{defaultConstraints: [{SPREAD}]}}")))
            .starts_with("with defaultingType System there are no constraints of one's own"),
        "kube-scheduler's default is System"
    );
}

#[test]
fn strategies_that_kube_scheduler_does_not_know_are_refused() {
    let strategy = |text: &str| error(&format!("nodeResourcesFit: {{scoringStrategy: {text}}}\n"));
    for (text, wrong) in [
        ("{type: Balanced}", "\"Balanced\" is not one of LeastAllocated, MostAllocated, "),
        ("{resources: [{name: cpu}]}", "the field is missing"),
        (
            "{type: MostAllocated, resources: [{name: cpu, weight: 0}]}",
            "0 is not between 1 and 100",
        ),
        ("{type: MostAllocated, resources: [{name: cpu, weight: 101}]}", "101 is not between"),
        ("{type: RequestedToCapacityRatio}", "the field is missing"),
        (
            "{type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: []}}",
            "it takes at least one point",
        ),
        (
            "{type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: \
             [{utilization: 101, score: 0}]}}",
            "101 is not between 0 and 100",
        ),
        (
            "{type: RequestedToCapacityRatio, requestedToCapacityRatio: {shape: \
             [{utilization: 5, score: 0}, {utilization: 5, score: 1}]}}",
            "points are sorted by utilization",
        ),
    ] {
        assert!(strategy(text).starts_with(wrong), "{text}: {}", strategy(text));
    }
}

#[test]
fn what_is_no_scheduler_configuration_is_refused() {
    for (text, wrong) in [
        ("", "it is empty"),
        ("a: b\n---\nc: d\n", "it takes one document"),
        ("podTopologySpred: {}\n", "the field is not known"),
        ("kind: KubeSchedulerConfiguration\n", "the field is missing"),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n",
            "\"kubescheduler.config.k8s.io/v1beta3\" is not one of",
        ),
        (
            "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n\
             profiles: [{}, {schedulerName: default-scheduler}]\n",
            "another profile has this schedulerName",
        ),
    ] {
        assert!(error(text).starts_with(wrong), "{text}: {}", error(text));
    }
    assert!(read_scheduler_config("x", "{a: [").result.is_err());
    assert!(read_scheduler_config("x", "[]").result.is_err());
}

/// The ConfigMap with the value of a key.
fn config_map(name: &str, value: &str) -> String {
    let lines: Vec<String> = value.lines().map(|line| format!("    {line}\n")).collect();
    format!(
        "kind: ConfigMap\nmetadata: {{name: {name}, namespace: kube-system}}\n\
         data:\n  mode: active\n  scheduler-config: |\n{}",
        lines.concat()
    )
}

const PACKING: &str = "nodeResourcesFit:\n  scoringStrategy: {type: MostAllocated}\n";

#[test]
fn the_config_map_of_the_cluster_says_how_its_scheduler_is_configured() {
    let read = read_as!(&config_map("outrigger", PACKING), Object::SchedulerConfig);
    assert_eq!(read.profiles[0].scoring.kind, ScoringType::MostAllocated);
}

#[test]
fn other_config_maps_are_not_read() {
    for text in [
        config_map("other", PACKING),
        config_map("outrigger", " "),
        "kind: ConfigMap\nmetadata: {name: outrigger, namespace: kube-system}\n".to_owned(),
        config_map("outrigger", "nonsense: 1").replace("namespace: kube-system", "namespace: a"),
    ] {
        let read = read_text(&text);
        assert!(read.objects.is_empty() && read.errors.is_empty(), "{:?}", read.errors);
        assert_eq!(read.skipped["ConfigMap"], 1, "{text}");
    }
}

#[test]
fn what_is_wrong_in_the_config_map_names_object_and_field_and_costs_nothing_else() {
    let wrong = PACKING.replace("MostAllocated", "Most");
    let text = config_map("outrigger", &wrong) + "---\nkind: Node\nmetadata: {name: n1}\n";
    let read = read_text(&text);
    assert_eq!(read.objects.len(), 1, "the Node");
    assert_eq!(
        problems(&text),
        ["\"Most\" is not one of LeastAllocated, MostAllocated, RequestedToCapacityRatio \
          (line 2, field nodeResourcesFit.scoringStrategy.type)"]
    );
    let shown = read.errors[0].to_string();
    assert!(shown.contains("in.yaml:"), "{shown}");
    assert!(shown.contains("object kube-system/outrigger, field data.scheduler-config"), "{shown}");
}

#[test]
fn of_a_service_only_whose_pods_it_selects_is_read() {
    let text = "kind: Service\nmetadata: {name: web, namespace: shop}\n\
                spec: {selector: {app: web}, ports: [{port: 80}]}\n";
    let Service { key, selector } = read_as!(text, Object::Service);
    assert_eq!(key.to_string(), "shop/web");
    assert_eq!(selector.get("app").map(|own| &**own), Some("web"));
    let headless = "kind: Service\nmetadata: {name: other}\nspec: {type: ExternalName}\n";
    assert!(read_as!(headless, Object::Service).selector.is_empty());
}

#[test]
fn pods_name_their_scheduler_unless_it_is_the_default_one() {
    let name = |name: &str| {
        let text = format!("kind: Pod\nmetadata: {{name: p}}\nspec: {{schedulerName: {name}}}\n");
        read_as!(&text, Object::Pod).pod.spec.scheduler_name.clone()
    };
    assert_eq!(name("packing").as_deref(), Some("packing"));
    assert_eq!((name("default-scheduler"), name("''")), (None, None));
}
