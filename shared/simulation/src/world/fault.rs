//! What goes wrong between the controllers and the world: calls are refused, take their time, or
//! are the last that a process makes.

use domain::SignedDuration;

use super::World;
use crate::ec2::Faults;

impl World {
    /// Changes what goes wrong from now on.
    pub fn set_faults(&mut self, faults: Faults) {
        self.options.faults = faults;
        self.ec2.set_faults(faults);
    }

    /// Counts one more call from outside, and says which it is: 1 for the first.
    pub(crate) fn count_call(&mut self) -> u64 {
        self.calls += 1;
        self.calls
    }

    /// How many calls the controllers have made so far.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Whether a call is throttled; each draws anew.
    pub(crate) fn is_throttled(&self, call: u64) -> bool {
        let per_mille = self.options.faults.throttled_per_mille;
        self.seed.draw("throttle", &call.to_string()).happens(per_mille)
    }

    /// Whether the process that made a call dies after it.
    pub(crate) fn is_last_call(&self, call: u64) -> bool {
        let faults = &self.options.faults;
        faults.crash_after_call == Some(call)
            || self.seed.draw("crash", &call.to_string()).happens(faults.crashes_per_mille)
    }

    /// How long a call is on its way to the other side.
    pub(crate) fn call_takes(&self, call: u64) -> SignedDuration {
        match i64::from(self.options.faults.call_millis_max) {
            0 => SignedDuration::ZERO,
            most => self
                .seed
                .draw("latency", &call.to_string())
                .between(SignedDuration::ZERO, SignedDuration::from_millis(most)),
        }
    }
}
