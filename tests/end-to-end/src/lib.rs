//! The end-to-end rig: what the compiled functions meet in an account, as real as a registry has
//! it.
//!
//! Real: etcd, kube-apiserver, kube-scheduler and kube-controller-manager with TLS and RBAC;
//! DynamoDB Local. Stood in for: AWS's other services (moto, with what it lacks added), Lambda (its
//! runtime API), the machines (kubelet and what boots it). Between functions and all of that stands
//! the [`gate`], which keeps a record of every call and lets things go wrong.
//!
//! `./run` is the one command: it brings the servers, builds the functions and runs the cases in
//! `tests/`.

pub mod authority;
pub mod aws;
pub mod behaviour;
pub mod cache;
pub mod cloud;
pub mod control_plane;
pub mod dynamodb;
pub mod gate;
pub mod http;
pub mod kubelet;
pub mod lambda;
pub mod objects;
pub mod process;
pub mod stack;
pub mod table;
pub mod world;
pub mod worlds;
