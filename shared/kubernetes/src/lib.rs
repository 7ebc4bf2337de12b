//! The Kubernetes API behind the port `Cluster`.
