//! What simulated clusters live through, a file each. All are one program: it is linked once, and
//! the tests of all files share the machine's threads.

#![expect(clippy::unwrap_used, reason = "what cannot be read or run ends the test")]

mod addresses;
mod announcements;
mod bundled;
mod canary;
mod commitments;
mod crashes;
mod days;
mod demand_checks;
mod drift_waves;
mod expiration;
mod faults;
mod history;
mod idle_runs;
mod image_age;
mod limits;
mod lost_records;
mod node_class_changes;
mod off_hours;
mod pool_and_pods;
mod recordings;
mod report_text;
mod rollouts;
mod scheduler_config;
mod schedules;
mod small_scenario;
mod spot;
mod stable;
mod static_pools;
mod strict;

/// As in the command.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
