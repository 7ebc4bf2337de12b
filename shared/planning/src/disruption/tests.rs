//! What `plan` takes away or replaces, subject by subject.

mod balanced;
mod block;
mod budget;
mod consolidation;
mod drift;
mod drift_of_instances;
mod empty;
mod fixed;
mod forced;
mod validation;
mod worth;
