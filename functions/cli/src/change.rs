//! A cluster as it is once a set of manifests is applied to it, in place of another set.

mod applied;
mod differences;
mod live;
mod owned;
mod replaced;

pub(crate) use applied::{Applied, Change};
pub(crate) use differences::{Difference, ObjectChange};
pub(crate) use replaced::with_new_nodes;
