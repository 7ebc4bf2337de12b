//! Amazon EC2, DynamoDB, EKS and SQS behind the ports of the controllers.
//!
//! [`ec2::Ec2`] is the port `Cloud`; [`catalogue`] gathers instance types, offerings and prices
//! into one document, so that a function starts from that instead of a hundred calls. This is the
//! only crate that names an AWS SDK.

#![expect(
    clippy::redundant_closure_for_method_calls,
    reason = "paths of generated types are longer than the closure"
)]

pub mod budget;
pub mod calls;
pub mod catalogue;
pub mod cluster;
pub mod ec2;
pub mod eks;
pub mod error;
pub mod sdk;
pub mod store;
#[cfg(test)]
mod testkit;
pub mod throttle;
pub mod user_data;
pub mod wakes;
