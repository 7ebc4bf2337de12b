//! Scenarios: files that say what happens to a cluster, and what is expected to come of it.
//!
//! ```yaml
//! apiVersion: outrigger.dev/v1alpha1
//! kind: Scenario
//! metadata: {name: scale-down}
//! spec:
//!   about: What it shows, in a sentence or two.
//!   start: 2026-01-05T09:00:00Z   # when simulated time begins; this is the default
//!   duration: 30m                 # how long it lasts
//!   seed: 7                       # what everything random comes from; 0 when unset
//!   region: us-east-1             # EC2's catalogue of that region, or instead of it
//!   # catalog: FILE or an InstanceCatalog object
//!   scoring: LeastAllocated       # or MostAllocated
//!   provisioning: watch           # within seconds of a pod's wait, or poll: once a minute
//!   jobDuration: 5m               # how long a Job's pod works
//!   boot: 50s                     # from launch to a ready node; drawn (40 to 65 s) when unset
//!   podStop: 60s                  # from a pod's deletion to its end, within its grace period; drawn when unset
//!   settings: {featureGates: "SpotToSpotConsolidation=true", preferencePolicy: Respect, minValuesPolicy: Strict}
//!   faults: {throttledPerMille: 0, answersLostPerMille: 0, launchesFailedPerMille: 0, crashesPerMille: 0,
//!            crashAfterCall: 7, eventsDoubledPerMille: 0, eventsLatePerMille: 0, callMillisMax: 0}
//!   timeline:                     # one action an item; `at` counts from the start
//!   - at: 0s
//!     apply: [nodepool.yaml, {apiVersion: apps/v1, kind: Deployment, …}]
//!   - at: 10m
//!     scale: {kind: Deployment, namespace: default, name: web, replicas: 10}
//!   - advance: 5m                 # items without `at` follow where the one before left off
//!   - mark: busy                  # a name for this moment
//!   - delete: {kind: Deployment, namespace: default, name: web}
//!   - interrupt: {count: 1, node: NAME, nodePool: NAME, zone: NAME, instanceType: NAME, capacityType: spot}
//!   - recommendRebalance: {count: 1}                # and the same filter
//!   - retire: {count: 1, in: 1h}                    # AWS Health announces it; the instance ends then
//!   - impair: {count: 1}                            # EC2's system checks fail from now on
//!   - outOfCapacity: {cheapest: 3, instanceType: NAME, zone: NAME, capacityType: spot, for: 10m}
//!   expect:                       # held against the world at `at`, or at the end
//!   - {at: 9m, nodes: {min: 3, zone: us-east-1a, capacityType: spot, instanceType: m5.large, nodePool: default}}
//!   - zones: {min: 3}
//!   - launched: {max: 5, capacityType: spot}        # instances launched so far
//!   - hourlyUsd: {max: 1.5, lessThan: busy}         # or min, greaterThan; a mark or a figure
//!   - costUsd: {max: 0.5}                           # all of it so far
//!   - pods: {workload: web, running: 10, pending: 0}
//!   - waiting: {pod: web-, because: limit nvidia.com/gpu}
//!   - unplacedSeconds: {max: 120, since: 10m}       # the longest wait of a pod that could be hosted, of those
//!                                                   # made after a while where `since` is set
//!   - withoutHomeSeconds: {max: 0}                  # after an eviction by choice
//!   - percentOfBound: {max: 110}                    # all nodes against the least that the pods need
//!   variants:                     # run once in each, to be compared
//!   - {name: as it is}
//!   - {name: with a schedule, apply: [schedule.yaml], expect: [{costUsd: {max: 0.6}}]}
//! ```
//!
//! Ranges take `count`, or `min` and `max`. Objects may be written in any version that
//! [`manifests::read`] converts. Files are looked for beside the scenario's own.

mod expectation;
mod file;
mod filter;

use catalog::CatalogError;
use domain::instance_type::InstanceTypes;
use domain::settings::{FeatureGates, MinValuesPolicy, PreferencePolicy, Settings};
use domain::{SignedDuration, Text, Timestamp};
use manifests::{ManifestError, Object, Warning};

use crate::api::WorkloadId;
use crate::ec2::Faults;
use crate::scheduler::Scoring;
use crate::world::DeleteTarget;

pub use expectation::{Expectation, Expected, PodCount, PriceBound, Range};
pub use filter::InstanceFilter;

/// A scenario, read and found sound.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name.
    pub name: Text,
    /// What it is about.
    pub about: Text,
    /// When simulated time begins.
    pub start: Timestamp,
    /// How long it lasts.
    pub duration: SignedDuration,
    /// What everything random comes from.
    pub seed: u64,
    /// What EC2 offers.
    pub catalog: CatalogChoice,
    /// What the scheduler prefers.
    pub scoring: Scoring,
    /// How provisioning learns of pods.
    pub provisioning: ProvisioningMode,
    /// How long a Job's pod works.
    pub job_duration: SignedDuration,
    /// From an instance's launch to a ready Node, where it is not drawn.
    pub boot: Option<SignedDuration>,
    /// From a pod's deletion to its containers' end, where it is not drawn.
    pub pod_stop: Option<SignedDuration>,
    /// Settings that it needs.
    pub settings: SettingsChange,
    /// How often calls fail.
    pub faults: Faults,
    /// What happens, by time.
    pub timeline: Vec<Step>,
    /// What is expected, in the order written.
    pub expectations: Vec<Expectation>,
    /// Ways to run it that are to be compared; none for a scenario that is run as it is.
    pub variants: Vec<Variant>,
    /// What was read in a way its author may not expect.
    pub warnings: Vec<Warning>,
}

/// One of several ways to run a scenario.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its name, unlike those of the others.
    pub name: Text,
    /// What is applied at the start, after what every variant applies then.
    pub objects: Vec<Object>,
    /// What is expected of it beside what is expected of all.
    pub expectations: Vec<Expectation>,
}

/// What EC2 offers.
#[derive(Clone, Debug)]
pub enum CatalogChoice {
    /// What the embedded catalogue knows of a region.
    Region(Text),
    /// An InstanceCatalog.
    Given(Box<InstanceTypes>),
}

/// How provisioning learns of pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProvisioningMode {
    /// It watches, and acts within a batching window of seconds.
    #[default]
    Watch,
    /// It looks once a minute.
    Poll,
}

/// Settings that a scenario needs. What it does not name stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SettingsChange {
    /// Features to switch, `NAME=true,…`; valid.
    pub feature_gates: Option<Text>,
    /// What becomes of preferences.
    pub preference_policy: Option<PreferencePolicy>,
    /// What happens where `minValues` cannot be met.
    pub min_values_policy: Option<MinValuesPolicy>,
}

impl SettingsChange {
    /// The settings with the change. A setting that differs from its default was chosen by whoever runs
    /// the scenario, and stays.
    pub fn applied_to(&self, settings: &Settings) -> Settings {
        let default = Settings::default();
        let gates =
            self.feature_gates.as_ref().filter(|_| settings.feature_gates == default.feature_gates);
        let gates = gates.and_then(|gates| FeatureGates::default().with(gates).ok());
        let own = settings.preference_policy;
        let preference = self.preference_policy.filter(|_| own == default.preference_policy);
        let own = settings.min_values_policy;
        let min_values = self.min_values_policy.filter(|_| own == default.min_values_policy);
        Settings {
            feature_gates: gates.unwrap_or(settings.feature_gates),
            preference_policy: preference.unwrap_or(settings.preference_policy),
            min_values_policy: min_values.unwrap_or(settings.min_values_policy),
            search_effort: settings.search_effort,
        }
    }
}

/// Something that the scenario does.
#[derive(Clone, Debug)]
pub struct Step {
    /// When, from the start.
    pub at: SignedDuration,
    /// What.
    pub action: Action,
}

/// What a scenario can do.
#[derive(Clone, Debug)]
pub enum Action {
    /// Applies objects.
    Apply(Vec<Object>),
    /// Scales a workload.
    Scale {
        /// Which.
        workload: WorkloadId,
        /// To how many.
        replicas: u32,
    },
    /// Deletes an object.
    Delete {
        /// Which.
        target: DeleteTarget,
        /// In words.
        shown: Text,
    },
    /// EC2 takes instances back.
    Interrupt {
        /// Which may be taken.
        filter: InstanceFilter,
        /// How many, the oldest first.
        count: usize,
    },
    /// AWS announces something else of instances, or finds it out.
    Announce {
        /// What.
        what: Announcement,
        /// Of which.
        filter: InstanceFilter,
        /// Of how many, the oldest first.
        count: usize,
    },
    /// EC2 runs out of offerings for a while.
    OutOfCapacity {
        /// Which.
        filter: InstanceFilter,
        /// Only so many of them, cheapest first, of those that some NodePool allows.
        cheapest: Option<usize>,
        /// For how long.
        lasts: SignedDuration,
    },
    /// Names the moment.
    Mark(Text),
}

/// What may be announced of instances beside a spot interruption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// EC2 recommends to replace them.
    RebalanceRecommendation,
    /// They are retired after a while.
    Retirement(SignedDuration),
    /// Their system checks fail.
    Impairment,
}

/// Why a scenario cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// Something in it is wrong: at least one thing, each with its place.
    #[error("{}", listed(.0))]
    Invalid(Vec<ManifestError>),
    /// The catalogue cannot be read.
    #[error("its catalogue cannot be read")]
    Catalog(#[from] CatalogError),
    /// It names a file that cannot be read.
    #[error("cannot read {path}, which it names")]
    File {
        /// The file.
        path: String,
        /// Why not.
        #[source]
        source: std::io::Error,
    },
    /// It is empty.
    #[error("it holds no document")]
    Empty,
    /// It marks no such moment.
    #[error(
        "expectation {expectation:?} names the mark {mark}, which no step of the timeline sets"
    )]
    UnknownMark {
        /// The expectation.
        expectation: Text,
        /// The mark.
        mark: Text,
    },
    /// It scales, deletes or interrupts what is not there.
    #[error("at {at:#} there is no {what}")]
    NotThere {
        /// When, from the start.
        at: SignedDuration,
        /// What.
        what: Text,
    },
}

fn listed(errors: &[ManifestError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

impl Scenario {
    /// Reads a scenario. `name` is its path, or what errors call it; files it names are looked for in the
    /// same folder.
    pub fn read(name: &str, text: &str) -> Result<Self, ScenarioError> {
        file::read(name, text)
    }

    /// The scenario as a variant of it runs.
    pub fn in_variant(&self, variant: &Variant) -> Self {
        let Variant { name: _, objects, expectations } = variant;
        let mut own = self.clone();
        own.variants.clear();
        if !objects.is_empty() {
            let at = SignedDuration::ZERO;
            let first = own.timeline.iter().take_while(|step| step.at == at).count();
            own.timeline.insert(first, Step { at, action: Action::Apply(objects.clone()) });
        }
        own.expectations.extend(expectations.iter().cloned());
        own
    }
}

#[cfg(test)]
mod tests;
