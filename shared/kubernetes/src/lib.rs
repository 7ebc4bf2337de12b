//! The Kubernetes API behind the port `Cluster`: the only crate that names a kube client.
//!
//! [`Connection`] is the way to an API server: for EKS with an [`Endpoint`] and a [`TokenSource`], for local
//! use by kubeconfig. [`KubernetesCluster`] is the port over it; [`KubernetesCluster::look`] also says what
//! could not be read, for whoever shows it to people.
//!
//! Needs a Tokio runtime with I/O and time; one thread will do. The client's own log target, `kube_client`,
//! tells of every refusal as an error, expected ones among them: leave it out of logs.

mod attachment;
mod call;
mod cluster;
mod cluster_listing;
mod connection;
mod demand;
mod failure;
mod item;
mod kind;
mod list;
mod look;
mod patch;
mod state;
mod table;
mod token;
mod watch;
mod wire;
mod write;

pub use cluster::KubernetesCluster;
pub use connection::{Connection, Endpoint};
pub use item::ObjectProblem;
pub use look::{Look, Reading};
pub use token::{Token, TokenSource};
