//! What a node must know of its cluster to join it.

use domain::Text;

/// An EKS cluster, as far as instances and their user data depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterFacts {
    /// The cluster's name.
    pub name: Text,
    /// The API server's address, with `https://`.
    pub endpoint: Text,
    /// The certificate authority of the API server, PEM in base64.
    pub certificate_authority: Text,
    /// The Kubernetes version, `MAJOR.MINOR`.
    pub version: KubernetesVersion,
    /// The service CIDR, such as `10.100.0.0/16`; the IPv6 range in an IPv6 cluster.
    pub service_cidr: Option<Text>,
    /// The address family of pods and services.
    pub ip_family: IpFamily,
}

/// A version of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubernetesVersion {
    /// The major version, 1.
    pub major: u32,
    /// The minor version: 33 of `1.33`.
    pub minor: u32,
}

impl KubernetesVersion {
    /// Parses `1.33`; a suffix as in `1.33+` is ignored.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim_start_matches('v').split_once('.')?;
        let digits = minor.find(|c: char| !c.is_ascii_digit()).unwrap_or(minor.len());
        Some(Self { major: major.parse().ok()?, minor: minor[..digits].parse().ok()? })
    }
}

impl std::fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// An address family.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IpFamily {
    /// IPv4.
    #[default]
    Ipv4,
    /// IPv6.
    Ipv6,
}

/// A field that the description of a cluster lacks for nodes to join it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("EKS does not return the cluster's {0} (a cluster that is being created has none yet)")]
pub struct MissingFact(&'static str);

impl ClusterFacts {
    /// From the answer of DescribeCluster.
    pub fn from_eks(cluster: &aws_sdk_eks::types::Cluster) -> Result<Self, MissingFact> {
        let network = cluster.kubernetes_network_config();
        let family = network.and_then(|network| network.ip_family());
        let ip_family = match family {
            Some(aws_sdk_eks::types::IpFamily::Ipv6) => IpFamily::Ipv6,
            _ => IpFamily::Ipv4,
        };
        let service_cidr = network.and_then(|network| match ip_family {
            IpFamily::Ipv4 => network.service_ipv4_cidr(),
            IpFamily::Ipv6 => network.service_ipv6_cidr(),
        });
        let authority = cluster.certificate_authority().and_then(|authority| authority.data());
        let version = cluster.version().and_then(KubernetesVersion::parse);
        Ok(Self {
            name: cluster.name().ok_or(MissingFact("name"))?.into(),
            endpoint: cluster.endpoint().ok_or(MissingFact("endpoint"))?.into(),
            certificate_authority: authority.ok_or(MissingFact("certificate authority"))?.into(),
            version: version.ok_or(MissingFact("version"))?,
            service_cidr: service_cidr.map(Into::into),
            ip_family,
        })
    }

    /// The address of the cluster's DNS service: EKS gives it the tenth of the services' range.
    ///
    /// Source: <https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html>
    /// (`--dns-cluster-ip`).
    pub fn dns_address(&self) -> Option<Text> {
        let (network, _) = self.service_cidr.as_deref()?.split_once('/')?;
        match self.ip_family {
            IpFamily::Ipv4 => {
                let network: std::net::Ipv4Addr = network.parse().ok()?;
                let [a, b, c, _] = network.octets();
                Some(format!("{a}.{b}.{c}.10").into())
            }
            IpFamily::Ipv6 => {
                let network: std::net::Ipv6Addr = network.parse().ok()?;
                let mut segments = network.segments();
                segments[7] = 0xa;
                Some(std::net::Ipv6Addr::from(segments).to_string().into())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_eks::types::{
        Certificate, Cluster, IpFamily as EksFamily, KubernetesNetworkConfigResponse,
    };

    fn described(network: KubernetesNetworkConfigResponse) -> Cluster {
        Cluster::builder()
            .name("prod")
            .endpoint("https://ABC.gr7.eu-west-1.eks.amazonaws.com")
            .version("1.33")
            .certificate_authority(Certificate::builder().data("Q0E=").build())
            .kubernetes_network_config(network)
            .build()
    }

    #[test]
    fn dns_has_the_tenth_address_of_the_services() {
        let ipv4 = KubernetesNetworkConfigResponse::builder().service_ipv4_cidr("172.20.0.0/16");
        let facts = ClusterFacts::from_eks(&described(ipv4.build())).unwrap();
        assert_eq!(facts.dns_address().as_deref(), Some("172.20.0.10"));
        let ipv6 = KubernetesNetworkConfigResponse::builder()
            .ip_family(EksFamily::Ipv6)
            .service_ipv6_cidr("fd30:1c53:5f8a::/108");
        let facts = ClusterFacts::from_eks(&described(ipv6.build())).unwrap();
        assert_eq!(facts.ip_family, IpFamily::Ipv6);
        assert_eq!(facts.dns_address().as_deref(), Some("fd30:1c53:5f8a::a"));
    }

    #[test]
    fn a_cluster_that_is_being_created_cannot_be_joined() {
        let creating = Cluster::builder().name("prod").version("1.33").build();
        let error = ClusterFacts::from_eks(&creating).unwrap_err();
        assert!(error.to_string().contains("endpoint"), "{error}");
    }

    #[test]
    fn versions_are_read_as_eks_and_the_api_server_write_them() {
        let version = |text| KubernetesVersion::parse(text).map(|own| (own.major, own.minor));
        assert_eq!(version("1.33"), Some((1, 33)));
        assert_eq!(version("v1.31+"), Some((1, 31)));
        assert_eq!(version("1"), None);
    }
}
