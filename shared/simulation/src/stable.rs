//! Where a cluster ends if nobody touches it: its functions are run through simulated time until
//! nothing changes any more, and then without each of the things that hold it back.
//!
//! [`until_stable`] is a simulation like any other, of a cluster that is taken as it is: budgets,
//! `consolidateAfter`, PodDisruptionBudgets and kube-scheduler's placement are those of the
//! simulated world. [`blocker::costs`] goes on from its end by plans alone.

pub mod blocker;
mod carry_out;
mod hashes;
mod objects;
mod stateful_sets;
mod workload;

use std::collections::{BTreeMap, BTreeSet};

use domain::pod::ObjectKey;
use domain::snapshot::ClusterSnapshot;
use domain::{SignedDuration, Text, Timestamp};

use crate::ec2::{Ec2Behaviour, Faults};
use crate::history::History;
use crate::report::{Happening, Report};
use crate::run::{RestedRun, run_until_stable};
use crate::scenario::{
    Action, CatalogChoice, ProvisioningMode, Scenario, ScenarioError, SettingsChange, Step,
};
use objects::{Adopted, adopted};

/// For how long a cluster is run at most: a day has every window of its budgets, and no change that
/// takes longer is one that somebody waits for.
pub const BOUND: SignedDuration = SignedDuration::from_hours(24);

/// A cluster that was run until nothing changed any more.
#[derive(Clone, Debug)]
#[must_use = "what it came to is the only result of a run"]
pub struct StableRun {
    /// What happened.
    pub report: Report,
    /// Whether it came to rest within [`BOUND`].
    pub is_stable: bool,
    /// When something changed last; the start where nothing did.
    pub last_change: Timestamp,
    /// The cluster at the end.
    pub end: ClusterSnapshot,
    /// Who owns pods in the cluster: in the run some belong to stand-ins.
    pub owners: Owners,
    /// What became of nodes and pods; of [`until_stable_traced`] only.
    pub history: Option<History>,
}

impl StableRun {
    /// Pods that were evicted.
    pub fn evictions(&self) -> usize {
        let evicted = |what: &Happening| match what {
            Happening::PodsEvicted { pods, .. } => pods.len(),
            _ => 0,
        };
        self.report.timeline.iter().map(|entry| evicted(&entry.what)).sum()
    }
}

/// Who owns pods in the cluster.
#[derive(Clone, Debug, Default)]
pub struct Owners {
    /// `StatefulSet default/db` or `pod default/cron`, by the stand-in that owns it in the run.
    stand_ins: BTreeMap<ObjectKey, Text>,
    deployments: BTreeSet<ObjectKey>,
}

impl Owners {
    /// Whose pods a stand-in of the run has.
    pub(crate) fn of(&self, stand_in: &ObjectKey) -> Option<&Text> {
        self.stand_ins.get(stand_in)
    }

    /// Whether there is a Deployment of a name.
    pub(crate) fn has_deployment(&self, key: &ObjectKey) -> bool {
        self.deployments.contains(key)
    }
}

/// Runs the functions over a cluster until nothing changes any more, or for [`BOUND`]. `passed`
/// gets how much simulated time has passed, again and again.
///
/// Pods belong to what makes them again when they are evicted, also where the cluster's objects do
/// not tell: pods of StatefulSets keep their volumes, and a pod of nobody comes again as it is.
/// Jobs do not end. Nothing fails, and EC2 has capacity.
pub fn until_stable(
    snapshot: &ClusterSnapshot,
    passed: &dyn Fn(SignedDuration),
) -> Result<StableRun, ScenarioError> {
    run_snapshot(snapshot, false, passed)
}

/// Like [`until_stable`], and keeps the history.
pub fn until_stable_traced(
    snapshot: &ClusterSnapshot,
    passed: &dyn Fn(SignedDuration),
) -> Result<StableRun, ScenarioError> {
    run_snapshot(snapshot, true, passed)
}

fn run_snapshot(
    snapshot: &ClusterSnapshot,
    has_history: bool,
    passed: &dyn Fn(SignedDuration),
) -> Result<StableRun, ScenarioError> {
    let Adopted { objects, owners } = adopted(snapshot);
    let settings = snapshot.settings.clone();
    let scenario = Scenario {
        name: "until stable".into(),
        about: "".into(),
        start: snapshot.now,
        duration: BOUND,
        seed: snapshot.seed,
        catalog: CatalogChoice::Given(Box::new(snapshot.instance_types.clone())),
        own_scheduler: None,
        provisioning: ProvisioningMode::Watch,
        job_duration: BOUND + BOUND,
        boot: None,
        pod_start: None,
        pod_stop: None,
        settings: SettingsChange::default(),
        spot_interruptions: Vec::new(),
        images: Vec::new(),
        faults: Faults::default(),
        ec2: Ec2Behaviour::default(),
        every_run: false,
        timeline: vec![Step { at: SignedDuration::ZERO, action: Action::Apply(objects) }],
        expectations: Vec::new(),
        variants: Vec::new(),
        replay: None,
        manifests: Vec::new(),
        warnings: Vec::new(),
    };
    let RestedRun { report, is_stable, last_change, end, history } =
        run_until_stable(scenario, &settings, has_history, passed)?;
    Ok(StableRun { report, is_stable, last_change, end, owners, history })
}
