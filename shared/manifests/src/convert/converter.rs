//! The converter: takes older objects one by one, and converts them together in the end.

use crate::intern::Interner;
use documents::Origin;

use super::kubelet::move_settings;
use super::label::{self, OldNames};
use super::node_class::{node_class, spec_of_beta, spec_of_template};
use super::node_pool::{Pool, pool_of_beta, pool_of_provisioner};
use super::placed::{NodeClass, Placed};
use super::tree;
use crate::error::{ManifestError, Warning};
use crate::field::{Field, ObjectReader};
use documents::Value;

/// What older objects stand for.
#[derive(Debug, Default)]
pub(crate) struct Conversion {
    /// Objects of v1, node classes first.
    pub(crate) objects: Vec<Placed<Value<'static>>>,
    /// What has no equal.
    pub(crate) warnings: Vec<Warning>,
    /// What is wrong.
    pub(crate) errors: Vec<ManifestError>,
}

/// Takes older objects one by one. They are converted together in the end, since settings move
/// between objects.
#[derive(Debug, Default)]
pub(crate) struct Converter {
    interner: Interner,
    pools: Vec<Placed<Pool>>,
    classes: Vec<Placed<NodeClass>>,
    conversion: Conversion,
}

/// An older object that cannot be converted.
#[derive(Debug, thiserror::Error)]
#[error(
    "{kind} of {version} cannot be converted: Provisioner of v1alpha5, AWSNodeTemplate of v1alpha1, NodePool and EC2NodeClass of v1beta1 can"
)]
struct NotConvertible {
    kind: String,
    version: String,
}

/// What an object of an older version is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OldKind {
    Provisioner,
    NodeTemplate,
    NodePoolBeta,
    NodeClassBeta,
    /// Of a version or kind that cannot be converted.
    NotConvertible,
}

impl OldKind {
    fn of(value: &Value<'_>) -> Option<Self> {
        let kind = value.get("kind")?.as_str()?;
        let version = value.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        match (kind, group, version) {
            ("Provisioner", "karpenter.sh", "v1alpha5") | ("Provisioner", "", "") => {
                Some(Self::Provisioner)
            }
            ("AWSNodeTemplate", "karpenter.k8s.aws", "v1alpha1") | ("AWSNodeTemplate", "", "") => {
                Some(Self::NodeTemplate)
            }
            ("NodePool", "karpenter.sh", "v1beta1") => Some(Self::NodePoolBeta),
            ("EC2NodeClass", "karpenter.k8s.aws", "v1beta1") => Some(Self::NodeClassBeta),
            ("Provisioner", "karpenter.sh", _) | ("AWSNodeTemplate", "karpenter.k8s.aws", _) => {
                Some(Self::NotConvertible)
            }
            // A v1beta1 claim has no expireAfter: the current value of its NodePool decided.
            ("NodeClaim", "karpenter.sh", "v1beta1") => Some(Self::NotConvertible),
            _ => None,
        }
    }
}

/// What an older object was read as.
enum Taken {
    Pool(Pool),
    Class(NodeClass),
}

impl Converter {
    /// Whether an object is of a version that is converted, or that cannot be.
    pub(crate) fn is_of_older_version(value: &Value<'_>) -> bool {
        OldKind::of(value).is_some()
    }

    /// Takes the object if it is of an older version; says whether it is.
    pub(crate) fn take(&mut self, value: &Value<'_>, origin: &Origin<'_>, position: usize) -> bool {
        let Some(old_kind) = OldKind::of(value) else { return false };
        let reader = ObjectReader::named(value, origin, &self.interner);
        let taken = read(reader.root(), old_kind);
        let (taken, warnings) = reader.finish(taken);
        self.conversion.warnings.extend(warnings);
        let origin = Origin { file: origin.file.clone(), line: origin.line, json: None };
        match taken {
            Ok(Taken::Pool(mut pool)) => {
                if let Some(object) = pool.inline_class.take() {
                    let value = NodeClass { name: pool.node_class.clone(), object };
                    self.classes.push(Placed { value, origin: origin.clone(), position });
                }
                self.pools.push(Placed { value: pool, origin, position });
            }
            Ok(Taken::Class(class)) => {
                self.classes.push(Placed { value: class, origin, position });
            }
            Err(errors) => self.conversion.errors.extend(errors),
        }
        true
    }

    /// Warns of old names of labels in a pod, or a template of pods, which have no effect.
    pub(crate) fn warn_of_old_names(&mut self, value: &Value<'_>, origin: &Origin<'_>) {
        self.old_names(value, origin, OldNames::Left);
    }

    /// Warns of old names of labels that are about to be rewritten; the lines on which they stand.
    pub(crate) fn rename(&mut self, value: &Value<'_>, origin: &Origin<'_>) -> Vec<u32> {
        self.old_names(value, origin, OldNames::Rewritten)
    }

    fn old_names(&mut self, value: &Value<'_>, origin: &Origin<'_>, fate: OldNames) -> Vec<u32> {
        if !label::has_old_names(value) {
            return Vec::new();
        }
        let reader = ObjectReader::named(value, origin, &self.interner);
        let lines = label::warn_of_old_names(reader.root(), fate);
        let (_, warnings) = reader.finish(Some(()));
        self.conversion.warnings.extend(warnings);
        lines
    }

    /// What the objects taken stand for.
    pub(crate) fn finish(self) -> Conversion {
        let Self { mut pools, classes, mut conversion, .. } = self;
        let (classes, warnings) = move_settings(&mut pools, classes);
        conversion.warnings.extend(warnings);
        let classes = classes.into_iter().map(|class| class.map(|class| class.object));
        let pools = pools.into_iter().map(|pool| pool.map(|pool| pool.object));
        conversion.objects = classes.chain(pools).collect();
        conversion
    }
}

fn read(root: Field<'_>, old_kind: OldKind) -> Option<Taken> {
    root.only(&["apiVersion", "kind", "metadata", "spec", "status"]);
    match old_kind {
        OldKind::Provisioner => Some(Taken::Pool(pool_of_provisioner(root))),
        OldKind::NodePoolBeta => Some(Taken::Pool(pool_of_beta(root))),
        OldKind::NodeTemplate => class(root, spec_of_template),
        OldKind::NodeClassBeta => class(root, spec_of_beta),
        OldKind::NotConvertible => {
            let word = |key| root.get(key).str().unwrap_or_default().to_owned();
            let (kind, version) = (word("kind"), word("apiVersion"));
            root.get("apiVersion").note_rule(NotConvertible { kind, version });
            None
        }
    }
}

fn class(root: Field<'_>, spec: fn(Field<'_>) -> Value<'static>) -> Option<Taken> {
    let metadata = root.get("metadata").required();
    let name = metadata.get("name").str().unwrap_or_default().to_owned();
    let spec = spec(root.get("spec").required());
    let mut object = node_class(tree::own(metadata)?, spec);
    if let Some(status) = tree::own(root.get("status")) {
        tree::set(&mut object, &["status"], status);
    }
    Some(Taken::Class(NodeClass { name, object }))
}
