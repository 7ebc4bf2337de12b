//! One invocation: its terms, and what came of it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use controllers::core::Core;
use controllers::handback::is_of_hand_back;
use controllers::ports::{ErrorKind, PortError};
use controllers::run::{Problems, Run, RunOutcome};
use domain::{SignedDuration, Text, Timestamp};
use serde::Serialize;

use crate::environment::Reaction;
use crate::event::EventError;
use crate::failure::Failure;
use crate::hand_back::HandBackAnswer;
use crate::metrics::Metrics;
use crate::process::{Adapters, Process};

/// So long before Lambda ends the process, nothing new is begun.
const MARGIN: SignedDuration = SignedDuration::from_secs(5);
/// Ticks come every minute; whoever stays makes room a moment before the next.
const STAY_MAX: SignedDuration = SignedDuration::from_secs(57);

/// Until when an invocation may begin something.
pub(crate) fn deadline(started: Timestamp, lambda: Timestamp) -> Timestamp {
    let by_lambda = lambda.checked_sub(MARGIN).unwrap_or(lambda);
    let by_tick = started.checked_add(STAY_MAX).unwrap_or(started);
    by_lambda.min(by_tick)
}

/// One invocation.
#[derive(Debug)]
pub struct Tick<'a> {
    /// The process.
    pub process: &'a Process,
    /// Whether to stay.
    pub reaction: Reaction,
    /// Whether the cluster is to be handed back, or looked after again.
    pub hand_back: Option<bool>,
    /// When nothing new is begun.
    pub deadline: Timestamp,
    /// Its metrics.
    pub metrics: &'a Metrics,
    cluster: Option<&'a Text>,
    /// Unique to it.
    id: &'a str,
    ledger: RefCell<Ledger>,
}

/// What an invocation is for.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// The cluster, where one is named.
    pub cluster: Option<&'a Text>,
    /// Unique to the invocation.
    pub id: &'a str,
    /// Whether to stay.
    pub reaction: Reaction,
    /// Whether the cluster is to be handed back, or looked after again.
    pub hand_back: Option<bool>,
    /// When nothing new is begun.
    pub deadline: Timestamp,
}

/// What came of an invocation: its answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    /// How often the function looked.
    pub rounds: usize,
    /// How often another run held the lease.
    pub held: usize,
    /// How often a round could not take place.
    pub failed: usize,
    /// What was done, by kind.
    pub done: BTreeMap<&'static str, usize>,
    /// Nothing was done, because the cluster was handed back.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_handed_back: bool,
    /// What came of handing the cluster back, where that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hand_back: Option<HandBackAnswer>,
}

#[derive(Debug, Default)]
struct Ledger {
    summary: Summary,
    /// What nobody but a person can put right: the invocation fails, once it has done what it could.
    grave: Option<Failure>,
    /// The latest round that could not take place.
    latest: Option<PortError>,
}

impl<'a> Tick<'a> {
    /// An invocation that has not begun.
    pub fn new(process: &'a Process, order: Order<'a>, metrics: &'a Metrics) -> Self {
        let Order { cluster, id, reaction, hand_back, deadline } = order;
        let ledger = RefCell::default();
        Self { process, reaction, hand_back, deadline, metrics, cluster, id, ledger }
    }

    /// The cluster that the event names.
    pub fn cluster(&self) -> Result<&'a Text, EventError> {
        self.cluster.ok_or(EventError::NoCluster)
    }

    /// The ports of that cluster, opened where they are not yet.
    pub async fn adapters(&self) -> Result<Rc<Adapters>, Failure> {
        self.process.adapters(self.cluster()?).await
    }

    /// The terms of a run for that cluster.
    pub fn run(&self) -> Result<Run<'a>, EventError> {
        Ok(Run {
            cluster: self.cluster()?,
            settings: &self.process.environment().settings,
            core: Core::standard(),
            id: self.id,
            deadline: self.deadline,
        })
    }

    /// Notes a round; `tell` hears of one that took place.
    pub fn round<R>(&self, result: Result<RunOutcome<R>, PortError>, tell: impl FnOnce(&R)) {
        match result {
            Ok(RunOutcome::Ran(report)) => {
                self.ledger.borrow_mut().summary.rounds += 1;
                self.metrics.count("outrigger_rounds_total", &[], 1);
                tell(&report);
            }
            Ok(RunOutcome::Held(lease)) if is_of_hand_back(&lease) => self.handed_back(),
            Ok(RunOutcome::Held(lease)) => {
                self.ledger.borrow_mut().summary.held += 1;
                self.metrics.count("outrigger_rounds_held_total", &[], 1);
                tracing::info!(holder = %lease.holder, until = %lease.until, "another run is under way: nothing to do");
            }
            Err(error) => {
                tracing::error!(%error, kind = %error.kind, "a round could not take place");
                self.metrics.count("outrigger_errors_total", &[("kind", error.kind.label())], 1);
                let mut ledger = self.ledger.borrow_mut();
                ledger.summary.failed += 1;
                if is_grave(error.kind) {
                    ledger.grave.get_or_insert_with(|| error.clone().into());
                }
                ledger.latest = Some(error);
            }
        }
    }

    /// Notes that nothing is done, because the cluster was handed back.
    pub fn handed_back(&self) {
        self.ledger.borrow_mut().summary.is_handed_back = true;
        self.metrics.count("outrigger_rounds_held_total", &[], 1);
        tracing::warn!(
            "this cluster was handed back: nothing is done in it until lifecycle is invoked with \
             {{\"cluster\": \"NAME\", \"handBack\": false}}; disable its schedules until then"
        );
    }

    /// Notes what the invocation answers to whoever hands the cluster back.
    pub fn answer_hand_back(&self, answer: HandBackAnswer) {
        self.ledger.borrow_mut().summary.hand_back = Some(answer);
    }

    /// Notes what did not work in a round that took place.
    pub fn problems(&self, problems: &Problems) {
        for problem in &problems.0 {
            self.problem(&problem.doing, &problem.error);
        }
    }

    /// Notes something that did not work.
    pub fn problem(&self, doing: &str, error: &PortError) {
        tracing::warn!(%error, kind = %error.kind, doing, "something did not work");
        self.metrics.count("outrigger_errors_total", &[("kind", error.kind.label())], 1);
        if is_grave(error.kind) {
            self.ledger.borrow_mut().grave.get_or_insert_with(|| error.clone().into());
        }
    }

    /// Notes that a plan was refused by its check.
    pub fn refused(&self, violations: &[Text]) {
        if violations.is_empty() {
            return;
        }
        let what = violations.join("; ");
        tracing::error!(violations = what, "a plan was refused by its check");
        self.metrics.count("outrigger_plans_refused_total", &[], 1);
        self.ledger.borrow_mut().grave.get_or_insert(Failure::Refused(what));
    }

    /// Notes things that were done.
    pub fn done(&self, what: &'static str, count: usize) {
        if count > 0 {
            *self.ledger.borrow_mut().summary.done.entry(what).or_default() += count;
        }
    }

    /// What came of it. It failed where something stands in the way that only a person can remove, or
    /// where no round took place for another reason than a lease.
    pub fn outcome(self) -> Result<Summary, Failure> {
        let Ledger { summary, grave, latest } = self.ledger.into_inner();
        if let Some(grave) = grave {
            return Err(grave);
        }
        match latest {
            Some(error) if summary.rounds == 0 => Err(error.into()),
            _ => Ok(summary),
        }
    }
}

/// Whether the same call fails again until somebody changes something.
const fn is_grave(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Denied | ErrorKind::Invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn an_invocation_ends_before_lambda_ends_it_and_before_the_next_tick() {
        assert_eq!(deadline(at(0), at(30)), at(25));
        assert_eq!(deadline(at(0), at(900)), at(57));
    }
}
