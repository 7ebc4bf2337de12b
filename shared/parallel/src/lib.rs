//! Two pieces of work at once.
//!
//! Which of them is done first may change no answer: what both use is read only, or comes out the
//! same whoever works it out.

use std::panic::resume_unwind;
use std::thread;

/// The answers of both, the second worked out by another thread: where the system has none to give,
/// by this one, once it is done with the first. A panic of either is one of the caller's.
///
/// A thread costs some 50 µs, so that this pays for pieces of a millisecond and more.
pub fn both<A, B: Send>(here: impl FnOnce() -> A, beside: impl Fn() -> B + Sync) -> (A, B) {
    thread::scope(|scope| {
        let thread = thread::Builder::new().spawn_scoped(scope, &beside);
        let first = here();
        let second = match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(_) => beside(),
        };
        (first, second)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn each_piece_can_wait_for_the_other() {
        let meeting = Barrier::new(2);
        let wait = |answer| {
            meeting.wait();
            answer
        };
        assert_eq!(both(|| wait("first"), || wait("second")), ("first", "second"));
    }

    #[test]
    #[should_panic(expected = "the second piece")]
    fn a_panic_of_the_other_thread_is_the_callers() {
        both(|| (), || panic!("the second piece"));
    }
}
