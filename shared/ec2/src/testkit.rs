//! Makers for tests.

use domain::instance_type::CapacityType;
use domain::label::Labels;
use domain::money::UsdPerHour;
use domain::node_class::{
    AmiFamily, Ec2NodeClass, Ec2NodeClassSpec, Ec2NodeClassStatus, ResolvedAmi, ResolvedSubnet,
};
use domain::requirement::Requirement;

use controllers::record::launch::LaunchRequest;

use domain::plan::LaunchOffering;

/// A node class of AL2023 that is resolved: two subnets in `us-east-1a`, one in `us-east-1b`,
/// images of both architectures.
pub(crate) fn node_class(name: &str) -> Ec2NodeClass {
    let subnet =
        |id: &str, zone: &str| ResolvedSubnet { id: id.into(), zone: zone.into(), zone_id: None };
    let image = |id: &str, architecture: &str| ResolvedAmi {
        id: id.into(),
        name: None,
        is_deprecated: false,
        requirements: vec![Requirement::is_in("kubernetes.io/arch", [architecture.into()])],
    };
    Ec2NodeClass {
        uid: format!("uid-of-{name}").into(),
        spec: Ec2NodeClassSpec { ami_family: AmiFamily::Al2023, ..Ec2NodeClassSpec::default() },
        status: Ec2NodeClassStatus {
            subnets: vec![
                subnet("subnet-a1", "us-east-1a"),
                subnet("subnet-a2", "us-east-1a"),
                subnet("subnet-b1", "us-east-1b"),
            ],
            security_groups: vec!["sg-1".into()],
            amis: vec![image("ami-amd64", "amd64"), image("ami-arm64", "arm64")],
            instance_profile: Some("prod_nodes".into()),
            ready: Some(true),
            ..Ec2NodeClassStatus::default()
        },
        ..::testkit::node_class(name)
    }
}

/// An offering for so many thousandths of a dollar an hour.
pub(crate) fn offering(
    instance_type: &str,
    zone: &str,
    capacity_type: CapacityType,
    milli_usd: i64,
) -> LaunchOffering {
    LaunchOffering {
        price: UsdPerHour::from_nanos(milli_usd * 1_000_000),
        instance_type: instance_type.into(),
        zone: zone.into(),
        capacity_type,
        reservation_id: None,
    }
}

/// A request of the claim `default-1` for one of the offerings.
pub(crate) fn request(offerings: Vec<LaunchOffering>) -> LaunchRequest {
    LaunchRequest {
        token: "9bf4c6ae-4a5e-5b3c-9d2e-0c6f5f0f9a11".into(),
        claim: "default-1".into(),
        node_pool: "default".into(),
        node_class: "default".into(),
        offerings,
        labels: Labels::from([("karpenter.sh/nodepool".into(), "default".into())]),
        ..LaunchRequest::default()
    }
}
