//! Makers for tests of user data.

use aws::cluster::{ClusterFacts, IpFamily, KubernetesVersion};
use domain::label::Labels;
use domain::node_class::{AmiFamily, Ec2NodeClassSpec};
use domain::resource::{CPU, MEMORY, Resources};
use domain::taint::{Taint, TaintEffect};

use super::bootstrap::Bootstrap;

/// What a node's user data is made of, owned.
pub(crate) struct Node {
    pub(crate) cluster: ClusterFacts,
    pub(crate) spec: Ec2NodeClassSpec,
    pub(crate) labels: Labels,
    pub(crate) taints: Vec<Taint>,
    pub(crate) kube_reserved: Resources,
    pub(crate) image_name: Option<&'static str>,
}

impl Node {
    /// A node with one label and one taint.
    pub(crate) fn of(ami_family: AmiFamily) -> Self {
        Self {
            cluster: cluster(),
            spec: Ec2NodeClassSpec { ami_family, ..Ec2NodeClassSpec::default() },
            labels: Labels::from([("karpenter.sh/nodepool".into(), "default".into())]),
            taints: vec![taint("team", "blue")],
            kube_reserved: Resources::new().with(CPU, 70).with(MEMORY, 574 << 20),
            image_name: None,
        }
    }

    pub(crate) fn bootstrap(&self) -> Bootstrap<'_> {
        Bootstrap {
            cluster: &self.cluster,
            spec: &self.spec,
            labels: &self.labels,
            taints: &self.taints,
            max_pods: 29,
            kube_reserved: &self.kube_reserved,
            image_name: self.image_name,
        }
    }
}

pub(crate) fn cluster() -> ClusterFacts {
    ClusterFacts {
        name: "prod".into(),
        endpoint: "https://ABC.gr7.eu-west-1.eks.amazonaws.com".into(),
        certificate_authority: "Q0E=".into(),
        version: KubernetesVersion { major: 1, minor: 33 },
        service_cidr: Some("10.100.0.0/16".into()),
        ip_family: IpFamily::Ipv4,
    }
}

pub(crate) fn taint(key: &str, value: &str) -> Taint {
    Taint { key: key.into(), value: value.into(), effect: TaintEffect::NoSchedule }
}
