//! The controllers' ports over a world that is shared by all of them.

mod claim_store;
mod cloud;
mod cluster;

use std::cell::{Ref, RefCell, RefMut};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use controllers::ports::{Clock, ErrorKind, PortError};
use domain::{Text, Timestamp};

use crate::report::Happening;
use crate::world::World;
pub(crate) use cloud::{CLAIM_TAG, CLAIM_UID_TAG};
pub(crate) use cluster::is_waiting;

/// A handle on a world: cluster, cloud, table and clock in one. Clones share the world, and each watches
/// it for itself.
#[derive(Debug)]
pub struct SharedWorld {
    world: Rc<RefCell<World>>,
    /// What asked for nodes when the cluster was last looked at through this handle.
    demand: RefCell<BTreeSet<Text>>,
}

impl Clone for SharedWorld {
    fn clone(&self) -> Self {
        Self { world: Rc::clone(&self.world), demand: RefCell::default() }
    }
}

impl SharedWorld {
    /// Shares a world.
    pub fn new(world: World) -> Self {
        Self { world: Rc::new(RefCell::new(world)), demand: RefCell::default() }
    }

    /// Looks at the world.
    pub fn look(&self) -> Ref<'_, World> {
        self.world.borrow()
    }

    /// Changes the world. What is due or unsettled is left for [`World::advance_to`].
    pub fn change(&self) -> RefMut<'_, World> {
        self.world.borrow_mut()
    }

    /// Starts a call, unless a fault is drawn for it.
    fn call(&self, operation: &'static str) -> Result<RefMut<'_, World>, PortError> {
        let mut world = self.world.borrow_mut();
        if world.ec2.is_throttled() {
            let now = world.now;
            world.journal.add(now, Happening::Fault(format!("{operation} is throttled").into()));
            return Err(PortError::new(ErrorKind::Throttled, operation, "too many requests"));
        }
        Ok(world)
    }
}

impl Clock for SharedWorld {
    fn now(&self) -> Timestamp {
        self.look().now
    }

    async fn sleep_until(&self, until: Timestamp) {
        poll_fn(|_| if self.look().now >= until { Poll::Ready(()) } else { Poll::Pending }).await;
    }
}

#[cfg(test)]
mod tests;
