//! Manifests that stand at the end of a recording, as they are written.

use std::collections::BTreeMap;

use serde_json::Value;

/// Kind, namespace (empty for kinds that live outside namespaces) and name.
type Identity = (String, String, String);

/// Kinds whose objects live in namespaces, of those that suggestions are about.
const NAMESPACED: [&str; 5] =
    ["PodDisruptionBudget", "PrewarmSchedule", "Deployment", "StatefulSet", "ReplicaSet"];
const DEFAULT_NAMESPACE: &str = "default";

/// Manifests by what they are of; of two of one object the later one.
#[derive(Clone, Debug, Default)]
pub struct Manifests {
    by_identity: BTreeMap<Identity, Value>,
}

impl Manifests {
    /// Of these, in the order in which they came. Items of a `List` count one by one.
    pub fn of(manifests: impl IntoIterator<Item = Value>) -> Self {
        let mut own = Self::default();
        for manifest in manifests {
            own.add(manifest);
        }
        own
    }

    fn add(&mut self, manifest: Value) {
        if let Some(Value::Array(items)) = manifest.get("items") {
            for item in items {
                self.add(item.clone());
            }
            return;
        }
        if let Some(identity) = identity(&manifest) {
            self.by_identity.insert(identity, manifest);
        }
    }

    /// Lets others stand in place of those of their names.
    pub fn with(mut self, others: impl IntoIterator<Item = Value>) -> Self {
        for manifest in others {
            self.add(manifest);
        }
        self
    }

    /// The one of the same object as another manifest.
    pub fn same_object(&self, other: &Value) -> Option<&Value> {
        self.by_identity.get(&identity(other)?)
    }

    /// Those of a kind, by namespace and name.
    pub fn of_kind(&self, kind: &str) -> impl Iterator<Item = &Value> {
        self.by_identity.iter().filter(move |((own, ..), _)| own == kind).map(|(_, own)| own)
    }

    /// All, by kind, namespace and name.
    pub fn into_values(self) -> Vec<Value> {
        self.by_identity.into_values().collect()
    }
}

/// `metadata.name` of a manifest.
pub(crate) fn name_of(manifest: &Value) -> &str {
    manifest.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
}

/// `metadata.namespace` of a manifest whose kind lives in one.
pub(crate) fn namespace_of(manifest: &Value) -> &str {
    manifest.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or(DEFAULT_NAMESPACE)
}

fn identity(manifest: &Value) -> Option<Identity> {
    let kind = manifest.get("kind")?.as_str()?;
    let namespace = if NAMESPACED.contains(&kind) { namespace_of(manifest) } else { "" };
    let name = name_of(manifest);
    (!name.is_empty()).then(|| (kind.to_owned(), namespace.to_owned(), name.to_owned()))
}
