//! What is remembered between runs: values of the domain and how far they have come.

pub mod claim;
pub mod command;
pub mod launch;
pub mod nomination;
pub mod pool;
pub mod unavailable;
