//! Messages: EventBridge's events as the queue holds them.
//!
//! Sources:
//! <https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/monitoring-instance-state-changes.html> and
//! the pages on spot interruptions, rebalance recommendations, interruptible capacity reservations
//! and Capacity Blocks beside it;
//! <https://docs.aws.amazon.com/health/latest/ug/aws-health-events-eventbridge-schema.html>.

use controllers::interruption::{Notice, NoticeKind};
use domain::{Text, Timestamp};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// A message that could be parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its kind.
    pub kind: MessageKind,
    /// When the event happened.
    pub at: Timestamp,
    /// One notice per instance; none where there is nothing to act upon.
    pub notices: Vec<Notice>,
}

/// Kinds of message, with the names that Karpenter's metrics have for them.
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
    /// Capacity Block Reservation Expiration Warning. It names no instance; claims of a Capacity
    /// Block end by its end date, which is in the status of the EC2NodeClass.
    CapacityBlockExpiring,
    /// Any other event, and those of the above that need no action.
    Noop,
}

impl MessageKind {
    /// Its name in metrics and logs.
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

/// Why a message cannot be parsed. Its content is not repeated: events name accounts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MessageError {
    /// It is not JSON, or not an event.
    #[error("not an event: {kind} at line {line}, column {column}")]
    NotAnEvent {
        /// `syntax`, `data` or `eof`.
        kind: &'static str,
        /// Counted from 1; 0 where nothing was read.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
    /// Its time is invalid.
    #[error("time is not RFC 3339")]
    Time,
    /// Its detail lacks a field of its kind.
    #[error("detail is not that of {0}")]
    Detail(&'static str),
    /// Its instance id is invalid.
    #[error("instance id is invalid")]
    InstanceId,
}

const SPOT: &str = "EC2 Spot Instance Interruption Warning";
const REBALANCE: &str = "EC2 Instance Rebalance Recommendation";
const STATE_CHANGE: &str = "EC2 Instance State-change Notification";
const RESERVATION: &str = "EC2 Capacity Reservation Instance Interruption Warning";
/// EC2's user guide has used both names.
const INTERRUPTIBLE_RESERVATION: &str =
    "EC2 Interruptible Capacity Reservation Instance Interruption Warning";
const CAPACITY_BLOCK: &str = "Capacity Block Reservation Expiration Warning";
const HEALTH: &str = "AWS Health Event";

#[derive(Deserialize)]
struct Envelope {
    source: String,
    /// Events of Capacity Blocks are documented with an underscore.
    #[serde(rename = "detail-type", alias = "detail_type")]
    detail_type: String,
    time: String,
    #[serde(default)]
    detail: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct InstanceDetail {
    instance_id: String,
    state: Option<String>,
    instance_termination_time: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HealthDetail {
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
    /// Parses the body of a message.
    pub fn parse(body: &str) -> Result<Self, MessageError> {
        let envelope: Envelope =
            serde_json::from_str(body).map_err(|error| not_an_event(&error))?;
        let at = envelope.time.parse().map_err(|_| MessageError::Time)?;
        let detail = envelope.detail;
        match (envelope.source.as_str(), envelope.detail_type.as_str()) {
            ("aws.ec2", SPOT) => {
                let own = detail_of::<InstanceDetail>(detail, SPOT)?;
                one(MessageKind::SpotInterrupted, at, &own, NoticeKind::SpotInterruption)
            }
            ("aws.ec2", REBALANCE) => {
                let own = detail_of::<InstanceDetail>(detail, REBALANCE)?;
                let kind = NoticeKind::RebalanceRecommendation;
                one(MessageKind::RebalanceRecommendation, at, &own, kind)
            }
            ("aws.ec2", STATE_CHANGE) => state_change(at, detail),
            ("aws.ec2", RESERVATION | INTERRUPTIBLE_RESERVATION) => {
                let own = detail_of::<InstanceDetail>(detail, RESERVATION)?;
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

fn not_an_event(error: &serde_json::Error) -> MessageError {
    use serde_json::error::Category;
    let kind = match error.classify() {
        Category::Io | Category::Syntax => "syntax",
        Category::Data => "data",
        Category::Eof => "eof",
    };
    MessageError::NotAnEvent { kind, line: error.line(), column: error.column() }
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
    own: &InstanceDetail,
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
    let own = detail_of::<InstanceDetail>(detail, STATE_CHANGE)?;
    let state = own.state.as_deref().ok_or(MessageError::Detail(STATE_CHANGE))?;
    match state {
        "stopping" | "stopped" => one(MessageKind::InstanceStopped, at, &own, NoticeKind::Stopped),
        "shutting-down" | "terminated" => {
            one(MessageKind::InstanceTerminated, at, &own, NoticeKind::Terminated)
        }
        _ => Ok(nothing(MessageKind::Noop, at)),
    }
}

/// Scheduled changes of EC2 that are not over, for the instances that they still concern.
fn health(at: Timestamp, detail: Value) -> Result<Message, MessageError> {
    let own = detail_of::<HealthDetail>(detail, HEALTH)?;
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

/// AWS Health writes dates in the form of RFC 2822. A change whose date is in neither that form nor
/// RFC 3339 has none.
fn date(text: &str) -> Option<Timestamp> {
    let mail = jiff::fmt::rfc2822::parse(text).ok().map(|zoned| zoned.timestamp());
    mail.or_else(|| text.parse().ok())
}
