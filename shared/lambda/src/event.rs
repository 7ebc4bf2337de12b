//! The event that invokes a function: it names a cluster.
//!
//! `{"cluster": "NAME"}`, with `"mode": "watch"`, `"tick"` or `"poll"` to override the environment,
//! and with `"handBack": true` or `false` where lifecycle is to hand the cluster back to Karpenter
//! or to take it over again; or EventBridge's envelope with these fields in `detail`. Other fields
//! are ignored. A function that serves the whole region needs no name. Lifecycle learns when the
//! others are woken, `"schedules": {"provisioning": "rate(1 minute)", "disruption": "rate(1
//! minute)"}`, so that it can say which of them have not succeeded for too long.
//!
//! Functions wake each other, and themselves, by messages of SQS: batches of one, whose body is
//! such an event, with `"continues"`, the fencing token of the run that it continues, or with
//! `"demandCheck": {"link": 7, "runAt": TIME or null, "nextSeries": NUMBER or null}`, which asks
//! provisioning to check whether pods wait
//! (<https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html>).

use controllers::ports::DemandCheck;
use domain::{Text, Timestamp};
use serde_json::Value;

use crate::environment::Reaction;
use crate::schedule::Schedules;

/// What a function is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterEvent {
    /// The EKS cluster, where one is named.
    pub cluster: Option<Text>,
    /// Whether to watch, to check every few seconds or to poll; `None` leaves it to the
    /// environment.
    pub reaction: Option<Reaction>,
    /// `true` hands the cluster back to Karpenter, `false` takes it over again; `None` does
    /// neither.
    pub hand_back: Option<bool>,
    /// Whether a function sent it, and not a schedule or an operator.
    pub is_message: bool,
    /// The fencing token of the run that it continues; `None` for one that continues none.
    pub continues: Option<u64>,
    /// What provisioning is to check; `None` where it is to run.
    pub demand_check: Option<DemandCheck>,
    /// When the functions are woken that lifecycle counts; `None` where it is not to count any.
    pub schedules: Option<Schedules>,
}

/// Why an event is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventError {
    /// It names no cluster, and the function needs one.
    #[error("the event names no cluster: {{\"cluster\": \"NAME\"}} is expected")]
    NoCluster,
    /// Its cluster is not a valid name.
    #[error("the event's cluster is not a valid EKS cluster name")]
    NoName,
    /// Its mode is unknown.
    #[error("the event's mode: {0}")]
    Mode(String),
    /// `handBack` is neither true nor false.
    #[error("the event's handBack is neither true nor false")]
    HandBack,
    /// `schedules` lacks a function, or has a schedule that cannot be read.
    #[error("the event's schedules: {0}")]
    Schedules(String),
    /// Another function than lifecycle is asked to hand back.
    #[error("the event asks to hand the cluster back: only function lifecycle does that")]
    NotHere,
    /// It is a batch of messages, but not of one that is an event.
    #[error("the event is a batch of messages, and not of one with an event as its body")]
    NoMessage,
    /// It is not a batch of a queue's messages.
    #[error("the event is not a batch of messages: {kind:?} at line {line}, column {column}")]
    NoBatch {
        /// The category of the parse error; never the event itself, which may hold anything.
        kind: serde_json::error::Category,
        /// Counted from 1; 0 where unknown.
        line: usize,
        /// Counted from 1; 0 where unknown.
        column: usize,
    },
}

/// The longest name that EKS accepts, characters.
///
/// Source: <https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html>.
const NAME_LENGTH_MAX: usize = 100;

impl ClusterEvent {
    /// Reads an event. `otherwise` is the cluster of events that name no cluster.
    pub fn of(event: &Value, otherwise: Option<&Text>) -> Result<Self, EventError> {
        match event.get("Records").map(|records| records.as_array().map(Vec::as_slice)) {
            None => Self::of_schedule(event, otherwise),
            Some(Some([message])) => Self::of_message(message),
            Some(_) => Err(EventError::NoMessage),
        }
    }

    fn of_message(message: &Value) -> Result<Self, EventError> {
        let body = message.get("body").and_then(Value::as_str);
        let event: Option<Value> = body.and_then(|body| serde_json::from_str(body).ok());
        let event = event.filter(Value::is_object).ok_or(EventError::NoMessage)?;
        let continues = event.get("continues").and_then(Value::as_u64);
        let demand_check = event.get("demandCheck").and_then(demand_check);
        Ok(Self { is_message: true, continues, demand_check, ..Self::of_schedule(&event, None)? })
    }

    fn of_schedule(event: &Value, otherwise: Option<&Text>) -> Result<Self, EventError> {
        let field = |name: &str| event.get(name).or_else(|| event.get("detail")?.get(name));
        let cluster = match field("cluster") {
            Some(Value::String(name)) => Some(name.as_str().into()),
            Some(_) => return Err(EventError::NoName),
            None => otherwise.cloned(),
        };
        if cluster.as_ref().is_some_and(|name: &Text| !is_name(name)) {
            return Err(EventError::NoName);
        }
        let reaction = match field("mode") {
            None => None,
            Some(mode) => {
                let word = mode.as_str().unwrap_or_default();
                Some(word.parse().map_err(EventError::Mode)?)
            }
        };
        let hand_back = match field("handBack") {
            None => None,
            Some(choice) => Some(choice.as_bool().ok_or(EventError::HandBack)?),
        };
        let schedules = field("schedules").map(schedules).transpose();
        let schedules = schedules.map_err(EventError::Schedules)?;
        let (is_message, continues, demand_check) = (false, None, None);
        Ok(Self { cluster, reaction, hand_back, is_message, continues, demand_check, schedules })
    }
}

/// One of a series of demand checks. A run is due at once where its moment cannot be read: one too
/// many does no harm.
fn demand_check(value: &Value) -> Option<DemandCheck> {
    let link = value.get("link").and_then(Value::as_u64)?;
    let moment = value.get("runAt").and_then(Value::as_str);
    let run_at = moment.map(|text| text.parse().unwrap_or(Timestamp::UNIX_EPOCH));
    let next_series = value.get("nextSeries").and_then(Value::as_u64);
    let next_series = next_series.and_then(|checks| u32::try_from(checks).ok());
    Some(DemandCheck { link, run_at, next_series })
}

fn schedules(value: &Value) -> Result<Schedules, String> {
    let of = |function: &str| {
        let rate = value.get(function).and_then(Value::as_str);
        rate.ok_or_else(|| format!("{function} has none"))?.parse()
    };
    Ok(Schedules { provisioning: of("provisioning")?, disruption: of("disruption")? })
}

fn is_name(text: &str) -> bool {
    text.len() <= NAME_LENGTH_MAX
        && text.starts_with(|first: char| first.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_message_says_which_run_it_continues() {
        let batch = |bodies: &[&str]| {
            let records: Vec<Value> = bodies.iter().map(|body| json!({"body": body})).collect();
            ClusterEvent::of(&json!({"Records": records}), Some(&"other".into()))
        };
        let event = batch(&[r#"{"cluster": "prod", "mode": "watch", "continues": 7}"#]).unwrap();
        assert_eq!(event.cluster.as_deref(), Some("prod"));
        assert_eq!((event.is_message, event.continues), (true, Some(7)));
        assert_eq!(event.reaction, Some(Reaction::Watch));
        let news = batch(&[r#"{"cluster": "prod", "continues": null}"#]).unwrap();
        assert_eq!((news.is_message, news.continues), (true, None));
        let check = |text: &str| batch(&[text]).unwrap().demand_check;
        let last =
            r#"{"cluster": "prod", "demandCheck": {"link": 3, "runAt": null, "nextSeries": 8}}"#;
        assert_eq!(check(last), Some(DemandCheck { link: 3, run_at: None, next_series: Some(8) }));
        let due = check(r#"{"cluster": "prod", "demandCheck": {"link": 3, "runAt": "soon"}}"#);
        let run_at = Some(Timestamp::UNIX_EPOCH);
        assert_eq!(due, Some(DemandCheck { link: 3, run_at, next_series: None }));
        for wrong in [&[][..], &["{}", "{}"], &["no event"], &["[]"]] {
            assert_eq!(batch(wrong), Err(EventError::NoMessage), "{wrong:?}");
        }
    }

    fn of(event: &Value) -> Result<(String, Option<Reaction>), EventError> {
        let event = ClusterEvent::of(event, None)?;
        Ok((event.cluster.as_deref().unwrap_or("none").to_owned(), event.reaction))
    }

    #[test]
    fn a_cluster_is_named_at_the_top_or_in_the_detail() {
        let envelope = json!({"source": "aws.scheduler", "detail": {"cluster": "prod"}});
        assert_eq!(of(&envelope), Ok(("prod".to_owned(), None)));
        let plain = json!({"cluster": "prod", "mode": "poll", "time": "2026-01-01T00:00:00Z"});
        assert_eq!(of(&plain), Ok(("prod".to_owned(), Some(Reaction::Poll))));
    }

    #[test]
    fn an_event_that_names_none_is_for_the_cluster_of_the_environment() {
        let otherwise = Text::from("only");
        let event = ClusterEvent::of(&json!({}), Some(&otherwise)).unwrap();
        assert_eq!(event.cluster, Some(otherwise));
        assert_eq!(of(&json!({})), Ok(("none".to_owned(), None)));
    }

    #[test]
    fn a_cluster_is_handed_back_where_the_event_says_so_in_so_many_words() {
        let asked = |event: Value| ClusterEvent::of(&event, None).map(|event| event.hand_back);
        assert_eq!(asked(json!({"cluster": "prod"})), Ok(None));
        assert_eq!(asked(json!({"cluster": "prod", "handBack": true})), Ok(Some(true)));
        assert_eq!(asked(json!({"cluster": "prod", "handBack": false})), Ok(Some(false)));
        let word = json!({"cluster": "prod", "handBack": "true"});
        assert_eq!(asked(word), Err(EventError::HandBack));
    }

    #[test]
    fn lifecycle_learns_when_the_others_are_woken() {
        let of = |schedules: Value| {
            let event = json!({"cluster": "prod", "schedules": schedules});
            ClusterEvent::of(&event, None).map(|event| event.schedules)
        };
        let rates = json!({"provisioning": "rate(1 minute)", "disruption": "rate(2 hours)"});
        let expected = Schedules {
            provisioning: "rate(1 minute)".parse().unwrap(),
            disruption: "rate(2 hours)".parse().unwrap(),
        };
        assert_eq!(of(rates), Ok(Some(expected)));
        for wrong in [
            json!({"provisioning": "rate(1 minute)"}),
            json!({"provisioning": "rate(1 minute)", "disruption": "often"}),
        ] {
            assert!(matches!(of(wrong), Err(EventError::Schedules(_))));
        }
    }

    #[test]
    fn what_no_cluster_can_be_called_is_refused() {
        for name in [json!(""), json!("region/eu-west-1"), json!("a#b"), json!(7), json!("-a")] {
            assert_eq!(of(&json!({ "cluster": name })), Err(EventError::NoName));
        }
        let mode = of(&json!({"cluster": "prod", "mode": "nap"}));
        assert!(matches!(mode, Err(EventError::Mode(_))), "{mode:?}");
    }
}
