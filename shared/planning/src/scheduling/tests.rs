//! What `plan` does with pods that need a place, subject by subject.

mod affinity;
mod better;
mod bound;
mod buffer;
mod claim;
mod cluster_limit;
mod daemon;
mod exact;
mod existing;
mod fixed;
mod limit;
mod min_values;
mod overlay;
mod preference;
mod reason;
mod requirement;
mod reservation;
mod rollout;
mod spot;
mod spot_share;
mod spread;
mod trap;
mod volume;
mod weight;
mod wish;
