//! Messages that wake functions, through SQS: one queue for each function that is woken.
//!
//! Source: SQS's API reference, `SendMessage` and `SendMessageBatch`.

use std::collections::BTreeMap;

use aws_config::SdkConfig;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::types::SendMessageBatchRequestEntry;
use controllers::ports::wakes::WAKE_AFTER_MAX;
use controllers::ports::{DemandCheck, ErrorKind, FunctionName, PortError, Wake, Wakes};
use domain::{SignedDuration, Text};
use serde_json::json;

use crate::error::{Action, port_error};

const SEND_MESSAGE: Action = Action { service: "sqs", name: "SendMessage" };
const SEND_BATCH: Action = Action { service: "sqs", name: "SendMessageBatch" };
/// The most messages that one call sends.
const BATCH_MAX: usize = 10;
/// How often a call sends what the ones before it could not.
const BATCH_ATTEMPTS: usize = 3;

/// The queues of an installation.
#[derive(Clone, Debug)]
pub struct Queues {
    client: Client,
    /// The URL of each function's queue.
    urls: BTreeMap<FunctionName, Text>,
}

impl Queues {
    /// A client of the queues with these URLs.
    pub fn new(config: &SdkConfig, urls: BTreeMap<FunctionName, Text>) -> Self {
        Self { client: Client::new(config), urls }
    }

    /// Whether there is any.
    pub fn is_empty(&self) -> bool {
        self.urls.is_empty()
    }

    /// As the port of a cluster.
    pub fn of_cluster(&self, cluster: &Text) -> ClusterQueues {
        ClusterQueues { queues: self.clone(), cluster: cluster.clone() }
    }
}

/// What wakes functions for one cluster.
#[derive(Clone, Debug)]
pub struct ClusterQueues {
    queues: Queues,
    cluster: Text,
}

impl ClusterQueues {
    fn url(&self, function: FunctionName) -> Result<&str, PortError> {
        let url = self.queues.urls.get(&function);
        url.map(|url| &**url).ok_or_else(|| {
            let what = format!("function {function} has no queue");
            PortError::new(ErrorKind::Invalid, SEND_MESSAGE.name, what)
        })
    }

    /// Sends messages of one queue, up to [`BATCH_MAX`]. The call may send some of them and not
    /// others.
    async fn send_batch(&self, url: &str, wakes: &[Wake]) -> Result<(), PortError> {
        let mut left: BTreeMap<String, Wake> =
            wakes.iter().enumerate().map(|(id, wake)| (id.to_string(), *wake)).collect();
        let mut why = String::new();
        for _ in 0..BATCH_ATTEMPTS {
            let entry = |(id, wake): (&String, &Wake)| {
                SendMessageBatchRequestEntry::builder()
                    .id(id)
                    .message_body(body(&self.cluster, *wake))
                    .delay_seconds(delay_seconds(wake.after))
                    .build()
                    .map_err(|error| {
                        PortError::new(ErrorKind::Invalid, SEND_BATCH.name, error.to_string())
                    })
            };
            let entries: Result<Vec<_>, PortError> = left.iter().map(entry).collect();
            let call = self.queues.client.send_message_batch().queue_url(url);
            let sent = call.set_entries(Some(entries?)).send().await;
            let answer = sent.map_err(|error| port_error(SEND_BATCH, &error))?;
            for own in answer.successful() {
                left.remove(own.id());
            }
            if left.is_empty() {
                return Ok(());
            }
            // A message that neither list names counts as not sent.
            if let Some(first) = answer.failed().first() {
                why = format!("{}: {}", first.code(), first.message().unwrap_or_default());
            }
        }
        let what = format!("{} of {} messages were not sent: {why}", left.len(), wakes.len());
        Err(PortError::new(ErrorKind::Unavailable, SEND_BATCH.name, what))
    }
}

impl Wakes for ClusterQueues {
    async fn wake_all(&self, wakes: &[Wake]) -> Result<(), PortError> {
        for batch in wakes.chunks(BATCH_MAX) {
            self.send_batch(self.url(batch[0].function)?, batch).await?;
        }
        Ok(())
    }

    async fn wake(&self, wake: Wake) -> Result<(), PortError> {
        let url = self.url(wake.function)?;
        let message = self.queues.client.send_message();
        let sent = message
            .queue_url(url)
            .message_body(body(&self.cluster, wake))
            .delay_seconds(delay_seconds(wake.after))
            .send()
            .await;
        sent.map(drop).map_err(|error| port_error(SEND_MESSAGE, &error))
    }
}

/// The event that the message carries. Only who watches, or checks demand, sends any.
fn body(cluster: &str, wake: Wake) -> String {
    let event = match wake.demand_check {
        None => json!({ "cluster": cluster, "mode": "watch", "continues": wake.continues }),
        Some(DemandCheck { link, run_at, next_series }) => {
            let run_at = run_at.map(|at| at.to_string());
            let check = json!({ "link": link, "runAt": run_at, "nextSeries": next_series });
            json!({ "cluster": cluster, "mode": "tick", "demandCheck": check })
        }
    };
    event.to_string()
}

/// SQS counts in whole seconds. Rather late than early: what comes early finds nothing to do.
fn delay_seconds(after: SignedDuration) -> i32 {
    let after = after.clamp(SignedDuration::ZERO, WAKE_AFTER_MAX);
    let seconds = after.as_secs() + i64::from(after.subsec_nanos() > 0);
    i32::try_from(seconds).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_script::Script;
    use domain::Timestamp;

    #[test]
    fn a_message_is_an_event_of_its_function() {
        let wake = Wake {
            function: FunctionName::Lifecycle,
            continues: Some(7),
            after: SignedDuration::ZERO,
            demand_check: None,
        };
        let event = |wake| serde_json::from_str::<serde_json::Value>(&body("prod", wake)).unwrap();
        assert_eq!(event(wake), json!({"cluster": "prod", "mode": "watch", "continues": 7}));
        let run_at = Some(Timestamp::UNIX_EPOCH);
        let demand_check = Some(DemandCheck { link: 3, run_at, next_series: Some(8) });
        let wake =
            Wake { function: FunctionName::Provisioning, continues: None, demand_check, ..wake };
        let check = json!({"link": 3, "runAt": "1970-01-01T00:00:00Z", "nextSeries": 8});
        assert_eq!(event(wake), json!({"cluster": "prod", "mode": "tick", "demandCheck": check}));
    }

    #[test]
    fn a_delay_is_never_shorter_than_asked_nor_longer_than_sqs_can() {
        assert_eq!(delay_seconds(SignedDuration::ZERO), 0);
        assert_eq!(delay_seconds(SignedDuration::from_millis(14_001)), 15);
        assert_eq!(delay_seconds(SignedDuration::from_hours(1)), 900);
        assert_eq!(delay_seconds(SignedDuration::from_secs(-1)), 0);
    }

    fn queues(script: &Script) -> ClusterQueues {
        let url = "https://sqs.us-east-1.amazonaws.com/123456789012/provisioning".into();
        let urls = BTreeMap::from([(FunctionName::Provisioning, url)]);
        Queues::new(&script.config(), urls).of_cluster(&"prod".into())
    }

    fn wakes(count: i64) -> Vec<Wake> {
        let after = |index| SignedDuration::from_secs(5 * (index + 1));
        let function = FunctionName::Provisioning;
        (0..count)
            .map(|index| Wake {
                function,
                continues: None,
                after: after(index),
                demand_check: None,
            })
            .collect()
    }

    /// What SQS answers to a batch of which it takes some.
    fn taken(sent: &[&str], failed: &[&str]) -> serde_json::Value {
        let in_order = |id: &&str| json!({"Id": id, "MessageId": "m", "MD5OfMessageBody": "0"});
        let refused = |id: &&str| json!({"Id": id, "SenderFault": false, "Code": "InternalError"});
        let sent: Vec<_> = sent.iter().map(in_order).collect();
        let failed: Vec<_> = failed.iter().map(refused).collect();
        json!({"Successful": sent, "Failed": failed})
    }

    /// The ids of the messages of each batch.
    fn asked(script: &Script) -> Vec<Vec<String>> {
        let ids = |body: &String| {
            let body: serde_json::Value = serde_json::from_str(body).unwrap();
            let entries = body["Entries"].as_array().cloned().unwrap_or_default();
            entries.iter().map(|own| own["Id"].as_str().unwrap().to_owned()).collect()
        };
        script.asked("SendMessageBatch").iter().map(ids).collect()
    }

    #[tokio::test]
    async fn what_a_batch_leaves_behind_is_sent_again() {
        let script = Script::default()
            .answers_json("SendMessageBatch", &taken(&["0", "2"], &["1"]))
            .answers_json("SendMessageBatch", &taken(&["1"], &[]));
        queues(&script).wake_all(&wakes(3)).await.unwrap();
        assert_eq!(asked(&script), [vec!["0", "1", "2"], vec!["1"]]);
    }

    #[tokio::test]
    async fn more_messages_than_a_batch_takes_are_sent_in_several() {
        let all = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
        let script = Script::default()
            .answers_json("SendMessageBatch", &taken(&all, &[]))
            .answers_json("SendMessageBatch", &taken(&all[..2], &[]));
        queues(&script).wake_all(&wakes(12)).await.unwrap();
        assert_eq!(asked(&script), [all.to_vec(), all[..2].to_vec()]);
    }

    #[tokio::test]
    async fn messages_that_are_never_taken_are_an_error() {
        let refused = taken(&["0"], &["1"]);
        let script = Script::default()
            .answers_json("SendMessageBatch", &refused)
            .answers_json("SendMessageBatch", &taken(&[], &["1"]))
            .answers_json("SendMessageBatch", &taken(&[], &["1"]));
        let error = queues(&script).wake_all(&wakes(2)).await.unwrap_err();
        assert!(error.message.contains("1 of 2 messages were not sent: InternalError"), "{error}");
    }
}
