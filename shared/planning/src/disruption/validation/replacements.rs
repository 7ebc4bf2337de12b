//! Which planned replacement is launched for which node that is needed now.
//!
//! Planned replacements stand in the order of their names, which are drawn; a new node of today may
//! be served by several of them. Each is matched to one that would do for it, as many as there are:
//! taking the first that would do could leave another node without the only one that does.

use std::collections::BTreeSet;

use domain::plan::{PlannedDisruption, PlannedNodeClaim};
use domain::reason::NotDisruptable;
use domain::requirement::Requirements;
use domain::{Text, label};

use super::changed;
use crate::disruption::trial::{Trial, Trials};
use crate::feasibility::scope::Scope;
use crate::ids::NodeIx;
use crate::model::Model;
use crate::model::memo::Memo;
use crate::scheduling::claim;
use crate::work::NewNode;

/// The planned replacements with the pods that they are for now, if they would do for what has to
/// be launched now. One that is not needed any more does no harm where the node is removed in any
/// case.
pub(super) fn same_replacements(
    trials: &Trials,
    nodes: &[NodeIx],
    trial: &Trial,
    disruption: &PlannedDisruption,
) -> Result<Vec<PlannedNodeClaim>, NotDisruptable> {
    let (planned, wanted) = (disruption.replacements.len(), trial.packed.len());
    if wanted > planned {
        return Err(changed(format!("its pods need {wanted} new nodes now, {planned} planned")));
    }
    if wanted < planned && disruption.reason.is_voluntary() {
        return Err(changed(format!(
            "its pods need only {wanted} new nodes now, {planned} planned"
        )));
    }
    let Scope { model, memo, .. } = trials.scope;
    let mut limits = trials.limits_with(nodes, trial);
    let planned_for = Matching::of(model, memo, &trial.packed, &disruption.replacements)
        .complete()
        .map_err(changed)?;
    let mut used: Vec<PlannedNodeClaim> = Vec::with_capacity(planned);
    for (packed, planned) in trial.packed.iter().zip(&planned_for) {
        match claim::renewed(model, memo, packed, &mut limits, planned) {
            Some(fresh) => used.push(fresh),
            // The node is removed in any case: what was planned before limits were used up is
            // better than nothing.
            None if !disruption.reason.is_voluntary() => used.push((*planned).clone()),
            None => {
                let (name, pool) = (&planned.name, &planned.node_pool);
                return Err(changed(format!(
                    "limits leave replacement {name} fewer types than NodePool {pool} asks for with minValues"
                )));
            }
        }
    }
    let names: BTreeSet<&Text> = planned_for.iter().map(|own| &own.name).collect();
    let unused = disruption.replacements.iter().filter(|own| !names.contains(&own.name));
    used.extend(unused.map(|own| PlannedNodeClaim { pods: Vec::new(), ..own.clone() }));
    used.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(used)
}

/// New nodes of today on one side, planned replacements on the other.
struct Matching<'a> {
    model: &'a Model<'a>,
    memo: &'a Memo,
    needed: &'a [NewNode],
    planned: &'a [PlannedNodeClaim],
    /// By new node, the replacements that would do, those for the same pods first.
    would_do: Vec<Vec<usize>>,
    /// By replacement, the new node that it is launched for.
    serves: Vec<Option<usize>>,
}

impl<'a> Matching<'a> {
    fn of(
        model: &'a Model<'a>,
        memo: &'a Memo,
        needed: &'a [NewNode],
        planned: &'a [PlannedNodeClaim],
    ) -> Self {
        let would_do = |node: &NewNode| {
            let pods = claim::pods_of_claim(model, node);
            let fits = |index: &usize| difference(model, memo, node, &planned[*index]).is_none();
            let mut all: Vec<usize> = (0..planned.len()).filter(fits).collect();
            all.sort_by_key(|index| planned[*index].pods != pods);
            all
        };
        let would_do = needed.iter().map(would_do).collect();
        Self { model, memo, needed, planned, would_do, serves: vec![None; planned.len()] }
    }

    /// The replacement of each new node, or why one has none.
    ///
    /// Source: H. W. Kuhn, The Hungarian method for the assignment problem, 1955: a node that finds
    /// every replacement taken gets one whose node can take another.
    fn complete(mut self) -> Result<Vec<&'a PlannedNodeClaim>, String> {
        for node in 0..self.needed.len() {
            if !self.find(node, &mut BTreeSet::new()) {
                return Err(self.why_none(node));
            }
        }
        let mut matched: Vec<(usize, &PlannedNodeClaim)> = self
            .serves
            .iter()
            .zip(self.planned)
            .filter_map(|(own, it)| Some((*own.as_ref()?, it)))
            .collect();
        matched.sort_by_key(|(node, _)| *node);
        Ok(matched.into_iter().map(|(_, planned)| planned).collect())
    }

    fn find(&mut self, node: usize, tried: &mut BTreeSet<usize>) -> bool {
        for index in self.would_do[node].clone() {
            if tried.insert(index) && self.serves[index].is_none_or(|other| self.find(other, tried))
            {
                self.serves[index] = Some(node);
                return true;
            }
        }
        false
    }

    /// How a new node differs from a replacement that nothing else needs.
    fn why_none(&self, node: usize) -> String {
        let free = self.planned.iter().zip(&self.serves).filter(|(_, own)| own.is_none());
        let mut why =
            free.filter_map(|(own, _)| difference(self.model, self.memo, &self.needed[node], own));
        why.next().unwrap_or_default()
    }
}

/// Why the planned claim would not do as the node that is needed now. Whatever its launch may
/// result in must do: every type, zone, capacity type and label.
fn difference(
    model: &Model,
    memo: &Memo,
    packed: &NewNode,
    planned: &PlannedNodeClaim,
) -> Option<String> {
    let pool = &model.pools[packed.pool];
    let name = &planned.name;
    if pool.node_pool.name != planned.node_pool {
        return Some(format!("replacement {name} would be of NodePool {}", pool.node_pool.name));
    }
    let compatible = &packed.compatible;
    let does = |wanted: &Text| {
        compatible
            .types
            .iter()
            .map(|index| &pool.types[index])
            .any(|one| one.instance_type.name == *wanted && one.has_room_for(&packed.requests))
    };
    if let Some(unfit) = planned.instance_types.iter().find(|wanted| !does(wanted)) {
        return Some(format!("replacement {name} could not be {unfit} any more"));
    }
    let planned_rules = Requirements::of(&planned.requirements);
    let unmet = |key: &str, allows: &dyn Fn(&str) -> bool| {
        let values = planned_rules.get(key).and_then(|rule| rule.values.as_list())?;
        let value = values.iter().find(|value| !allows(value))?;
        Some(format!("replacement {name} could not have {key} {value} any more"))
    };
    let zone = |value: &str| compatible.zones.iter().any(|zone| **pool.zone(zone) == *value);
    let purchase = |value: &str| {
        pool.purchases.iter_enumerated().any(|(index, purchase)| {
            compatible.purchases.contains(index) && purchase.capacity_type.as_str() == value
        })
    };
    let sets = memo.sets();
    unmet(label::ZONE, &zone).or_else(|| unmet(label::CAPACITY_TYPE, &purchase)).or_else(|| {
        compatible.open.iter().find_map(|rule| {
            let wanted = sets.get(rule.set);
            unmet(&rule.key, &|value| wanted.contains(value))
        })
    })
}
