//! The controllers' ports over a world that is shared by all of them.

mod claim_store;
mod cloud;
mod cluster;
mod clusters;

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use controllers::ports::{Clock, ErrorKind, PortError};
use domain::{Text, Timestamp};

use crate::report::Happening;
use crate::world::World;
pub(crate) use cloud::{CLAIM_TAG, CLAIM_UID_TAG};
pub(crate) use cluster::view_of;
pub use clusters::Worlds;

/// A handle on a world: cluster, cloud, table and clock in one. Clones share the world; each stands for a
/// process of its own, which watches for itself and may die.
#[derive(Debug)]
pub struct SharedWorld {
    world: Rc<RefCell<World>>,
    /// What asked for nodes when the cluster was last looked at through this handle.
    demand: RefCell<Demanded>,
    /// The number of the last call through this handle; 0 before the first.
    last_call: Cell<u64>,
    /// What it waits for, if it waits for a moment.
    wakes_at: Cell<Option<Timestamp>>,
    is_dead: Cell<bool>,
}

/// What asks for nodes at a revision of the API server, by uid.
#[derive(Clone, Debug, Default)]
struct Demanded {
    revision: u64,
    uids: BTreeSet<Text>,
}

impl Clone for SharedWorld {
    fn clone(&self) -> Self {
        Self::of(Rc::clone(&self.world))
    }
}

impl SharedWorld {
    /// Shares a world.
    pub fn new(world: World) -> Self {
        Self::of(Rc::new(RefCell::new(world)))
    }

    fn of(world: Rc<RefCell<World>>) -> Self {
        Self {
            world,
            demand: RefCell::default(),
            last_call: Cell::new(0),
            wakes_at: Cell::new(None),
            is_dead: Cell::new(false),
        }
    }

    /// Looks at the world.
    pub fn look(&self) -> Ref<'_, World> {
        self.world.borrow()
    }

    /// Changes the world. What is due or unsettled is left for [`World::advance_to`].
    pub fn change(&self) -> RefMut<'_, World> {
        self.world.borrow_mut()
    }

    /// When the process goes on, where it waits for a moment.
    pub fn wakes_at(&self) -> Option<Timestamp> {
        self.wakes_at.get()
    }

    /// Forgets what it waited for: it is asked again.
    pub fn wake(&self) {
        self.wakes_at.set(None);
    }

    /// Whether the process was killed.
    pub fn is_dead(&self) -> bool {
        self.is_dead.get()
    }

    /// Starts a call, unless a fault is drawn for it.
    async fn call(&self, operation: &'static str) -> Result<RefMut<'_, World>, PortError> {
        self.set_out().await;
        let mut world = self.world.borrow_mut();
        if world.is_throttled(self.last_call.get()) {
            let now = world.now;
            world.journal.add(now, Happening::Fault(format!("{operation} is throttled").into()));
            return Err(PortError::new(ErrorKind::Throttled, operation, "too many requests"));
        }
        Ok(world)
    }

    /// A request on its way. A process that dies after a call is never seen to make the next.
    async fn set_out(&self) {
        self.outlive_last_call().await;
        let call = self.world.borrow_mut().count_call();
        self.last_call.set(call);
        let (now, takes) = {
            let world = self.look();
            (world.now, world.call_takes(call))
        };
        self.wait_until(now + takes).await;
    }

    async fn outlive_last_call(&self) {
        let call = self.last_call.get();
        if call > 0 && self.look().is_last_call(call) {
            self.is_dead.set(true);
            std::future::pending::<()>().await;
        }
    }

    async fn wait_until(&self, moment: Timestamp) {
        poll_fn(|_| self.poll_moment(moment)).await;
    }

    fn poll_moment(&self, moment: Timestamp) -> Poll<()> {
        if self.look().now >= moment {
            return Poll::Ready(());
        }
        // Of several things that it waits for at once, the first wakes it.
        let sooner = self.wakes_at.get().map_or(moment, |own| own.min(moment));
        self.wakes_at.set(Some(sooner));
        Poll::Pending
    }
}

impl Clock for SharedWorld {
    fn now(&self) -> Timestamp {
        self.look().now
    }

    async fn sleep_until(&self, until: Timestamp) {
        self.outlive_last_call().await;
        self.wait_until(until).await;
    }
}

#[cfg(test)]
mod tests;
