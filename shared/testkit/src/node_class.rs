//! EC2NodeClasses.

use domain::image_age::ImageAge;
use domain::instance_overhead::InstanceOverhead;
use domain::label::Labels;
use domain::node_class::{Ec2NodeClass, Ec2NodeClassSpec, Ec2NodeClassStatus, ResolvedAmi};

/// An EC2NodeClass with the default specification and an empty status.
pub fn node_class(name: &str) -> Ec2NodeClass {
    Ec2NodeClass {
        name: name.into(),
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

/// An image for all instance types.
pub fn ami(id: &str) -> ResolvedAmi {
    ResolvedAmi { id: id.into(), name: None, is_deprecated: false, requirements: Vec::new() }
}
