//! `outrigger uninstall`: lets go of a cluster's nodes, or has the functions end them.

use std::time::Duration;

use controllers::ports::{ErrorKind, PortError};
use controllers::record::controls::{Controls, MODE, Mode};
use domain::taint::UNREGISTERED;
use kubernetes::{Connection, Leftovers, Unregistered};

use super::place::block_on;
use crate::args::controls::{NodesFate, UninstallArgs};
use crate::commands::CommandError;
use crate::console;
use crate::status::Status;

/// How long a run that was under way when the cluster was paused may still act.
const RUN_ENDS_WITHIN: Duration = Duration::from_mins(1);
/// Pause between two counts of what is left.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// `outrigger uninstall`.
pub(crate) fn uninstall(args: &UninstallArgs) -> Result<Status, CommandError> {
    block_on(async {
        let connection = Connection::from_kubeconfig(args.context.as_deref()).await?;
        match args.nodes.fate() {
            Some(NodesFate::Keep) => keep(&connection).await,
            Some(NodesFate::Drain) => drain(&connection).await,
            None => Err(unchosen()),
        }
    })?;
    Ok(Status::Done)
}

fn unchosen() -> PortError {
    let why = "one of --keep-nodes and --drain-nodes says what becomes of the nodes";
    PortError::new(ErrorKind::Invalid, "uninstall", why)
}

/// Pauses the cluster, waits until no run is under way, and takes away what would tie nodes to
/// functions that are gone.
async fn keep(connection: &Connection) -> Result<(), PortError> {
    if mode(connection).await? != Some(Mode::Paused) {
        let paused = [(MODE, Some(Mode::Paused.as_str()))].into();
        connection.set_controls(&paused, None).await?;
        console::note(&"paused; waiting a minute for runs that are under way");
        tokio::time::sleep(RUN_ENDS_WITHIN).await;
    }
    let Leftovers { nodes, node_claims, node_pools, node_classes, unregistered } =
        connection.let_go_of_nodes().await?;
    for Unregistered { node_claim, provider_id } in &unregistered {
        console::note(&format!(
            "{provider_id} (NodeClaim {node_claim}) had not registered: should its node join, taint \
             {UNREGISTERED} stays on it until you take it away; or end the instance"
        ));
    }
    console::note(&format!(
        "let go of {nodes} nodes; deleted {node_claims} NodeClaims, {node_pools} NodePools and \
         {node_classes} EC2NodeClasses. The stacks may go now; nodes keep the role of the stack \
         that has it"
    ));
    Ok(())
}

/// Deletes the NodePools and waits for the functions to end every node.
async fn drain(connection: &Connection) -> Result<(), PortError> {
    match mode(connection).await? {
        None | Some(Mode::Active) => {}
        Some(mode) => {
            let why =
                format!("the cluster is {mode}, so nobody would drain it: `outrigger resume`");
            return Err(PortError::new(ErrorKind::Invalid, "uninstall", why));
        }
    }
    connection.delete_node_pools().await?;
    let mut last = None;
    loop {
        let left = connection.node_claims_left().await?;
        if left == 0 {
            break;
        }
        if last != Some(left) {
            console::note(&format!("{left} NodeClaims are left; their nodes are being drained"));
            last = Some(left);
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
    console::note(&"no NodeClaim is left: the stacks may go now");
    Ok(())
}

async fn mode(connection: &Connection) -> Result<Option<Mode>, PortError> {
    let Some(object) = connection.controls().await? else { return Ok(None) };
    let controls = Controls::read(|key| object.value(key));
    controls.map(|own| own.mode).map_err(|error| {
        PortError::new(
            ErrorKind::Invalid,
            "read ConfigMap kube-system/outrigger",
            error.to_string(),
        )
    })
}
