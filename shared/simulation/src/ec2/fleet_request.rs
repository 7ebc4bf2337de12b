//! Requests for an instant fleet of one instance, and EC2's answers.

use domain::Text;
use domain::instance_type::CapacityType;
use domain::label::Labels;

use super::capacity_pool::CapacityPool;
use super::instance::Registration;

/// A request for one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetRequest {
    /// What makes a repetition of the request known as one.
    pub client_token: Text,
    /// How it is bought.
    pub capacity_type: CapacityType,
    /// What may be launched.
    pub overrides: Vec<FleetOverride>,
    /// Whose view of the types counts.
    pub node_class: Text,
    /// The machine image.
    pub image: Text,
    /// Tags of the instance.
    pub tags: Labels,
    /// How its kubelet registers; the Node's name is filled in.
    pub registration: Registration,
}

/// One thing that may be launched.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetOverride {
    /// The instance type.
    pub instance_type: Text,
    /// The zone's name.
    pub zone: Text,
    /// The capacity reservation, for `reserved`.
    pub reservation: Option<Text>,
}

/// What came of a request. An instance, errors, both or neither.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FleetAnswer {
    /// The instance, if one was launched.
    pub instance: Option<Text>,
    /// Why pools were passed over.
    pub errors: Vec<PoolError>,
}

impl FleetAnswer {
    /// Pools that were tried and had nothing left (InsufficientInstanceCapacity).
    pub fn insufficient(&self) -> Vec<CapacityPool> {
        let lacking = |own: &&PoolError| own.code == FleetErrorCode::InsufficientCapacity;
        self.errors.iter().filter(lacking).map(|own| own.pool.clone()).collect()
    }
}

/// An error inside an answer: why a pool was passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolError {
    /// The pool.
    pub pool: CapacityPool,
    /// Why.
    pub code: FleetErrorCode,
}

/// Codes of errors inside an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FleetErrorCode {
    /// The pool has nothing left.
    InsufficientCapacity,
    /// Nothing could be launched; also about pools that had nothing to do with it.
    Unfulfillable,
    /// The account's limit of vCPUs is reached.
    VcpuLimit,
    /// The account's limit of spot instances is reached.
    SpotCount,
    /// The subnet has no address left.
    SubnetFull,
    /// The account lacks the service-linked role for spot, and we may not create it.
    SpotRoleMissing,
    /// The launch was throttled, although the call was not.
    Throttled,
    /// Something went wrong inside.
    Internal,
    /// EC2 does not know the instance profile, or not yet.
    ProfileUnknown,
    /// A right is missing, or not known everywhere yet: that to tag at launch, for example.
    Denied,
}

impl FleetErrorCode {
    /// Reasons for which fleets are refused by chance. They pass by themselves.
    pub const REFUSALS: [Self; 7] = [
        Self::Throttled,
        Self::Internal,
        Self::ProfileUnknown,
        Self::Denied,
        Self::VcpuLimit,
        Self::SubnetFull,
        Self::SpotCount,
    ];

    /// `ErrorCode`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InsufficientCapacity => "InsufficientInstanceCapacity",
            Self::Unfulfillable => "UnfulfillableCapacity",
            Self::VcpuLimit => "VcpuLimitExceeded",
            Self::SpotCount => "MaxSpotInstanceCountExceeded",
            Self::SubnetFull => "InsufficientFreeAddressesInSubnet",
            Self::SpotRoleMissing => "AuthFailure.ServiceLinkedRoleCreationNotPermitted",
            Self::Throttled => "RequestLimitExceeded",
            Self::Internal => "InternalError",
            Self::ProfileUnknown => "InvalidParameterValue",
            Self::Denied => "UnauthorizedOperation",
        }
    }
}

/// Codes with which a request is refused as a whole: nothing was launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallRefusal {
    /// CreateFleet itself is throttled.
    Throttled,
    /// The account has as many fleets as it may.
    FleetCount,
    /// The right to CreateFleet is missing, or not known everywhere yet.
    Denied,
    /// A parameter is not valid, or not known everywhere yet.
    InvalidParameter,
    /// The pools do not go together.
    InvalidFleetConfig,
}

impl CallRefusal {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Throttled,
        Self::FleetCount,
        Self::Denied,
        Self::InvalidParameter,
        Self::InvalidFleetConfig,
    ];

    /// `Code`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Throttled => "RequestLimitExceeded",
            Self::FleetCount => "MaxFleetCountExceeded",
            Self::Denied => "UnauthorizedOperation",
            Self::InvalidParameter => "InvalidParameterValue",
            Self::InvalidFleetConfig => "InvalidFleetConfig",
        }
    }
}

/// Why a request was not carried out, or so it seems to the caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FleetError {
    /// The request was refused as a whole.
    #[error("{}: the whole call is refused", .0.as_str())]
    Refused(CallRefusal),
    /// Something went wrong inside.
    #[error("InternalError: an internal error has occurred")]
    Internal,
    /// The answer never came; the instance may have been launched.
    #[error("the connection was lost before the answer came")]
    AnswerLost,
    /// The client token was used with other parameters.
    #[error(
        "IdempotentParameterMismatch: the token was used with other parameters in an earlier request"
    )]
    ParameterMismatch,
    /// None of the overrides is offered.
    #[error("InvalidParameterCombination: none of the overrides is offered")]
    NothingOffered,
}
