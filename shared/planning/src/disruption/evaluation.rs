//! Evaluation: what removing a set of nodes together saves.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use domain::money::UsdPerHour;
use domain::reason::Unconsolidatable;

use super::figures::count;
use super::replacement::{JointOffers, Removal, may_be_several, replacements};
use super::score::Scores;
use super::trial::{Trial, Trials};
use crate::ids::{NodeIx, PodIx};
use crate::model::Model;
use crate::scheduling::spot_share::Exceeded;
use crate::work::{Item, NewNode};

/// Times that new nodes are given more room, for pods that kube-scheduler would leave without a
/// place.
const ENLARGEMENTS_MAX: usize = 3;

/// Several new nodes are two at least. More need not save more.
const LAUNCHES_OF_SEVERAL: usize = 2;

/// A move that is possible and worth it.
pub(super) struct Move {
    /// The nodes that are removed.
    pub(super) nodes: Vec<NodeIx>,
    /// Where their pods go: to remaining nodes, and to new ones.
    pub(super) trial: Trial,
    /// What it saves.
    pub(super) savings: UsdPerHour,
    /// What it has to save, for what moving costs.
    required: UsdPerHour,
    /// What it disrupts, by the measure of the `Balanced` score.
    disruption: f64,
}

impl Move {
    /// Whether it scores higher than the other, or as high with fewer nodes.
    pub(super) fn is_better_than(&self, other: &Self) -> bool {
        self.best_first(other) == Ordering::Less
    }

    /// Orders moves: the highest score first, then the fewest nodes.
    pub(super) fn best_first(&self, other: &Self) -> Ordering {
        other
            .score()
            .total_cmp(&self.score())
            .then_with(|| self.nodes.len().cmp(&other.nodes.len()))
    }

    /// Net savings, what is left once moving is paid for, times net savings per disruption.
    /// Comparable between moves of one plan only.
    ///
    /// One more node raises the score where it saves at least half as much for its disruption as
    /// the others do, as the `Balanced` policy has it with k = 2. By savings alone, large moves
    /// that save little more than small ones would come first.
    pub(super) fn score(&self) -> f64 {
        score(self.savings - self.required, self.disruption)
    }
}

fn score(net_savings: UsdPerHour, disruption: f64) -> f64 {
    let net = net_savings.to_f64();
    net * net / disruption.max(f64::MIN_POSITIVE)
}

/// Whether removing the nodes saves money if their pods go where they are planned to go: to
/// remaining nodes, and the rest to new nodes that cost less together. One node is replaced by one
/// at most: its pods are not spread over more.
///
/// It must save what moving costs, so that nodes of one price are never swapped for each other, and
/// every `Balanced` pool of the nodes must approve. The order in which nodes are named makes no
/// difference.
fn evaluate_as_planned(
    trials: &mut Trials,
    scores: &Scores,
    nodes: &[NodeIx],
) -> Result<Move, Unconsolidatable> {
    draft(trials, &[], nodes).complete(trials, scores, None)
}

/// The move that [`evaluate_as_planned`] finds, for whoever does not ask why there is none: it is
/// given up as soon as that is known. One that scores less than `least_score` need not be found.
pub(super) fn evaluate_promising(
    trials: &mut Trials,
    scores: &Scores,
    nodes: &[NodeIx],
    least_score: Option<f64>,
) -> Option<Move> {
    let nodes = in_ascending_order(nodes);
    let trial = if trials.may_launch_nothing_for(&nodes) {
        trials.try_while(&nodes, <[Item]>::is_empty)?
    } else if may_be_several(trials.model, &nodes) {
        trials.try_while(&nodes, |_| true)?
    } else {
        let mut joint = JointOffers::default();
        trials.try_while(&nodes, |items| joint.are_left(items))?
    };
    Draft { nodes, trial }.complete(trials, scores, least_score).ok()
}

fn in_ascending_order(nodes: &[NodeIx]) -> Vec<NodeIx> {
    let mut nodes = nodes.to_vec();
    nodes.sort_unstable();
    nodes
}

/// Whether a move of the nodes may be worth it, and score `least_score` where there is one: it
/// would if its pods all found room on nodes that stay. It takes no trial to say so.
pub(super) fn may_be_worth_it(
    trials: &Trials,
    scores: &Scores,
    nodes: &[NodeIx],
    least_score: Option<f64>,
) -> bool {
    let nodes = in_ascending_order(nodes);
    let savings = trials.price_of(&nodes);
    let required = scores.required_savings(&nodes, 0, UsdPerHour::ZERO);
    let score = || score(savings - required, scores.disruption(&nodes));
    savings >= required && least_score.is_none_or(|least| score() >= least)
}

/// A move whose new nodes are not chosen yet.
pub(super) struct Draft {
    nodes: Vec<NodeIx>,
    trial: Trial,
}

/// Where the nodes' pods would go, the `displaced` ones among them to new nodes in any case.
pub(super) fn draft(trials: &mut Trials, displaced: &[PodIx], nodes: &[NodeIx]) -> Draft {
    let nodes = in_ascending_order(nodes);
    let trial = trials.try_with_room_for(displaced, &nodes);
    Draft { nodes, trial }
}

impl Draft {
    /// Pods that need new nodes.
    pub(super) fn items(&self) -> &[Item] {
        &self.trial.items
    }

    /// The move with the new nodes that cost least, if it is worth it. One that scores less than
    /// `least_score` need not be found.
    pub(super) fn complete(
        self,
        trials: &Trials,
        scores: &Scores,
        least_score: Option<f64>,
    ) -> Result<Move, Unconsolidatable> {
        let Self { nodes, mut trial } = self;
        let model = trials.model;
        if let Some(pod) = trial.failed.first() {
            return Err(Unconsolidatable::NoPlace(model.pod(*pod).key.clone()));
        }
        let before = trials.price_of(&nodes);
        let mut after = UsdPerHour::ZERO;
        if !trial.items.is_empty() {
            let ceiling = scores.price_ceiling(&nodes, LAUNCHES_OF_SEVERAL, before, least_score);
            let (items, state) = (&trial.items, &trial.state);
            let removal = Removal { nodes: &nodes, items, state, before, ceiling };
            let found = replacements(trials, &removal)?;
            after = found.price;
            trial.packed = found.packed;
        }
        if let Some(before) = &trials.spot_shares {
            let mut shares = before.clone();
            shares.leave(model, &nodes);
            shares.place(model, &trial.moved);
            let mut limits = trials.limits_with(&nodes, &trial);
            shares.pin_all(trials.scope, &mut limits, &mut trial.packed);
            after = trials.price_of_new(&nodes, &trial.packed);
            if let Some(Exceeded { workload, instance_type, zone }) = shares.exceeded_beyond(before)
            {
                return Err(Unconsolidatable::SpotShare { workload, instance_type, zone });
            }
        }
        if let Some(zones) = &trials.zones
            && !trial.packed.is_empty()
        {
            let mut zones = zones.clone();
            zones.leave(model, &nodes);
            let mut limits = trials.limits_with(&nodes, &trial);
            let packed = std::mem::take(&mut trial.packed);
            let settled = zones.settle(trials.scope, &mut limits, &packed);
            if let Some(pod) = settled.left.first() {
                return Err(Unconsolidatable::NoPlace(model.pod(*pod).key.clone()));
            }
            trial.packed = settled.nodes;
            after = trials.price_of_new(&nodes, &trial.packed);
        }
        let dearer = dearer_on_hosts(model, &trial);
        let savings = before - after - dearer;
        if model.chooses_beside_cost() && !trial.packed.is_empty() {
            let saved = saved_money(trials, &nodes, &trial.packed);
            if saved <= UsdPerHour::ZERO {
                let pods = count(trials.pods_of(&nodes).len());
                let needed = UsdPerHour::ZERO;
                return Err(Unconsolidatable::TooLittle { saving: saved, pods, needed });
            }
        }
        let required = scores.required_savings(&nodes, trial.packed.len(), after);
        if savings < required && dearer > UsdPerHour::ZERO && savings + dearer >= required {
            let saving = savings + dearer;
            return Err(Unconsolidatable::DearInterruptions { saving, weight: dearer });
        }
        if savings < required {
            let pods = count(trials.pods_of(&nodes).len());
            return Err(Unconsolidatable::TooLittle { saving: savings, pods, needed: required });
        }
        scores.approve(model, &nodes, savings)?;
        let disruption = scores.disruption(&nodes);
        Ok(Move { nodes, trial, savings, required, disruption })
    }
}

/// What pods add to the weights of nodes that they move to: a spot node with a dear pod is weighed
/// as one of which all are dear. Where there is such room, no new node keeps kube-scheduler from
/// it.
fn dearer_on_hosts(model: &Model, trial: &Trial) -> UsdPerHour {
    if !model.tells_pods_apart() {
        return UsdPerHour::ZERO;
    }
    let mut moved: BTreeMap<NodeIx, Vec<PodIx>> = BTreeMap::new();
    for (pod, node) in &trial.moved {
        moved.entry(*node).or_default().push(*pod);
    }
    let added = moved.iter().filter_map(|(node, pods)| {
        Some(model.price_with(*node, pods)? - model.nodes[*node].price()?)
    });
    added.filter(|own| *own > UsdPerHour::ZERO).sum()
}

/// What replacements save by what nodes cost: interruptions alone move no pod, since that moves it
/// as surely as an interruption would.
fn saved_money(trials: &Trials, nodes: &[NodeIx], packed: &[NewNode]) -> UsdPerHour {
    trials.cost_of(nodes) - trials.cost_of_new(nodes, packed)
}

/// Whether removing the nodes saves money both as planned and where kube-scheduler places their
/// pods.
pub(super) fn evaluate(
    trials: &mut Trials,
    scores: &Scores,
    nodes: &[NodeIx],
) -> Result<Move, Unconsolidatable> {
    let planned = evaluate_as_planned(trials, scores, nodes)?;
    robust(trials, scores, planned, |_| true)
}

/// A move that saves enough where kube-scheduler places the pods, which knows of no plan: it
/// spreads them, and a pod that finds its place taken costs a node of its own, which the next run
/// would remove again. Where that happens, the move gets larger new nodes, as long as it is wanted
/// at their price.
pub(super) fn robust(
    trials: &mut Trials,
    scores: &Scores,
    planned: Move,
    is_wanted: impl Fn(&Move) -> bool,
) -> Result<Move, Unconsolidatable> {
    let diverges = |trials: &mut Trials, own: &Move| {
        trials.divergence(&own.nodes, &own.trial, own.savings, own.savings - own.required)
    };
    let Some(divergence) = diverges(trials, &planned) else { return Ok(planned) };
    let mut displaced = divergence.displaced;
    for _ in 0..ENLARGEMENTS_MAX {
        let enlarged = draft(trials, &displaced, &planned.nodes).complete(trials, scores, None);
        let Some(found) = enlarged.ok().filter(&is_wanted) else { break };
        match diverges(trials, &found) {
            None => return Ok(found),
            Some(more) if more.displaced.is_empty() => break,
            Some(more) => displaced.extend(more.displaced),
        }
    }
    Err(divergence.reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduling::{Scheduling, SchedulingPurpose};
    use crate::testing::{Cluster, cluster, instance_type, node, offering, pod, spread_over};
    use domain::instance_type::{CapacityType, InstanceType};
    use domain::label::{CAPACITY_TYPE, ZONE};

    /// Nodes in three zones, most of them half empty, every second one spot; some of their pods are
    /// spread over zones.
    fn mixed() -> Cluster {
        let sold = |name, cpus, price: f64| -> InstanceType {
            let mut own = instance_type(name, cpus, price);
            let spot = |zone| offering(zone, CapacityType::Spot, price * 0.3);
            own.offerings.extend(["a", "b", "c"].map(spot));
            own
        };
        let types = [("m.2xlarge", 8, 0.4), ("m.large", 2, 0.1), ("m.xlarge", 4, 0.2)];
        let types = types.map(|(name, cpus, price)| sold(name, cpus, price));
        (0..9_i64).fold(cluster().selling(types.into()), |world, index| {
            let name = format!("n{index}");
            let bought = if index % 2 == 0 { "on-demand" } else { "spot" };
            let zone = ["a", "b", "c"][usize::try_from(index % 3).unwrap()];
            let own = node(&name).in_zone(zone).label(CAPACITY_TYPE, bought);
            let spread = spread_over(ZONE, ("app", "x"));
            let even = pod(&format!("even-{index}")).label("app", "x").spread(spread).cpu(900);
            let plain = pod(&format!("plain-{index}")).cpu(600 + 300 * (index % 4));
            world.node(own).pod(even.on(&name)).pod(plain.on(&name))
        })
    }

    #[test]
    fn a_search_that_gives_up_early_finds_what_one_finds_that_does_not() {
        for gate in [false, true] {
            let world =
                mixed().with(|own| own.settings.feature_gates.spot_to_spot_consolidation = gate);
            let model = Model::new(&world.0, &[]);
            let scheduling = Scheduling::of(&model, SchedulingPurpose::Proposal);
            let mut trials = Trials::of(&model, &scheduling, world.0.now);
            let scores = Scores::of(&model);
            let all: Vec<NodeIx> = model.nodes.indices().collect();
            let found = |own: &Move| (own.nodes.clone(), own.savings, own.trial.packed.len());
            let mut moves = 0;
            for (index, first) in all.iter().enumerate() {
                for others in (0..=3).map(|count| all[index + 1..].iter().copied().take(count)) {
                    let nodes: Vec<NodeIx> = std::iter::once(*first).chain(others).collect();
                    let promising = evaluate_promising(&mut trials, &scores, &nodes, None);
                    let planned = evaluate_as_planned(&mut trials, &scores, &nodes).ok();
                    assert_eq!(promising.as_ref().map(found), planned.as_ref().map(found));
                    moves += usize::from(planned.is_some());
                }
            }
            assert!(moves > 0, "some move is worth it");
        }
    }
}
