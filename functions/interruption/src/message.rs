//! Messages: EventBridge's events as the queue holds them.
//!
//! Sources: <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instance-state-changes.html> and the
//! pages on spot interruptions, rebalance recommendations, interruptible capacity reservations and Capacity
//! Blocks beside it; <https://docs.aws.amazon.com/health/latest/ug/aws-health-events-eventbridge-schema.html>.

use controllers::interruption::{Notice, NoticeKind};
use domain::{Text, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A message that could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What it is about.
    pub kind: MessageKind,
    /// When it was said.
    pub at: Timestamp,
    /// What it says, instance by instance; none where nobody acts upon it.
    pub notices: Vec<Notice>,
}

/// Kinds of message, by Karpenter's words for them (reference E10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MessageKind {
    /// EC2 Spot Instance Interruption Warning.
    SpotInterrupted,
    /// EC2 Instance Rebalance Recommendation.
    RebalanceRecommendation,
    /// AWS Health Event about a scheduled change.
    ScheduledChange,
    /// EC2 Instance State-change Notification: stopping, stopped.
    InstanceStopped,
    /// EC2 Instance State-change Notification: shutting-down, terminated.
    InstanceTerminated,
    /// EC2 Capacity Reservation Instance Interruption Warning.
    CapacityReservationInterrupted,
    /// Capacity Block Reservation Expiration Warning. It names no instance; claims of a Capacity Block end by
    /// its end date, which the node class shows.
    CapacityBlockExpiring,
    /// Anything else, and what of the above needs nothing done.
    Noop,
}

impl MessageKind {
    /// The word in metrics and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SpotInterrupted => "spot_interrupted",
            Self::RebalanceRecommendation => "rebalance_recommendation",
            Self::ScheduledChange => "scheduled_change",
            Self::InstanceStopped => "instance_stopped",
            Self::InstanceTerminated => "instance_terminated",
            Self::CapacityReservationInterrupted => "capacity_reservation_interrupted",
            Self::CapacityBlockExpiring => "capacity_block_expiring",
            Self::Noop => "noop",
        }
    }
}

/// Why a message cannot be read. What it holds is not repeated: events name accounts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// It is not JSON, or not an event.
    #[error("it is no event: {kind} at line {line}, column {column}")]
    NoEvent {
        /// `syntax`, `data` or `eof`.
        kind: &'static str,
        /// Counted from 1; 0 where nothing was read.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
    /// Its time is none.
    #[error("its time is none of RFC 3339")]
    Time,
    /// Its detail lacks what its kind has.
    #[error("its detail is not that of {0}")]
    Detail(&'static str),
    /// It names an instance that cannot be one.
    #[error("its instance id is none")]
    InstanceId,
}

const SPOT: &str = "EC2 Spot Instance Interruption Warning";
const REBALANCE: &str = "EC2 Instance Rebalance Recommendation";
const STATE_CHANGE: &str = "EC2 Instance State-change Notification";
const RESERVATION: &str = "EC2 Capacity Reservation Instance Interruption Warning";
/// EC2's user guide has had both names.
const INTERRUPTIBLE_RESERVATION: &str =
    "EC2 Interruptible Capacity Reservation Instance Interruption Warning";
const CAPACITY_BLOCK: &str = "Capacity Block Reservation Expiration Warning";
const HEALTH: &str = "AWS Health Event";

#[derive(Deserialize)]
struct Envelope {
    source: String,
    /// Capacity Blocks' events are documented with an underscore.
    #[serde(rename = "detail-type", alias = "detail_type")]
    detail_type: String,
    time: String,
    #[serde(default)]
    detail: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct OfInstance {
    instance_id: String,
    state: Option<String>,
    instance_termination_time: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Health {
    service: String,
    event_type_category: String,
    status_code: Option<String>,
    start_time: Option<String>,
    #[serde(default)]
    affected_entities: Vec<Entity>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entity {
    entity_value: String,
    status: Option<String>,
}

impl Message {
    /// Reads a message's body.
    pub fn parse(body: &str) -> Result<Self, MessageError> {
        let envelope: Envelope = serde_json::from_str(body).map_err(|error| no_event(&error))?;
        let at = envelope.time.parse().map_err(|_| MessageError::Time)?;
        let detail = envelope.detail;
        match (envelope.source.as_str(), envelope.detail_type.as_str()) {
            ("aws.ec2", SPOT) => {
                let own = detail_of::<OfInstance>(detail, SPOT)?;
                one(MessageKind::SpotInterrupted, at, &own, NoticeKind::SpotInterruption)
            }
            ("aws.ec2", REBALANCE) => {
                let own = detail_of::<OfInstance>(detail, REBALANCE)?;
                let kind = NoticeKind::RebalanceRecommendation;
                one(MessageKind::RebalanceRecommendation, at, &own, kind)
            }
            ("aws.ec2", STATE_CHANGE) => state_change(at, detail),
            ("aws.ec2", RESERVATION | INTERRUPTIBLE_RESERVATION) => {
                let own = detail_of::<OfInstance>(detail, RESERVATION)?;
                let ends = own.instance_termination_time.as_deref().and_then(|t| t.parse().ok());
                let kind = NoticeKind::ReservationInterruption { ends };
                one(MessageKind::CapacityReservationInterrupted, at, &own, kind)
            }
            ("aws.ec2", CAPACITY_BLOCK) => Ok(nothing(MessageKind::CapacityBlockExpiring, at)),
            ("aws.health", HEALTH) => health(at, detail),
            _ => Ok(nothing(MessageKind::Noop, at)),
        }
    }
}

fn no_event(error: &serde_json::Error) -> MessageError {
    use serde_json::error::Category;
    let kind = match error.classify() {
        Category::Io | Category::Syntax => "syntax",
        Category::Data => "data",
        Category::Eof => "eof",
    };
    MessageError::NoEvent { kind, line: error.line(), column: error.column() }
}

fn detail_of<T: DeserializeOwned>(detail: Value, kind: &'static str) -> Result<T, MessageError> {
    serde_json::from_value(detail).map_err(|_| MessageError::Detail(kind))
}

fn nothing(kind: MessageKind, at: Timestamp) -> Message {
    Message { kind, at, notices: Vec::new() }
}

fn one(
    kind: MessageKind,
    at: Timestamp,
    own: &OfInstance,
    notice: NoticeKind,
) -> Result<Message, MessageError> {
    let instance_id = instance_id(&own.instance_id).ok_or(MessageError::InstanceId)?;
    Ok(Message { kind, at, notices: vec![Notice { instance_id, at, kind: notice }] })
}

/// `i-` and hexadecimal digits.
fn instance_id(text: &str) -> Option<Text> {
    let digits = text.strip_prefix("i-")?;
    let is_id = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| text.into())
}

fn state_change(at: Timestamp, detail: Value) -> Result<Message, MessageError> {
    let own = detail_of::<OfInstance>(detail, STATE_CHANGE)?;
    let state = own.state.as_deref().ok_or(MessageError::Detail(STATE_CHANGE))?;
    match state {
        "stopping" | "stopped" => one(MessageKind::InstanceStopped, at, &own, NoticeKind::Stopped),
        "shutting-down" | "terminated" => {
            one(MessageKind::InstanceTerminated, at, &own, NoticeKind::Terminated)
        }
        _ => Ok(nothing(MessageKind::Noop, at)),
    }
}

/// Only changes of EC2 that are ahead, of instances that they are ahead of.
fn health(at: Timestamp, detail: Value) -> Result<Message, MessageError> {
    let own = detail_of::<Health>(detail, HEALTH)?;
    let is_ours = own.service == "EC2" && own.event_type_category == "scheduledChange";
    if !is_ours || own.status_code.as_deref() == Some("closed") {
        return Ok(nothing(MessageKind::Noop, at));
    }
    let starts = own.start_time.as_deref().and_then(date);
    let kind = NoticeKind::ScheduledChange { starts };
    let notices = own
        .affected_entities
        .iter()
        .filter(|entity| entity.status.as_deref() != Some("RESOLVED"))
        .filter_map(|entity| instance_id(&entity.entity_value))
        .map(|instance_id| Notice { instance_id, at, kind })
        .collect();
    Ok(Message { kind: MessageKind::ScheduledChange, at, notices })
}

/// AWS Health writes dates as mails do; where it should write another, the change has no date.
fn date(text: &str) -> Option<Timestamp> {
    let mail = jiff::fmt::rfc2822::parse(text).ok().map(|zoned| zoned.timestamp());
    mail.or_else(|| text.parse().ok())
}
