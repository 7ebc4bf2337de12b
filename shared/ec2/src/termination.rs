//! Terminates and tags instances, in batches in which one bad id does not fail the others.

use std::collections::BTreeMap;

use aws::budget::Bucket;
use controllers::ports::cloud::{InstanceState, TagRequest, Termination};
use controllers::ports::{ErrorKind, PortError};
use domain::label::Labels;
use domain::{Text, Timestamp};

use super::client::Ec2;
use super::instance::state;
use super::tags::to_aws;
use crate::calls::ec2;

/// The most ids of one call.
const IDS_A_CALL: usize = 500;
/// After so many denials in a row no other instance is tried.
const DENIALS_MAX: u32 = 3;

impl Ec2 {
    /// Terminates instances. Returns one outcome per id, in order.
    ///
    /// EC2 terminates none of a batch in which one id is unknown or forbidden. Ids that its error
    /// names as unknown are removed; otherwise the batch is split until the bad id is
    /// alone.
    pub(super) async fn terminate_instances(&self, ids: &[Text]) -> Vec<Termination> {
        let mut outcomes: BTreeMap<&Text, Termination> = BTreeMap::new();
        let mut batches: Vec<Vec<&Text>> =
            ids.chunks(IDS_A_CALL).map(|chunk| chunk.iter().collect()).collect();
        while let Some(batch) = batches.pop() {
            match self.terminate_batch(&batch).await {
                Ok(states) => {
                    for id in batch {
                        outcomes.insert(id, termination(states.get(&**id).copied()));
                    }
                }
                Err(error) if error.kind == ErrorKind::NotFound => {
                    let (unknown, rest): (Vec<&Text>, Vec<&Text>) =
                        batch.iter().partition(|id| names(&error.message, id));
                    if unknown.is_empty() {
                        split(&batch, &error, &mut batches, &mut outcomes);
                        continue;
                    }
                    outcomes.extend(unknown.into_iter().map(|id| (id, Termination::Unknown)));
                    batches.extend((!rest.is_empty()).then_some(rest));
                }
                // Smaller batches would only make more calls.
                Err(error)
                    if matches!(error.kind, ErrorKind::Throttled | ErrorKind::Unavailable) =>
                {
                    let failed = |id| (id, Termination::Failed(error.clone()));
                    outcomes.extend(batch.into_iter().map(failed));
                }
                // An instance that has vanished bears no tags any more, and a policy that asks for
                // them denies it rather than not finding it.
                Err(error) if error.kind == ErrorKind::Denied => {
                    outcomes.extend(self.terminate_what_is_allowed(batch, &error).await);
                }
                Err(error) => split(&batch, &error, &mut batches, &mut outcomes),
            }
        }
        ids.iter()
            .map(|id| outcomes.get(id).cloned().unwrap_or_else(|| termination(None)))
            .collect()
    }

    /// Ends what remains of a denied batch one by one. Gives up after some denials in a row, since
    /// then the role lacks the permission for all of them; begins elsewhere each minute, so that
    /// instances that nobody may end keep no others alive.
    async fn terminate_what_is_allowed<'i>(
        &self,
        batch: Vec<&'i Text>,
        denial: &PortError,
    ) -> Vec<(&'i Text, Termination)> {
        let shown = match self.shown(&batch).await {
            Ok(shown) => shown,
            Err(error) => {
                tracing::warn!(%error, "failed to describe instances that may not be ended");
                let failed = |id| (id, Termination::Failed(denial.clone()));
                return batch.into_iter().map(failed).collect();
            }
        };
        let (mut rest, unknown): (Vec<&Text>, Vec<&Text>) =
            batch.into_iter().partition(|id| shown.contains(*id));
        let mut outcomes: Vec<(&Text, Termination)> =
            unknown.into_iter().map(|id| (id, Termination::Unknown)).collect();
        if let Ok(minute) = usize::try_from(Timestamp::now().as_second() / 60)
            && !rest.is_empty()
        {
            let first = minute % rest.len();
            rest.rotate_left(first);
        }
        let mut denials = 0;
        for id in rest {
            let outcome = if denials < DENIALS_MAX {
                self.terminate_batch(&[id]).await
            } else {
                Err(denial.clone())
            };
            let is_denied = matches!(&outcome, Err(error) if error.kind == ErrorKind::Denied);
            denials = if is_denied { denials + 1 } else { 0 };
            let outcome = match outcome {
                Ok(states) => termination(states.get(&**id).copied()),
                Err(error) if error.kind == ErrorKind::NotFound => Termination::Unknown,
                Err(error) => Termination::Failed(error),
            };
            outcomes.push((id, outcome));
        }
        outcomes
    }

    async fn terminate_batch(
        &self,
        ids: &[&Text],
    ) -> Result<BTreeMap<String, InstanceState>, PortError> {
        let call = self
            .calls
            .ec2
            .terminate_instances()
            .set_instance_ids(Some(ids.iter().map(ToString::to_string).collect()))
            .send();
        let answer = self.calls.send(Bucket::Terminate, ec2("TerminateInstances"), call).await?;
        let changed = answer.terminating_instances().iter();
        Ok(changed
            .filter_map(|own| {
                let now = own.current_state().and_then(|state| state.name())?;
                Some((own.instance_id()?.to_owned(), state(now)))
            })
            .collect())
    }

    /// Sets tags. Returns one outcome per request, in order. Requests with equal tags share a call.
    pub(super) async fn tag_instances(
        &self,
        requests: &[TagRequest],
    ) -> Vec<Result<(), PortError>> {
        let mut by_tags: BTreeMap<&Labels, Vec<&Text>> = BTreeMap::new();
        for request in requests {
            by_tags.entry(&request.tags).or_default().push(&request.instance_id);
        }
        let mut outcomes: BTreeMap<(&Labels, &Text), Result<(), PortError>> = BTreeMap::new();
        for (tags, ids) in by_tags {
            let mut batches: Vec<Vec<&Text>> =
                ids.chunks(IDS_A_CALL).map(<[&Text]>::to_vec).collect();
            while let Some(batch) = batches.pop() {
                match self.tag_batch(tags, &batch).await {
                    Err(error) if batch.len() > 1 && !error.is_retryable() => {
                        let (left, right) = batch.split_at(batch.len() / 2);
                        batches.extend([left.to_vec(), right.to_vec()]);
                    }
                    outcome => {
                        outcomes.extend(batch.into_iter().map(|id| ((tags, id), outcome.clone())));
                    }
                }
            }
        }
        requests
            .iter()
            .map(|request| {
                outcomes.get(&(&request.tags, &request.instance_id)).cloned().unwrap_or(Ok(()))
            })
            .collect()
    }

    async fn tag_batch(&self, tags: &Labels, ids: &[&Text]) -> Result<(), PortError> {
        let call = self
            .calls
            .ec2
            .create_tags()
            .set_resources(Some(ids.iter().map(ToString::to_string).collect()))
            .set_tags(Some(to_aws(tags)))
            .send();
        self.calls.send(Bucket::Mutate, ec2("CreateTags"), call).await.map(drop)
    }
}

/// Halves a batch that was refused; a single id has its outcome.
fn split<'i>(
    batch: &[&'i Text],
    error: &PortError,
    batches: &mut Vec<Vec<&'i Text>>,
    outcomes: &mut BTreeMap<&'i Text, Termination>,
) {
    match batch {
        [] => {}
        [id] if error.kind == ErrorKind::NotFound => {
            outcomes.insert(id, Termination::Unknown);
        }
        [id] => {
            outcomes.insert(id, Termination::Failed(error.clone()));
        }
        many => {
            let (left, right) = many.split_at(many.len() / 2);
            batches.extend([left.to_vec(), right.to_vec()]);
        }
    }
}

/// Whether the message names the id as a whole word.
fn names(message: &str, id: &str) -> bool {
    message.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|word| word == id)
}

fn termination(state: Option<InstanceState>) -> Termination {
    match state {
        Some(InstanceState::Terminated) => Termination::Terminated,
        Some(_) => Termination::ShuttingDown,
        None => {
            let what = "EC2 did not return a state of the instance";
            Termination::Failed(PortError::new(ErrorKind::Unknown, "TerminateInstances", what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_in_messages_as_whole_words() {
        let message = "InvalidInstanceID.NotFound: The instance IDs 'i-0a, i-0b1' do not exist";
        assert!(names(message, "i-0a") && names(message, "i-0b1"));
        assert!(!names(message, "i-0b"));
    }
}
