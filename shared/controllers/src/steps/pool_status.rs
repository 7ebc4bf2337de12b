//! The status of a NodePool: its nodes, their resources, and whether it is ready.
//!
//! Source: <https://karpenter.sh/docs/concepts/nodepools/>.

use domain::node::Node;
use domain::node_claim::{ConditionStatus, NodeClaim};
use domain::node_class::Ec2NodeClass;
use domain::node_pool::NodePool;
use domain::resource::{CPU, EPHEMERAL_STORAGE, MEMORY, NODES, PODS, Resources};
use domain::{Text, Timestamp};

use super::condition::{ConditionState, set_object_condition};
use crate::record::pool::{PoolRecord, REGISTRATIONS_KEPT};
use crate::status::{NodePoolCondition, NodePoolStatus, Observed};

/// Resources that are shown even when zero.
const ALWAYS_SHOWN: [&str; 5] = [CPU, MEMORY, EPHEMERAL_STORAGE, PODS, NODES];

/// One node of a pool.
#[derive(Clone, Copy, Debug)]
pub struct Member<'a> {
    /// The claim.
    pub claim: &'a NodeClaim,
    /// Its Node, once it has joined.
    pub node: Option<&'a Node>,
}

/// What the status of a pool is computed from.
#[derive(Clone, Copy, Debug)]
pub struct PoolFacts<'a> {
    /// The pool. Malformed pools are not listed, so its specification is valid.
    pub pool: &'a NodePool,
    /// Its node class, if it exists.
    pub class: Option<&'a Ec2NodeClass>,
    /// How its latest nodes registered.
    pub record: Option<&'a PoolRecord>,
    /// Why drift of its nodes is halted.
    pub halted: Option<&'a Text>,
    /// Its current status.
    pub before: &'a Observed<NodePoolStatus>,
}

/// The status of a pool. Conditions keep their transition time while their status stays.
pub fn node_pool_status(
    facts: PoolFacts<'_>,
    members: &[Member<'_>],
    now: Timestamp,
) -> NodePoolStatus {
    let before = &facts.before.status;
    let mut status = NodePoolStatus {
        resources: resources(members),
        nodes: u32::try_from(members.len()).unwrap_or(u32::MAX),
        node_class_observed_generation: facts
            .record
            .map_or(before.node_class_observed_generation, |record| record.node_class_generation),
        conditions: before.conditions.clone(),
    };
    let mut set = |kind, state| {
        let generation = facts.before.generation;
        set_object_condition(&mut status.conditions, kind, state, generation, now);
    };
    let class = class_condition(facts.class);
    set(NodePoolCondition::NodeClassReady, class);
    let budget_fault = budget_fault(facts.pool);
    let valid = match &budget_fault {
        Some(message) => {
            ConditionState::new(ConditionStatus::False, "NodePoolValidationFailed", message)
        }
        None => ConditionState::new(ConditionStatus::True, "ValidationSucceeded", ""),
    };
    set(NodePoolCondition::ValidationSucceeded, valid);
    set(NodePoolCondition::NodeRegistrationHealthy, registration_condition(facts.record));
    let ready = match class.status {
        ConditionStatus::True => ConditionState::new(class.status, "Ready", ""),
        status => ConditionState::new(status, "UnhealthyDependents", "NodeClassReady is not True"),
    };
    set(NodePoolCondition::Ready, ready);
    match facts.halted {
        Some(cause) => {
            let state = ConditionState::new(ConditionStatus::True, "NodesDidNotComeUp", cause);
            set(NodePoolCondition::DriftHalted, state);
        }
        None => status.conditions.retain(|own| own.kind != NodePoolCondition::DriftHalted),
    }
    status
}

/// Which budget has a schedule or a time zone that is none. It keeps nodes where they are; launches
/// do not depend on it, so the pool stays Ready.
fn budget_fault(pool: &NodePool) -> Option<String> {
    let budgets = pool.disruption.budgets.iter().enumerate();
    let mut faults = budgets.filter_map(|(at, budget)| Some((at, budget.fault()?)));
    faults
        .next()
        .map(|(at, fault)| format!("spec.disruption.budgets[{at}].{}: {fault}", fault.field()))
}

fn resources(members: &[Member<'_>]) -> Resources {
    let mut total: Resources = ALWAYS_SHOWN.iter().map(|name| ((*name).into(), 0)).collect();
    for member in members {
        let joined = member.node.map(|node| &node.capacity).filter(|own| !own.is_empty());
        total.add(joined.unwrap_or(&member.claim.status.capacity));
        total.add(&Resources::new().with(NODES, 1));
    }
    total
}

fn class_condition(class: Option<&Ec2NodeClass>) -> ConditionState<'static> {
    let not_ready = |reason, message| ConditionState::new(ConditionStatus::False, reason, message);
    match class {
        None => not_ready("NodeClassNotFound", "its node class does not exist"),
        Some(class) if class.is_deleting => {
            not_ready("NodeClassTerminating", "its node class is being deleted")
        }
        Some(class) => match class.status.ready {
            Some(true) => ConditionState::new(ConditionStatus::True, "NodeClassReady", ""),
            Some(false) => not_ready("NodeClassNotReady", "its node class is not ready"),
            None => ConditionState::unknown(
                "NodeClassReadinessUnknown",
                "its node class has not been resolved yet",
            ),
        },
    }
}

/// Unhealthy once failures reach half of [`REGISTRATIONS_KEPT`], however few registrations there
/// are.
fn registration_condition(record: Option<&PoolRecord>) -> ConditionState<'static> {
    let registrations = record.map(|record| record.registrations.as_slice()).unwrap_or_default();
    let failures = registrations.iter().filter(|joined| !**joined).count();
    if registrations.is_empty() {
        ConditionState::unknown("AwaitingReconciliation", "no node has registered yet")
    } else if failures * 2 >= REGISTRATIONS_KEPT {
        let message = "its latest nodes failed to register";
        ConditionState::new(ConditionStatus::False, "RegistrationFailed", message)
    } else {
        ConditionState::new(ConditionStatus::True, "NodeRegistrationHealthy", "")
    }
}

#[cfg(test)]
mod tests {
    use domain::budget::{Budget, BudgetWindow, WindowZone};

    use super::*;
    use crate::testing::{at, launched_record, node_class, node_of, node_pool};

    fn status(class: Option<&Ec2NodeClass>, registrations: &[bool]) -> NodePoolStatus {
        let record = PoolRecord { registrations: registrations.to_vec(), ..PoolRecord::default() };
        let pool = node_pool("default");
        let before = Observed::default();
        let facts =
            PoolFacts { pool: &pool, class, record: Some(&record), halted: None, before: &before };
        node_pool_status(facts, &[], at(0))
    }

    fn condition(status: &NodePoolStatus, kind: NodePoolCondition) -> ConditionStatus {
        status.conditions.iter().find(|own| own.kind == kind).unwrap().status
    }

    #[test]
    fn a_pool_is_ready_when_its_node_class_is() {
        let mut class = node_class("default");
        let ready =
            |class: Option<&Ec2NodeClass>| condition(&status(class, &[]), NodePoolCondition::Ready);
        assert_eq!(ready(None), ConditionStatus::False);
        assert_eq!(ready(Some(&class)), ConditionStatus::Unknown);
        class.status.ready = Some(true);
        assert_eq!(ready(Some(&class)), ConditionStatus::True);
        class.is_deleting = true;
        assert_eq!(ready(Some(&class)), ConditionStatus::False);
    }

    #[test]
    fn a_budget_in_an_unknown_zone_fails_validation_and_stops_no_launch() {
        let mut class = node_class("default");
        class.status.ready = Some(true);
        let mut pool = node_pool("default");
        pool.disruption.budgets = vec![Budget {
            window: Some(BudgetWindow {
                schedule: "@daily".parse().unwrap(),
                duration: domain::SignedDuration::from_hours(1),
                zone: WindowZone::Unknown("Europe/Berlim".into()),
            }),
            ..Budget::default_budget()
        }];
        let before = Observed::default();
        let facts = PoolFacts {
            pool: &pool,
            class: Some(&class),
            record: None,
            halted: None,
            before: &before,
        };
        let status = node_pool_status(facts, &[], at(0));
        let valid = NodePoolCondition::ValidationSucceeded;
        let said = status.conditions.iter().find(|own| own.kind == valid).unwrap();
        assert_eq!(said.status, ConditionStatus::False);
        assert_eq!(
            &*said.message,
            "spec.disruption.budgets[0].timeZone: \"Europe/Berlim\" is not an IANA time zone"
        );
        assert_eq!(condition(&status, NodePoolCondition::Ready), ConditionStatus::True);
    }

    #[test]
    fn registration_is_unhealthy_once_two_of_the_latest_four_failed() {
        let health = |registrations: &[bool]| {
            condition(&status(None, registrations), NodePoolCondition::NodeRegistrationHealthy)
        };
        assert_eq!(health(&[]), ConditionStatus::Unknown);
        assert_eq!(health(&[false]), ConditionStatus::True);
        assert_eq!(health(&[false, true, false]), ConditionStatus::False);
        assert_eq!(health(&[true, true, true, false]), ConditionStatus::True);
    }

    #[test]
    fn a_halt_of_drift_is_shown_as_long_as_it_lasts() {
        let pool = node_pool("default");
        let status = |halted: Option<&Text>, before: NodePoolStatus| {
            let before = Observed { status: before, ..Observed::default() };
            let facts =
                PoolFacts { pool: &pool, class: None, record: None, halted, before: &before };
            node_pool_status(facts, &[], at(0))
        };
        let halted = status(Some(&"ami-2 does not join".into()), NodePoolStatus::default());
        assert_eq!(condition(&halted, NodePoolCondition::DriftHalted), ConditionStatus::True);
        let over = status(None, halted);
        let is_shown = |own: &NodePoolStatus| {
            own.conditions.iter().any(|own| own.kind == NodePoolCondition::DriftHalted)
        };
        assert!(!is_shown(&over));
    }

    #[test]
    fn resources_are_those_of_nodes_and_of_claims_that_have_none_yet() {
        let (one, two) = (launched_record("a", at(0)), launched_record("b", at(0)));
        let mut booting = two.claim;
        booting.status.capacity = Resources::new().with(CPU, 500);
        let node = node_of(&one);
        let members = [
            Member { claim: &one.claim, node: Some(&node) },
            Member { claim: &booting, node: None },
        ];
        let total = resources(&members);
        assert_eq!(total.get(CPU), node.capacity.get(CPU) + 500);
        assert_eq!((total.get(NODES), total.get(EPHEMERAL_STORAGE)), (2, 0));
    }

    #[test]
    fn a_condition_keeps_its_time_until_its_status_changes() {
        let pool = node_pool("default");
        let first = status(None, &[]);
        let before = Observed { status: first.clone(), ..Observed::default() };
        let facts =
            PoolFacts { pool: &pool, class: None, record: None, halted: None, before: &before };
        assert_eq!(node_pool_status(facts, &[], at(60)).conditions, first.conditions);
    }
}
