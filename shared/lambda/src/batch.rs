//! One invocation with a batch of a queue's messages.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use controllers::core::Core;
use controllers::interruption::Terms;
use domain::{Text, Timestamp};

use crate::environment::Reaction;
use crate::invocation::Times;
use crate::metrics::Metrics;
use crate::process::Process;
use crate::telemetry::Telemetry;

/// One invocation with messages that may concern any cluster.
#[derive(Debug)]
pub struct Batch<'a> {
    /// The process.
    pub process: &'a Process,
    /// What concerns no cluster.
    pub telemetry: Telemetry,
    id: &'a str,
    times: Times,
    by_cluster: RefCell<BTreeMap<Text, Rc<Telemetry>>>,
}

impl<'a> Batch<'a> {
    /// A batch that has not been handled. `id` is unique to the invocation.
    pub(crate) fn new(process: &'a Process, id: &'a str, times: Times) -> Self {
        let telemetry = Telemetry::new(metrics(process, ""));
        Self { process, telemetry, id, times, by_cluster: RefCell::default() }
    }

    /// The terms of a controller's run for whichever clusters the messages concern.
    pub fn terms(&self) -> Terms<'a> {
        Terms {
            settings: &self.process.environment().settings,
            safeguards: &self.process.environment().safeguards,
            core: Core::standard(),
            id: self.id,
            deadline: self.times.deadline,
            process_ends: self.times.process_ends,
            wakes: self.process.environment().reaction != Reaction::Poll
                && self.process.has_queues(),
        }
    }

    /// What concerns one cluster.
    pub fn telemetry_of(&self, cluster: &Text) -> Rc<Telemetry> {
        let new = || Rc::new(Telemetry::of_cluster(metrics(self.process, cluster), cluster));
        Rc::clone(self.by_cluster.borrow_mut().entry(cluster.clone()).or_insert_with(new))
    }

    pub(crate) fn write_metrics(&self, now: Timestamp) {
        self.telemetry.metrics().write(now);
        for telemetry in self.by_cluster.borrow().values() {
            telemetry.metrics().write(now);
        }
    }
}

fn metrics(process: &Process, cluster: &str) -> Metrics {
    let environment = process.environment();
    Metrics::new(&environment.metrics_namespace, environment.metrics_detail, cluster)
}
