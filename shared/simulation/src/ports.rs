//! The controllers' ports over a world that all controllers share.

mod claim_store;
mod cloud;
mod cluster;
mod clusters;
mod instance;
mod launch;
mod shared_world;

pub(crate) use cluster::listing_of;
pub use clusters::Worlds;
pub(crate) use instance::{CLAIM_TAG, CLAIM_UID_TAG};
pub use shared_world::SharedWorld;

#[cfg(test)]
mod tests;
