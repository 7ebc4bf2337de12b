//! An invocation with a batch of a queue's messages.

use std::cell::RefCell;
use std::collections::BTreeMap;

use controllers::core::Core;
use controllers::interruption::Terms;
use domain::Timestamp;

use crate::metrics::Metrics;
use crate::process::Process;

/// One invocation with messages that may concern any cluster.
#[derive(Debug)]
pub struct Batch<'a> {
    /// The process.
    pub process: &'a Process,
    /// Unique to the invocation.
    id: &'a str,
    /// When nothing new is begun.
    deadline: Timestamp,
    /// By cluster; those of none by the empty name.
    metrics: RefCell<BTreeMap<String, Metrics>>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(process: &'a Process, id: &'a str, deadline: Timestamp) -> Self {
        Self { process, id, deadline, metrics: RefCell::default() }
    }

    /// The terms of a run for whichever clusters it concerns.
    pub fn terms(&self) -> Terms<'a> {
        Terms {
            settings: &self.process.environment().settings,
            core: Core::standard(),
            id: self.id,
            deadline: self.deadline,
        }
    }

    /// Notes something in the metrics of a cluster, or of none.
    pub fn measure(&self, cluster: Option<&str>, note: impl FnOnce(&Metrics)) {
        let name = cluster.unwrap_or_default();
        let namespace = &self.process.environment().metrics_namespace;
        let mut metrics = self.metrics.borrow_mut();
        note(metrics.entry(name.to_owned()).or_insert_with(|| Metrics::new(namespace, name)));
    }

    pub(crate) fn write_metrics(&self, now: Timestamp) {
        for metrics in self.metrics.borrow().values() {
            metrics.write(now);
        }
    }
}
