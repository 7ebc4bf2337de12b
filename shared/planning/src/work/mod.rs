//! What one stage of planning hands to the next: pods that need new nodes, and nodes to launch for
//! them.

mod item;
mod new_node;

pub(crate) use item::Item;
pub(crate) use new_node::{Member, NewNode};
