//! Pods that others must share a zone with, or another domain: where the others may be in few
//! domains, one goes to each of these before the rest go where they are cheapest.

use std::collections::{BTreeMap, BTreeSet};

use domain::Text;

use super::pin::Choice;
use super::placer::{Placements, Placer, Wanted};
use crate::feasibility::domains::pinned_keys;
use crate::feasibility::state::PodsOn;
use crate::feasibility::topology::Rule;
use crate::ids::{GroupIx, NodeIx, PodIx, ShapeIx};

/// Domains that are tried for the first of pods that seek their own kind, at most.
const FIRST_DOMAINS_MAX: usize = 8;

impl Placer<'_, '_> {
    /// In which domains others need pods of `leaders`, so that pods of the shapes that must join
    /// these have somewhere to go.
    pub(crate) fn wanted_for(
        &mut self,
        shapes: &BTreeSet<ShapeIx>,
        leaders: &BTreeSet<ShapeIx>,
    ) -> BTreeMap<ShapeIx, Wanted> {
        let mut wanted: BTreeMap<ShapeIx, Wanted> = BTreeMap::new();
        for shape in shapes {
            let owned = self.topology.constraints[*shape].owned.iter();
            // Pods that their own affinity selects may be the first themselves.
            let joined = owned.filter(|owned| owned.weight == 0 && !owned.may_be_first);
            for group in joined.map(|owned| owned.group) {
                let own = &self.topology.groups[group];
                if own.is_by_host() || own.rule != Rule::Affinity {
                    continue;
                }
                let domains = self.possible_domains(*shape, group);
                for leader in leaders {
                    if self.topology.constraints[*leader].selected_by.contains(&group) {
                        let pairs = domains.iter().map(|domain| (group, domain.clone()));
                        wanted.entry(*leader).or_default().extend(pairs);
                    }
                }
            }
        }
        wanted
    }

    /// Where the first of pods that seek their own kind could be, one domain at a time: the
    /// cheapest may have no room for the others. Those of the shapes listed first come first.
    pub(crate) fn first_domains(
        &mut self,
        shapes: &[ShapeIx],
        leaders: &BTreeSet<ShapeIx>,
    ) -> Vec<BTreeMap<ShapeIx, Wanted>> {
        let mut ways: Vec<(GroupIx, Text)> = Vec::new();
        for shape in shapes {
            let owned = self.topology.constraints[*shape].owned.iter();
            let first = owned.filter(|owned| owned.weight == 0 && owned.may_be_first);
            for group in first.map(|owned| owned.group) {
                let own = &self.topology.groups[group];
                if own.is_by_host() || own.rule != Rule::Affinity {
                    continue;
                }
                let domains = self.possible_domains(*shape, group);
                let of_group = domains.into_iter().map(|domain| (group, domain));
                ways.extend(of_group.filter(|own| !ways.contains(own)).collect::<Vec<_>>());
            }
        }
        let ways = ways.into_iter().take(FIRST_DOMAINS_MAX);
        ways.map(|way| self.wanted_of(leaders, &BTreeSet::from([way]))).collect()
    }

    /// In which domains pods are needed that a spread of `shapes` counts: while the emptiest has
    /// none, pods of the shapes that may not be there are held back by it.
    pub(crate) fn wanted_for_spreads(
        &mut self,
        shapes: &BTreeSet<ShapeIx>,
        leaders: &BTreeSet<ShapeIx>,
    ) -> BTreeMap<ShapeIx, Wanted> {
        let mut wanted = Wanted::new();
        for shape in shapes {
            let groups: Vec<GroupIx> = self.spreads(*shape).collect();
            for group in groups {
                let domains = self.eligible_domains(*shape, group);
                wanted.extend(domains.iter().map(|domain| (group, domain.clone())));
            }
        }
        self.wanted_of(leaders, &wanted)
    }

    /// Of those domains, the ones in which each shape is wanted: those of groups that select it.
    fn wanted_of(&self, leaders: &BTreeSet<ShapeIx>, wanted: &Wanted) -> BTreeMap<ShapeIx, Wanted> {
        let of_shape = |leader: &ShapeIx| -> Wanted {
            let selected_by = &self.topology.constraints[*leader].selected_by;
            wanted.iter().filter(|(group, _)| selected_by.contains(group)).cloned().collect()
        };
        let all = leaders.iter().map(|leader| (*leader, of_shape(leader)));
        all.filter(|(_, own)| !own.is_empty()).collect()
    }

    /// Domains in which nodes with room are, or new nodes could be, whatever other pods are there.
    fn possible_domains(&mut self, shape: ShapeIx, group: GroupIx) -> BTreeSet<Text> {
        let nodes = self.roomy_nodes(shape);
        let of_nodes = nodes.iter().filter_map(|node| self.topology.domain_of(group, *node));
        let of_nodes = of_nodes.map(|domain| self.topology.domain_name(group, domain));
        let mut domains: BTreeSet<Text> = of_nodes.cloned().collect();
        domains.extend(self.reachable_domains(shape, &self.topology.groups[group].key));
        domains
    }

    /// Gives a pod of the shape to each domain that needs one and has none; returns the rest.
    pub(super) fn place_wanted(
        &mut self,
        shape: ShapeIx,
        pods: Vec<PodIx>,
        placements: &mut Placements,
    ) -> Vec<PodIx> {
        let Some(wanted) = self.precedence.wanted.get(&shape).cloned() else { return pods };
        let mut rest = pods.into_iter();
        let mut left = Vec::new();
        for (group, domain) in wanted {
            let there = self.state.matched[group].by_domain.get(&domain).copied().unwrap_or(0);
            if there > 0 {
                continue;
            }
            let Some(pod) = rest.next() else { break };
            if let Some(node) = self.best_existing_in(shape, group, &domain) {
                self.state.place(self.model, self.topology, PodsOn { shape, node, count: 1 });
                placements.placed.push((pod, node));
            } else if let Some(choice) = self.choose_in(shape, group, &domain) {
                self.pin(shape, pod, choice, placements);
            } else {
                left.push(pod);
            }
        }
        left.extend(rest);
        left
    }

    /// The best node of the domain that takes one more pod.
    fn best_existing_in(
        &mut self,
        shape: ShapeIx,
        group: GroupIx,
        domain: &Text,
    ) -> Option<NodeIx> {
        let name = |node: &NodeIx| {
            let number = self.topology.domain_of(group, *node)?;
            Some(self.topology.domain_name(group, number))
        };
        let nodes = self.roomy_nodes(shape);
        let nodes: Vec<NodeIx> =
            nodes.iter().copied().filter(|node| name(node) == Some(domain)).collect();
        self.best_of(shape, &nodes)
    }

    /// A new node of the domain for one more pod.
    fn choose_in(&mut self, shape: ShapeIx, group: GroupIx, domain: &Text) -> Option<Choice> {
        if self.model.shape(shape).unschedulable.is_some() || !self.may_follow_to_new_nodes(shape) {
            return None;
        }
        let key = &self.topology.groups[group].key;
        let mut keys = pinned_keys(self.topology, shape, self.soft_spread);
        if !keys.contains(key) {
            keys.push(key.clone());
        }
        self.choose(shape, &keys, Some((key, domain)))
    }
}
