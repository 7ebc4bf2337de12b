//! A kind of object, and its CustomResourceDefinition.

use serde_json::{Value, json};

use super::schema::Schema;
use crate::print::{self, PrintError};

/// A definition, and the name of the file that ships it.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomResource {
    /// Such as `karpenter.sh_nodepools.yaml`.
    pub file: String,
    /// The CustomResourceDefinition.
    pub definition: Value,
}

impl CustomResource {
    /// As it is shipped.
    pub fn to_yaml(&self) -> Result<String, PrintError> {
        let body = print::yaml(&self.definition)?;
        Ok(format!("# Made by `cargo run -p outrigger-manifests --example crds`.\n{body}"))
    }
}

/// A kind of object.
#[derive(Debug)]
pub(super) struct Kind {
    pub(super) group: &'static str,
    pub(super) version: &'static str,
    pub(super) name: &'static str,
    pub(super) plural: &'static str,
    pub(super) short_names: &'static [&'static str],
    pub(super) categories: &'static [&'static str],
    pub(super) is_namespaced: bool,
    pub(super) about: &'static str,
    pub(super) spec: Schema,
    pub(super) status: Option<Schema>,
    /// Where `kubectl scale` finds wanted and present replicas.
    pub(super) scale: Option<[&'static str; 2]>,
    pub(super) columns: Vec<Column>,
}

/// A column that `kubectl get` prints.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    name: &'static str,
    kind: &'static str,
    path: &'static str,
    /// Printed with `-o wide` only.
    is_wide: bool,
}

pub(super) const fn column(name: &'static str, kind: &'static str, path: &'static str) -> Column {
    Column { name, kind, path, is_wide: false }
}

pub(super) const fn wide(name: &'static str, kind: &'static str, path: &'static str) -> Column {
    Column { name, kind, path, is_wide: true }
}

pub(super) const READY: Column =
    column("Ready", "string", r#".status.conditions[?(@.type=="Ready")].status"#);
pub(super) const AGE: Column = column("Age", "date", ".metadata.creationTimestamp");

impl Column {
    fn definition(&self) -> Value {
        let mut column = json!({"name": self.name, "type": self.kind, "jsonPath": self.path});
        if self.is_wide {
            column["priority"] = json!(1);
        }
        column
    }
}

impl Kind {
    pub(super) fn definition(self) -> CustomResource {
        let mut names = json!({
            "kind": self.name,
            "listKind": format!("{}List", self.name),
            "plural": self.plural,
            "singular": self.name.to_lowercase(),
        });
        for (field, words) in [("shortNames", self.short_names), ("categories", self.categories)] {
            if !words.is_empty() {
                names[field] = json!(words);
            }
        }
        let mut version = json!({
            "name": self.version,
            "served": true,
            "storage": true,
            "additionalPrinterColumns": self.columns.iter().map(Column::definition).collect::<Vec<_>>(),
        });
        let mut properties = vec![
            ("apiVersion", Schema::text()),
            ("kind", Schema::text()),
            ("metadata", Schema::any_object()),
            ("spec", self.spec),
        ];
        if let Some(status) = self.status {
            properties.push(("status", status));
            version["subresources"]["status"] = json!({});
        }
        if let Some([wanted, present]) = self.scale {
            version["subresources"]["scale"] =
                json!({"specReplicasPath": wanted, "statusReplicasPath": present});
        }
        let root = Schema::object(properties).required(&["spec"]).about(self.about);
        version["schema"] = json!({"openAPIV3Schema": root.into_value()});
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{}.{}", self.plural, self.group)},
            "spec": {
                "group": self.group,
                "scope": if self.is_namespaced { "Namespaced" } else { "Cluster" },
                "names": names,
                "versions": [version],
            },
        });
        CustomResource { file: format!("{}_{}.yaml", self.group, self.plural), definition }
    }
}
