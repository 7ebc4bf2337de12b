//! Makers for tests.

use domain::label::Labels;
use domain::node_class::{AmiFamily, Ec2NodeClass, Ec2NodeClassSpec, Ec2NodeClassStatus};

use crate::facts::InstanceTypeFacts;

/// The facts of an embedded type.
pub(crate) fn facts(name: &str) -> InstanceTypeFacts {
    crate::embedded().unwrap().find(name).unwrap_or_else(|| panic!("{name} is embedded")).clone()
}

/// A node class of a family, without any setting.
pub(crate) fn node_class(name: &str, ami_family: AmiFamily) -> Ec2NodeClass {
    Ec2NodeClass {
        name: name.into(),
        uid: format!("uid-{name}").into(),
        annotations: Labels::new(),
        is_deleting: false,
        spec: Ec2NodeClassSpec { ami_family, ..Ec2NodeClassSpec::default() },
        status: Ec2NodeClassStatus::default(),
    }
}
