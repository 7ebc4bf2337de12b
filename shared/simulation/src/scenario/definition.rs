//! What a scenario consists of.

use std::sync::Arc;

use catalog::CatalogError;
use domain::instance_type::InstanceTypes;
use domain::scheduler::SchedulerConfig;
use domain::settings::{FeatureGates, MinValuesPolicy, PreferencePolicy, Settings};
use domain::{SignedDuration, Text, Timestamp};
use manifests::{ManifestError, Object, Warning};

use super::expectation::Expectation;
use super::filter::{InstanceFilter, SpotInterruptions};
use crate::api::WorkloadId;
use crate::ec2::{Ec2Behaviour, Faults, PublishedImage};
use crate::region::SaidBy;
use crate::replay::Replay;
use crate::world::DeleteTarget;

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
    /// How kube-scheduler is configured, where that is not what ConfigMap `kube-system/outrigger`
    /// says, which the functions plan by.
    pub own_scheduler: Option<SchedulerConfig>,
    /// How provisioning learns of pods.
    pub provisioning: ProvisioningMode,
    /// How long a Job's pod works.
    pub job_duration: SignedDuration,
    /// From an instance's launch to a ready Node, where it is not drawn.
    pub boot: Option<SignedDuration>,
    /// From a pod's binding to its being ready; drawn when unset.
    pub pod_start: Option<SignedDuration>,
    /// From a pod's deletion to its containers' end, where it is not drawn.
    pub pod_stop: Option<SignedDuration>,
    /// Settings that it needs.
    pub settings: SettingsChange,
    /// How often calls fail.
    pub faults: Faults,
    /// How often EC2 takes spot instances back by itself: the first that matches counts. The
    /// functions do not know it.
    pub spot_interruptions: Vec<SpotInterruptions>,
    /// Images that are published, before the start or during it. Classes of other aliases select
    /// one that never changes.
    pub images: Vec<PublishedImage>,
    /// How EC2 behaves where it is free to. Files do not say: it is for tests.
    pub ec2: Ec2Behaviour,
    /// Whether functions run although nothing is there for them to do. Files do not say: it is for
    /// tests, and gives the same report.
    pub every_run: bool,
    /// What happens, by time.
    pub timeline: Vec<Step>,
    /// What is expected, in the order written.
    pub expectations: Vec<Expectation>,
    /// Ways to run it that are to be compared; none for a scenario that is run as it is.
    pub variants: Vec<Variant>,
    /// Recorded pods, which come and leave beside what the timeline does.
    pub replay: Option<Arc<Replay>>,
    /// Manifests of the objects that the timeline applies, and when: what a recording of the run
    /// has of them.
    pub manifests: Vec<(SignedDuration, serde_json::Value)>,
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
    /// Their manifests.
    pub manifests: Vec<serde_json::Value>,
    /// What is expected of it beside what is expected of all.
    pub expectations: Vec<Expectation>,
}

/// What EC2 offers.
#[derive(Clone, Debug)]
pub enum CatalogChoice {
    /// What the embedded catalogue knows of a region, and what says that it is this one.
    Region(Text, SaidBy),
    /// An InstanceCatalog.
    Given(Box<InstanceTypes>),
}

impl CatalogChoice {
    /// What says which region it is of.
    pub fn said_by(&self) -> SaidBy {
        match self {
            Self::Region(_, said_by) => said_by.clone(),
            Self::Given(_) => SaidBy::Catalog,
        }
    }
}

/// How provisioning learns of pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProvisioningMode {
    /// It watches, and acts within a batching window of seconds.
    #[default]
    Watch,
    /// It checks every few seconds.
    Tick,
    /// It lists pending pods once a minute.
    Poll,
}

/// Settings that a scenario needs. All others keep their value.
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
    /// The settings with the change. A setting that differs from its default was chosen by whoever
    /// runs the scenario, and stays.
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
    /// The functions' table is emptied: every record is lost.
    LoseRecords,
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
    /// What happened cannot be recorded.
    #[error("cannot write JSON")]
    Json(#[from] serde_json::Error),
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
    /// It expects something after its end.
    #[error("expectation {expectation:?} is of {at:#}, after the end: it lasts {duration:#}")]
    AfterTheEnd {
        /// The expectation.
        expectation: Text,
        /// When, from the start.
        at: SignedDuration,
        /// How long the scenario lasts.
        duration: SignedDuration,
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
    /// All objects that the timeline applies.
    pub fn applied(&self) -> impl Iterator<Item = &Object> {
        let applied = self.timeline.iter().filter_map(|step| match &step.action {
            Action::Apply(objects) => Some(objects),
            _ => None,
        });
        applied.flatten()
    }

    /// The scenario as a variant of it runs.
    pub fn in_variant(&self, variant: &Variant) -> Self {
        let Variant { name: _, objects, manifests, expectations } = variant;
        let mut own = self.clone();
        own.variants.clear();
        if !objects.is_empty() {
            let at = SignedDuration::ZERO;
            let first = own.timeline.iter().take_while(|step| step.at == at).count();
            own.timeline.insert(first, Step { at, action: Action::Apply(objects.clone()) });
        }
        let at_start = manifests.iter().map(|own| (SignedDuration::ZERO, own.clone()));
        own.manifests.extend(at_start);
        own.expectations.extend(expectations.iter().cloned());
        own
    }
}
