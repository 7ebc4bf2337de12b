//! The event that invokes a function: it names a cluster.
//!
//! `{"cluster": "NAME"}`, with `"mode": "watch"` or `"poll"` to override the environment, and with
//! `"handBack": true` or `false` where lifecycle is to hand the cluster back to Karpenter or to
//! take it over again; or EventBridge's envelope with these fields in `detail`. Other fields are
//! ignored. A function that serves the whole region needs no name.

use domain::Text;
use serde_json::Value;

use crate::environment::Reaction;

/// What a function is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterEvent {
    /// The EKS cluster, where one is named.
    pub cluster: Option<Text>,
    /// Whether to watch or to poll; `None` leaves it to the environment.
    pub reaction: Option<Reaction>,
    /// `true` hands the cluster back to Karpenter, `false` takes it over again; `None` does
    /// neither.
    pub hand_back: Option<bool>,
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
    /// Another function than lifecycle is asked to hand back.
    #[error("the event asks to hand the cluster back: only function lifecycle does that")]
    NotHere,
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
        Ok(Self { cluster, reaction, hand_back })
    }
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
    fn what_no_cluster_can_be_called_is_refused() {
        for name in [json!(""), json!("region/eu-west-1"), json!("a#b"), json!(7), json!("-a")] {
            assert_eq!(of(&json!({ "cluster": name })), Err(EventError::NoName));
        }
        let mode = of(&json!({"cluster": "prod", "mode": "nap"}));
        assert!(matches!(mode, Err(EventError::Mode(_))), "{mode:?}");
    }
}
