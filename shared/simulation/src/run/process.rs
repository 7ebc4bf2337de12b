//! Invocations as processes: each is a future that is polled when its time has come, may be
//! interleaved with others at every call, and may die after any.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use domain::Timestamp;

use crate::ports::SharedWorld;

/// An invocation under way.
pub(super) struct Process {
    handle: Rc<SharedWorld>,
    future: Pin<Box<dyn Future<Output = ()>>>,
}

/// What came of letting a process go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It has returned.
    Done,
    /// It was killed: its last request took effect, and the response was lost.
    Died,
    /// It waits.
    Waits,
}

impl Process {
    /// An invocation that works through a handle of its own on the world.
    pub(super) fn start<F: Future<Output = ()> + 'static>(
        world: &SharedWorld,
        invocation: impl FnOnce(Rc<SharedWorld>) -> F,
    ) -> Self {
        let handle = Rc::new(world.clone());
        let future = Box::pin(invocation(Rc::clone(&handle)));
        Self { handle, future }
    }

    /// When it goes on if nothing changes before; `None` for one that waits for a change alone.
    pub(super) fn wakes_at(&self) -> Option<Timestamp> {
        self.handle.wakes_at()
    }

    /// Lets it go on until it waits.
    pub(super) fn step(&mut self) -> Step {
        // Nobody wakes it: it is polled again at every turn.
        self.handle.wake();
        let mut context = Context::from_waker(Waker::noop());
        match self.future.as_mut().poll(&mut context) {
            Poll::Ready(()) => Step::Done,
            Poll::Pending if self.handle.is_dead() => Step::Died,
            Poll::Pending => Step::Waits,
        }
    }
}
