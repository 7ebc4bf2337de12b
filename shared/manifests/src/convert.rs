//! Older versions of Karpenter's API, turned into v1.
//!
//! Provisioner (`karpenter.sh/v1alpha5`), AWSNodeTemplate (`karpenter.k8s.aws/v1alpha1`), and
//! NodePool and EC2NodeClass of `v1beta1`. Conversion works on documents: what [`convert`] prints
//! is what reading such manifests takes them for. Every value keeps its line, so errors found after
//! conversion still name the place in the user's file.
//!
//! Source: Karpenter's v1alpha5, v1alpha1 and v1beta1 APIs and their defaults.

mod converter;
mod kubelet;
mod label;
mod legacy_selector;
mod node_class;
mod node_pool;
mod placed;
#[cfg(test)]
mod tests;
mod tree;

use crate::error::{ManifestError, Warning};
use crate::print::{self, PrintError, Printed};
use documents::Value;

use documents::{Document, Source, each_object};

pub(crate) use converter::Converter;

/// Manifests of which none is of an older version any more.
#[derive(Debug, Default)]
pub struct Converted {
    /// The objects in order, those that were converted and those that needed no conversion.
    pub documents: Vec<Value<'static>>,
    /// What has no equal in v1, and what was decided for the user.
    pub warnings: Vec<Warning>,
    /// What is wrong; objects it concerns are left out.
    pub errors: Vec<ManifestError>,
}

impl Converted {
    /// The documents as YAML.
    pub fn to_yaml(&self) -> Result<String, PrintError> {
        let mut documents = Vec::with_capacity(self.documents.len());
        for document in &self.documents {
            documents.push(print::yaml(&Printed(document))?);
        }
        Ok(documents.join("---\n"))
    }
}

/// Converts every object of the sources that is of an older version; fields that only a cluster
/// sets are left out of those, so that the result can be committed.
pub fn convert(sources: &[Source]) -> Converted {
    let mut converter = Converter::default();
    let mut documents = Vec::new();
    let mut errors = Vec::new();
    for source in sources {
        each_object(source, &mut |document| match document {
            Err(error) => errors.push(error.into()),
            Ok(Document { value, origin }) => {
                let is_old = converter.take(&value, &origin, documents.len());
                // What an older object becomes is known in the end; its place is kept.
                let unchanged = (!is_old).then(|| tree::own_document(&value, &origin)).flatten();
                documents.push(Vec::from_iter(unchanged));
            }
        });
    }
    let conversion = converter.finish();
    for object in conversion.objects {
        if let Some(place) = documents.get_mut(object.position) {
            place.push(without_cluster_fields(object.value));
        }
    }
    errors.extend(conversion.errors);
    let documents = documents.into_iter().flatten().collect();
    Converted { documents, warnings: conversion.warnings, errors }
}

/// Fields that the API server or a controller sets.
const CLUSTER_METADATA: [&str; 9] = [
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Annotations that a client or a controller sets, of no use once the object has changed.
const CLUSTER_ANNOTATIONS: [&str; 6] = [
    "karpenter.k8s.aws/ec2nodeclass-hash",
    "karpenter.k8s.aws/ec2nodeclass-hash-version",
    "karpenter.sh/nodepool-hash",
    "karpenter.sh/nodepool-hash-version",
    "karpenter.sh/stored-version-migrated",
    "kubectl.kubernetes.io/last-applied-configuration",
];

fn without_cluster_fields(object: Value<'static>) -> Value<'static> {
    let mut object = tree::without(object, &["status"]);
    let Some(metadata) = object.get("metadata").cloned() else { return object };
    let annotations = metadata
        .get("annotations")
        .cloned()
        .and_then(|all| tree::unless_empty(tree::without(all, &CLUSTER_ANNOTATIONS)));
    let mut metadata = tree::without(metadata, &CLUSTER_METADATA);
    match annotations {
        Some(annotations) => tree::set(&mut metadata, &["annotations"], annotations),
        None => metadata = tree::without(metadata, &["annotations"]),
    }
    tree::set(&mut object, &["metadata"], metadata);
    object
}
