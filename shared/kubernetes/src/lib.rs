//! The Kubernetes API behind the port `Cluster`: the only crate that names a kube client.
//!
//! [`Connection`] is the way to an API server: for EKS with an [`Endpoint`] and a [`TokenSource`], for local
//! use by kubeconfig.

mod call;
mod connection;
mod failure;
mod token;

pub use connection::{Connection, Endpoint};
pub use token::{Token, TokenSource};
