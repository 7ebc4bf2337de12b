//! Amazon EC2 behind the port `Cloud`, with what goes with it: images, instance profiles, prices.
//!
//! [`Ec2`] belongs to one cluster and lives as long as the process. What it remembers between calls
//! (existing launch templates, full subnets, passed dry runs) only saves calls, and may be empty.

#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "paths of generated types are longer than the closure"
)]

mod addresses;
mod cache;
mod calls;
pub mod catalogue;
mod client;
mod cloud;
mod filter;
mod fleet;
mod fleet_answer;
mod fleet_call;
mod image;
mod image_alias;
mod instance;
mod launch;
mod network;
mod node_class;
mod placement_group;
mod profile;
mod quota;
mod reservation;
mod status;
mod tags;
mod template;
mod templates;
mod termination;
#[cfg(test)]
mod testkit;
mod unresolved;
pub mod user_data;
mod validation;

pub use calls::Calls;
pub use client::{Ec2, Ec2Settings};
