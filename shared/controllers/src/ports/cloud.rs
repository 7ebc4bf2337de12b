//! The cloud: instance types, instances and node classes.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::addresses::FreeAddresses;
use domain::image_age::HeldBackImage;
use domain::instance_type::{CapacityType, InstanceTypes};
use domain::label::Labels;
use domain::money::UsdPerHour;
use domain::node_class::{Ec2NodeClass, ResolvedAmi, ResolvedSubnet};
use domain::stamp::Stamp;
use domain::{Text, Timestamp};

use super::error::PortError;
use crate::record::launch::{LaunchChoices, LaunchRequest};
use crate::status::{ReservationStatus, ResolvedSecurityGroup};
use domain::plan::LaunchOffering;

/// A cloud that instances of one cluster are launched in.
#[expect(
    async_fn_in_trait,
    reason = "callers are single-threaded per run; no Send bound is wanted"
)]
pub trait Cloud {
    /// The instance types of node classes, with every offering that exists. Offerings that lack
    /// capacity are marked by the controllers, not here.
    async fn instance_types(
        &self,
        node_classes: &[Ec2NodeClass],
    ) -> Result<InstanceTypes, PortError>;

    /// Chooses what plans leave open for launches that come next; one for each request, in order.
    /// `None` where nothing can be chosen: the launch itself says why.
    async fn launch_choices(
        &self,
        requests: &[Arc<LaunchRequest>],
        node_classes: &[Ec2NodeClass],
    ) -> Vec<Option<LaunchChoices>>;

    /// Launches one instance for each call, and returns one outcome for each, in order. Repeating
    /// one with the same client token never launches a second instance. `node_classes` has every
    /// class that a request names.
    async fn launch(
        &self,
        calls: &[LaunchCall],
        node_classes: &[Ec2NodeClass],
    ) -> Result<Vec<LaunchOutcome>, PortError>;

    /// All instances with this cluster's tags, except terminated ones.
    async fn instances(&self) -> Result<Vec<Instance>, PortError>;

    /// Instances of this account whose status checks fail or that have a scheduled event, whoever
    /// launched them.
    async fn instance_statuses(&self) -> Result<Vec<InstanceStatus>, PortError>;

    /// Terminates instances. Returns one outcome an id, in order.
    async fn terminate(&self, instance_ids: &[Text]) -> Result<Vec<Termination>, PortError>;

    /// Why instances ended, by id, as far as EC2 still knows: those that it terminated, or that
    /// ended by themselves.
    async fn ends(&self, instance_ids: &[Text]) -> Result<BTreeMap<Text, InstanceEnd>, PortError>;

    /// Adds tags to instances. Returns one outcome a request, in order: `NotFound` when the
    /// instance is gone.
    async fn tag(&self, requests: &[TagRequest]) -> Result<Vec<Result<(), PortError>>, PortError>;

    /// Resolves the selectors of a node class, creates its instance profile if it names a role, and
    /// validates by dry runs that instances can be launched from it. Each part fails by itself; an
    /// error means that nothing could be resolved.
    async fn resolve_node_class(
        &self,
        node_class: &Ec2NodeClass,
    ) -> Result<NodeClassResolution, PortError>;

    /// Deletes what was created for a node class that is being deleted: launch templates, instance
    /// profiles. What is gone counts as deleted.
    async fn release_node_class(&self, node_class: &Ec2NodeClass) -> Result<(), PortError>;
}

/// A launch to ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchCall {
    /// What is asked for, as recorded.
    pub request: Arc<LaunchRequest>,
    /// An earlier run may have asked for the same: an answer without an instance is no proof that
    /// there is none.
    pub is_repeat: bool,
}

/// Why an instance ended.
///
/// Source: <https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_StateReason.html>.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct InstanceEnd {
    /// Such as `Client.InternalError` or `Server.SpotInstanceTermination`.
    pub code: Text,
    /// EC2's words.
    pub message: Text,
}

/// Tags to add to an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagRequest {
    /// `i-…`.
    pub instance_id: Text,
    /// Tags to add.
    pub tags: Labels,
}

/// The selectors of a node class, resolved at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeClassResolution {
    /// Subnets, most free addresses first; at least one.
    pub subnets: Resolution<Vec<ResolvedSubnet>>,
    /// Free addresses of those subnets, by zone and id.
    pub free_addresses: Vec<FreeAddresses>,
    /// Zones of those subnets that have no offerings: condition SubnetsReady names them.
    pub zones_without_offerings: Vec<Text>,
    /// Security groups, by id; at least one.
    pub security_groups: Resolution<Vec<ResolvedSecurityGroup>>,
    /// Images, in order of preference; at least one.
    pub amis: Resolution<Vec<ResolvedAmi>>,
    /// Images that are selected and younger than the class's minimum, by id.
    pub held_back: Vec<HeldBackImage>,
    /// The instance profile.
    pub instance_profile: Resolution<Text>,
    /// Capacity reservations, by id; may be empty.
    pub capacity_reservations: Resolution<Vec<ReservationStatus>>,
    /// Whether the placement group exists; also `Ok` when none is specified.
    pub placement_group: Resolution<()>,
    /// Whether EC2 accepts launches from it, according to dry runs.
    pub validation: Resolution<()>,
    /// Hash of its specification by the newest rules, by which its nodes drift when it changes;
    /// `None` when it was not read from an object.
    pub stamp: Option<Stamp>,
}

/// A resolved part of a node class, or why there is none.
pub type Resolution<T> = Result<T, Unresolved>;

/// Why a part of a node class could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: {message}")]
pub struct Unresolved {
    /// The reason of the condition, such as `SubnetsNotFound`.
    pub reason: Text,
    /// The message of the condition.
    pub message: Text,
    /// Unknown (throttled, timed out) rather than absent: what was resolved before stays.
    pub is_passing: bool,
}

/// The outcome of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchOutcome {
    /// It has an instance.
    Launched {
        /// The instance.
        instance: Instance,
        /// Offerings that were tried first and lacked capacity: a success may come with errors.
        exhausted: Vec<Exhausted>,
    },
    /// Every offering lacked capacity (`InsufficientInstanceCapacity`,
    /// `MaxSpotInstanceCountExceeded`, `VcpuLimitExceeded`, `UnfulfillableCapacity`, `Unsupported`,
    /// `InsufficientFreeAddressesInSubnet`, `ReservationCapacityExceeded`), or EC2 returned neither
    /// an instance nor an error.
    OutOfCapacity {
        /// Those that failed.
        exhausted: Vec<Exhausted>,
    },
    /// The EC2NodeClass is missing, being deleted or not ready.
    NodeClassNotReady {
        /// What is wrong with it.
        message: Text,
    },
    /// EC2 launched nothing, and never will for this client token: the next attempt needs another.
    Refused {
        /// Why nothing was launched.
        error: PortError,
        /// Offerings that lacked capacity.
        exhausted: Vec<Exhausted>,
        /// What it failed for has been mended, or time enough has passed, so that another attempt
        /// may follow at once.
        is_mended: bool,
    },
    /// This call launched nothing, but an earlier one of its attempt may have: its instance may not
    /// be shown yet.
    NotShown {
        /// Why it is not known.
        error: PortError,
        /// Offerings that lacked capacity.
        exhausted: Vec<Exhausted>,
    },
    /// Any other failure. This call may have launched an instance; a repeat with the same token
    /// returns it.
    Failed {
        /// Why it is not known.
        error: PortError,
        /// Offerings that lacked capacity.
        exhausted: Vec<Exhausted>,
    },
}

impl LaunchOutcome {
    /// A failure that says nothing of any offering.
    pub fn failed(error: PortError) -> Self {
        Self::Failed { error, exhausted: Vec::new() }
    }

    /// What an answer says of offerings, whatever became of the launch.
    pub fn exhausted(&self) -> &[Exhausted] {
        match self {
            Self::Launched { exhausted, .. }
            | Self::OutOfCapacity { exhausted }
            | Self::Refused { exhausted, .. }
            | Self::NotShown { exhausted, .. }
            | Self::Failed { exhausted, .. } => exhausted,
            Self::NodeClassNotReady { .. } => &[],
        }
    }

    /// The outcome of an attempt whose instance was waited for in vain: that wait was its backoff.
    pub fn waited_for(self) -> Self {
        match self {
            Self::Refused { error, exhausted, is_mended: _ } => {
                Self::Refused { error, exhausted, is_mended: true }
            }
            other => other,
        }
    }
}

/// An offering that lacked capacity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exhausted {
    /// The instance type, or [`ANY`](crate::record::unavailable::ANY).
    pub instance_type: Text,
    /// The zone's name, or [`ANY`](crate::record::unavailable::ANY).
    pub zone: Text,
    /// Its capacity type.
    pub capacity_type: CapacityType,
    /// EC2's error code.
    pub code: Text,
}

impl Exhausted {
    /// An offering of a request as one that lacked capacity.
    pub fn of(offering: &LaunchOffering, code: impl Into<Text>) -> Self {
        Self {
            instance_type: offering.instance_type.clone(),
            zone: offering.zone.clone(),
            capacity_type: offering.capacity_type,
            code: code.into(),
        }
    }
}

/// An instance of this cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// `i-…`.
    pub id: Text,
    /// `aws:///ZONE/i-…`, as the Node reports it.
    pub provider_id: Text,
    /// The instance type.
    pub instance_type: Text,
    /// The zone's name.
    pub zone: Text,
    /// Its capacity type.
    pub capacity_type: CapacityType,
    /// The capacity reservation it runs in.
    pub reservation_id: Option<Text>,
    /// Its hourly price; `None` when unknown, as in a list of instances.
    pub price: Option<UsdPerHour>,
    /// The AMI it runs.
    pub image_id: Text,
    /// When it was launched.
    pub launched: Timestamp,
    /// Its state.
    pub state: InstanceState,
    /// Tag `karpenter.sh/nodeclaim`: the claim's name.
    pub claim: Option<Text>,
    /// Tag `outrigger.dev/claim-uid`: distinguishes claims of one name.
    pub claim_uid: Option<Text>,
    /// Tag `outrigger.dev/installation`: the id of the installation that launched it.
    pub installation: Option<Text>,
    /// Tag `karpenter.sh/nodepool`.
    pub node_pool: Option<Text>,
}

/// The status of an instance that is impaired or has a scheduled event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceStatus {
    /// `i-…`.
    pub instance_id: Text,
    /// Checks that fail, and since when.
    pub impaired: Vec<(StatusCheck, Timestamp)>,
    /// Scheduled events that interrupt the instance (a reboot, a stop, a retirement, maintenance),
    /// by the start of each; `None` when EC2 does not say. Completed and cancelled events are left
    /// out.
    pub scheduled: Vec<Option<Timestamp>>,
}

/// A status check that EC2 runs every minute.
///
/// Source: Amazon EC2 User Guide, "Status checks for Amazon EC2 instances".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatusCheck {
    /// The instance's own software and network.
    Instance,
    /// The host that it runs on.
    System,
}

/// The state of an instance, in EC2's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum InstanceState {
    /// It boots.
    Pending,
    /// It runs.
    Running,
    /// It is being stopped.
    Stopping,
    /// It is stopped.
    Stopped,
    /// It is being terminated.
    ShuttingDown,
    /// It is gone.
    Terminated,
}

impl InstanceState {
    /// Whether it exists and is not being terminated.
    pub const fn is_alive(self) -> bool {
        !matches!(self, Self::ShuttingDown | Self::Terminated)
    }
}

/// The outcome of terminating an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Termination {
    /// It is shutting down.
    ShuttingDown,
    /// It is terminated.
    Terminated,
    /// EC2 knows no such instance: it was terminated long ago, or it is so new that EC2 does not
    /// show it yet.
    Unknown,
    /// The request failed.
    Failed(PortError),
}
