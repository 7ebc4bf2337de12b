//! What user data is made of, whatever its form.

use domain::Text;
use domain::label::Labels;
use domain::node_class::Ec2NodeClassSpec;
use domain::resource::Resources;
use domain::taint::Taint;

use aws::cluster::ClusterFacts;

/// The longest user data that EC2 accepts, bytes before base64.
///
/// Source: <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/user-data.html>.
pub const BYTES_MAX: usize = 16_384;

/// What user data is built from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bootstrap<'a> {
    /// The cluster to join.
    pub(crate) cluster: &'a ClusterFacts,
    /// The spec of the node class.
    pub(crate) spec: &'a Ec2NodeClassSpec,
    /// Labels that the kubelet registers with: see [`registered_labels`](super::registered_labels).
    pub(crate) labels: &'a Labels,
    /// Taints that the kubelet registers with: see [`registered_taints`](super::registered_taints).
    pub(crate) taints: &'a [Taint],
    /// The most pods on the node.
    pub(crate) max_pods: u32,
    /// What the kubelet reserves for itself.
    pub(crate) kube_reserved: &'a Resources,
    /// The name of the image, which contains Bottlerocket's version.
    pub(crate) image_name: Option<&'a str>,
}

/// Why user data cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserDataError {
    /// It begins like a MIME archive, but is not one.
    #[error("spec.userData begins like a MIME multipart archive, but {0}")]
    Mime(String),
    /// It is not TOML.
    #[error("spec.userData of Bottlerocket nodes must be TOML: {0}")]
    Toml(String),
    /// A field that must be a table has another type.
    #[error("spec.userData: {0} must be a table")]
    NotATable(&'static str),
    /// nodeadm needs the service CIDR.
    #[error("the cluster's service CIDR is not known, and AL2023 nodes cannot join without it")]
    NoServiceCidr,
    /// A kubelet setting is not valid JSON.
    #[error("spec.kubelet.{0} is not valid JSON")]
    KubeletField(Text),
    /// It is longer than EC2 accepts.
    #[error("user data has {0} bytes, EC2 takes at most {BYTES_MAX}")]
    TooLong(usize),
}

impl Bootstrap<'_> {
    /// The addresses of DNS servers: the user's, else the cluster's.
    pub(super) fn cluster_dns(&self) -> Vec<Text> {
        match self.spec.kubelet.cluster_dns.as_slice() {
            [] => self.cluster.dns_address().into_iter().collect(),
            own => own.to_vec(),
        }
    }
}
