//! One small cluster and plan for each rule that breaks it, and a twin that does not.

mod affinity;
mod claims;
mod cluster_limit;
mod default_constraints;
mod disruptions;
mod drift_waves;
mod expendable;
mod image_age;
mod off_hours;
mod offerings;
mod placements;
mod resources;
mod spreads;
mod usd_limit;
mod volumes;
mod zones;
