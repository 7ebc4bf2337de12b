//! EC2: instances, what they cost, and how CreateFleet chooses among what is left.
//!
//! Source: "CreateFleet" and "Allocation strategies" of the EC2 documentation, as far as an instant
//! fleet of one instance goes.

mod behaviour;
mod capacity_pool;
mod cloud;
mod description;
mod fleet;
mod fleet_request;
mod image;
mod instance;

pub use behaviour::{Ec2Behaviour, FailedToken, RepeatedLaunch};
pub use capacity_pool::CapacityPool;
pub(crate) use cloud::Reclaim;
pub use cloud::{Ec2, Faults, Supply};
pub use fleet_request::{
    CallRefusal, FleetAnswer, FleetError, FleetErrorCode, FleetOverride, FleetRequest, PoolError,
};
pub use instance::{Instance, InstanceState, Registration};

pub use image::PublishedImage;
pub(crate) use image::{changes as images_change, resolved_images, select as select_images};

#[cfg(test)]
mod tests;
