//! Letting go of commands, because nobody will carry them out any more.

use domain::Text;

use super::report::{CommandEvent, DisruptionReport};
use super::run_state::DisruptionRun;
use crate::ports::error::PortError;
use crate::ports::{Lease, Ports, Versioned};
use crate::record::claim::ClaimRecord;
use crate::record::command::{CommandPhase, CommandRecord};
use crate::run::{Run, is_over, observe, record_events};
use crate::steps::snapshot::snapshot;

const WHY: &str = "the cluster is handed back";

/// Leaves no command and no mark of one. What was proposed or waits for replacements is given up, its nodes stay; what
/// marks its nodes for their end already does so to the end. Disruption's lease is held.
///
/// Replacements that are there become nodes like any other. Those of a command that is starting go again.
pub(crate) async fn cancel_all<P: Ports>(
    ports: &P,
    run: &Run<'_>,
    lease: &Lease,
) -> Result<DisruptionReport, PortError> {
    let observed = observe(ports, lease).await?;
    let snapshot = snapshot(&observed, run.settings);
    let mut disruption = DisruptionRun::new(ports, run, &observed, &snapshot, None);
    disruption.clean_up().await;
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
                self.note(&command.record, CommandEvent::Forgotten);
                self.forget(&command).await;
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
