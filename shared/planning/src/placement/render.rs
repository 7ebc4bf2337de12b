//! Refusals in the words of [`domain::reason`], for plans and explanations: what exactly stands in
//! the way of a pod on a node that is there, or in every domain of a new one.

use std::sync::Arc;

use domain::Text;
use domain::label;
use domain::reason::{DomainCount, NodePoolUnfit, NodeUnfit};
use domain::taint::first_untolerated;

use super::pin::requires_a_domain;
use super::placer::Placer;
use crate::feasibility::constraint::{Constraint, Counted};
use crate::feasibility::domains::{launchable_domains, pinned_keys};
use crate::feasibility::fit::Fit;
use crate::feasibility::node::NodeRefusal;
use crate::feasibility::topology::Rule;
use crate::ids::{NodeIx, PoolIx, ShapeIx};
use crate::model::daemon::NODE_NAME_FIELD;
use crate::model::intern::ConjunctionId;
use crate::model::node::NodeView;

impl Placer<'_, '_> {
    /// The first thing that keeps one more pod of the shape off a node, as things stand; `None`
    /// where it would be taken.
    pub(crate) fn node_unfit(&mut self, shape: ShapeIx, node: NodeIx) -> Option<NodeUnfit> {
        let refusal = self.check_node(shape, node).err()?;
        let (model, own) = (self.model, self.model.shape(shape));
        let view = &model.nodes[node];
        let unfit = match refusal {
            NodeRefusal::Leaving => Some(NodeUnfit::Leaving),
            NodeRefusal::Taint => first_untolerated(&own.spec.tolerations, &view.taints)
                .map(|taint| NodeUnfit::Taint(taint.clone())),
            NodeRefusal::Requirements => {
                own.alternatives.iter().find_map(|way| self.label_unfit(view, *way))
            }
            NodeRefusal::Room => self.room_unfit(shape, node),
            NodeRefusal::HostPort => self.port_unfit(shape, node),
            NodeRefusal::VolumeInUse => Some(NodeUnfit::VolumeInUse),
            NodeRefusal::AttachLimit => self.attach_unfit(shape, node),
            NodeRefusal::Constraint(broken) => Some(self.constraint_unfit(shape, &broken, node)),
        };
        // Without any alternative the pod's own terms contradict each other.
        Some(unfit.unwrap_or(NodeUnfit::NoDomain(label::HOSTNAME.into())))
    }

    fn label_unfit(&self, node: &NodeView, way: ConjunctionId) -> Option<NodeUnfit> {
        let sets = &self.model.sets;
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

    /// The resource that is shortest by share of the pod's request.
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

    fn attach_unfit(&self, shape: ShapeIx, node: NodeIx) -> Option<NodeUnfit> {
        let name = self.model.nodes[node].name;
        let csi = self.model.snapshot.objects.csi_nodes.iter().find(|csi| csi.name == *name)?;
        let attachments = &self.model.shape(shape).volumes.attachments;
        let uses = |driver: &Text| attachments.iter().any(|(other, _)| other == driver);
        let (driver, limit) = csi.limits.iter().find(|(driver, _)| uses(driver))?;
        Some(NodeUnfit::AttachLimit { driver: driver.clone(), limit: *limit })
    }

    fn constraint_unfit(&mut self, shape: ShapeIx, broken: &Constraint, node: NodeIx) -> NodeUnfit {
        let group = &self.topology.groups[broken.group];
        let key = group.key.clone();
        let Some(here) = self.state.count_on(self.topology, broken, node) else {
            return NodeUnfit::NoDomain(key);
        };
        match group.rule {
            Rule::Affinity => NodeUnfit::PodAffinity(key),
            Rule::AntiAffinity => NodeUnfit::PodAntiAffinity(key),
            Rule::Spread { max_skew, .. } => {
                let least = u32::try_from(self.least(shape, broken.group)).unwrap_or(0);
                NodeUnfit::TopologySpread { key, max_skew, here, least }
            }
        }
    }

    /// The constraint between pods that leaves no domain of a pool's new nodes for one more pod of
    /// the shape; `None` where none does, or none is known to.
    pub(crate) fn topology_unfit(&mut self, shape: ShapeIx, pool: PoolIx) -> Option<NodePoolUnfit> {
        let topology = self.topology;
        let keys = pinned_keys(topology, shape, self.soft_spread);
        let constraints = self.constraints_of(shape);
        for key in &keys {
            let launchable = self.launchable_in(shape, pool, key);
            if launchable.is_empty() {
                if requires_a_domain(topology, shape, key) {
                    return Some(NodePoolUnfit::NoDomain(key.clone()));
                }
                continue;
            }
            let of_key = |own: &&Constraint| topology.groups[own.group].key == *key;
            for own in constraints.iter().filter(|own| own.is_required()).filter(of_key) {
                let counts = &self.state.counts(own).by_domain;
                let count = |domain| counts.get(domain).copied().unwrap_or(0);
                if !launchable.iter().any(|domain| own.allowed.contains(count(domain))) {
                    return Some(self.constraint_leaves_none(shape, own, &launchable));
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
        let joins = topology.constraints[shape].owned.iter().find(|owned| {
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
        let of_pool = |fit: Arc<Fit>| {
            let all = fit.pools.iter().chain(&fit.avoided);
            let pools = all.filter(|fit| fit.pool == pool).cloned().collect();
            Arc::new(Fit { pools, ..Fit::default() })
        };
        let fits: Vec<Arc<Fit>> = ways.iter().map(|way| of_pool(self.fit(shape, *way))).collect();
        launchable_domains(self.model, self.memo, shape, key, &fits)
    }

    fn constraint_leaves_none(
        &mut self,
        shape: ShapeIx,
        own: &Constraint,
        launchable: &[Text],
    ) -> NodePoolUnfit {
        let group = &self.topology.groups[own.group];
        let (key, selector) = (group.key.clone(), group.selected());
        if let Rule::Spread { max_skew, min_domains } = group.rule {
            let eligible = self.eligible_domains(shape, own.group);
            let matched = &self.state.matched[own.group].by_domain;
            let count = |domain: &Text| matched.get(domain).copied().unwrap_or(0);
            let found = i32::try_from(eligible.len()).unwrap_or(i32::MAX);
            return NodePoolUnfit::TopologySpread {
                key,
                max_skew,
                min_domains: min_domains.filter(|wanted| found < *wanted),
                domains: counted(eligible.iter().map(|domain| (domain, count(domain))), launchable),
            };
        }
        let counts = &self.state.counts(own).by_domain;
        let domains = counted(counts.iter().map(|(domain, pods)| (domain, *pods)), launchable);
        if group.rule == Rule::Affinity {
            return NodePoolUnfit::PodAffinity { key, selector, domains };
        }
        let is_of_others = own.counted == Counted::Owners;
        NodePoolUnfit::PodAntiAffinity { key, selector, domains, is_of_others }
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
