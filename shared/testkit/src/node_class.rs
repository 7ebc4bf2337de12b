//! EC2NodeClasses.

use domain::image_age::ImageAge;
use domain::label::Labels;
use domain::node_class::{Ec2NodeClass, Ec2NodeClassSpec, Ec2NodeClassStatus};

/// An EC2NodeClass with the default specification and an empty status.
pub fn node_class(name: &str) -> Ec2NodeClass {
    Ec2NodeClass {
        name: name.into(),
        uid: "".into(),
        annotations: Labels::new(),
        image_age: ImageAge::default(),
        is_deleting: false,
        spec: Ec2NodeClassSpec::default(),
        status: Ec2NodeClassStatus::default(),
    }
}
