//! One invocation of a function: its request, its terms, its telemetry.

use std::rc::Rc;

use controllers::core::Core;
use controllers::ports::DemandCheck;
use controllers::record::fuses::Urgency;
use controllers::run::Run;
use domain::{SignedDuration, Text, Timestamp};

use crate::environment::Reaction;
use crate::event::EventError;
use crate::failure::Failure;
use crate::process::{Adapters, Process};
use crate::telemetry::Telemetry;

/// No new work is begun this long before Lambda ends the process.
const DEADLINE_MARGIN: SignedDuration = SignedDuration::from_secs(5);
/// The longest that an invocation begins new work: schedules invoke every minute, and the one that
/// is there makes room for the next.
const DURATION_MAX: SignedDuration = SignedDuration::from_secs(57);

/// When an invocation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// No new work is begun from here on.
    pub deadline: Timestamp,
    /// Lambda ends the process.
    pub process_ends: Timestamp,
}

impl Times {
    /// Of an invocation that has begun, and that Lambda ends.
    pub(crate) fn of(started: Timestamp, process_ends: Timestamp) -> Self {
        let by_lambda = process_ends.checked_sub(DEADLINE_MARGIN).unwrap_or(process_ends);
        let by_schedule = started.checked_add(DURATION_MAX).unwrap_or(started);
        Self { deadline: by_lambda.min(by_schedule), process_ends }
    }
}

/// One invocation.
#[derive(Debug)]
pub struct Invocation<'a> {
    /// The process.
    pub process: &'a Process,
    /// Whether the function watches, checks every few seconds, or polls once.
    pub reaction: Reaction,
    /// `true` hands the cluster back to Karpenter, `false` takes it over again.
    pub hand_back: Option<bool>,
    /// Whether another function woke it, or itself, and not its schedule.
    pub is_message: bool,
    /// When it ends.
    pub times: Times,
    /// What it did, for logs, metrics and its answer.
    pub telemetry: &'a Telemetry,
    /// What it checks, where it does not run at once.
    pub demand_check: Option<DemandCheck>,
    cluster: Option<&'a Text>,
    id: &'a str,
    continues: Option<u64>,
}

/// What an invocation is asked for.
#[derive(Clone, Copy, Debug)]
pub struct InvocationRequest<'a> {
    /// The cluster, where one is named.
    pub cluster: Option<&'a Text>,
    /// Unique to the invocation.
    pub id: &'a str,
    /// Whether the function watches, or polls once.
    pub reaction: Reaction,
    /// `true` hands the cluster back to Karpenter, `false` takes it over again.
    pub hand_back: Option<bool>,
    /// Whether another function woke it, or itself, and not its schedule.
    pub is_message: bool,
    /// The fencing token of the run that it continues.
    pub continues: Option<u64>,
    /// What it checks, where it does not run at once.
    pub demand_check: Option<DemandCheck>,
    /// When it ends.
    pub times: Times,
}

impl<'a> Invocation<'a> {
    /// An invocation that has not begun.
    pub fn new(
        process: &'a Process,
        request: InvocationRequest<'a>,
        telemetry: &'a Telemetry,
    ) -> Self {
        let InvocationRequest {
            cluster,
            id,
            reaction,
            hand_back,
            is_message,
            continues,
            demand_check,
            times,
        } = request;
        Self {
            process,
            reaction,
            hand_back,
            is_message,
            times,
            telemetry,
            demand_check,
            cluster,
            id,
            continues,
        }
    }

    /// The cluster that the event names.
    pub fn cluster(&self) -> Result<&'a Text, EventError> {
        self.cluster.ok_or(EventError::NoCluster)
    }

    /// The ports of that cluster, connected on first use.
    pub async fn adapters(&self) -> Result<Rc<Adapters>, Failure> {
        self.process.adapters(self.cluster()?).await
    }

    /// The terms of a controller's run for that cluster.
    pub fn run(&self) -> Result<Run<'a>, EventError> {
        Ok(Run {
            cluster: self.cluster()?,
            settings: &self.process.environment().settings,
            safeguards: &self.process.environment().safeguards,
            urgency: Urgency::Routine,
            core: Core::standard(),
            id: self.id,
            deadline: self.times.deadline,
            process_ends: self.times.process_ends,
            wakes: self.reaction != Reaction::Poll && self.process.has_queues(),
            continues: self.continues,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn an_invocation_ends_before_lambda_ends_it_and_before_the_next_one_is_due() {
        assert_eq!(Times::of(at(0), at(30)).deadline, at(25));
        assert_eq!(Times::of(at(0), at(900)).deadline, at(57));
    }
}
