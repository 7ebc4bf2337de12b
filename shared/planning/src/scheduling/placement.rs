//! Where each pod goes: onto a node that is there, or into which domains of which new nodes.
//!
//! Pods are taken by priority, then largest first. A pod that some existing node accepts goes there.
//! Any other pod becomes an item for packing; where topology ties it to other pods, its domains are
//! pinned here, one pod after the other, so that packing has only to look at single nodes.

use std::collections::BTreeMap;
use std::rc::Rc;

use domain::Text;
use domain::taint::{TaintEffect, Toleration, first_untolerated, tolerated};
use rustc_hash::FxHashMap;

use super::domains::{launchable_domains, pinned_keys, tainted_domains};
use super::fit::{Fit, fit};
use super::state::State;
use super::topology::{Group, Owned, Rule, Topology};
use crate::model::Model;
use crate::model::daemon::NODE_NAME_FIELD;
use crate::model::intern::ConjunctionId;
use crate::model::node::NodeView;

/// Pods of one shape that need new nodes of one kind.
pub(crate) struct Item {
    /// The shape.
    pub(crate) shape: usize,
    /// What the node must meet: one alternative, preferences that can be met, and pinned domains.
    pub(crate) conjunction: ConjunctionId,
    /// Where such a node could come from.
    pub(crate) fit: Rc<Fit>,
    /// The pods.
    pub(crate) pods: Vec<usize>,
}

/// What became of the pods.
#[derive(Default)]
pub(crate) struct Placements {
    /// Pod and node.
    pub(crate) placed: Vec<(usize, usize)>,
    /// Pods for new nodes.
    pub(crate) items: Vec<Item>,
    /// Pods without a place.
    pub(crate) failed: Vec<usize>,
}

type AllowedKey = (Vec<ConjunctionId>, Vec<Toleration>);

/// Finds places for pods.
pub(crate) struct Placer<'m, 'a> {
    pub(crate) model: &'m Model<'a>,
    pub(crate) topology: &'m Topology,
    pub(crate) state: State,
    fits: FxHashMap<(usize, ConjunctionId), Rc<Fit>>,
    allowed: FxHashMap<AllowedKey, Rc<Vec<usize>>>,
    eligible: FxHashMap<(usize, usize), Rc<Vec<Text>>>,
    domains: FxHashMap<(usize, Text), Rc<Vec<Text>>>,
}

/// A way of pinning domains.
struct Choice {
    conjunction: ConjunctionId,
    pins: Vec<(Text, Text)>,
    fit: Rc<Fit>,
    penalty: i64,
    count: u64,
}

impl<'m, 'a> Placer<'m, 'a> {
    /// Starts from a state.
    pub(crate) fn new(model: &'m Model<'a>, topology: &'m Topology, state: State) -> Self {
        Self {
            model,
            topology,
            state,
            fits: FxHashMap::default(),
            allowed: FxHashMap::default(),
            eligible: FxHashMap::default(),
            domains: FxHashMap::default(),
        }
    }

    /// Starts over from another state, keeping what was worked out about shapes.
    pub(crate) fn reset(&mut self, state: State) {
        self.state = state;
    }

    /// Finds a place for each pod. `pods` may come in any order.
    pub(crate) fn place(&mut self, pods: &[usize]) -> Placements {
        let mut by_shape: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for pod in pods {
            if let Some(shape) = self.model.shapes.of_pod[*pod] {
                by_shape.entry(shape).or_default().push(*pod);
            }
        }
        let mut queue: Vec<(usize, Vec<usize>)> = by_shape.into_iter().collect();
        for (_, pods) in &mut queue {
            pods.sort_by(|a, b| self.model.pod(*a).key.cmp(&self.model.pod(*b).key));
        }
        queue.sort_by(|a, b| {
            self.order(a.0, b.0)
                .then_with(|| self.model.pod(a.1[0]).key.cmp(&self.model.pod(b.1[0]).key))
        });
        let mut placements = Placements::default();
        // A pod that must join another may come before it: go round until nothing moves any more.
        loop {
            let mut waiting = Vec::new();
            let mut has_moved = false;
            for (shape, pods) in queue {
                let count = pods.len();
                let left = self.place_shape(shape, pods, &mut placements);
                has_moved |= left.len() < count;
                if !left.is_empty() {
                    waiting.push((shape, left));
                }
            }
            if waiting.is_empty() || !has_moved {
                placements.failed.extend(waiting.into_iter().flat_map(|(_, pods)| pods));
                return placements;
            }
            queue = waiting;
        }
    }

    /// Priority first, then the larger, so that what is hard to place is placed while there is room.
    fn order(&self, a: usize, b: usize) -> std::cmp::Ordering {
        let (a, b) = (self.model.shape(a), self.model.shape(b));
        b.spec
            .priority
            .cmp(&a.spec.priority)
            .then_with(|| b.requests[..2].cmp(&a.requests[..2]))
            .then_with(|| b.requests.cmp(&a.requests))
    }

    /// Returns the pods that found no place.
    fn place_shape(
        &mut self,
        shape: usize,
        pods: Vec<usize>,
        placements: &mut Placements,
    ) -> Vec<usize> {
        let own = self.model.shape(shape);
        if own.is_stuck() || own.spec.requests.is_empty() {
            return pods;
        }
        let mut rest = self.fill_existing(shape, pods, placements);
        if rest.is_empty() {
            return rest;
        }
        if own.hopeless.is_some() {
            return rest;
        }
        let keys = pinned_keys(self.topology, shape);
        if keys.is_empty() {
            let Some((conjunction, fit)) = self.unpinned(shape) else { return rest };
            placements.items.push(Item { shape, conjunction, fit, pods: rest });
            return Vec::new();
        }
        let mut failed = Vec::new();
        rest.reverse();
        while let Some(pod) = rest.pop() {
            // A pod pinned before may have opened a domain of an existing node to this one.
            if let Some((node, _)) = self.best_existing(shape) {
                self.state.place(self.model, self.topology, shape, node, 1);
                placements.placed.push((pod, node));
                continue;
            }
            let Some(choice) = self.choose(shape, &keys) else {
                failed.push(pod);
                continue;
            };
            let pool = &self.model.pools[choice.fit.pools[0].pool];
            for (key, domain) in &choice.pins {
                let taints = &pool.node_pool.template.taints;
                self.state.count_new(self.topology, shape, (key, domain), taints);
            }
            let exclusive = &self.model.shape(shape).volumes.exclusive;
            self.state.exclusive.extend(exclusive.iter().cloned());
            match placements
                .items
                .iter_mut()
                .rev()
                .take(64)
                .find(|item| item.shape == shape && item.conjunction == choice.conjunction)
            {
                Some(item) => item.pods.push(pod),
                None => placements.items.push(Item {
                    shape,
                    conjunction: choice.conjunction,
                    fit: choice.fit,
                    pods: vec![pod],
                }),
            }
        }
        failed
    }

    /// Puts as many pods as fit on existing nodes; returns the rest.
    fn fill_existing(
        &mut self,
        shape: usize,
        pods: Vec<usize>,
        placements: &mut Placements,
    ) -> Vec<usize> {
        let own = self.model.shape(shape);
        let is_free = self.topology.ties[shape].is_free()
            && own.preferences.is_empty()
            && own.spec.host_ports.is_empty()
            && own.spec.volumes.is_empty();
        let mut rest = pods.into_iter();
        if is_free {
            let mut left = rest.len();
            for node in self.allowed_nodes(shape).iter().copied() {
                if left == 0 {
                    break;
                }
                if self.state.closed[node] {
                    continue;
                }
                let room = self.state.room_for(self.model, node, &own.requests) as usize;
                let count = room.min(left);
                if count > 0 {
                    left -= count;
                    let number = u32::try_from(count).unwrap_or(u32::MAX);
                    self.state.place(self.model, self.topology, shape, node, number);
                    placements.placed.extend(rest.by_ref().take(count).map(|pod| (pod, node)));
                }
            }
            return rest.collect();
        }
        while rest.len() > 0 {
            let Some((node, _)) = self.best_existing(shape) else { break };
            self.state.place(self.model, self.topology, shape, node, 1);
            placements.placed.extend(rest.by_ref().take(1).map(|pod| (pod, node)));
        }
        rest.collect()
    }

    /// Nodes whose labels and taints admit the shape, in the order in which pods try them; those with a
    /// `PreferNoSchedule` taint it does not tolerate last.
    fn allowed_nodes(&mut self, shape: usize) -> Rc<Vec<usize>> {
        let own = self.model.shape(shape);
        let key = (own.alternatives.clone(), own.spec.tolerations.clone());
        if let Some(known) = self.allowed.get(&key) {
            return known.clone();
        }
        let admitted = |node: &NodeView| {
            first_untolerated(&own.spec.tolerations, &node.taints).is_none()
                && own.alternatives.iter().any(|way| node_meets(self.model, node, *way))
        };
        let is_avoided = |node: &NodeView| {
            node.taints.iter().any(|taint| {
                taint.effect == TaintEffect::PreferNoSchedule
                    && !tolerated(&own.spec.tolerations, taint)
            })
        };
        let mut nodes: Vec<usize> = (0..self.model.nodes.len())
            .filter(|node| {
                let node = &self.model.nodes[*node];
                !node.is_leaving() && admitted(node)
            })
            .collect();
        nodes.sort_by_key(|node| is_avoided(&self.model.nodes[*node]));
        let nodes = Rc::new(nodes);
        self.allowed.insert(key, nodes.clone());
        nodes
    }

    /// The existing node that takes one more pod and breaks the fewest wishes, first in order among equals.
    fn best_existing(&mut self, shape: usize) -> Option<(usize, i64)> {
        let own = self.model.shape(shape);
        let has_wishes = !own.preferences.is_empty()
            || self.topology.ties[shape].owned.iter().any(|owned| owned.weight > 0);
        let mut best: Option<(usize, i64)> = None;
        for node in self.allowed_nodes(shape).iter().copied() {
            if !self.accepts(shape, node) {
                continue;
            }
            let penalty = if has_wishes { self.penalty_on(shape, node) } else { 0 };
            if best.is_none_or(|(_, least)| penalty < least) {
                best = Some((node, penalty));
            }
            if penalty == 0 {
                break;
            }
        }
        best
    }

    fn accepts(&mut self, shape: usize, node: usize) -> bool {
        let own = self.model.shape(shape);
        if self.state.closed[node] || self.state.room_for(self.model, node, &own.requests) == 0 {
            return false;
        }
        let conflicts = |open: &Vec<domain::pod::HostPort>| {
            own.spec
                .host_ports
                .iter()
                .any(|port| open.iter().any(|other| port.conflicts_with(other)))
        };
        if !own.spec.host_ports.is_empty() && self.state.ports.get(&node).is_some_and(conflicts) {
            return false;
        }
        if !own.spec.volumes.is_empty() && !self.attaches(shape, node) {
            return false;
        }
        self.ties_allow(shape, node)
    }

    /// Whether the node can attach the shape's volumes, and nobody else uses those of one pod only.
    fn attaches(&self, shape: usize, node: usize) -> bool {
        let volumes = &self.model.shape(shape).volumes;
        if volumes.exclusive.iter().any(|claim| self.state.exclusive.contains(claim)) {
            return false;
        }
        let name = self.model.nodes[node].name;
        let Some(csi) = self.model.snapshot.csi_nodes.iter().find(|csi| csi.name == *name) else {
            return true;
        };
        let attached = self.state.attached.get(&node);
        csi.limits.iter().all(|(driver, limit)| {
            let before = attached
                .map_or(0, |attached| attached.iter().filter(|(own, _)| own == driver).count());
            let mut new: Vec<_> = volumes
                .attachments
                .iter()
                .filter(|volume| volume.0 == *driver)
                .filter(|volume| attached.is_none_or(|attached| !attached.contains(*volume)))
                .collect();
            new.sort();
            new.dedup();
            new.is_empty() || before + new.len() <= *limit as usize
        })
    }

    fn ties_allow(&mut self, shape: usize, node: usize) -> bool {
        let topology = self.topology;
        for owned in topology.ties[shape].owned.iter().filter(|owned| owned.weight == 0) {
            if !self.group_allows(shape, *owned, node) {
                return false;
            }
        }
        topology.ties[shape].selected_by.iter().all(|group| {
            let own = &topology.groups[*group];
            own.rule != Rule::AntiAffinity || self.owners_at(*group, node) == 0
        })
    }

    fn owners_at(&self, group: usize, node: usize) -> u32 {
        self.count_at(&self.topology.groups[group], &self.state.owners[group], node)
    }

    fn count_at(&self, group: &Group, counts: &super::state::Counts, node: usize) -> u32 {
        if group.is_by_host() {
            return counts.by_node.get(&node).copied().unwrap_or(0);
        }
        self.model.nodes[node]
            .labels
            .get(&group.key)
            .and_then(|domain| counts.by_domain.get(domain))
            .copied()
            .unwrap_or(0)
    }

    /// Whether one more pod of the shape on the node keeps the constraint.
    fn group_allows(&mut self, shape: usize, owned: Owned, node: usize) -> bool {
        let group = &self.topology.groups[owned.group];
        let view = &self.model.nodes[node];
        if !view.labels.contains_key(&group.key) {
            // Anti-affinity has nothing to say about a node outside all domains.
            return group.rule == Rule::AntiAffinity;
        }
        let count = self.count_at(group, &self.state.matched[owned.group], node);
        match group.rule {
            Rule::Affinity => {
                count > 0 || (owned.selects_itself && self.state.matched[owned.group].is_empty())
            }
            Rule::AntiAffinity => count == 0,
            Rule::Spread { max_skew, .. } => {
                let least = self.least(shape, owned.group);
                i64::from(count) + i64::from(owned.selects_itself) - least <= i64::from(max_skew)
            }
        }
    }

    /// Pods in the emptiest domain that the constraint looks at.
    fn least(&mut self, shape: usize, group: usize) -> i64 {
        let own = &self.topology.groups[group];
        let Rule::Spread { min_domains, .. } = own.rule else { return 0 };
        if own.is_by_host() {
            // A node that is not there yet holds none.
            return 0;
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

    /// Domains of nodes that are there, and of those that could be launched for the shape.
    fn eligible_domains(&mut self, shape: usize, group: usize) -> Rc<Vec<Text>> {
        if let Some(known) = self.eligible.get(&(shape, group)) {
            return known.clone();
        }
        let own = &self.topology.groups[group];
        let spec = self.model.shape(shape).spec;
        let mut domains: Vec<Text> = self
            .model
            .nodes
            .iter()
            .filter(|node| !node.is_leaving() && own.looks_at(node, spec))
            .filter_map(|node| node.labels.get(&own.key).cloned())
            .collect();
        domains.extend(self.launchable(shape, &own.key).iter().cloned());
        if !own.honors_taints() {
            domains.extend(tainted_domains(self.model, shape, &own.key));
        }
        domains.sort();
        domains.dedup();
        let domains = Rc::new(domains);
        self.eligible.insert((shape, group), domains.clone());
        domains
    }

    fn launchable(&mut self, shape: usize, key: &Text) -> Rc<Vec<Text>> {
        if let Some(known) = self.domains.get(&(shape, key.clone())) {
            return known.clone();
        }
        let ways = self.model.shape(shape).node_alternatives.clone();
        let fits: Vec<Rc<Fit>> = ways.iter().map(|way| self.fit(shape, *way)).collect();
        let found = Rc::new(launchable_domains(self.model, shape, key, &fits));
        self.domains.insert((shape, key.clone()), found.clone());
        found
    }

    /// Where a new node could come from; worked out once.
    pub(crate) fn fit(&mut self, shape: usize, conjunction: ConjunctionId) -> Rc<Fit> {
        if let Some(known) = self.fits.get(&(shape, conjunction)) {
            return known.clone();
        }
        let found = Rc::new(fit(self.model, self.model.shape(shape), conjunction));
        self.fits.insert((shape, conjunction), found.clone());
        found
    }

    /// The best alternative with the preferences that can be met.
    fn unpinned(&mut self, shape: usize) -> Option<(ConjunctionId, Rc<Fit>)> {
        let ways = self.model.shape(shape).alternatives.clone();
        let mut best: Option<(i64, u32, f64, ConjunctionId, Rc<Fit>)> = None;
        for way in ways {
            let Some((conjunction, fit, penalty)) = self.with_preferences(shape, way) else {
                continue;
            };
            let weight = self.model.pools[fit.pools[0].pool].node_pool.weight;
            let value = fit.value(self.model);
            let is_better = best.as_ref().is_none_or(|best| {
                (penalty, std::cmp::Reverse(weight)) < (best.0, std::cmp::Reverse(best.1))
                    || (penalty == best.0 && weight == best.1 && value < best.2)
            });
            if is_better {
                best = Some((penalty, weight, value, conjunction, fit));
            }
        }
        best.map(|(.., conjunction, fit)| (conjunction, fit))
    }

    /// Adds each preference that can be met together with those before it, heaviest first. Returns what
    /// that comes to and the weight of those left out.
    fn with_preferences(
        &mut self,
        shape: usize,
        way: ConjunctionId,
    ) -> Option<(ConjunctionId, Rc<Fit>, i64)> {
        let mut conjunction = way;
        let mut fit = self.fit(shape, way);
        if fit.pools.is_empty() {
            return None;
        }
        let mut penalty = 0;
        if self.model.snapshot.settings.preference_policy
            == domain::settings::PreferencePolicy::Ignore
        {
            return Some((conjunction, fit, penalty));
        }
        for (weight, preference) in &self.model.shape(shape).preferences {
            let both = self.model.sets.borrow_mut().and(conjunction, *preference);
            let narrowed = both.map(|both| (both, self.fit(shape, both)));
            match narrowed.filter(|(_, fit)| !fit.pools.is_empty()) {
                Some((both, narrowed)) => (conjunction, fit) = (both, narrowed),
                None => penalty += i64::from(*weight),
            }
        }
        Some((conjunction, fit, penalty))
    }

    /// Pins a domain of each key: allowed by every requirement, breaking the fewest wishes, then keeping
    /// spreads even, then in the heaviest and cheapest pool, then by name.
    fn choose(&mut self, shape: usize, keys: &[Text]) -> Option<Choice> {
        let exclusive = &self.model.shape(shape).volumes.exclusive;
        if exclusive.iter().any(|claim| self.state.exclusive.contains(claim)) {
            return None;
        }
        let mut options: Vec<(Text, Vec<(Text, i64, u64)>)> = Vec::new();
        for key in keys {
            let is_required = self.topology.ties[shape].owned.iter().any(|owned| {
                owned.weight == 0
                    && self.topology.groups[owned.group].key == *key
                    && self.topology.groups[owned.group].rule != Rule::AntiAffinity
            });
            let mut domains = Vec::new();
            let launchable = self.launchable(shape, key);
            for domain in launchable.iter() {
                if let Some((penalty, count)) = self.domain_allows(shape, key, domain) {
                    domains.push((domain.clone(), penalty, count));
                }
            }
            if domains.is_empty() {
                if is_required || !launchable.is_empty() {
                    return None;
                }
                continue;
            }
            options.push((key.clone(), domains));
        }
        let ways = self.model.shape(shape).alternatives.clone();
        let mut best: Option<Choice> = None;
        for way in ways {
            self.combine(shape, way, &options, &mut best);
        }
        best
    }

    fn combine(
        &mut self,
        shape: usize,
        way: ConjunctionId,
        options: &[(Text, Vec<(Text, i64, u64)>)],
        best: &mut Option<Choice>,
    ) {
        /// More ways of pinning several keys at once than this are not looked at.
        const COMBINATIONS_MAX: usize = 1024;
        let total: usize = options.iter().map(|(_, domains)| domains.len()).product();
        for number in 0..total.min(COMBINATIONS_MAX) {
            let mut rest = number;
            let mut conjunction = Some(way);
            let mut pins = Vec::with_capacity(options.len());
            let (mut penalty, mut count) = (0, 0);
            for (key, domains) in options {
                let (domain, own_penalty, own_count) = &domains[rest % domains.len()];
                rest /= domains.len();
                penalty += own_penalty;
                count += own_count;
                conjunction = conjunction
                    .and_then(|so_far| self.model.sets.borrow_mut().pinned(so_far, key, domain));
                pins.push((key.clone(), domain.clone()));
            }
            let Some(conjunction) = conjunction else { continue };
            let Some((conjunction, fit, unmet)) = self.with_preferences(shape, conjunction) else {
                continue;
            };
            let choice = Choice { conjunction, pins, fit, penalty: penalty + unmet, count };
            if best.as_ref().is_none_or(|best| self.is_better(&choice, best)) {
                *best = Some(choice);
            }
        }
    }

    fn is_better(&self, a: &Choice, b: &Choice) -> bool {
        let weight = |choice: &Choice| self.model.pools[choice.fit.pools[0].pool].node_pool.weight;
        (a.penalty, a.count)
            .cmp(&(b.penalty, b.count))
            .then_with(|| weight(b).cmp(&weight(a)))
            .then_with(|| a.fit.value(self.model).total_cmp(&b.fit.value(self.model)))
            .then_with(|| a.pins.cmp(&b.pins))
            .is_lt()
    }

    /// Whether a new node in the domain may hold one more pod of the shape; with the weight of broken
    /// wishes, and how many pods its spreads count there.
    fn domain_allows(&mut self, shape: usize, key: &Text, domain: &Text) -> Option<(i64, u64)> {
        let (mut penalty, mut sum) = (0_i64, 0_u64);
        let topology = self.topology;
        for owned in &topology.ties[shape].owned {
            let group = &topology.groups[owned.group];
            if group.key != *key {
                continue;
            }
            let matched = &self.state.matched[owned.group];
            let count = matched.by_domain.get(domain).copied().unwrap_or(0);
            let is_kept = match group.rule {
                Rule::Affinity => {
                    count > 0 || matched.is_empty() && (owned.selects_itself || owned.weight > 0)
                }
                Rule::AntiAffinity => count == 0,
                Rule::Spread { max_skew, .. } => {
                    sum += u64::from(count);
                    let least = self.least(shape, owned.group);
                    i64::from(count) + i64::from(owned.selects_itself) - least
                        <= i64::from(max_skew)
                }
            };
            if !is_kept && owned.weight == 0 {
                return None;
            }
            if !is_kept {
                penalty += i64::from(owned.weight);
            }
        }
        let is_repelled = topology.ties[shape].selected_by.iter().any(|group| {
            let own = &topology.groups[*group];
            own.rule == Rule::AntiAffinity
                && own.key == *key
                && self.state.owners[*group].by_domain.contains_key(domain)
        });
        (!is_repelled).then_some((penalty, sum))
    }

    /// The weight of wishes that one more pod of the shape on the node would break.
    fn penalty_on(&mut self, shape: usize, node: usize) -> i64 {
        let mut penalty = 0;
        for (weight, preference) in &self.model.shape(shape).preferences {
            if !node_meets(self.model, &self.model.nodes[node], *preference) {
                penalty += i64::from(*weight);
            }
        }
        let topology = self.topology;
        for owned in topology.ties[shape].owned.iter().filter(|owned| owned.weight > 0) {
            if !self.group_allows(shape, *owned, node) {
                penalty += i64::from(owned.weight);
            }
        }
        penalty
    }
}

/// Whether a node's labels and name meet the requirements.
pub(crate) fn node_meets(model: &Model, node: &NodeView, conjunction: ConjunctionId) -> bool {
    let sets = model.sets.borrow();
    sets.rules(conjunction).iter().all(|rule| {
        let value = if &*rule.key == NODE_NAME_FIELD {
            node.node.map(|node| &node.name)
        } else {
            node.labels.get(&rule.key)
        };
        match value {
            Some(value) => sets.get(rule.set).contains(value),
            None => rule.may_be_absent,
        }
    })
}
