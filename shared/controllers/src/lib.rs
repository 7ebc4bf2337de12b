//! The controllers: list through ports, plan with the pure core, check, execute through ports.
//!
//! One use case a module. Every decision is pure and lives in `planning`, in `checker` or in
//! [`steps`]; the modules here read and write. State lives in the [`ports::ClaimStore`] and in the
//! cluster, never in the process, so that any run can resume the work of another.

pub mod admission;
pub mod claim_cache;
pub mod core;
mod deletion_cost;
pub mod disruption;
pub mod event;
pub mod handback;
mod holding_back;
pub mod interruption;
pub mod launch;
mod lease;
pub mod lifecycle;
pub mod node_classes;
mod nomination;
pub mod pod_fingerprints;
mod pod_writes;
pub mod ports;
pub mod provisioning;
pub mod record;
pub mod requeue;
pub mod run;
pub mod safeguards;
mod spot;
pub mod status;

pub mod steps;

#[cfg(test)]
mod testing;
