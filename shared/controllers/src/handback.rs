//! Handing a cluster back: what we remember of claims that have settled is let go of, and Nodes, NodeClaims and
//! finalizers stay as Karpenter expects them, so that it goes on where we stop.
//!
//! The functions must not be invoked any more when this begins (lifecycle would take the NodeClaims over
//! again), and Karpenter must not run yet. Claims that start or end are brought on by lifecycle's own steps
//! and handed back once they have settled: whoever hands back calls this until nothing is left. Proposals are
//! forgotten; commands that were started are finished by disruption, whose schedule stops last.

use domain::Text;

use crate::lifecycle::{Foreign, advance_with};
use crate::ports::error::PortError;
use crate::ports::{ClaimStore, Cluster, FunctionName, Lease, LeaseAnswer, Outside};
use crate::record::claim::{ClaimPhase, ClaimRecord};
use crate::record::command::CommandPhase;
use crate::run::{Problems, Run, RunOutcome, acquire, is_over};

/// What was handed back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct HandBackReport {
    /// Claims that are Karpenter's from now on.
    pub handed_back: Vec<Text>,
    /// Claims that start or end still, or whose hand-over failed: call again.
    pub left: Vec<Text>,
    /// Disruption commands that were started and are not finished: call again once disruption has.
    pub commands: Vec<Text>,
    /// What did not work.
    pub problems: Problems,
}

impl HandBackReport {
    /// Whether nothing is ours any more.
    pub fn is_complete(&self) -> bool {
        self.left.is_empty() && self.commands.is_empty()
    }
}

/// Hands back what has settled. An error means that nothing was done.
pub async fn hand_back<O: Outside>(
    ports: &O,
    run: &Run<'_>,
) -> Result<RunOutcome<HandBackReport>, PortError> {
    // Claims that end or start are brought on first, under lifecycle's own lease.
    if let RunOutcome::Held(lease) = advance_with(ports, run, Foreign::Leave).await? {
        return Ok(RunOutcome::Held(lease));
    }
    let mut leases = Vec::new();
    let functions = [FunctionName::Lifecycle, FunctionName::Provisioning, FunctionName::Disruption];
    for function in functions {
        match acquire(ports, run, function).await? {
            LeaseAnswer::Acquired(lease) => leases.push(lease),
            LeaseAnswer::Held(lease) => {
                release(ports, &leases).await?;
                return Ok(RunOutcome::Held(lease));
            }
        }
    }
    let result = hand_back_under(ports, run).await;
    let released = release(ports, &leases).await;
    let mut report = result?;
    report.problems.note(|| "release the leases".to_owned(), released);
    Ok(RunOutcome::Ran(report))
}

async fn release<O: Outside>(ports: &O, leases: &[Lease]) -> Result<(), PortError> {
    for lease in leases {
        ports.store().release_lease(lease).await?;
    }
    Ok(())
}

async fn hand_back_under<O: Outside>(
    ports: &O,
    run: &Run<'_>,
) -> Result<HandBackReport, PortError> {
    let mut report = HandBackReport::default();
    let store = ports.store();
    for command in store.commands().await? {
        let id = &command.record.id;
        if command.record.phase == CommandPhase::Proposed {
            let deleted = store.delete_command(id, command.version).await;
            report.problems.note(|| format!("forget command {id}"), deleted);
        } else {
            report.commands.push(id.clone());
        }
    }
    for claim in store.claims().await? {
        let name = claim.record.claim.name.clone();
        if is_over(ports, run) || !has_settled(&claim.record) {
            report.left.push(name);
            continue;
        }
        // The object comes first: until the record is gone, the next call does this again.
        let uid = &claim.record.claim.uid;
        let mirrored = ports.cluster().mirror_node_claim(&claim.record.claim).await;
        let released = match mirrored {
            Ok(()) => ports.cluster().release_node_claim(&name, uid).await,
            Err(error) => Err(error),
        };
        let doing = || format!("hand NodeClaim {name} over");
        if report.problems.note(doing, released).is_none() {
            report.left.push(name);
            continue;
        }
        let deleted = store.delete_claim(&name, claim.version).await;
        match report.problems.note(|| format!("delete claim {name}"), deleted) {
            Some(()) => report.handed_back.push(name),
            None => report.left.push(name),
        }
    }
    Ok(report)
}

/// Whether Karpenter could have brought a claim that far: it has an instance, and is not on its way out.
fn has_settled(record: &ClaimRecord) -> bool {
    matches!(
        record.phase(),
        ClaimPhase::Launched | ClaimPhase::Registered | ClaimPhase::Initialized
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::claim::EndReason;
    use crate::testing::world::World;
    use crate::testing::{at, initialized_record, node_of};
    use domain::SignedDuration;
    use pollster::block_on;

    fn hand_back_once(world: &World) -> HandBackReport {
        block_on(hand_back(world, &world.run("run"))).unwrap().ran().unwrap()
    }

    /// A world with a node whose claim is initialized and shown.
    fn world() -> World {
        let world = World::new();
        let record = initialized_record("web-1", at(0));
        let mut node = node_of(&record);
        node.taints.clear();
        node.name = "node-web-1".into();
        world.cluster.view.borrow_mut().nodes.push(node);
        world
            .cloud
            .instances
            .borrow_mut()
            .insert(record.launch.token.clone(), record.instance.clone().unwrap());
        block_on(world.cluster.mirror_node_claim(&record.claim)).unwrap();
        world.store.put(record);
        world
    }

    #[test]
    fn a_node_that_is_handed_back_keeps_its_node_claim_and_its_instance() {
        let world = world();
        let report = hand_back_once(&world);
        assert_eq!(report.handed_back, ["web-1".into()] as [Text; 1]);
        assert!(report.is_complete() && report.problems == Problems::default());
        assert!(world.store.records().is_empty());
        let view = world.cluster.view.borrow();
        assert_eq!(view.node_claims.len(), 1);
        assert_eq!(view.node_claims[0].mirror_of, None, "it is nobody's mirror any more");
        assert!(view.nodes[0].deleted.is_none() && view.nodes[0].taints.is_empty());
        assert_eq!(world.cloud.instances.borrow().len(), 1);
    }

    #[test]
    fn what_was_handed_back_can_be_taken_over_again() {
        let world = world();
        let _report = hand_back_once(&world);
        world.advance(60);
        let _report = block_on(crate::lifecycle::advance(&world, &world.run("next"))).unwrap();
        let record = world.store.only_record();
        assert_eq!(record.phase(), ClaimPhase::Initialized);
        assert!(record.ending.is_none() && record.instance.is_some());
    }

    #[test]
    fn a_claim_that_ends_is_ended_before_the_rest_is_complete() {
        let world = world();
        let record = world.store.only_record();
        world.store.put(record.ended(at(0), EndReason::NodeDeleted, None));
        assert!(!hand_back_once(&world).is_complete());
        for _ in 0..10 {
            world.clock.0.set(world.clock.0.get() + SignedDuration::from_secs(10));
            world.finish_deletions();
            if hand_back_once(&world).is_complete() {
                assert!(world.store.records().is_empty());
                assert!(world.cloud.instances.borrow().is_empty());
                return;
            }
        }
        unreachable!("it does not end");
    }
}
