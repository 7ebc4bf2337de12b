//! Makers for tests.

use domain::node_class::{AmiFamily, Ec2NodeClass, Ec2NodeClassSpec};

use crate::facts::InstanceTypeFacts;

/// The facts of an embedded type.
pub(crate) fn facts(name: &str) -> InstanceTypeFacts {
    crate::embedded().unwrap().find(name).unwrap_or_else(|| panic!("{name} is embedded")).clone()
}

/// A node class of a family, without any setting.
pub(crate) fn node_class(name: &str, ami_family: AmiFamily) -> Ec2NodeClass {
    Ec2NodeClass {
        uid: format!("uid-{name}").into(),
        spec: Ec2NodeClassSpec { ami_family, ..Ec2NodeClassSpec::default() },
        ..::testkit::node_class(name)
    }
}
