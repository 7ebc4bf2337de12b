//! Whether existing nodes keep the constraints of a shape, worked out for all domains before nodes are looked at:
//! a pod may look at thousands of nodes in a handful of zones.

use super::Placer;
use crate::feasibility::state::Counts;
use crate::feasibility::topology::{Owned, Rule};
use crate::ids::{GroupIx, NodeIx, ShapeIx};

/// One constraint, as it stands for the next pod of a shape.
pub(super) struct Tie {
    group: GroupIx,
    /// 0 for a requirement, else how much keeping it is worth.
    weight: i32,
    /// Whether a node without the label keeps it.
    without_label: bool,
    kept: Kept,
}

/// Where it is kept.
enum Kept {
    /// On nodes that hold so many of the pods that are counted.
    Hosts(Whose, Held),
    /// In domains, by their number.
    Domains(Vec<bool>),
}

/// From how many pods to how many a domain may hold.
#[derive(Clone, Copy)]
struct Held {
    least: i64,
    most: i64,
}

impl Held {
    const NONE: Self = Self { least: 0, most: 0 };

    fn contains(self, count: u32) -> bool {
        (self.least..=self.most).contains(&i64::from(count))
    }
}

/// Which pods are counted.
#[derive(Clone, Copy)]
enum Whose {
    /// Those that the group selects.
    Selected,
    /// Those that carry the group's anti-affinity.
    Owners,
}

impl Placer<'_, '_> {
    /// What ties one more pod of the shape: the constraints that it carries, then the anti-affinity of others.
    pub(super) fn ties_of(&mut self, shape: ShapeIx) -> Vec<Tie> {
        let topology = self.topology;
        let ties = &topology.ties[shape];
        let mut all: Vec<Tie> = Vec::with_capacity(ties.owned.len() + ties.selected_by.len());
        for owned in &ties.owned {
            let range = self.kept_with(shape, *owned);
            let without_label = topology.groups[owned.group].rule == Rule::AntiAffinity;
            all.push(self.tie(owned.group, owned.weight, without_label, Whose::Selected, range));
        }
        for group in ties.selected_by.iter().copied() {
            let repels = topology.groups[group].rule == Rule::AntiAffinity;
            if repels && !self.state.owners[group].is_empty() {
                all.push(self.tie(group, 0, true, Whose::Owners, Held::NONE));
            }
        }
        all
    }

    /// With how many selected pods in a domain one more keeps the constraint there.
    fn kept_with(&mut self, shape: ShapeIx, owned: Owned) -> Held {
        match self.topology.groups[owned.group].rule {
            Rule::Affinity => {
                let is_first = owned.selects_itself && self.state.matched[owned.group].is_empty();
                Held { least: i64::from(!is_first), most: i64::MAX }
            }
            Rule::AntiAffinity => Held::NONE,
            Rule::Spread { max_skew, .. } => {
                let least_elsewhere = self.least(shape, owned.group);
                let most = i64::from(max_skew) + least_elsewhere - i64::from(owned.selects_itself);
                Held { least: 0, most }
            }
        }
    }

    fn tie(
        &self,
        group: GroupIx,
        weight: i32,
        without_label: bool,
        whose: Whose,
        range: Held,
    ) -> Tie {
        let kept = if self.topology.groups[group].is_by_host() {
            Kept::Hosts(whose, range)
        } else {
            let counts = &self.counts(whose, group).by_domain;
            let held = |domain| counts.get(domain).copied().unwrap_or(0);
            let domains = self.topology.domains(group);
            Kept::Domains(domains.map(|domain| range.contains(held(domain))).collect())
        };
        Tie { group, weight, without_label, kept }
    }

    fn counts(&self, whose: Whose, group: GroupIx) -> &Counts {
        match whose {
            Whose::Selected => &self.state.matched[group],
            Whose::Owners => &self.state.owners[group],
        }
    }

    /// Whether one more pod on the node keeps the constraint.
    fn keeps(&self, tie: &Tie, node: NodeIx) -> bool {
        let Some(domain) = self.topology.domain_of(tie.group, node) else {
            return tie.without_label;
        };
        match &tie.kept {
            Kept::Domains(kept) => kept[domain],
            Kept::Hosts(whose, range) => {
                let counts = self.counts(*whose, tie.group);
                range.contains(counts.by_node.get(&node).copied().unwrap_or(0))
            }
        }
    }

    /// Whether one more pod on the node keeps everything that is required.
    pub(super) fn keeps_required(&self, ties: &[Tie], node: NodeIx) -> bool {
        ties.iter().filter(|tie| tie.weight == 0).all(|tie| self.keeps(tie, node))
    }

    /// What the wishes are worth that one more pod on the node would break.
    pub(super) fn broken_weight(&self, ties: &[Tie], node: NodeIx) -> i64 {
        let broken = ties.iter().filter(|tie| tie.weight > 0 && !self.keeps(tie, node));
        broken.map(|tie| i64::from(tie.weight)).sum()
    }
}
