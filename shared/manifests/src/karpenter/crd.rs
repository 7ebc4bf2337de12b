//! CustomResourceDefinitions: the shapes that the readers beside this file take, as the API server checks them.
//!
//! Words, counts and field names are those of the readers, so that neither takes what the other refuses. What a schema
//! cannot say (a label's syntax, say) the functions say in the object's status. Kinds that Karpenter has are its kinds:
//! names, printer columns and subresources are the same, so that a cluster can change hands.

mod common;
mod node_claim;
mod node_class;
mod node_overlay;
mod node_pool;
mod prewarm_schedule;
mod schema;

use serde_json::{Value, json};

use crate::convert::PrintError;
use schema::Schema;

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
        let body = serde_saphyr::to_string(&self.definition)?;
        Ok(format!("# Made by `cargo run -p outrigger-manifests --example crds`.\n{body}"))
    }
}

/// All definitions, by file name.
pub fn custom_resources() -> Vec<CustomResource> {
    let kinds = [
        node_class::kind(),
        node_claim::kind(),
        node_overlay::kind(),
        node_pool::kind(),
        prewarm_schedule::kind(),
    ];
    kinds.into_iter().map(Kind::definition).collect()
}

/// A kind of object.
#[derive(Debug)]
struct Kind {
    group: &'static str,
    version: &'static str,
    name: &'static str,
    plural: &'static str,
    short_names: &'static [&'static str],
    categories: &'static [&'static str],
    is_namespaced: bool,
    about: &'static str,
    spec: Schema,
    status: Option<Schema>,
    /// Where `kubectl scale` finds wanted and present replicas.
    scale: Option<[&'static str; 2]>,
    columns: Vec<Column>,
}

/// A column that `kubectl get` prints.
#[derive(Clone, Copy, Debug)]
struct Column {
    name: &'static str,
    kind: &'static str,
    path: &'static str,
    /// Printed with `-o wide` only.
    is_wide: bool,
}

const fn column(name: &'static str, kind: &'static str, path: &'static str) -> Column {
    Column { name, kind, path, is_wide: false }
}

const fn wide(name: &'static str, kind: &'static str, path: &'static str) -> Column {
    Column { name, kind, path, is_wide: true }
}

const READY: Column = column("Ready", "string", r#".status.conditions[?(@.type=="Ready")].status"#);
const AGE: Column = column("Age", "date", ".metadata.creationTimestamp");

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
    fn definition(self) -> CustomResource {
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
