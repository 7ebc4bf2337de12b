//! Why a pod finds no place: on a node that is there, or in any domain of a new one.
//!
//! The same questions in the same order as where places are found, so that what is told is what was decided;
//! asked only where somebody wants to know, as each answer says more than yes or no.

use std::rc::Rc;

use domain::Text;
use domain::label;
use domain::reason::{DomainCount, NodePoolUnfit, NodeUnfit};
use domain::taint::first_untolerated;

use super::Placer;
use super::pin::requires_a_domain;
use crate::feasibility::domains::{launchable_domains, pinned_keys};
use crate::feasibility::fit::Fit;
use crate::feasibility::topology::{Group, Owned, Rule};
use crate::ids::{NodeIx, PoolIx, ShapeIx};
use crate::model::daemon::NODE_NAME_FIELD;
use crate::model::intern::ConjunctionId;
use crate::model::node::NodeView;

impl Placer<'_, '_> {
    /// The first thing that keeps one more pod of the shape off a node, as things stand; `None` where it
    /// would be taken.
    pub(crate) fn node_unfit(&mut self, shape: ShapeIx, node: NodeIx) -> Option<NodeUnfit> {
        let (model, own) = (self.model, self.model.shape(shape));
        let view = &model.nodes[node];
        if self.state.closed[node] || view.is_leaving() {
            return Some(NodeUnfit::Leaving);
        }
        if let Some(taint) = first_untolerated(&own.spec.tolerations, &view.taints) {
            return Some(NodeUnfit::Taint(taint.clone()));
        }
        let mut unmet = None;
        let is_met = own.alternatives.iter().any(|way| {
            let first = self.label_unfit(view, *way);
            let is_met = first.is_none();
            unmet = unmet.take().or(first);
            is_met
        });
        if !is_met {
            // Without any alternative the pod's own terms contradict each other.
            return Some(unmet.unwrap_or(NodeUnfit::NoDomain(label::HOSTNAME.into())));
        }
        self.room_unfit(shape, node)
            .or_else(|| self.port_unfit(shape, node))
            .or_else(|| self.volume_unfit(shape, node))
            .or_else(|| self.ties_unfit(shape, node))
    }

    fn label_unfit(&self, node: &NodeView, way: ConjunctionId) -> Option<NodeUnfit> {
        let sets = self.model.sets.borrow();
        sets.rules(way).iter().find_map(|rule| {
            let value = if &*rule.key == NODE_NAME_FIELD {
                node.node.map(|node| &node.name)
            } else {
                node.labels.get(&rule.key)
            };
            let wanted = sets.get(rule.set);
            let is_met = value.map_or(rule.may_be_absent, |value| wanted.contains(value));
            (!is_met).then(|| NodeUnfit::Label {
                key: rule.key.clone(),
                pod: wanted.to_string().into(),
                node: value.cloned(),
            })
        })
    }

    /// The resource that is shortest by share of what the pod asks for.
    fn room_unfit(&self, shape: ShapeIx, node: NodeIx) -> Option<NodeUnfit> {
        let free = self.state.free(self.model, node);
        let requests = &self.model.shape(shape).requests;
        let missing = free
            .iter()
            .zip(requests)
            .enumerate()
            .filter(|(_, (free, needed))| **free < 0 || **needed > 0 && free < needed);
        let (resource, (free, needed)) = missing.min_by(|(_, a), (_, b)| {
            let share = |free: i64, of: i64| i128::from(free) * i128::from(of);
            share(*a.0, *b.1).cmp(&share(*b.0, *a.1))
        })?;
        Some(NodeUnfit::Room {
            resource: self.model.resources.name(resource).clone(),
            needed: *needed,
            free: *free,
        })
    }

    fn port_unfit(&self, shape: ShapeIx, node: NodeIx) -> Option<NodeUnfit> {
        let open = self.state.ports.get(&node)?;
        let ports = &self.model.shape(shape).spec.host_ports;
        let taken =
            ports.iter().find(|port| open.iter().any(|other| port.conflicts_with(other)))?;
        Some(NodeUnfit::HostPort(taken.port))
    }

    fn volume_unfit(&self, shape: ShapeIx, node: NodeIx) -> Option<NodeUnfit> {
        let own = self.model.shape(shape);
        if own.spec.volumes.is_empty() || self.attaches(shape, node) {
            return None;
        }
        if own.volumes.exclusive.iter().any(|claim| self.state.exclusive.contains(claim)) {
            return Some(NodeUnfit::VolumeInUse);
        }
        let name = self.model.nodes[node].name;
        let csi = self.model.snapshot.objects.csi_nodes.iter().find(|csi| csi.name == *name)?;
        let uses = |driver: &Text| own.volumes.attachments.iter().any(|(other, _)| other == driver);
        let (driver, limit) = csi.limits.iter().find(|(driver, _)| uses(driver))?;
        Some(NodeUnfit::AttachLimit { driver: driver.clone(), limit: *limit })
    }

    fn ties_unfit(&mut self, shape: ShapeIx, node: NodeIx) -> Option<NodeUnfit> {
        let topology = self.topology;
        for owned in topology.ties[shape].owned.iter().filter(|owned| owned.weight == 0) {
            if !self.group_allows(shape, *owned, node) {
                return Some(self.group_unfit(shape, *owned, node));
            }
        }
        topology.ties[shape]
            .selected_by
            .iter()
            .map(|group| (*group, &topology.groups[*group]))
            .find(|(group, own)| own.rule == Rule::AntiAffinity && self.owners_at(*group, node) > 0)
            .map(|(_, own)| NodeUnfit::PodAntiAffinity(own.key.clone()))
    }

    fn group_unfit(&mut self, shape: ShapeIx, owned: Owned, node: NodeIx) -> NodeUnfit {
        let group = &self.topology.groups[owned.group];
        let key = group.key.clone();
        if !self.model.nodes[node].labels.contains_key(&key) {
            return NodeUnfit::NoDomain(key);
        }
        match group.rule {
            Rule::Affinity => NodeUnfit::PodAffinity(key),
            Rule::AntiAffinity => NodeUnfit::PodAntiAffinity(key),
            Rule::Spread { max_skew, .. } => NodeUnfit::TopologySpread {
                key,
                max_skew,
                here: self.count_at(group, &self.state.matched[owned.group], node),
                least: u32::try_from(self.least(shape, owned.group)).unwrap_or(0),
            },
        }
    }

    /// The constraint between pods that leaves no domain of a pool's new nodes for one more pod of the
    /// shape; `None` where none does, or none is known to.
    pub(crate) fn topology_unfit(&mut self, shape: ShapeIx, pool: PoolIx) -> Option<NodePoolUnfit> {
        let topology = self.topology;
        let keys = pinned_keys(topology, shape, self.soft_spread);
        for key in &keys {
            let launchable = self.launchable_in(shape, pool, key);
            if launchable.is_empty() {
                if requires_a_domain(topology, shape, key) {
                    return Some(NodePoolUnfit::NoDomain(key.clone()));
                }
                continue;
            }
            for owned in topology.ties[shape].owned.iter().filter(|owned| owned.weight == 0) {
                let group = &topology.groups[owned.group];
                if group.key == *key
                    && !launchable.iter().any(|domain| self.is_kept(shape, *owned, domain))
                {
                    return Some(self.group_leaves_none(shape, *owned, &launchable));
                }
            }
            for group in topology.ties[shape].selected_by.iter().copied() {
                let own = &topology.groups[group];
                let owners = &self.state.owners[group].by_domain;
                if own.rule == Rule::AntiAffinity
                    && own.key == *key
                    && launchable.iter().all(|domain| owners.contains_key(domain))
                {
                    return Some(repelled(own, owners.iter(), &launchable));
                }
            }
        }
        if keys.is_empty() {
            self.host_unfit(shape)
        } else {
            Some(NodePoolUnfit::TopologyTogether(keys))
        }
    }

    /// Affinity by host, where the host it must join has no room: a new node would be another host.
    fn host_unfit(&self, shape: ShapeIx) -> Option<NodePoolUnfit> {
        let topology = self.topology;
        let joins = topology.ties[shape].owned.iter().find(|owned| {
            let group = &topology.groups[owned.group];
            owned.weight == 0 && group.is_by_host() && group.rule == Rule::Affinity
        })?;
        let group = &topology.groups[joins.group];
        let hosts = &self.state.matched[joins.group].by_node;
        let mut domains: Vec<DomainCount> = hosts
            .iter()
            .map(|(node, pods)| DomainCount {
                domain: self.model.nodes[*node].name.clone(),
                pods: *pods,
                is_launchable: true,
            })
            .collect();
        domains.sort();
        let (key, selector) = (group.key.clone(), group.selected());
        Some(NodePoolUnfit::PodAffinity { key, selector, domains })
    }

    /// Values of the key that new nodes of one pool could have for the shape.
    fn launchable_in(&mut self, shape: ShapeIx, pool: PoolIx, key: &Text) -> Vec<Text> {
        let ways = self.model.shape(shape).alternatives.clone();
        let of_pool = |fit: Rc<Fit>| {
            let pools = fit.pools.iter().filter(|fit| fit.pool == pool).cloned().collect();
            Rc::new(Fit { pools })
        };
        let fits: Vec<Rc<Fit>> = ways.iter().map(|way| of_pool(self.fit(shape, *way))).collect();
        launchable_domains(self.model, shape, key, &fits)
    }

    /// Whether one more pod of the shape in a domain keeps one of its constraints.
    fn is_kept(&mut self, shape: ShapeIx, owned: Owned, domain: &Text) -> bool {
        let matched = &self.state.matched[owned.group];
        let count = matched.by_domain.get(domain).copied().unwrap_or(0);
        match self.topology.groups[owned.group].rule {
            Rule::Affinity => count > 0 || matched.is_empty() && owned.selects_itself,
            Rule::AntiAffinity => count == 0,
            Rule::Spread { max_skew, .. } => {
                i64::from(count) + i64::from(owned.selects_itself) - self.least(shape, owned.group)
                    <= i64::from(max_skew)
            }
        }
    }

    fn group_leaves_none(
        &mut self,
        shape: ShapeIx,
        owned: Owned,
        launchable: &[Text],
    ) -> NodePoolUnfit {
        let group = &self.topology.groups[owned.group];
        let (key, selector) = (group.key.clone(), group.selected());
        if let Rule::Spread { max_skew, min_domains } = group.rule {
            let eligible = self.eligible_domains(shape, owned.group);
            let matched = &self.state.matched[owned.group].by_domain;
            let count = |domain: &Text| matched.get(domain).copied().unwrap_or(0);
            let found = i32::try_from(eligible.len()).unwrap_or(i32::MAX);
            return NodePoolUnfit::TopologySpread {
                key,
                max_skew,
                min_domains: min_domains.filter(|wanted| found < *wanted),
                domains: counted(eligible.iter().map(|domain| (domain, count(domain))), launchable),
            };
        }
        let matched = &self.state.matched[owned.group].by_domain;
        let domains = counted(matched.iter().map(|(domain, pods)| (domain, *pods)), launchable);
        match group.rule {
            Rule::Affinity => NodePoolUnfit::PodAffinity { key, selector, domains },
            _ => NodePoolUnfit::PodAntiAffinity { key, selector, domains, is_of_others: false },
        }
    }
}

fn repelled<'d>(
    group: &Group,
    owners: impl Iterator<Item = (&'d Text, &'d u32)>,
    launchable: &[Text],
) -> NodePoolUnfit {
    NodePoolUnfit::PodAntiAffinity {
        key: group.key.clone(),
        selector: group.selected(),
        domains: counted(owners.map(|(domain, pods)| (domain, *pods)), launchable),
        is_of_others: true,
    }
}

fn counted<'d>(
    counts: impl Iterator<Item = (&'d Text, u32)>,
    launchable: &[Text],
) -> Vec<DomainCount> {
    counts
        .map(|(domain, pods)| DomainCount {
            domain: domain.clone(),
            pods,
            is_launchable: launchable.contains(domain),
        })
        .collect()
}
