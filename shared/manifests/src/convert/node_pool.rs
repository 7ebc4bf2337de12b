//! What makes NodePools: Provisioner v1alpha5 and NodePool v1beta1.

use documents::Value;
use domain::label;

use super::label::{annotations, labels, requirements};
use super::node_class::spec_of_template;
use super::tree::{self, line_of, list, object, own, text};
use crate::error::Place;
use crate::field::Field;

/// What an older pool says.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    /// The NodePool of v1.
    pub(super) object: Value<'static>,
    /// The EC2NodeClass that it refers to.
    pub(super) node_class: String,
    /// Kubelet settings, which are the EC2NodeClass's in v1, and where they stood.
    pub(super) kubelet: Option<(Value<'static>, Place)>,
    /// The EC2NodeClass that it brought along.
    pub(super) inline_class: Option<Value<'static>>,
}

/// Which rule of its own version an older pool breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum OldPoolRule {
    #[error("consolidation and ttlSecondsAfterEmpty exclude each other")]
    TwoPolicies,
    #[error("provider and providerRef exclude each other")]
    TwoProviders,
    #[error(
        "consolidateAfter cannot stand beside consolidationPolicy WhenUnderutilized, unless it is Never"
    )]
    AfterUnderutilized,
    #[error("consolidationPolicy WhenEmpty needs consolidateAfter beside it")]
    EmptyWithoutAfter,
    #[error("it is below zero")]
    NegativeSeconds,
}

/// Labels one of which must be required, or v1alpha5 chose among general-purpose types of newer
/// generations.
const INSTANCE_TYPE_LABELS: [&str; 4] = [
    label::INSTANCE_TYPE,
    "karpenter.k8s.aws/instance-family",
    INSTANCE_CATEGORY,
    INSTANCE_GENERATION,
];
const INSTANCE_CATEGORY: &str = "karpenter.k8s.aws/instance-category";
const INSTANCE_GENERATION: &str = "karpenter.k8s.aws/instance-generation";

/// The name of the node class of a pool that names none.
const DEFAULT_NODE_CLASS: &str = "default";

/// Reads a Provisioner (`karpenter.sh/v1alpha5`).
pub(super) fn pool_of_provisioner(root: Field<'_>) -> Pool {
    let name = root.get("metadata").required().get("name").str().unwrap_or_default();
    let spec = root.get("spec");
    spec.only(&[
        "annotations",
        "consolidation",
        "kubeletConfiguration",
        "labels",
        "limits",
        "provider",
        "providerRef",
        "requirements",
        "startupTaints",
        "taints",
        "ttlSecondsAfterEmpty",
        "ttlSecondsUntilExpired",
        "weight",
    ]);
    let line = line_of(spec);
    let (node_class, inline_class) = class_of_provisioner(root, name);
    let expire_after = match seconds(spec.get("ttlSecondsUntilExpired")) {
        Some(after) => after,
        None => text(line, "Never"),
    };
    let template_spec = object(
        line,
        [
            ("requirements", Some(requirements_of_provisioner(spec))),
            (
                "nodeClassRef",
                Some(reference(line, "karpenter.k8s.aws", "EC2NodeClass", &node_class)),
            ),
            ("taints", own(spec.get("taints"))),
            ("startupTaints", own(spec.get("startupTaints"))),
            ("expireAfter", Some(expire_after)),
        ],
    );
    let limits = spec.get("limits");
    limits.only(&["resources"]);
    let new_spec = object(
        line,
        [
            (
                "template",
                Some(template(spec.get("labels"), spec.get("annotations"), template_spec)),
            ),
            ("disruption", Some(disruption_of_provisioner(spec))),
            ("limits", own(limits.get("resources"))),
            ("weight", own(spec.get("weight"))),
        ],
    );
    let kubelet = kubelet(spec.get("kubeletConfiguration"));
    Pool { object: node_pool(root, new_spec), node_class, kubelet, inline_class }
}

/// Reads a NodePool of `karpenter.sh/v1beta1`.
pub(super) fn pool_of_beta(root: Field<'_>) -> Pool {
    let spec = root.get("spec").required();
    spec.only(&["template", "disruption", "limits", "weight"]);
    let old_template = spec.get("template");
    old_template.only(&["metadata", "spec"]);
    let metadata = old_template.get("metadata");
    metadata.only(&["labels", "annotations"]);
    let node = old_template.get("spec");
    node.only(&[
        "kubelet",
        "nodeClassRef",
        "requirements",
        "resources",
        "startupTaints",
        "taints",
        "terminationGracePeriod",
    ]);
    let disruption = spec.get("disruption");
    // What v1 needs as well is marked in the result where it is missing.
    let class_ref = node.get("nodeClassRef");
    let node_class = class_ref.get("name").str().unwrap_or_default().to_owned();
    let line = line_of(node);
    let template_spec = object(
        line,
        [
            ("requirements", required_of_beta(node.get("requirements"))),
            ("nodeClassRef", class_ref.exists().then(|| reference_of_beta(class_ref, &node_class))),
            ("taints", own(node.get("taints"))),
            ("startupTaints", own(node.get("startupTaints"))),
            ("expireAfter", own(disruption.get("expireAfter"))),
            ("terminationGracePeriod", own(node.get("terminationGracePeriod"))),
        ],
    );
    let new_spec = object(
        line_of(spec),
        [
            (
                "template",
                Some(template(metadata.get("labels"), metadata.get("annotations"), template_spec)),
            ),
            ("disruption", Some(disruption_of_beta(disruption))),
            ("limits", own(spec.get("limits"))),
            ("weight", own(spec.get("weight"))),
        ],
    );
    let kubelet = kubelet(node.get("kubelet"));
    Pool { object: node_pool(root, new_spec), node_class, kubelet, inline_class: None }
}

fn node_pool(root: Field<'_>, spec: Value<'static>) -> Value<'static> {
    let line = line_of(root);
    object(
        line,
        [
            ("apiVersion", Some(text(line, "karpenter.sh/v1"))),
            ("kind", Some(text(line, "NodePool"))),
            ("metadata", own(root.get("metadata").required())),
            ("spec", Some(spec)),
            ("status", own(root.get("status"))),
        ],
    )
}

fn template(
    old_labels: Field<'_>,
    old_annotations: Field<'_>,
    spec: Value<'static>,
) -> Value<'static> {
    let line = spec.line;
    let metadata = object(
        line_of(old_labels),
        [("labels", labels(old_labels)), ("annotations", annotations(old_annotations))],
    );
    object(line, [("metadata", tree::unless_empty(metadata)), ("spec", Some(spec))])
}

fn reference(line: u32, group: &str, kind: &str, name: &str) -> Value<'static> {
    object(
        line,
        [("group", group), ("kind", kind), ("name", name)]
            .map(|(key, word)| (key, Some(text(line, word)))),
    )
}

fn required_of_beta(field: Field<'_>) -> Option<Value<'static>> {
    field.exists().then(|| list(line_of(field), requirements(field)))
}

/// v1 names the group alone; of the version, it decides by itself.
fn reference_of_beta(class_ref: Field<'_>, name: &str) -> Value<'static> {
    class_ref.only(&["apiVersion", "kind", "name"]);
    let version = class_ref.get("apiVersion").str().unwrap_or("karpenter.k8s.aws");
    let group = version.split('/').next().unwrap_or(version);
    let kind = class_ref.get("kind").str().unwrap_or("EC2NodeClass");
    reference(line_of(class_ref), group, kind, name)
}

fn class_of_provisioner(root: Field<'_>, name: &str) -> (String, Option<Value<'static>>) {
    let spec = root.get("spec");
    let (provider, provider_ref) = (spec.get("provider"), spec.get("providerRef"));
    if provider.exists() && provider_ref.exists() {
        provider.note_rule(OldPoolRule::TwoProviders);
    }
    if provider.exists() {
        let line = line_of(provider);
        let metadata = object(line, [("name", Some(text(line, name)))]);
        let class = super::node_class::node_class(metadata, spec_of_template(provider));
        return (name.to_owned(), Some(class));
    }
    provider_ref.only(&["apiVersion", "kind", "name"]);
    if let Some(kind) = provider_ref.get("kind").str().filter(|kind| *kind != "AWSNodeTemplate") {
        provider_ref.get("kind").warn(format!(
            "{kind} has no equal in v1: an EC2NodeClass of the same name stands for it"
        ));
    }
    if !provider_ref.exists() {
        spec.warn(format!(
            "the Provisioner names no providerRef: EC2NodeClass {DEFAULT_NODE_CLASS} stands for it"
        ));
        return (DEFAULT_NODE_CLASS.to_owned(), None);
    }
    let reference = provider_ref.get("name").required().str();
    (reference.unwrap_or(DEFAULT_NODE_CLASS).to_owned(), None)
}

/// The requirements, with the defaults that v1alpha5 added for keys without a requirement.
fn requirements_of_provisioner(spec: Field<'_>) -> Value<'static> {
    let field = spec.get("requirements");
    let line = line_of(field);
    let mut all = requirements(field);
    let is_said = |key: &str| {
        field.items().any(|item| item.get("key").str().map(label::normalized_key) == Some(key))
            || spec.get("labels").entries().any(|(name, _)| label::normalized_key(name) == key)
    };
    let mut add = |key: &str, operator: &str, values: &[&str]| {
        let values = values.iter().map(|value| text(line, *value)).collect();
        all.push(object(
            line,
            [
                ("key", Some(text(line, key))),
                ("operator", Some(text(line, operator))),
                ("values", Some(list(line, values))),
            ],
        ));
    };
    for (key, value) in
        [(label::OS, "linux"), (label::ARCH, "amd64"), (label::CAPACITY_TYPE, "on-demand")]
    {
        if !is_said(key) {
            add(key, "In", &[value]);
        }
    }
    if !INSTANCE_TYPE_LABELS.iter().any(|key| is_said(key)) {
        add(INSTANCE_CATEGORY, "In", &["c", "m", "r"]);
        add(INSTANCE_GENERATION, "Gt", &["2"]);
    }
    list(line, all)
}

/// Consolidation, or the end of empty nodes alone, or none of both.
fn disruption_of_provisioner(spec: Field<'_>) -> Value<'static> {
    let consolidation = spec.get("consolidation");
    consolidation.only(&["enabled"]);
    let enabled = consolidation.get("enabled");
    let is_enabled = enabled.bool().unwrap_or(false);
    let empty_after = seconds(spec.get("ttlSecondsAfterEmpty"));
    if is_enabled && empty_after.is_some() {
        spec.get("ttlSecondsAfterEmpty").note_rule(OldPoolRule::TwoPolicies);
    }
    let line = line_of(spec);
    let (policy, after) = match (is_enabled, empty_after) {
        (true, _) => {
            let line = line_of(enabled);
            (text(line, "WhenEmptyOrUnderutilized"), text(line, "0s"))
        }
        (false, Some(after)) => (text(after.line, "WhenEmpty"), after),
        (false, None) => (text(line, "WhenEmpty"), text(line, "Never")),
    };
    object(
        line,
        [
            ("consolidationPolicy", Some(policy)),
            ("consolidateAfter", Some(after)),
            ("budgets", Some(budgets_of_provisioner(line))),
        ],
    )
}

/// A Provisioner ended all its empty nodes at once, since it knew no budgets; the default budget of
/// v1 would end them one by one. Nodes with pods keep to the default.
fn budgets_of_provisioner(line: u32) -> Value<'static> {
    let budget = |nodes: &str, reasons: &[&str]| {
        let reasons = reasons.iter().map(|reason| text(line, *reason)).collect();
        object(line, [("nodes", Some(text(line, nodes))), ("reasons", Some(list(line, reasons)))])
    };
    list(line, vec![budget("100%", &["Empty"]), budget("10%", &["Underutilized", "Drifted"])])
}

/// `spec.disruption` of v1beta1, without `expireAfter`, which is the template's in v1.
fn disruption_of_beta(disruption: Field<'_>) -> Value<'static> {
    disruption.only(&["budgets", "consolidateAfter", "consolidationPolicy", "expireAfter"]);
    let policy = disruption.get("consolidationPolicy");
    let after = disruption.get("consolidateAfter");
    let is_when_empty =
        policy.choice(&[(true, "WhenEmpty"), (false, "WhenUnderutilized")]).unwrap_or(false);
    if is_when_empty && !after.exists() {
        after.note_rule(OldPoolRule::EmptyWithoutAfter);
    }
    if !is_when_empty && after.exists() && after.str() != Some("Never") {
        after.note_rule(OldPoolRule::AfterUnderutilized);
    }
    let word = if is_when_empty { "WhenEmpty" } else { "WhenEmptyOrUnderutilized" };
    object(
        line_of(disruption),
        [
            ("consolidationPolicy", Some(text(line_of(policy), word))),
            ("consolidateAfter", Some(own(after).unwrap_or_else(|| text(line_of(policy), "0s")))),
            ("budgets", own(disruption.get("budgets"))),
        ],
    )
}

/// A number of seconds as a duration, in the largest unit that divides it.
fn seconds(field: Field<'_>) -> Option<Value<'static>> {
    let seconds = field.integer()?;
    if seconds < 0 {
        field.note_rule(OldPoolRule::NegativeSeconds);
        return None;
    }
    let shown = match seconds {
        0 => "0s".to_owned(),
        _ if seconds % 3600 == 0 => format!("{}h", seconds / 3600),
        _ if seconds % 60 == 0 => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    };
    Some(text(line_of(field), shown))
}

/// Kubelet settings as they stand in an EC2NodeClass.
fn kubelet(field: Field<'_>) -> Option<(Value<'static>, Place)> {
    let settings = own(field)?;
    let runtime = field.get("containerRuntime");
    if runtime.exists() && runtime.str() != Some("containerd") {
        runtime.warn("containerRuntime has no equal: every node runs containerd");
    }
    let settings = tree::without(settings, &["containerRuntime"]);
    tree::unless_empty(settings).map(|settings| (settings, field.place()))
}
