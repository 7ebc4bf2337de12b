//! The live cluster of a kubeconfig, looked at once; nothing is changed in it.
//!
//! Needs the feature `live`, which brings a Kubernetes client. Without it the commands are there and say how to get it.

#[cfg(feature = "live")]
mod look;

#[cfg(feature = "live")]
pub(crate) use look::observe;

#[cfg(not(feature = "live"))]
use crate::observation::{Observation, ObservationError, Sight};

/// Why a live cluster cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LiveError {
    /// Built without a Kubernetes client.
    #[cfg(not(feature = "live"))]
    #[error(
        "a live cluster needs a build with a Kubernetes client: `cargo install --path functions/cli --features live`; \
         or save what is to be looked at: `kubectl get nodes,pods,nodepools,ec2nodeclasses,nodeclaims -A -o yaml`, \
         and name the file with -f"
    )]
    NotBuiltIn,
    /// The runtime of the client does not start.
    #[cfg(feature = "live")]
    #[error("cannot look at the cluster")]
    Runtime(#[source] std::io::Error),
    /// The cluster does not answer, or does not let us look.
    #[cfg(feature = "live")]
    #[error("cannot look at the cluster")]
    Cluster(#[source] controllers::ports::PortError),
}

#[cfg(not(feature = "live"))]
pub(crate) fn observe(_: &Sight<'_>) -> Result<Observation, ObservationError> {
    Err(LiveError::NotBuiltIn.into())
}
