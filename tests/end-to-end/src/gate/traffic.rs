//! What has passed the gates, and what does not pass.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use hyper::{Response, StatusCode};
use tokio::sync::{broadcast, oneshot, watch};

use super::answer::{self, Refusal};
use super::call::{Call, Head, Side};
use super::permission;
use super::usage::Usage;

/// The record of calls, and the rules for them, shared by all gates.
#[derive(Debug)]
pub struct Traffic {
    state: Mutex<State>,
    cut: watch::Sender<BTreeSet<Side>>,
    expired: broadcast::Sender<()>,
    closing: broadcast::Sender<()>,
    usage: Mutex<Usage>,
    /// What callers may do at DynamoDB; of all others nobody asks.
    rights: Mutex<BTreeMap<String, BTreeSet<String>>>,
}

#[derive(Debug, Default)]
struct State {
    calls: Vec<Call>,
    /// How many calls were made before those in the record.
    forgotten: usize,
    refused: BTreeMap<String, Refusal>,
    throttled: BTreeMap<String, u32>,
    lost: BTreeMap<String, u32>,
    /// Of so many answers that tell of a change one is lost; and how many there were.
    lost_each: Option<(u32, u32)>,
    trap: Option<SetTrap>,
    expired_at: Option<Instant>,
    listed: BTreeMap<String, Instant>,
}

/// When a caller dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The other side never hears of the call.
    Before,
    /// The other side has done what it was asked; the caller never hears of that.
    After,
}

/// The calls that a trap counts.
#[derive(Debug)]
enum Counted {
    All,
    /// Those that may leave a trace.
    Changes,
    /// Those of an action that do, such as `ec2:CreateFleet`.
    ChangesOf(String),
}

#[derive(Debug)]
struct SetTrap {
    caller: String,
    /// Calls of the caller still to let pass.
    left: u32,
    /// Which calls count.
    counted: Counted,
    moment: Moment,
    sprung: oneshot::Sender<Call>,
    released: oneshot::Receiver<()>,
}

impl SetTrap {
    fn is_for(&self, head: &Head) -> bool {
        let is_counted = match &self.counted {
            Counted::All => true,
            Counted::Changes => head.is_change(),
            Counted::ChangesOf(action) => head.action == *action && head.is_change(),
        };
        self.caller == head.caller && is_counted
    }
}

/// A trap that was set: tells when the caller is in it, and holds the call until it is released.
#[derive(Debug)]
pub struct Trap {
    /// The call that the caller is in.
    pub sprung: oneshot::Receiver<Call>,
    /// Notified once the caller is dead; gone after that.
    pub released: Option<oneshot::Sender<()>>,
}

/// What becomes of a call.
pub(super) enum Verdict {
    /// It is passed on; its place in the record.
    Pass(usize),
    /// It is answered here.
    Answer(usize, Response<String>),
    /// The connection ends.
    Drop,
}

impl Default for Traffic {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            cut: watch::Sender::new(BTreeSet::new()),
            expired: broadcast::Sender::new(1),
            closing: broadcast::Sender::new(1),
            usage: Mutex::default(),
            rights: Mutex::default(),
        }
    }
}

impl Traffic {
    /// Forgets all calls and all rules.
    pub fn reset(&self) {
        let mut state = self.state();
        let forgotten = state.forgotten + state.calls.len();
        *state = State { forgotten, ..State::default() };
        drop(state);
        self.cut.send_replace(BTreeSet::new());
    }

    /// Forgets all calls; the rules stay.
    pub fn forget_calls(&self) {
        let mut state = self.state();
        state.forgotten += state.calls.len();
        state.calls.clear();
    }

    /// Calls since the last reset, in the order in which they were received.
    pub fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    /// How many calls a caller has made.
    pub fn count(&self, caller: &str) -> usize {
        self.state().calls.iter().filter(|call| call.caller == caller).count()
    }

    /// Calls of one action, such as `ec2:CreateFleet`.
    pub fn calls_of(&self, action: &str) -> Vec<Call> {
        self.state().calls.iter().filter(|call| call.action == action).cloned().collect()
    }

    /// What was called since the start, forgotten or not.
    pub fn usage(&self) -> Usage {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says what a caller's role may do, of which DynamoDB is asked here. It stays until it is said
    /// anew.
    pub fn permit(&self, caller: &str, actions: BTreeSet<String>) {
        let mut rights = self.rights.lock().unwrap_or_else(PoisonError::into_inner);
        rights.insert(caller.to_owned(), actions);
    }

    /// The first action that a call takes and its caller's role lacks.
    fn lacked(&self, head: &Head) -> Option<String> {
        let rights = self.rights.lock().unwrap_or_else(PoisonError::into_inner);
        let actions = rights.get(&head.caller)?;
        let needed = permission::needed(head).into_iter().map(|needed| needed.action);
        needed.into_iter().find(|action| !actions.contains(action))
    }

    /// Has an action of AWS denied from now on.
    pub fn deny(&self, action: &str) {
        self.state().refused.insert(action.to_owned(), Refusal::Denied);
    }

    /// Has the next calls of an action throttled.
    pub fn throttle(&self, action: &str, times: u32) {
        self.state().throttled.insert(action.to_owned(), times);
    }

    /// Has the answers of the next calls of an action lost: the other side has acted, the
    /// connection ends, and the caller goes on without knowing.
    pub fn lose_answers(&self, action: &str, times: u32) {
        self.state().lost.insert(action.to_owned(), times);
    }

    /// Has of so many answers of EC2 that tell of a change one lost, as [`Self::lose_answers`]
    /// does. One to a fleet that launched nothing is none of them.
    pub fn lose_answers_of_ec2(&self, one_in: u32) {
        self.state().lost_each = Some((one_in, 0));
    }

    /// Allows what was denied.
    pub fn allow(&self, action: &str) {
        self.state().refused.remove(action);
    }

    /// Cuts all connections to a side; nobody can reach it.
    pub fn cut(&self, side: Side) {
        self.cut.send_modify(|sides| {
            sides.insert(side);
        });
    }

    /// The side can be reached again.
    pub fn restore(&self, side: Side) {
        self.cut.send_modify(|sides| {
            sides.remove(&side);
        });
    }

    /// Ends every watch with `410 Gone`, and refuses watches the same way until the caller has
    /// listed again.
    pub fn expire_watches(&self) {
        self.state().expired_at = Some(Instant::now());
        // Nobody watching is fine.
        let _ = self.expired.send(());
    }

    /// Closes connections that nothing passes on, as servers do with those that were idle for long.
    pub fn close_idle(&self) {
        // No connection at all is fine.
        let _ = self.closing.send(());
    }

    /// Sets a trap for the call number `nth` (from 1) that a caller makes from now on.
    pub fn trap(&self, caller: &str, nth: u32, moment: Moment) -> Trap {
        self.set_trap(caller, nth, moment, Counted::All)
    }

    /// Kills the caller at the change number `nth`: who dies after a read leaves the world as after
    /// the change before it.
    pub fn trap_change(&self, caller: &str, nth: u32, moment: Moment) -> Trap {
        self.set_trap(caller, nth, moment, Counted::Changes)
    }

    /// Kills the caller in its first call of an action that is not a dry run.
    pub fn trap_action(&self, caller: &str, action: &str, moment: Moment) -> Trap {
        self.set_trap(caller, 1, moment, Counted::ChangesOf(action.to_owned()))
    }

    /// Takes away the trap that was set and not sprung.
    pub fn disarm(&self) {
        self.state().trap = None;
    }

    fn set_trap(&self, caller: &str, nth: u32, moment: Moment, counted: Counted) -> Trap {
        let (sprung, sprung_receiver) = oneshot::channel();
        let (released, released_receiver) = oneshot::channel();
        self.state().trap = Some(SetTrap {
            caller: caller.to_owned(),
            left: nth,
            counted,
            moment,
            sprung,
            released: released_receiver,
        });
        Trap { sprung: sprung_receiver, released: Some(released) }
    }

    pub(super) fn cuts(&self) -> watch::Receiver<BTreeSet<Side>> {
        self.cut.subscribe()
    }

    pub(super) fn expiries(&self) -> broadcast::Receiver<()> {
        self.expired.subscribe()
    }

    pub(super) fn closings(&self) -> broadcast::Receiver<()> {
        self.closing.subscribe()
    }

    pub(super) async fn admit(&self, head: &Head) -> Verdict {
        if self.cut.borrow().contains(&head.side) {
            return Verdict::Drop;
        }
        let (verdict, trap) = self.judge(head);
        if let Some(trap) = trap {
            hold(trap, head.call()).await;
            return Verdict::Drop;
        }
        verdict
    }

    fn judge(&self, head: &Head) -> (Verdict, Option<SetTrap>) {
        self.usage.lock().unwrap_or_else(PoisonError::into_inner).note(head);
        let mut state = self.state();
        state.calls.push(head.call());
        let number = state.forgotten + state.calls.len() - 1;
        if let Some(trap) = state.count_towards_trap(head, Moment::Before) {
            return (Verdict::Drop, Some(trap));
        }
        let verdict = match (state.refusal(head), self.lacked(head)) {
            (Some(answer), _) => Verdict::Answer(number, answer),
            (None, Some(lacked)) => {
                let answer = answer::refuse(&head.action, &lacked, Refusal::Denied);
                Verdict::Answer(number, answer)
            }
            (None, None) => Verdict::Pass(number),
        };
        (verdict, None)
    }

    /// After the other side has answered: `Break` where the caller is dead by now, or the answer
    /// is lost.
    pub(super) async fn after(
        &self,
        head: &Head,
        status: StatusCode,
        body: &[u8],
    ) -> ControlFlow<()> {
        if self.state().loses_answer(head, status, body) {
            return ControlFlow::Break(());
        }
        let trap = self.state().spring_after(head);
        match trap {
            Some(trap) => {
                hold(trap, head.call()).await;
                ControlFlow::Break(())
            }
            None => ControlFlow::Continue(()),
        }
    }

    pub(super) fn answered(&self, number: usize, status: u16) {
        let mut state = self.state();
        let place = number.checked_sub(state.forgotten);
        if let Some(call) = place.and_then(|place| state.calls.get_mut(place)) {
            call.status = Some(status);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether something is there, or gone, that was not before the call.
fn tells_of_a_change(head: &Head, status: StatusCode, body: &[u8]) -> bool {
    let is_empty_fleet = head.action == "ec2:CreateFleet"
        && !String::from_utf8_lossy(body).contains("<instanceIds>");
    status.is_success() && !is_empty_fleet
}

/// Says that the caller is in the trap, and waits until it is dead.
async fn hold(trap: SetTrap, call: Call) {
    if trap.sprung.send(call).is_ok() {
        let _ = trap.released.await;
    }
}

impl State {
    /// Counts a call of the trap's caller; takes the trap where it is the one, and it springs
    /// before the call.
    fn count_towards_trap(&mut self, head: &Head, moment: Moment) -> Option<SetTrap> {
        let trap = self.trap.as_mut().filter(|trap| trap.is_for(head) && trap.left > 0)?;
        trap.left -= 1;
        (trap.left == 0 && trap.moment == moment).then(|| self.trap.take()).flatten()
    }

    fn spring_after(&mut self, head: &Head) -> Option<SetTrap> {
        let is_due = self.trap.as_ref().is_some_and(|trap| {
            trap.is_for(head) && trap.left == 0 && trap.moment == Moment::After
        });
        is_due.then(|| self.trap.take()).flatten()
    }

    fn loses_answer(&mut self, head: &Head, status: StatusCode, body: &[u8]) -> bool {
        if !head.is_change() {
            return false;
        }
        if let Some((one_in, count)) = &mut self.lost_each
            && head.action.starts_with("ec2:")
            && tells_of_a_change(head, status, body)
        {
            *count += 1;
            if count.is_multiple_of(*one_in) {
                return true;
            }
        }
        let Some(left) = self.lost.get_mut(&head.action).filter(|left| **left > 0) else {
            return false;
        };
        *left -= 1;
        true
    }

    fn refusal(&mut self, head: &Head) -> Option<Response<String>> {
        if head.side == Side::Kubernetes {
            return self.expiry(head);
        }
        if let Some(refusal) = self.refused.get(&head.action) {
            return Some(answer::refuse(&head.action, &head.action, *refusal));
        }
        let left = self.throttled.get_mut(&head.action).filter(|left| **left > 0)?;
        *left -= 1;
        Some(answer::refuse(&head.action, &head.action, Refusal::Throttled))
    }

    fn expiry(&mut self, head: &Head) -> Option<Response<String>> {
        let path = head.path.clone();
        if !head.is_watch() {
            self.listed.insert(path, head.received);
            return None;
        }
        let expired_at = self.expired_at?;
        let is_fresh = self.listed.get(&path).is_some_and(|listed| *listed > expired_at);
        (!is_fresh).then(answer::expired_watch)
    }
}
