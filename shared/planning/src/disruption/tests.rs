//! What `plan` removes or replaces, subject by subject.

mod balanced;
mod block;
mod budget;
mod buffer;
mod commitment;
mod consolidation;
mod drains;
mod drift;
mod drift_of_instances;
mod drift_waves;
mod empty;
mod expendable;
mod expiration;
mod forced;
mod image_age;
mod interruptions;
mod look_ahead;
mod off_hours;
mod pending;
mod reservation;
mod resident;
mod scoring;
mod static_capacity;
mod utilization;
mod validation;
mod worth;
