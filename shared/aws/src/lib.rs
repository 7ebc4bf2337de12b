//! What all clients of AWS share, and the services that need no EC2: DynamoDB behind the port
//! `ClaimStore`, EKS, SQS.
//!
//! Calls are sent within a budget ([`budget`], [`throttle`]), and their errors are of a kind
//! ([`error`]). This crate and `ec2`, which goes on from here, are the only ones that name an AWS
//! SDK. They are two because the client of EC2 takes 7 GiB to compile: cargo begins with the crates
//! that most others depend on, so that it comes last, beside nothing that is large.

pub mod budget;
pub mod calls;
pub mod cluster;
pub mod eks;
pub mod error;
pub mod freshness;
pub mod sdk;
pub mod store;
pub mod throttle;
pub mod wakes;
