//! EC2NodeClasses among the objects of files, and defaults for those that are missing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use domain::Text;
use domain::image_age::ImageAge;
use domain::instance_overhead::InstanceOverhead;
use domain::label::Labels;
use domain::node_class::{Ec2NodeClass, Ec2NodeClassSpec, Ec2NodeClassStatus};
use manifests::{Identity, Located, Object, Objects};

/// The node classes among the objects, as written.
pub(crate) fn node_classes(objects: &Objects) -> Vec<Ec2NodeClass> {
    let classes = objects.objects.iter().filter_map(|located| match &located.value {
        Object::Ec2NodeClass(class) => Some((**class).clone()),
        _ => None,
    });
    classes.collect()
}

/// Adds a default node class for each name that a NodePool refers to and no object has. For one
/// that cannot be read a class stands in that is not ready: what was meant is not known, so that
/// nothing is launched by it.
///
/// Returns a warning for each.
pub(crate) fn add_missing_node_classes(objects: &mut Objects) -> Vec<String> {
    let mut warnings = Vec::new();
    for (name, Location { file, line }) in missing_node_classes(objects) {
        let mut class = default_node_class(name.clone());
        let identity = Identity { kind: "EC2NodeClass", namespace: None, name: name.clone() };
        if objects.unreadable.contains(&identity) {
            class.status.ready = Some(false);
            warnings.push(format!(
                "EC2NodeClass {name} is not valid: NodePools that refer to it launch nothing \
                 ({file}:{line})"
            ));
        } else {
            warnings.push(format!(
                "EC2NodeClass {name} is not in the input: a default one (AL2023) takes its place \
                 ({file}:{line})"
            ));
        }
        let value = Object::Ec2NodeClass(Box::new(class));
        objects.objects.push(Located { file, line, value });
    }
    warnings
}

/// Where an object stands in the input.
struct Location {
    file: Arc<str>,
    line: u32,
}

/// Names that NodePools refer to and no EC2NodeClass has, each with the place of the first
/// NodePool.
fn missing_node_classes(objects: &Objects) -> BTreeMap<Text, Location> {
    let known: BTreeSet<&Text> = objects
        .objects
        .iter()
        .filter_map(|located| match &located.value {
            Object::Ec2NodeClass(class) => Some(&class.name),
            _ => None,
        })
        .collect();
    let mut missing = BTreeMap::new();
    for located in &objects.objects {
        if let Object::NodePool(pool) = &located.value {
            let name = &pool.template.node_class_ref.name;
            if !known.contains(name) {
                let location = || Location { file: located.file.clone(), line: located.line };
                missing.entry(name.clone()).or_insert_with(location);
            }
        }
    }
    missing
}

/// An EC2NodeClass of which only the name is known: Amazon Linux 2023, all else at its default.
pub(super) fn default_node_class(name: Text) -> Ec2NodeClass {
    Ec2NodeClass {
        name,
        uid: "".into(),
        annotations: Labels::new(),
        image_age: ImageAge::default(),
        addresses: None,
        instance_overhead: InstanceOverhead::default(),
        is_deleting: false,
        spec: Ec2NodeClassSpec::default(),
        status: Ec2NodeClassStatus::default(),
    }
}
