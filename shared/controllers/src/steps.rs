//! Decisions of the controllers without I/O: records and lists in, records and actions out. Each
//! may be repeated any number of times for the same state.

pub mod adopt;
pub mod awaiting_capacity;
pub mod backoff;
pub mod buffer_status;
pub mod command;
pub mod condition;
pub mod consistency;
pub mod create;
pub mod drain;
pub mod drift;
pub mod drift_waves;
pub mod end;
pub mod join;
pub mod launch_outcome;
pub mod mirror;
pub mod node_class_status;
pub mod planned_pods;
pub mod pod_deletion_cost;
pub mod pod_events;
pub mod pod_nomination;
pub mod pool_status;
pub mod reservation;
pub mod restore;
pub mod rollout;
pub mod schedule;
pub mod snapshot;
pub mod tagging;
pub mod unreadable;
