//! Where instances come from.

use domain::drift::Stamp;
use domain::instance_type::{CapacityType, InstanceTypes};
use domain::label::Labels;
use domain::money::UsdPerHour;
use domain::node_class::{Ec2NodeClass, ResolvedAmi, ResolvedSubnet};
use domain::{Text, Timestamp};

use super::error::PortError;
use crate::record::launch::{LaunchOffering, LaunchRequest};
use crate::status::{ReservationStatus, ResolvedSecurityGroup};

/// A cloud that rents instances to one cluster.
#[expect(
    async_fn_in_trait,
    reason = "callers are single-threaded per run; no Send bound is wanted"
)]
pub trait Cloud {
    /// The instance types that node classes see, with every offering that exists: what could not be
    /// launched a moment ago is marked by the controllers, not here.
    async fn instance_types(
        &self,
        node_classes: &[Ec2NodeClass],
    ) -> Result<InstanceTypes, PortError>;

    /// Launches one instance for each request. Asking again with the same token and the same offerings
    /// gives the same instance, also after it has ended. The answer has one outcome a request, in order.
    /// `node_classes` holds every class that a request names.
    async fn launch(
        &self,
        requests: &[LaunchRequest],
        node_classes: &[Ec2NodeClass],
    ) -> Result<Vec<LaunchOutcome>, PortError>;

    /// All instances that bear this cluster's tags, except those that are terminated.
    async fn instances(&self) -> Result<Vec<Instance>, PortError>;

    /// Instances of this account whose status checks fail, or for which an event is scheduled, whoever
    /// launched them.
    async fn instance_statuses(&self) -> Result<Vec<InstanceStatus>, PortError>;

    /// Ends instances. The answer has one outcome an id, in order.
    async fn terminate(&self, instance_ids: &[Text]) -> Result<Vec<Termination>, PortError>;

    /// Sets tags of instances; other tags stay. The answer has one outcome a request, in order: `NotFound`
    /// where the instance is gone.
    async fn tag(&self, requests: &[TagRequest]) -> Result<Vec<Result<(), PortError>>, PortError>;

    /// Finds what the selectors of a node class mean now, makes its instance profile where it names a role,
    /// and has EC2 say whether instances could be launched from it. Each part fails by itself; an error
    /// means that nothing could be asked.
    async fn resolve_node_class(
        &self,
        node_class: &Ec2NodeClass,
    ) -> Result<NodeClassResolution, PortError>;

    /// Removes what was made for a node class that is being deleted: launch templates, instance profiles.
    /// What is gone counts as done.
    async fn release_node_class(&self, node_class: &Ec2NodeClass) -> Result<(), PortError>;
}

/// Tags for an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagRequest {
    /// `i-…`.
    pub instance_id: Text,
    /// What to set.
    pub tags: Labels,
}

/// What the selectors of a node class mean at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeClassResolution {
    /// Subnets, those with most free addresses first; at least one.
    pub subnets: Resolution<Vec<ResolvedSubnet>>,
    /// Security groups, by id; at least one.
    pub security_groups: Resolution<Vec<ResolvedSecurityGroup>>,
    /// Images, in order of preference; at least one.
    pub amis: Resolution<Vec<ResolvedAmi>>,
    /// The instance profile.
    pub instance_profile: Resolution<Text>,
    /// Capacity reservations, by id; none where none is selected.
    pub capacity_reservations: Resolution<Vec<ReservationStatus>>,
    /// Whether the placement group is there; also where none is asked for.
    pub placement_group: Resolution<()>,
    /// Whether EC2 would launch from it (dry runs).
    pub validation: Resolution<()>,
    /// The hash of its specification by the newest rules that are known, by which its nodes drift when it changes;
    /// `None` where it was not read from an object.
    pub stamp: Option<Stamp>,
}

/// A part of a node class, or why there is none.
pub type Resolution<T> = Result<T, Unresolved>;

/// Why a part of a node class could not be resolved.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}: {message}")]
pub struct Unresolved {
    /// A word for the condition, such as `SubnetsNotFound`.
    pub reason: Text,
    /// A sentence.
    pub message: Text,
    /// Nobody can say (throttled, not answered) rather than no: what was resolved before stays.
    pub is_passing: bool,
}

/// What became of a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchOutcome {
    /// There is an instance.
    Launched {
        /// The instance.
        instance: Instance,
        /// Offerings that were tried first and had none left: a success may carry errors.
        exhausted: Vec<Exhausted>,
    },
    /// Every offering failed for want of capacity (`InsufficientInstanceCapacity`,
    /// `MaxSpotInstanceCountExceeded`, `VcpuLimitExceeded`, `UnfulfillableCapacity`, `Unsupported`,
    /// `InsufficientFreeAddressesInSubnet`, `MaxFleetCountExceeded`, `ReservationCapacityExceeded`,
    /// or neither instance nor error came back).
    OutOfCapacity {
        /// Those that failed.
        exhausted: Vec<Exhausted>,
    },
    /// The EC2NodeClass is missing, being deleted or not ready.
    NodeClassNotReady {
        /// What is wrong with it.
        message: Text,
    },
    /// Anything else. Whether an instance exists is not known; asking again with the same token tells.
    Failed(PortError),
}

/// An offering that had none left.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Exhausted {
    /// The instance type.
    pub instance_type: Text,
    /// The zone's name.
    pub zone: Text,
    /// How it would have been bought.
    pub capacity_type: CapacityType,
    /// EC2's error code.
    pub code: Text,
}

impl Exhausted {
    /// That an offering of a request had none left.
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
    /// `aws:///ZONE/i-…`, as the Node will report it.
    pub provider_id: Text,
    /// The instance type.
    pub instance_type: Text,
    /// The zone's name.
    pub zone: Text,
    /// How it is bought.
    pub capacity_type: CapacityType,
    /// The capacity reservation it runs in.
    pub reservation_id: Option<Text>,
    /// Its price; `None` where the cloud does not say (a list of instances has no prices).
    pub price: Option<UsdPerHour>,
    /// The image it runs.
    pub image_id: Text,
    /// When it was launched.
    pub launched: Timestamp,
    /// How it is.
    pub state: InstanceState,
    /// Tag `karpenter.sh/nodeclaim`: the claim's name.
    pub claim: Option<Text>,
    /// Tag `outrigger.dev/claim-uid`: tells claims of one name apart.
    pub claim_uid: Option<Text>,
    /// Tag `karpenter.sh/nodepool`.
    pub node_pool: Option<Text>,
}

/// What EC2 finds wrong with an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceStatus {
    /// `i-…`.
    pub instance_id: Text,
    /// Checks that fail, and since when.
    pub impaired: Vec<(StatusCheck, Timestamp)>,
    /// Events that take the instance away from its pods (a reboot, a stop, a retirement, maintenance), by when
    /// each begins; `None` where EC2 does not say. Those that are over or were called off are left out.
    pub scheduled: Vec<Option<Timestamp>>,
}

/// A check that EC2 runs every minute.
///
/// Source: <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-system-instance-status-check.html>.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatusCheck {
    /// Of the instance's own software and network.
    Instance,
    /// Of the host it runs on.
    System,
}

/// The state of an instance, as EC2 words it.
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
    /// Whether it exists and nobody has asked for its end.
    pub const fn is_alive(self) -> bool {
        !matches!(self, Self::ShuttingDown | Self::Terminated)
    }
}

/// What became of a request to end an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Termination {
    /// It is shutting down.
    ShuttingDown,
    /// It is terminated, or nobody knows it any more.
    Gone,
    /// The request failed.
    Failed(PortError),
}
