//! What EC2 is asked for on behalf of a claim: complete, so that a retry asks the very same.

use domain::Text;
use domain::label::Labels;
use domain::plan::LaunchOffering;
use domain::taint::Taint;

/// The resource of fabric adapters (Elastic Fabric Adapter).
pub const EFA: &str = "vpc.amazonaws.com/efa";

/// A request for one instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchRequest {
    /// CreateFleet's client token: the claim's uid.
    pub token: Text,
    /// The claim's name, for tags.
    pub claim: Text,
    /// The NodePool, for tags; empty for a claim that no pool made.
    pub node_pool: Text,
    /// The EC2NodeClass by name.
    pub node_class: Text,
    /// What may be launched, cheapest first: all of one capacity type, at least one.
    pub offerings: Vec<LaunchOffering>,
    /// Labels that user data tells the kubelet.
    pub labels: Labels,
    /// Taints that user data tells the kubelet, those of startup among them.
    pub taints: Vec<Taint>,
    /// Pods request Elastic Fabric Adapters (`vpc.amazonaws.com/efa`): the instance gets as many as
    /// its type supports.
    pub wants_efa: bool,
}
