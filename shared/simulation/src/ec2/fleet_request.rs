//! Requests for an instant fleet of one instance, and EC2's answers.

use domain::Text;
use domain::instance_type::CapacityType;
use domain::label::Labels;

use super::capacity_pool::CapacityPool;
use super::instance::Registration;

/// A request for one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetRequest {
    /// Repeating a token repeats the answer.
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

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetAnswer {
    /// The instance, unless nothing was left.
    pub instance: Option<Text>,
    /// Pools that were tried and had nothing left (InsufficientInstanceCapacity).
    pub insufficient: Vec<CapacityPool>,
}

/// Why a request was not carried out, or so it seems to the caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FleetError {
    /// Too many calls.
    #[error("RequestLimitExceeded: request limit exceeded")]
    Throttled,
    /// Something went wrong inside.
    #[error("InternalError: an internal error has occurred")]
    Internal,
    /// The answer never came; the instance may have been launched.
    #[error("the connection was lost before the answer came")]
    AnswerLost,
    /// None of the overrides is offered.
    #[error("InvalidParameterCombination: none of the overrides is offered")]
    NothingOffered,
}
