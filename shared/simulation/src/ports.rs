//! The controllers' ports over a world that is shared by all of them.

mod claim_store;
mod cloud;
mod cluster;

use std::cell::{Ref, RefCell, RefMut};
use std::rc::Rc;

use controllers::ports::{Clock, ErrorKind, PortError};
use domain::Timestamp;

use crate::report::Happening;
use crate::world::World;
pub(crate) use cloud::{CLAIM_TAG, CLAIM_UID_TAG};

/// A handle on a world: cluster, cloud, table and clock in one. Clones share the world.
#[derive(Clone, Debug)]
pub struct SharedWorld(Rc<RefCell<World>>);

impl SharedWorld {
    /// Shares a world.
    pub fn new(world: World) -> Self {
        Self(Rc::new(RefCell::new(world)))
    }

    /// Looks at the world.
    pub fn look(&self) -> Ref<'_, World> {
        self.0.borrow()
    }

    /// Changes the world. What is due or unsettled is left for [`World::advance_to`].
    pub fn change(&self) -> RefMut<'_, World> {
        self.0.borrow_mut()
    }

    /// Starts a call, unless a fault is drawn for it.
    fn call(&self, operation: &'static str) -> Result<RefMut<'_, World>, PortError> {
        let mut world = self.0.borrow_mut();
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
}

#[cfg(test)]
mod tests;
