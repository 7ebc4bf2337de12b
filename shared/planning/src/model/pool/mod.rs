//! A NodePool made ready for planning: the instance types it may launch, as bit sets and arrays.
//!
//! [`build`] makes it from a snapshot, [`compatible`] narrows it by requirements, [`price`] says
//! what it costs, [`counted`] what limits count it as, [`bin`] which of its offerings packing and
//! the relaxation choose from.

mod bin;
mod build;
mod compatible;
mod counted;
mod launchable;
mod local_room;
mod narrowing;
mod price;
mod unmet;

pub(crate) use bin::{Bin, NodeKind, bins};
pub(crate) use build::{Names, pools};
pub(crate) use launchable::{
    Compatible, MinValuesUnmet, OfferingMask, Pool, PoolType, PricedType, Purchase, TypeOffering,
    TypeRate,
};
pub(crate) use local_room::Narrowing;
