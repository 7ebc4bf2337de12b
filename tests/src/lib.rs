//! What tests of several crates share: conformance scenarios and how they are judged, builders and
//! generators of clusters, mutations of plans, and the workspace's own sources as data.
//!
//! The tests themselves stand in `tests/tests`, one file a concern.

pub mod builder;
pub mod conformance;
pub mod fleet;
pub mod fuzzing;
pub mod generator;
pub mod imports;
pub mod mutation;
pub mod plan_document;
pub mod template;
pub mod workload;
pub mod workspace;
