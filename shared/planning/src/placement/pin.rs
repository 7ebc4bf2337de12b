//! Choosing domains: which zone, capacity type or other label a new node must have, so that the
//! topology constraints of its pods hold.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use domain::Text;
use domain::label::ZONE;

use super::placer::Placer;
use super::preference::Preferred;
use super::rivals::{Pins, Rivals};
use crate::feasibility::constraint::Constraint;
use crate::feasibility::domains::{counted_domains, launchable_domains, pinned_keys};
use crate::feasibility::fit::Fit;
use crate::feasibility::host::host_affinity;
use crate::feasibility::topology::{Rule, Topology};
use crate::ids::{GroupIx, NodeIx, ShapeIx};
use crate::model::intern::ConjunctionId;

/// Combinations of domains tried where several keys are pinned at once.
const COMBINATIONS_MAX: usize = 1024;

/// A way of pinning domains.
pub(crate) struct Choice {
    /// What the node must meet: the domains, and preferences that can be met beside them.
    pub(crate) conjunction: ConjunctionId,
    /// Keys and the domains chosen.
    pub(super) pins: Pins,
    /// Where such a node could come from.
    pub(crate) fit: Arc<Fit>,
    pub(super) score: PinScore,
    /// What the pod costs in the zone chosen, and those that must join it there; zero where that is
    /// not known.
    zone_price: f64,
}

/// How well one more pod would stand somewhere; the least is best.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PinScore {
    /// Only pools with a `PreferNoSchedule` taint could launch the node: upstream gives up every
    /// other preference first.
    is_avoided: bool,
    /// The weight of broken preferences.
    penalty: i64,
    /// Pods in its domains that it must be spread with, where an even spread takes precedence.
    pub(super) crowd: u32,
    /// Then: in how many of the ways the rarest of its domains is (see [`Rivals`]).
    pub(super) rivals: usize,
}

/// Domains of one key that a new node may be in.
struct KeyOptions {
    key: Text,
    domains: Vec<(Text, PinScore)>,
}

impl Placer<'_, '_> {
    /// Pins a domain of each key: allowed by every requirement, in a pool without a taint that the
    /// pod would rather avoid, breaking the fewest preferences, then in the heaviest and cheapest
    /// pool, then by name. A spread is not kept more even than its `maxSkew` requires, unless that
    /// takes precedence: the next plan would merge nodes that only evenness keeps apart. With a key
    /// and a domain of it, only that one will do.
    pub(super) fn choose(
        &mut self,
        shape: ShapeIx,
        keys: &[Text],
        only: Option<(&Text, &Text)>,
    ) -> Option<Choice> {
        let mut choices = self.choices(shape, keys, only);
        if self.precedence.is_even {
            let of_nodes = self.pins_of_nodes(shape, keys);
            let rivals = Rivals::of(of_nodes.iter().chain(choices.iter().map(|own| &own.pins)));
            for own in &mut choices {
                own.score.rivals = rivals.of_rarest(&own.pins);
            }
        }
        choices.into_iter().reduce(|best, own| if self.is_better(&own, &best) { own } else { best })
    }

    /// Whether nothing has to be settled of a new node for a pod of the shape, and no other pod
    /// decides where it may be.
    pub(crate) fn is_free(&self, shape: ShapeIx) -> bool {
        pinned_keys(self.topology, shape, self.soft_spread).is_empty()
            && host_affinity(self.topology, shape).next().is_none()
            && self.model.shape(shape).volumes.exclusive.is_empty()
    }

    /// Every way of pinning what has to be settled of a new node for one more pod of the shape, the
    /// best first.
    pub(crate) fn choices_in_order(&mut self, shape: ShapeIx) -> Vec<Choice> {
        let keys = pinned_keys(self.topology, shape, self.soft_spread);
        let mut choices = self.choices(shape, &keys, None);
        choices.sort_by(|a, b| self.best_first(a, b));
        choices
    }

    /// The ways of pinning a domain of each key that [`Self::choose`] has; none where a key must be
    /// pinned and cannot.
    pub(super) fn choices(
        &mut self,
        shape: ShapeIx,
        keys: &[Text],
        only: Option<(&Text, &Text)>,
    ) -> Vec<Choice> {
        let exclusive = &self.model.shape(shape).volumes.exclusive;
        if exclusive.iter().any(|claim| self.state.exclusive.contains(claim)) {
            return Vec::new();
        }
        let constraints = self.constraints_of(shape);
        let mut options = Vec::new();
        for key in keys {
            let launchable = self.launchable(shape, key);
            let may_be =
                |domain: &&Text| only.is_none_or(|(own, only)| own != key || only == *domain);
            // What hosts are within reach of is asked of all domains: of one alone it would do with
            // what only could be there.
            let allowed = self.within_reach_of_hosts(shape, key, launchable.to_vec());
            let domains: Vec<_> = allowed
                .iter()
                .filter(may_be)
                .filter_map(|domain| {
                    Some((domain.clone(), self.domain_score(&constraints, key, domain)?))
                })
                .collect();
            if !domains.is_empty() {
                options.push(KeyOptions { key: key.clone(), domains });
            } else if !launchable.is_empty() || requires_a_domain(self.topology, shape, key) {
                return Vec::new();
            }
        }
        let ways = self.ways(shape);
        let mut choices = Vec::new();
        for way in ways {
            self.combine(shape, way, &options, &mut choices);
        }
        choices
    }

    /// A new node in a zone, for a pod of a shape of which nothing else is settled and that has
    /// one way of meeting its requirements; whatever other pods are there.
    pub(super) fn choice_in_zone(&mut self, shape: ShapeIx, zone: &Text) -> Option<Choice> {
        let way = *self.model.shape(shape).alternatives.first()?;
        let domains = vec![(zone.clone(), PinScore::default())];
        self.combination(shape, way, &[KeyOptions { key: ZONE.into(), domains }], 0)
    }

    /// Adds every combination of the domains, one a key, that a node could have.
    fn combine(
        &mut self,
        shape: ShapeIx,
        way: ConjunctionId,
        options: &[KeyOptions],
        choices: &mut Vec<Choice>,
    ) {
        let total: usize = options.iter().map(|option| option.domains.len()).product();
        for number in 0..total.min(COMBINATIONS_MAX) {
            let choice = self.combination(shape, way, options, number);
            choices.extend(choice.filter(|own| self.may_add_pod(shape, own.conjunction)));
        }
    }

    /// The combination of a number: its digits, in the bases of the options' lengths, are the
    /// domains.
    fn combination(
        &mut self,
        shape: ShapeIx,
        way: ConjunctionId,
        options: &[KeyOptions],
        mut number: usize,
    ) -> Option<Choice> {
        let mut conjunction = way;
        let mut pins = Vec::with_capacity(options.len());
        let mut score = PinScore::default();
        for KeyOptions { key, domains } in options {
            let (domain, own) = &domains[number % domains.len()];
            number /= domains.len();
            score.penalty += own.penalty;
            score.crowd += own.crowd;
            conjunction = self.memo.sets_mut().pinned(conjunction, key, domain)?;
            pins.push((key.clone(), domain.clone()));
        }
        let Preferred { conjunction, fit, penalty } = self.with_preferences(shape, conjunction)?;
        score.penalty += penalty;
        score.is_avoided = fit.is_avoided;
        let (conjunction, fit) = self.settle_counting(shape, (conjunction, fit));
        let zone_price = self.zone_price(shape, &pins);
        Some(Choice { conjunction, pins, fit, score, zone_price })
    }

    fn is_better(&self, a: &Choice, b: &Choice) -> bool {
        self.best_first(a, b).is_lt()
    }

    /// Ties go to the heavier pool, then to the cheaper, then to the domains that come first by
    /// name.
    fn best_first(&self, a: &Choice, b: &Choice) -> Ordering {
        let weight = |choice: &Choice| self.model.pools[choice.fit.pools[0].pool].node_pool.weight;
        a.score
            .cmp(&b.score)
            .then_with(|| weight(b).cmp(&weight(a)))
            .then_with(|| a.zone_price.total_cmp(&b.zone_price))
            .then_with(|| a.fit.value(self.model).total_cmp(&b.fit.value(self.model)))
            .then_with(|| a.pins.cmp(&b.pins))
    }

    /// Whether what is required between pods lets one more pod into a domain.
    pub(crate) fn may_be_in(&mut self, shape: ShapeIx, key: &Text, domain: &Text) -> bool {
        let constraints = self.constraints_of(shape);
        self.domain_score(&constraints, key, domain).is_some()
    }

    /// How well one more pod would do on a new node in the domain; `None` where a requirement
    /// between pods keeps it out.
    pub(super) fn domain_score(
        &self,
        constraints: &[Constraint],
        key: &Text,
        domain: &Text,
    ) -> Option<PinScore> {
        let mut score = PinScore::default();
        for own in constraints.iter().filter(|own| self.topology.groups[own.group].key == *key) {
            let count = self.state.counts(own).by_domain.get(domain).copied().unwrap_or(0);
            if self.precedence.is_even && own.is_required() {
                score.crowd += count;
            }
            if own.allowed.contains(count) {
                continue;
            }
            if own.is_required() {
                return None;
            }
            score.penalty += i64::from(own.weight);
        }
        Some(score)
    }

    /// Selected pods in the emptiest domain that the constraint counts; 0 for rules other than
    /// spread.
    pub(super) fn least(&mut self, shape: ShapeIx, group: GroupIx) -> i64 {
        let own = &self.topology.groups[group];
        let Rule::Spread { min_domains, .. } = own.rule else { return 0 };
        if own.is_by_host() {
            // A node that is not there yet holds none.
            return if self.launches_nodes { 0 } else { self.least_of_nodes(shape, group) };
        }
        let eligible = self.eligible_domains(shape, group);
        if min_domains
            .is_some_and(|wanted| i64::try_from(eligible.len()).unwrap_or(0) < i64::from(wanted))
        {
            return 0;
        }
        let counts = &self.state.matched[group].by_domain;
        eligible
            .iter()
            .map(|domain| i64::from(counts.get(domain).copied().unwrap_or(0)))
            .min()
            .unwrap_or(0)
    }

    /// Selected pods on the emptiest node that the constraint counts.
    fn least_of_nodes(&self, shape: ShapeIx, group: GroupIx) -> i64 {
        let own = &self.topology.groups[group];
        let spec = self.model.shape(shape).spec;
        let counts = &self.state.matched[group].by_node;
        let nodes = self.model.nodes.iter_enumerated();
        let counted = nodes.filter(|(_, node)| node.node.is_some() && own.counts_node(node, spec));
        let on = |node: &NodeIx| i64::from(counts.get(node).copied().unwrap_or(0));
        counted.map(|(node, _)| on(&node)).min().unwrap_or(0)
    }

    /// Domains of nodes that are there, and of those that could be launched for the shape.
    pub(super) fn eligible_domains(&mut self, shape: ShapeIx, group: GroupIx) -> Arc<Vec<Text>> {
        if let Some(known) = self.eligible.get(&(shape, group)) {
            return known.clone();
        }
        let own = &self.topology.groups[group];
        let spec = self.model.shape(shape).spec;
        let nodes = self.model.nodes.iter_enumerated();
        let counted = nodes
            .filter(|(_, node)| !(self.launches_nodes && node.is_leaving()))
            .filter(|(_, node)| own.counts_node(node, spec));
        // Most nodes share a few domains.
        let mut is_counted = vec![false; self.topology.domains(group).count()];
        for domain in counted.filter_map(|(node, _)| self.topology.domain_of(group, node)) {
            is_counted[domain] = true;
        }
        let of_nodes = self.topology.domains(group).zip(is_counted);
        let of_nodes = of_nodes.filter(|(_, is_counted)| *is_counted);
        let mut domains: BTreeSet<Text> = of_nodes.map(|(domain, _)| domain.clone()).collect();
        if self.launches_nodes {
            domains.extend(self.launchable(shape, &own.key).iter().cloned());
            domains.extend(counted_domains(self.model, self.memo, shape, own));
        }
        let domains: Arc<Vec<Text>> = Arc::new(domains.into_iter().collect());
        self.eligible.insert((shape, group), domains.clone());
        domains
    }

    /// Of those domains, the ones in which some node could be launched for the shape, its volumes
    /// considered.
    pub(super) fn reachable_domains(&mut self, shape: ShapeIx, key: &Text) -> Vec<Text> {
        let ways = self.model.shape(shape).alternatives.clone();
        let launchable = self.launchable(shape, key);
        let mut is_reachable = |domain: &&Text| {
            ways.iter().any(|way| {
                let pinned = self.memo.sets_mut().pinned(*way, key, domain);
                pinned.is_some_and(|pinned| !self.fit(shape, pinned).pools.is_empty())
            })
        };
        launchable.iter().filter(|domain| is_reachable(domain)).cloned().collect()
    }

    /// Values of the key that new nodes for the shape could have; worked out once.
    pub(super) fn launchable(&mut self, shape: ShapeIx, key: &Text) -> Arc<Vec<Text>> {
        if let Some(known) = self.domains.get(&(shape, key.clone())) {
            return known.clone();
        }
        let ways = self.model.shape(shape).node_alternatives.clone();
        let fits: Vec<Arc<Fit>> = ways.iter().map(|way| self.fit(shape, *way)).collect();
        let found = Arc::new(launchable_domains(self.model, self.memo, shape, key, &fits));
        self.domains.insert((shape, key.clone()), found.clone());
        found
    }
}

/// Whether a required constraint of the shape cannot hold on a node without the label.
pub(super) fn requires_a_domain(topology: &Topology, shape: ShapeIx, key: &Text) -> bool {
    topology.constraints[shape].owned.iter().any(|owned| {
        let group = &topology.groups[owned.group];
        owned.weight == 0 && group.key == *key && group.rule != Rule::AntiAffinity
    })
}
