//! Why instances are gone that nobody asked to end.

use domain::Text;
use domain::instance_type::CapacityType;
use domain::node_claim::ConditionType;

use super::LifecycleRun;
use crate::event::{Event, EventReason, Subject};
use crate::ports::cloud::InstanceEnd;
use crate::ports::{ClaimStore, Cloud, Ports};
use crate::record::claim::ClaimRecord;
use crate::record::unavailable::{UNAVAILABLE_TTL, UnavailableOffering};
use crate::run::after;

/// Reasons that say that EC2 had no room, although the launch succeeded.
const NO_ROOM: [&str; 2] =
    ["Server.InsufficientInstanceCapacity", "Server.SpotInstanceTermination"];

/// The instance of a claim, which EC2 does not have any more.
#[derive(Clone, Debug)]
pub(super) struct EndedInstance {
    claim: Text,
    instance_type: Text,
    zone: Text,
    capacity_type: CapacityType,
    /// Its Node never joined.
    is_early: bool,
}

/// The instance of a claim, by its id; `None` where it has none.
pub(super) fn ended_instance(record: &ClaimRecord) -> Option<(Text, EndedInstance)> {
    let instance = record.instance.as_ref()?;
    let ended = EndedInstance {
        claim: record.name().clone(),
        instance_type: instance.instance_type.clone(),
        zone: instance.zone.clone(),
        capacity_type: instance.capacity_type,
        is_early: !record.claim.is(ConditionType::Registered),
    };
    Some((instance.id.clone(), ended))
}

impl<P: Ports> LifecycleRun<'_, P> {
    /// Asks EC2 why instances ended, and records it in events and in the report. An offering whose
    /// instance ended for want of capacity before its Node joined counts as unavailable for a
    /// while, as after a refused launch.
    pub(super) async fn record_instance_ends(&mut self) {
        let ended = std::mem::take(&mut self.ended_instances);
        if ended.is_empty() {
            return;
        }
        let ids: Vec<Text> = ended.keys().cloned().collect();
        let ends = self.ports.cloud().ends(&ids).await;
        let operation = || format!("ask why {} instances ended", ids.len());
        let Some(ends) = self.report.problems.record(operation, ends) else { return };
        let mut unavailable = Vec::new();
        for (id, end) in ends {
            let Some(own) = ended.get(&id) else { continue };
            let about = Subject::NodeClaim(own.claim.clone());
            let message = format!("instance {id} is gone: {end}");
            self.events.push(Event::new(about, EventReason::InstanceTerminated, message));
            if own.is_early && NO_ROOM.contains(&&*end.code) {
                unavailable.push(self.unavailable_after(own, &end));
            }
            self.report.instance_ends.push((own.claim.clone(), end));
        }
        if !unavailable.is_empty() {
            let marked = self.ports.store().mark_unavailable(&unavailable).await;
            let operation = || format!("mark {} offerings unavailable", unavailable.len());
            self.report.problems.record(operation, marked);
        }
    }

    fn unavailable_after(&self, own: &EndedInstance, end: &InstanceEnd) -> UnavailableOffering {
        UnavailableOffering {
            instance_type: own.instance_type.clone(),
            zone: own.zone.clone(),
            capacity_type: own.capacity_type,
            code: end.code.clone(),
            until: after(self.now, UNAVAILABLE_TTL),
        }
    }
}
