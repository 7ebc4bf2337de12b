//! Cancelling all commands, because the cluster is handed back.

use domain::Text;

use super::report::{CommandEvent, DisruptionReport};
use super::run_state::DisruptionRun;
use crate::ports::error::PortError;
use crate::ports::{Lease, Ports, Versioned};
use crate::record::claim::ClaimRecord;
use crate::record::command::{CommandPhase, CommandRecord};
use crate::run::{Run, is_over, observe, record_events};
use crate::safeguards::Admission;
use crate::steps::snapshot::snapshot;

const WHY: &str = "the cluster is handed back";

/// Cancels all commands and removes their marks. A command that is proposed or awaits replacements
/// is cancelled and its nodes stay; one that is already marking its claims as ending completes
/// that. The caller holds disruption's lease.
///
/// Replacements that exist become ordinary nodes; those of a command that is starting are ended.
pub(crate) async fn cancel_all<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    lease: &Lease,
    admission: &Admission,
) -> Result<DisruptionReport, PortError> {
    let observed = observe(ports, lease).await?;
    let snapshot = snapshot(&observed, run.settings);
    let mut disruption = DisruptionRun::new(ports, run, &observed, &snapshot, admission);
    disruption.clean_up().await;
    disruption.mark_candidates(&[]).await;
    for command in &observed.commands {
        if is_over(ports, run) {
            break;
        }
        disruption.cancel_or_end(command.clone()).await;
    }
    let DisruptionRun { mut report, events, .. } = disruption;
    record_events(ports.cluster(), &events, &mut report.problems).await;
    Ok(report)
}

impl<P: Ports> DisruptionRun<'_, P> {
    async fn cancel_or_end(&mut self, command: Versioned<CommandRecord>) {
        match command.record.phase {
            CommandPhase::Proposed => {
                self.record_change(&command.record, CommandEvent::Forgotten);
                self.delete_command(&command).await;
            }
            CommandPhase::Starting { .. } => {
                self.withdraw(self.replacements_of(&command.record)).await;
                self.cancel(command, WHY).await;
            }
            CommandPhase::Waiting { .. } => self.cancel(command, WHY).await,
            CommandPhase::Ending { .. } => self.end(command).await,
        }
    }

    fn replacements_of(&self, command: &CommandRecord) -> Vec<Versioned<ClaimRecord>> {
        let names = command.disruption.replacements.iter().map(|planned| &planned.name);
        names.filter_map(|name: &Text| self.observed.claim(name)).cloned().collect()
    }
}
