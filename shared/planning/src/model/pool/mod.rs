//! A NodePool made ready for planning: the instance types it may launch, as bit sets and arrays.
//!
//! [`build`] makes it from a snapshot, [`compatible`] narrows it by requirements, [`price`] says
//! what it costs.

mod build;
mod compatible;
mod launchable;
mod price;
mod unmet;

pub(crate) use build::pools;
pub(crate) use launchable::{
    Compatible, MinValuesUnmet, OfferingMask, Pool, PoolType, PricedType, TypeOffering, TypeRate,
};
