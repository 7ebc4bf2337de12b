//! Nodes of NodePools that are off: until when their pods are held, and what is saved.

use domain::Timestamp;
use domain::off_hours::OffPeriod;
use domain::reason::DisruptionReason;

use super::run_state::DisruptionRun;
use crate::ports::Ports;
use crate::record::claim::ClaimRecord;
use crate::record::command::CommandRecord;

impl<P: Ports> DisruptionRun<'_, P> {
    /// When the pods of a claim that goes for off hours go by force; `None` where nothing but
    /// PodDisruptionBudgets and do-not-disrupt decides, and for any other reason.
    pub(super) fn off_deadline(
        &self,
        reason: DisruptionReason,
        record: &ClaimRecord,
    ) -> Option<Timestamp> {
        if reason != DisruptionReason::OffHours {
            return None;
        }
        self.off_period(record)?.forced
    }

    /// Adds what a command for off hours saves until its NodePool is on again.
    pub(super) fn note_off_hours(&mut self, command: &CommandRecord) {
        let disruption = &command.disruption;
        if disruption.reason != DisruptionReason::OffHours {
            return;
        }
        let claim = command.candidates.iter().find_map(|name| self.observed.claim(name));
        let Some(record) = claim.map(|claim| &claim.record) else { return };
        let (Some(off), Some(pool)) = (self.off_period(record), record.claim.node_pool()) else {
            return;
        };
        let seconds = i128::from(off.until.duration_since(self.observed.now).as_secs());
        let micros = i128::from(disruption.savings.nanos()) * seconds / 3600 / 1000;
        let saved = self.report.off_hours_saved.entry(pool.clone()).or_default();
        *saved = saved.saturating_add(i64::try_from(micros).unwrap_or(i64::MAX));
    }

    fn off_period(&self, record: &ClaimRecord) -> Option<OffPeriod> {
        let name = record.claim.node_pool()?;
        let mut pools = self.observed.listing.objects.node_pools.iter();
        pools.find(|pool| pool.name == *name)?.options.off_period(self.observed.now)
    }
}
