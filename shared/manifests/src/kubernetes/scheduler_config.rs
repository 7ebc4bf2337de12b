//! How a cluster's scheduler is configured: a `KubeSchedulerConfiguration`, or its short form
//! without profiles, as a file or in ConfigMap `kube-system/outrigger`.
//!
//! What kube-scheduler would refuse is refused; what it knows and planning does not consider is
//! warned of.
//!
//! Source: <https://kubernetes.io/docs/reference/config-api/kube-scheduler-config.v1/>, and
//! `pkg/scheduler/apis/config/validation` of Kubernetes.

use std::collections::BTreeSet;

use documents::{Source, documents};
use domain::Text;
use domain::pod::{NodeInclusionPolicy, TopologySpreadConstraint, WhenUnsatisfiable};
use domain::scheduler::scoring::{
    POINT_SCORE_MAX, ResourceWeight, ScoringStrategy, ScoringType, UtilizationPoint,
};
use domain::scheduler::{DEFAULT_SCHEDULER, SchedulerConfig, SchedulerProfile};

use super::selector::node_label_key;
use crate::error::{ManifestError, Place, Problem, Warning};
use crate::field::{Field, ObjectReader};
use crate::intern::Interner;
use crate::label_rule::check_key;

/// Namespace and name of the ConfigMap that says how a cluster's scheduler is configured.
const CONFIG_MAP: (&str, &str) = ("kube-system", "outrigger");
/// The key of that ConfigMap.
pub const SCHEDULER_CONFIG_KEY: &str = "scheduler-config";

/// The only plugins of which arguments are read.
const TOPOLOGY_SPREAD: &str = "PodTopologySpread";
const RESOURCES_FIT: &str = "NodeResourcesFit";

/// What `KubeSchedulerConfiguration` has beside `profiles`; none of it decides where pods go,
/// except extenders.
const CONFIGURATION: [&str; 14] = [
    "apiVersion",
    "kind",
    "parallelism",
    "leaderElection",
    "clientConnection",
    "enableProfiling",
    "enableContentionProfiling",
    "percentageOfNodesToScore",
    "podInitialBackoffSeconds",
    "podMaxBackoffSeconds",
    "profiles",
    "extenders",
    "delayCacheUntilActive",
    "healthzBindAddress",
];

const CONSTRAINT: [&str; 8] = [
    "maxSkew",
    "topologyKey",
    "whenUnsatisfiable",
    "labelSelector",
    "matchLabelKeys",
    "minDomains",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
];

/// What a scheduler configuration was read as.
#[derive(Debug)]
pub struct ReadSchedulerConfig {
    /// The configuration, or everything that is wrong with it.
    pub result: Result<SchedulerConfig, Vec<ManifestError>>,
    /// What of it has no effect on plans.
    pub warnings: Vec<Warning>,
}

/// Reads the text of a scheduler configuration, one document of YAML or JSON. `name` is its path,
/// or what errors call it.
pub fn read_scheduler_config(name: &str, text: &str) -> ReadSchedulerConfig {
    let source = Source::new(name, text);
    let refused = |error: ManifestError| ReadSchedulerConfig {
        result: Err(vec![error]),
        warnings: Vec::new(),
    };
    let rule = |what: &str| {
        let place = Place::line(name.into(), 1);
        refused(ManifestError { problem: Problem::rule(what), place })
    };
    let mut all = documents(&source);
    let document = match (all.pop(), all.is_empty()) {
        (None, _) => return rule("it is empty: it takes one scheduler configuration"),
        (Some(_), false) => return rule("it takes one document, and there are several"),
        (Some(Err(error)), true) => return refused(error.into()),
        (Some(Ok(document)), true) => document,
    };
    let interner = Interner::default();
    let reader = ObjectReader::new(&document.value, &document.origin, &interner);
    let config = config(reader.root());
    let (result, warnings) = reader.finish(Some(config));
    ReadSchedulerConfig { result, warnings }
}

/// Whether an object of kind ConfigMap is the one that says how the scheduler is configured, and
/// does say so. Every other one is left alone.
pub(crate) fn is_scheduler_config(config_map: Field<'_>) -> bool {
    let value = config_map.value();
    let part = |outer: &str, key: &str| {
        value.and_then(|own| own.get(outer)?.get(key)?.as_str()).unwrap_or_default()
    };
    (part("metadata", "namespace"), part("metadata", "name")) == CONFIG_MAP
        && !part("data", SCHEDULER_CONFIG_KEY).trim().is_empty()
}

/// Reads the ConfigMap for which [`is_scheduler_config`] holds; `None` where something was noted.
pub(super) fn read_config_map(root: Field<'_>) -> Option<SchedulerConfig> {
    let field = root.get("data").get(SCHEDULER_CONFIG_KEY);
    let ReadSchedulerConfig { result, warnings } =
        read_scheduler_config(SCHEDULER_CONFIG_KEY, field.str()?);
    for warning in warnings {
        field.warn(within(&warning.what, warning.place.as_ref()));
    }
    let errors = match result {
        Ok(config) => return Some(config),
        Err(errors) => errors,
    };
    for error in errors {
        field.note_rule(within(&error.problem.to_string(), Some(&error.place)));
    }
    None
}

/// `WHAT (line 3, field PATH)`, of a place in a text that is a value itself.
fn within(what: &str, place: Option<&Place>) -> String {
    let Some(Place { line, field, .. }) = place else { return what.to_owned() };
    let field = field.as_ref().map(|field| format!(", field {field}")).unwrap_or_default();
    format!("{what} (line {line}{field})")
}

fn config(root: Field<'_>) -> SchedulerConfig {
    if root.get("kind").exists() || root.get("apiVersion").exists() {
        return configuration(root);
    }
    root.only(&["podTopologySpread", "nodeResourcesFit"]);
    let profile = SchedulerProfile {
        scheduler_name: None,
        default_constraints: default_constraints(root.get("podTopologySpread"), Form::Short),
        scoring: scoring_strategy(root.get("nodeResourcesFit")),
    };
    SchedulerConfig { profiles: vec![profile] }
}

/// How a configuration is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// A `KubeSchedulerConfiguration`.
    Full,
    /// Arguments of plugins alone, for every pod; `defaultingType` need not be said.
    Short,
}

fn configuration(root: Field<'_>) -> SchedulerConfig {
    root.only_or_newer(&CONFIGURATION);
    root.get("apiVersion").required().choice(&[((), "kubescheduler.config.k8s.io/v1")]);
    root.get("kind").required().choice(&[((), "KubeSchedulerConfiguration")]);
    if root.get("extenders").items().len() > 0 {
        root.get("extenders").warn("extenders are not considered in plans");
    }
    let mut profiles: Vec<SchedulerProfile> = Vec::new();
    for item in root.get("profiles").items() {
        let own = profile(item);
        if profiles.iter().any(|known| known.scheduler_name == own.scheduler_name) {
            item.get("schedulerName").note_rule("another profile has this schedulerName");
        }
        profiles.push(own);
    }
    SchedulerConfig { profiles }
}

fn profile(field: Field<'_>) -> SchedulerProfile {
    field.only_or_newer(&["schedulerName", "percentageOfNodesToScore", "plugins", "pluginConfig"]);
    let name = field.get("schedulerName").text().filter(|name| !name.is_empty());
    let mut read = SchedulerProfile {
        scheduler_name: Some(name.unwrap_or_else(|| DEFAULT_SCHEDULER.into())),
        ..SchedulerProfile::default()
    };
    if field.get("plugins").exists() {
        field
            .get("plugins")
            .warn("which plugins run, and their weights, is not considered in plans");
    }
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for item in field.get("pluginConfig").items() {
        item.only(&["name", "args"]);
        let Some(name) = item.get("name").required().str() else { continue };
        if !seen.insert(name) {
            item.get("name").note_rule("this plugin is configured twice");
        }
        let args = item.get("args");
        match name {
            TOPOLOGY_SPREAD => read.default_constraints = default_constraints(args, Form::Full),
            RESOURCES_FIT => read.scoring = scoring_strategy(args),
            _ => item.warn(format!("plugin {name} is not considered in plans")),
        }
    }
    read
}

/// `PodTopologySpreadArgs`.
fn default_constraints(args: Field<'_>, form: Form) -> Vec<TopologySpreadConstraint> {
    if !args.exists() {
        return Vec::new();
    }
    args.only(&["apiVersion", "kind", "defaultConstraints", "defaultingType"]);
    args.get("kind").choice(&[((), "PodTopologySpreadArgs")]);
    let list = args.get("defaultConstraints");
    let kind = args.get("defaultingType");
    let is_list = kind.choice(&[(false, "System"), (true, "List")]);
    let is_list =
        is_list.unwrap_or(form == Form::Short || !kind.exists() && list.items().len() == 0);
    if !is_list && list.items().len() > 0 {
        list.note_rule(
            "with defaultingType System there are no constraints of one's own: write \
             defaultingType: List",
        );
    }
    let mut seen: BTreeSet<(Text, WhenUnsatisfiable)> = BTreeSet::new();
    let mut constraints = Vec::new();
    for item in list.items() {
        let Some(constraint) = default_constraint(item) else { continue };
        if !seen.insert((constraint.topology_key.clone(), constraint.when_unsatisfiable)) {
            item.note_rule("another constraint has this topologyKey and whenUnsatisfiable");
        }
        constraints.push(constraint);
    }
    constraints
}

/// A default constraint; `None` where something was noted.
fn default_constraint(field: Field<'_>) -> Option<TopologySpreadConstraint> {
    field.only(&CONSTRAINT);
    let at_least_one = |field: Field<'_>| {
        let number = field.int32();
        if number.is_some_and(|number| number < 1) {
            field.note_rule("it must be at least 1");
        }
        number
    };
    if field.get("labelSelector").exists() {
        field.get("labelSelector").note_rule(
            "a default constraint has no selector: the scheduler deduces one for each pod",
        );
    }
    if field.get("matchLabelKeys").items().len() > 0 {
        field.get("matchLabelKeys").warn("it has no effect on default constraints");
    }
    let max_skew = at_least_one(field.get("maxSkew").required());
    let key = field.get("topologyKey").required();
    key.parsed(check_key);
    let when_unsatisfiable = field.get("whenUnsatisfiable").required().word();
    let policy = |key, default| field.get(key).word().unwrap_or(default);
    let min_domains = at_least_one(field.get("minDomains"));
    let node_affinity_policy = policy("nodeAffinityPolicy", NodeInclusionPolicy::Honor);
    let node_taints_policy = policy("nodeTaintsPolicy", NodeInclusionPolicy::Ignore);
    Some(TopologySpreadConstraint {
        max_skew: max_skew?,
        topology_key: node_label_key(key)?,
        when_unsatisfiable: when_unsatisfiable?,
        selector: None,
        min_domains,
        node_affinity_policy,
        node_taints_policy,
    })
}

/// `scoringStrategy` of `NodeResourcesFitArgs`.
fn scoring_strategy(args: Field<'_>) -> ScoringStrategy {
    let default = ScoringStrategy::default();
    if !args.exists() {
        return default;
    }
    args.only(&[
        "apiVersion",
        "kind",
        "ignoredResources",
        "ignoredResourceGroups",
        "scoringStrategy",
    ]);
    args.get("kind").choice(&[((), "NodeResourcesFitArgs")]);
    for key in ["ignoredResources", "ignoredResourceGroups"] {
        if args.get(key).items().len() > 0 {
            args.get(key).warn("plans count every resource that pods request");
        }
    }
    let field = args.get("scoringStrategy");
    if !field.exists() {
        return default;
    }
    field.only(&["type", "resources", "requestedToCapacityRatio"]);
    let kind = field.get("type").required().choice(&[
        (TypeName::LeastAllocated, "LeastAllocated"),
        (TypeName::MostAllocated, "MostAllocated"),
        (TypeName::RequestedToCapacityRatio, "RequestedToCapacityRatio"),
    ]);
    let ratio = field.get("requestedToCapacityRatio");
    let kind = match kind.unwrap_or(TypeName::LeastAllocated) {
        TypeName::LeastAllocated => ScoringType::LeastAllocated,
        TypeName::MostAllocated => ScoringType::MostAllocated,
        TypeName::RequestedToCapacityRatio => {
            ScoringType::RequestedToCapacityRatio(shape(ratio.required()))
        }
    };
    if ratio.exists() && !matches!(kind, ScoringType::RequestedToCapacityRatio(_)) {
        ratio.warn("it has no effect with this type");
    }
    let resources: Vec<ResourceWeight> =
        field.get("resources").items().filter_map(resource_weight).collect();
    let resources = if resources.is_empty() { default.resources } else { resources };
    ScoringStrategy { kind, resources }
}

#[derive(Clone, Copy)]
enum TypeName {
    LeastAllocated,
    MostAllocated,
    RequestedToCapacityRatio,
}

/// A resource with its weight, 1 where none is given; `None` where something was noted.
fn resource_weight(field: Field<'_>) -> Option<ResourceWeight> {
    field.only(&["name", "weight"]);
    let name = field.get("name").required().text();
    let weight = in_range(field.get("weight"), 1, 100);
    let is_given = field.get("weight").exists();
    Some(ResourceWeight { name: name?, weight: if is_given { weight? } else { 1 } })
}

/// The points of a function of utilization.
fn shape(field: Field<'_>) -> Vec<UtilizationPoint> {
    field.only(&["shape"]);
    let list = field.get("shape").required();
    if list.exists() && list.items().len() == 0 {
        list.note_rule("it takes at least one point");
    }
    let mut points: Vec<UtilizationPoint> = Vec::new();
    for item in list.items() {
        item.only(&["utilization", "score"]);
        let utilization = in_range(item.get("utilization").required(), 0, 100);
        let score = in_range(item.get("score").required(), 0, POINT_SCORE_MAX);
        let (Some(utilization), Some(score)) = (utilization, score) else { continue };
        if points.last().is_some_and(|before| before.utilization >= utilization) {
            item.get("utilization").note_rule("points are sorted by utilization, each once");
        }
        points.push(UtilizationPoint { utilization, score });
    }
    points
}

/// A whole number within bounds; `None` where something was noted.
fn in_range(field: Field<'_>, least: i64, most: i64) -> Option<i64> {
    let number = field.integer()?;
    let is_inside = (least..=most).contains(&number);
    if !is_inside {
        field.note_rule(format!("{number} is not between {least} and {most}"));
    }
    is_inside.then_some(number)
}
