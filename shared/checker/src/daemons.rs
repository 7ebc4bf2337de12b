//! DaemonSets: what they take of every node that they run on.

use std::cell::RefCell;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use domain::pod::{HostPort, PodSpec};
use domain::resource::Resources;
use domain::taint::{Taint, first_untolerated};
use domain::workload::DaemonSet;

use crate::catalogue::is_market_label;
use crate::terms::{LabelView, Terms};

/// The DaemonSets of a cluster.
pub(crate) struct Daemons<'a> {
    all: Vec<Daemon<'a>>,
    /// What DaemonSets request together, by their numbers.
    overheads: RefCell<FxHashMap<Vec<usize>, Rc<Overhead>>>,
}

struct Daemon<'a> {
    spec: &'a PodSpec,
    terms: Terms,
}

/// What the DaemonSets of a node take of it.
#[derive(Default)]
pub(crate) struct Overhead {
    pub(crate) requests: Resources,
    pub(crate) ports: Vec<HostPort>,
}

impl<'a> Daemons<'a> {
    /// Reads the DaemonSets, except those whose pods wait for devices of dynamic resource
    /// allocation: no node that a plan knows of has any.
    pub(crate) fn read(daemon_sets: &'a [DaemonSet]) -> Self {
        let all = daemon_sets
            .iter()
            .map(|daemon_set| &*daemon_set.template.spec)
            .filter(|spec| spec.resource_claims.is_empty())
            .map(|spec| Daemon { spec, terms: Terms::of_pod(spec) })
            .collect();
        Self { all, overheads: RefCell::default() }
    }

    /// Those that tolerate the taints, by number.
    pub(crate) fn tolerant(&self, taints: &[Taint]) -> Vec<usize> {
        let tolerates =
            |daemon: &Daemon<'_>| first_untolerated(&daemon.spec.tolerations, taints).is_none();
        (0..self.all.len()).filter(|index| tolerates(&self.all[*index])).collect()
    }

    /// Whether it depends on the zone or the capacity type which of these run.
    pub(crate) fn look_at_markets(&self, daemons: &[usize]) -> bool {
        daemons.iter().any(|index| self.all[*index].terms.mention(is_market_label))
    }

    /// What those of them request together that may run on such a node.
    pub(crate) fn overhead(&self, daemons: &[usize], view: &impl LabelView) -> Rc<Overhead> {
        let running: Vec<usize> =
            daemons.iter().copied().filter(|index| self.all[*index].terms.possible(view)).collect();
        if let Some(known) = self.overheads.borrow().get(&running) {
            return Rc::clone(known);
        }
        let mut overhead = Overhead::default();
        for index in &running {
            overhead.requests.add(&self.all[*index].spec.requests);
            overhead.ports.extend(self.all[*index].spec.host_ports.iter().cloned());
        }
        let overhead = Rc::new(overhead);
        self.overheads.borrow_mut().insert(running, Rc::clone(&overhead));
        overhead
    }
}
