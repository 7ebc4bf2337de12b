//! Even spreads before cheap ones: of nodes that are there and new ones, those in the emptiest
//! domains, and of these in the rarest.

use domain::Text;

use super::placer::Placer;
use super::rivals::{Pins, Rivals};
use crate::feasibility::domains::pinned_keys;
use crate::ids::{NodeIx, ShapeIx};

impl Placer<'_, '_> {
    /// Whether pods of the shape had better be where few others are than where there is room: they
    /// are spread over several keys, and that takes precedence.
    pub(super) fn is_spread_evenly(&self, shape: ShapeIx) -> bool {
        self.precedence.is_even && self.spreads(shape).nth(1).is_some()
    }

    /// The node that takes one more pod in the emptiest and rarest domains, first in order among
    /// equals; `None` where a new node would be in emptier or rarer ones.
    pub(super) fn most_even(&mut self, shape: ShapeIx, nodes: &[NodeIx]) -> Option<NodeIx> {
        let keys = pinned_keys(self.topology, shape, self.soft_spread);
        let takers = self.takers(shape, &keys, nodes);
        let choices = self.choices(shape, &keys, None);
        let pins = takers.iter().map(|(_, pins)| pins).chain(choices.iter().map(|own| &own.pins));
        let rivals = Rivals::of(pins);
        let constraints = self.constraints_of(shape);
        let crowd = |pins: &Pins| -> u32 {
            let scores = pins.iter().filter_map(|(key, domain)| {
                self.domain_score(&constraints, key, domain).map(|score| score.crowd)
            });
            scores.sum()
        };
        let score = |pins: &Pins| (crowd(pins), rivals.of_rarest(pins));
        let (least, node) = takers
            .iter()
            .map(|(node, pins)| (score(pins), *node))
            .reduce(|best, own| if own.0 < best.0 { own } else { best })?;
        let is_worse = choices.iter().any(|own| score(&own.pins) < least);
        (!is_worse).then_some(node)
    }

    /// Domains that nodes are in which take one more pod.
    pub(super) fn pins_of_nodes(&mut self, shape: ShapeIx, keys: &[Text]) -> Vec<Pins> {
        let nodes = self.roomy_nodes(shape);
        self.takers(shape, keys, &nodes).into_iter().map(|(_, pins)| pins).collect()
    }

    /// The nodes that take one more pod, and what domains they are in.
    fn takers(&mut self, shape: ShapeIx, keys: &[Text], nodes: &[NodeIx]) -> Vec<(NodeIx, Pins)> {
        let constraints = self.node_constraints(shape);
        let takes = |node: &NodeIx| {
            self.check_capacity(shape, *node).is_ok() && self.keeps_required(&constraints, *node)
        };
        let pins = |node: NodeIx| -> Pins {
            let labels = &self.model.nodes[node].labels;
            keys.iter().filter_map(|key| Some((key.clone(), labels.get(key)?.clone()))).collect()
        };
        nodes.iter().copied().filter(takes).map(|node| (node, pins(node))).collect()
    }
}
