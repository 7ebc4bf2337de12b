//! The Kubernetes API behind the port `Cluster`: the only crate that names a kube client.
//!
//! [`Connection`] connects to an API server: for EKS with an [`Endpoint`] and a [`TokenSource`],
//! for local use by kubeconfig. [`KubernetesCluster`] is the port over it;
//! [`KubernetesCluster::list`] also returns the objects that could not be read, for display.
//!
//! Needs a Tokio runtime with I/O and time; one thread is enough. The client's own log target,
//! `kube_client`, logs every refusal as an error, expected ones among them: leave it out of logs.

mod attachment;
mod authority;
mod call;
mod cluster;
mod cluster_listing;
mod connection;
mod demand;
mod failure;
mod item;
mod kind;
mod list;
mod list_cluster;
mod observe;
mod patch;
mod reflector;
mod scheduler_config;
mod send;
mod state;
mod token;
mod uninstall;
mod usage;
mod watch;
mod wire;
mod write;

pub use cluster::KubernetesCluster;
pub use connection::{Connection, Endpoint};
pub use item::ObjectProblem;
pub use list_cluster::{ListMode, ListedCluster};
pub use observe::{Observation, Observed, POD_METRICS, observe, observed_kinds};
pub use token::{Token, TokenSource};
pub use uninstall::{Leftovers, Unregistered};
pub use usage::ContainerUsage;
