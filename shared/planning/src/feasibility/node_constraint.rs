//! Constraints between pods as existing nodes keep them.

use domain::Text;

use super::constraint::Constraint;
use super::state::State;
use super::topology::Topology;
use crate::ids::NodeIx;

impl State {
    /// How many pods a constraint counts in the domain of a node, or where most are of those that a
    /// claim in flight may still be in; `None` for a node without the label.
    pub(crate) fn count_on(
        &self,
        topology: &Topology,
        constraint: &Constraint,
        node: NodeIx,
    ) -> Option<u32> {
        let counts = self.counts(constraint);
        let here = counts.by_node.get(&node).copied();
        let of_domain = |domain: &Text| counts.by_domain.get(domain).copied();
        let count = match topology.domain_of(constraint.group, node) {
            Some(_) if topology.groups[constraint.group].is_by_host() => here,
            Some(domain) => of_domain(topology.domain_name(constraint.group, domain)),
            None => {
                let open = topology.open_domains(constraint.group, node)?;
                open.iter().filter_map(of_domain).chain(here).max()
            }
        };
        Some(count.unwrap_or(0))
    }
}

/// A constraint worked out for every domain of existing nodes: a pod may look at thousands of nodes
/// in a handful of zones.
pub(crate) struct NodeConstraint {
    constraint: Constraint,
    /// By number of the domain; empty for constraints by host.
    allowed_domains: Vec<bool>,
}

impl NodeConstraint {
    /// Works out which domains a constraint allows as things stand.
    pub(crate) fn of(constraint: Constraint, topology: &Topology, state: &State) -> Self {
        let allowed_domains = if topology.groups[constraint.group].is_by_host() {
            Vec::new()
        } else {
            let counts = &state.counts(&constraint).by_domain;
            let count = |domain| counts.get(domain).copied().unwrap_or(0);
            let domains = topology.domains(constraint.group);
            domains.map(|domain| constraint.allowed.contains(count(domain))).collect()
        };
        Self { constraint, allowed_domains }
    }

    /// Whether one more pod on the node keeps the constraint.
    fn allows(&self, topology: &Topology, state: &State, node: NodeIx) -> bool {
        let Constraint { group, allowed, allows_unlabelled, .. } = self.constraint;
        let Some(domain) = topology.domain_of(group, node) else {
            // A claim in flight that may still be in several domains must suit all of them.
            let count = state.count_on(topology, &self.constraint, node);
            return allows_unlabelled && count.is_none_or(|count| allowed.contains(count));
        };
        if topology.groups[group].is_by_host() {
            let counts = &state.counts(&self.constraint).by_node;
            allowed.contains(counts.get(&node).copied().unwrap_or(0))
        } else {
            self.allowed_domains[domain]
        }
    }
}

/// The first requirement that one more pod on the node would break.
pub(crate) fn broken_requirement(
    constraints: &[NodeConstraint],
    topology: &Topology,
    state: &State,
    node: NodeIx,
) -> Option<Constraint> {
    constraints
        .iter()
        .filter(|own| own.constraint.is_required())
        .find(|own| !own.allows(topology, state, node))
        .map(|own| own.constraint)
}

/// The weight of the preferences that one more pod on the node would break.
pub(crate) fn broken_weight(
    constraints: &[NodeConstraint],
    topology: &Topology,
    state: &State,
    node: NodeIx,
) -> i64 {
    constraints
        .iter()
        .filter(|own| !own.constraint.is_required() && !own.allows(topology, state, node))
        .map(|own| i64::from(own.constraint.weight))
        .sum()
}
