//! Value sets and conjunctions of requirements as small numbers, so that equal ones are compared
//! and combined once.

use std::sync::Arc;

use domain::Text;
use domain::requirement::{Requirement, Requirements, ValueSet};
use rustc_hash::FxHashMap;

/// What decides a label of a node that is still to be launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyKind {
    /// The zone of its offering.
    Zone,
    /// The zone id of its offering.
    ZoneId,
    /// The region of the catalogue.
    Region,
    /// The capacity type of its offering.
    CapacityType,
    /// The capacity reservation of its offering.
    Reservation,
    /// What an interruption of its offering costs, by its pods.
    Interruption,
    /// Its name, which no one knows yet.
    Hostname,
    /// Its instance type. With several values a launch settles which one.
    InstanceType {
        /// Some type has several values.
        has_several_values: bool,
    },
}

/// What is required of one key: the values it may have, and whether it may be missing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KeyRule {
    /// The label's key.
    pub(crate) key: Text,
    /// Interned values.
    pub(crate) set: SetId,
    /// A node without the label is as good.
    pub(crate) may_be_absent: bool,
}

/// An interned [`ValueSet`]. Numbers tell sets apart and have no order: threads number what they
/// meet first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SetId(u32);

/// An interned conjunction of requirements, at most one rule a key. As with [`SetId`], numbers have
/// no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ConjunctionId(u32);

impl ConjunctionId {
    /// Requires nothing.
    pub(crate) const EMPTY: Self = Self(0);

    /// For tables by conjunction.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Interned sets and conjunctions, with what was worked out about them.
#[derive(Clone, Debug)]
pub(crate) struct Sets {
    values: Vec<Arc<ValueSet>>,
    ids: FxHashMap<ValueSet, SetId>,
    intersections: FxHashMap<(SetId, SetId), SetId>,
    conjunctions: Vec<Arc<[KeyRule]>>,
    conjunction_ids: FxHashMap<Arc<[KeyRule]>, ConjunctionId>,
    unions: FxHashMap<(ConjunctionId, ConjunctionId), Option<ConjunctionId>>,
    /// Conjunctions of one label with one value.
    pins: FxHashMap<(Text, Text), ConjunctionId>,
}

impl Default for Sets {
    fn default() -> Self {
        let empty: Arc<[KeyRule]> = Arc::from([]);
        Self {
            values: Vec::new(),
            ids: FxHashMap::default(),
            intersections: FxHashMap::default(),
            conjunctions: vec![empty.clone()],
            conjunction_ids: FxHashMap::from_iter([(empty, ConjunctionId::EMPTY)]),
            unions: FxHashMap::default(),
            pins: FxHashMap::default(),
        }
    }
}

fn number(length: usize) -> u32 {
    // Distinct sets come from distinct requirements in the input; four thousand million do not fit
    // in memory.
    u32::try_from(length).unwrap_or(u32::MAX)
}

impl Sets {
    /// The number of a set.
    pub(crate) fn set(&mut self, set: ValueSet) -> SetId {
        if let Some(id) = self.ids.get(&set) {
            return *id;
        }
        let id = SetId(number(self.values.len()));
        self.values.push(Arc::new(set.clone()));
        self.ids.insert(set, id);
        id
    }

    /// The set of a number.
    pub(crate) fn get(&self, id: SetId) -> Arc<ValueSet> {
        self.values[id.0 as usize].clone()
    }

    /// What both sets allow.
    pub(crate) fn intersection(&mut self, a: SetId, b: SetId) -> SetId {
        if a == b {
            return a;
        }
        let pair = if a.0 < b.0 { (a, b) } else { (b, a) };
        if let Some(id) = self.intersections.get(&pair) {
            return *id;
        }
        let both = self.get(a).intersection(&self.get(b));
        let id = self.set(both);
        self.intersections.insert(pair, id);
        id
    }

    /// The number of rules, which stand by key.
    pub(crate) fn intern(&mut self, rules: Vec<KeyRule>) -> ConjunctionId {
        let rules: Arc<[KeyRule]> = rules.into();
        if let Some(id) = self.conjunction_ids.get(&rules) {
            return *id;
        }
        let id = ConjunctionId(number(self.conjunctions.len()));
        self.conjunctions.push(rules.clone());
        self.conjunction_ids.insert(rules, id);
        id
    }

    /// The number of a conjunction.
    pub(crate) fn conjunction(&mut self, requirements: &Requirements) -> ConjunctionId {
        let rules = requirements
            .iter()
            .map(|(key, own)| KeyRule {
                key: key.clone(),
                set: self.set(own.values.clone()),
                may_be_absent: own.may_be_absent,
            })
            .collect();
        self.intern(rules)
    }

    /// The number of a conjunction of requirements.
    pub(crate) fn conjunction_of<'a>(
        &mut self,
        requirements: impl IntoIterator<Item = &'a Requirement>,
    ) -> ConjunctionId {
        self.conjunction(&Requirements::of(requirements))
    }

    /// The rules of a conjunction, by key.
    pub(crate) fn rules(&self, id: ConjunctionId) -> Arc<[KeyRule]> {
        self.conjunctions[id.index()].clone()
    }

    /// Both conjunctions together; `None` where they contradict each other.
    pub(crate) fn and(&mut self, a: ConjunctionId, b: ConjunctionId) -> Option<ConjunctionId> {
        if a == b || b == ConjunctionId::EMPTY {
            return Some(a);
        }
        if a == ConjunctionId::EMPTY {
            return Some(b);
        }
        let pair = if a.0 < b.0 { (a, b) } else { (b, a) };
        if let Some(id) = self.unions.get(&pair) {
            return *id;
        }
        let id = self.union(pair.0, pair.1);
        self.unions.insert(pair, id);
        id
    }

    fn union(&mut self, a: ConjunctionId, b: ConjunctionId) -> Option<ConjunctionId> {
        let mut rules: Vec<KeyRule> = self.rules(a).to_vec();
        for rule in self.rules(b).iter() {
            match rules.binary_search_by(|own| own.key.cmp(&rule.key)) {
                Ok(index) => {
                    let set = self.intersection(rules[index].set, rule.set);
                    let may_be_absent = rules[index].may_be_absent && rule.may_be_absent;
                    if self.get(set).is_empty() && !may_be_absent {
                        return None;
                    }
                    rules[index] = KeyRule { key: rule.key.clone(), set, may_be_absent };
                }
                Err(index) => rules.insert(index, rule.clone()),
            }
        }
        Some(self.intern(rules))
    }

    /// The conjunction with one label pinned to one value.
    pub(crate) fn pinned(
        &mut self,
        conjunction: ConjunctionId,
        key: &Text,
        value: &Text,
    ) -> Option<ConjunctionId> {
        let label = (key.clone(), value.clone());
        let pin = match self.pins.get(&label) {
            Some(known) => *known,
            None => self.pin(label),
        };
        self.and(conjunction, pin)
    }

    fn pin(&mut self, (key, value): (Text, Text)) -> ConjunctionId {
        let set = self.set(ValueSet::one(value.clone()));
        let pin = self.intern(vec![KeyRule { key: key.clone(), set, may_be_absent: false }]);
        self.pins.insert((key, value), pin);
        pin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conjunctions_combine_once_and_contradictions_are_found() {
        let mut sets = Sets::default();
        let zone = |values: &[&str]| {
            Requirement::is_in("zone", values.iter().map(|value| Text::from(*value)))
        };
        let ab = sets.conjunction_of(&[zone(&["a", "b"])]);
        let bc = sets.conjunction_of(&[zone(&["b", "c"])]);
        let b = sets.conjunction_of(&[zone(&["b"])]);
        let c = sets.conjunction_of(&[zone(&["c"])]);
        assert_eq!(sets.and(ab, bc), Some(b));
        assert_eq!(sets.and(bc, ab), Some(b));
        assert_eq!(sets.and(b, c), None);
        assert_eq!(sets.pinned(ab, &"zone".into(), &"b".into()), Some(b));
        assert_eq!(sets.and(ConjunctionId::EMPTY, b), Some(b));
    }
}
