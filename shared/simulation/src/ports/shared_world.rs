//! The handle through which a process uses a shared world.

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use controllers::claim_cache::{ClaimCache, ClaimWrites};
use controllers::ports::{Clock, ErrorKind, PortError, Wake, Wakes};
use domain::{Text, Timestamp};

use crate::report::Happening;
use crate::world::World;

/// A handle on a world: cluster, cloud, table and clock in one.
///
/// Clones share the world. Each handle is a process of its own, with its own watches, and may die;
/// but all know what any of them has read of claims, as those know that are invoked one after the
/// other in one environment of Lambda.
#[derive(Debug)]
pub struct SharedWorld {
    world: Rc<RefCell<World>>,
    /// The demand for nodes when it was last compared through this handle.
    pub(super) demand: RefCell<PendingDemand>,
    /// Claims as they were read last.
    pub(super) known_claims: Rc<ClaimCache>,
    /// Writes of claims that are under way.
    pub(super) claim_writes: RefCell<ClaimWrites>,
    /// The number of the last call through this handle; 0 before the first.
    last_call: Cell<u64>,
    /// What it waits for, if it waits for a moment.
    wakes_at: Cell<Option<Timestamp>>,
    is_dead: Cell<bool>,
}

/// The demand for nodes at a revision of the API server: uids of pods and Nodes.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingDemand {
    pub(super) revision: u64,
    pub(super) uids: BTreeSet<Text>,
}

impl Clone for SharedWorld {
    fn clone(&self) -> Self {
        Self::of(Rc::clone(&self.world), Rc::clone(&self.known_claims))
    }
}

impl SharedWorld {
    /// Shares a world.
    pub fn new(world: World) -> Self {
        Self::of(Rc::new(RefCell::new(world)), Rc::default())
    }

    fn of(world: Rc<RefCell<World>>, known_claims: Rc<ClaimCache>) -> Self {
        Self {
            world,
            demand: RefCell::default(),
            known_claims,
            claim_writes: RefCell::default(),
            last_call: Cell::new(0),
            wakes_at: Cell::new(None),
            is_dead: Cell::new(false),
        }
    }

    /// Borrows the world to read it.
    pub fn read(&self) -> Ref<'_, World> {
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

    /// Ends the wait, so that the process is polled again.
    pub fn wake(&self) {
        self.wakes_at.set(None);
    }

    /// Whether the process was killed.
    pub fn is_dead(&self) -> bool {
        self.is_dead.get()
    }

    /// Starts a call, unless a fault is drawn for it.
    pub(super) async fn call(
        &self,
        operation: &'static str,
    ) -> Result<RefMut<'_, World>, PortError> {
        self.set_out().await;
        let mut world = self.world.borrow_mut();
        if world.is_throttled(self.last_call.get()) {
            let now = world.now;
            world.journal.add(now, Happening::Fault(format!("{operation} is throttled").into()));
            return Err(PortError::new(ErrorKind::Throttled, operation, "too many requests"));
        }
        if !only_reads(operation) {
            world.effects += 1;
        }
        Ok(world)
    }

    /// A request on its way. A process that dies after a call is never seen to make the next.
    pub(super) async fn set_out(&self) {
        self.outlive_last_call().await;
        let call = self.world.borrow_mut().count_call();
        self.last_call.set(call);
        let (now, takes) = {
            let world = self.read();
            (world.now, world.call_takes(call))
        };
        self.wait_until(now + takes).await;
    }

    pub(super) async fn outlive_last_call(&self) {
        if self.dies_now() {
            self.is_dead.set(true);
            std::future::pending::<()>().await;
        }
    }

    /// Whether the process dies before it makes another call.
    pub(super) fn dies_now(&self) -> bool {
        let call = self.last_call.get();
        call > 0 && self.read().is_last_call(call)
    }

    pub(super) async fn wait_until(&self, moment: Timestamp) {
        poll_fn(|_| self.poll_moment(moment)).await;
    }

    pub(super) fn poll_moment(&self, moment: Timestamp) -> Poll<()> {
        if self.read().now >= moment {
            return Poll::Ready(());
        }
        // Of several things that it waits for at once, the first wakes it.
        let sooner = self.wakes_at.get().map_or(moment, |own| own.min(moment));
        self.wakes_at.set(Some(sooner));
        Poll::Pending
    }
}

/// Whether a call changes nothing that a later run of any function sees. Leases come and go with
/// every run, and messages are seen where they lie.
fn only_reads(operation: &str) -> bool {
    const PREFIXES: [&str; 4] = ["list ", "Query ", "GetItem ", "Describe"];
    const OTHERS: [&str; 3] = ["PutItem lease", "SendMessage", "create events"];
    PREFIXES.iter().any(|prefix| operation.starts_with(prefix)) || OTHERS.contains(&operation)
}

impl Clock for SharedWorld {
    fn now(&self) -> Timestamp {
        self.read().now
    }

    async fn sleep_until(&self, until: Timestamp) {
        self.outlive_last_call().await;
        self.wait_until(until).await;
    }
}

impl Wakes for SharedWorld {
    async fn wake(&self, wake: Wake) -> Result<(), PortError> {
        self.call("SendMessage").await?.wakes.push(wake);
        Ok(())
    }

    async fn wake_all(&self, wakes: &[Wake]) -> Result<(), PortError> {
        self.call("SendMessage").await?.wakes.extend(wakes);
        Ok(())
    }
}
