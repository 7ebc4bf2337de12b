//! A list of instance types, shared, and what is asked of all of them together.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::InstanceType;
use crate::Text;

/// Instance types in order, in most lists by name. Cloning shares them. What is asked of all of
/// them together is worked out when it is first asked: a catalogue has some 1,300, and every plan
/// asks.
#[derive(Clone, Default)]
pub struct InstanceTypeList(Arc<Shared>);

#[derive(Clone, Default)]
struct Shared {
    types: Vec<InstanceType>,
    summary: OnceLock<Summary>,
}

/// What is known of all types of a list together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Keys of their labels, each with whether some type has several values of it.
    pub label_keys: BTreeMap<Text, bool>,
    /// Zones of their offerings.
    pub zones: BTreeSet<Text>,
    /// The place of the first type of each name.
    places: BTreeMap<Text, usize>,
    /// By key of a label, who has which values of it.
    columns: BTreeMap<Text, OnceLock<LabelColumn>>,
}

/// Which types have which values of one label: types are many, and most share their values with
/// others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelColumn {
    /// The lists of values that types have, each once, in the order of the first type with it.
    pub distinct: Vec<Vec<Text>>,
    /// By type, in the order of the list, an index of these; `None` of types without the label.
    pub of_type: Vec<Option<usize>>,
}

impl LabelColumn {
    fn of(types: &[InstanceType], key: &str) -> Self {
        let mut column = Self::default();
        let mut known: BTreeMap<&[Text], usize> = BTreeMap::new();
        for own in types {
            let index = own.labels.get(key).map(|values| {
                *known.entry(values).or_insert_with(|| {
                    column.distinct.push(values.clone());
                    column.distinct.len() - 1
                })
            });
            column.of_type.push(index);
        }
        column
    }
}

impl InstanceTypeList {
    /// The first type of a name.
    pub fn named(&self, name: &str) -> Option<&InstanceType> {
        self.0.types.get(self.position(name)?)
    }

    /// The place of the first type of a name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.summary().places.get(name).copied()
    }

    /// What is known of all of them together.
    pub fn summary(&self) -> &Summary {
        self.0.summary.get_or_init(|| Summary::of(&self.0.types))
    }

    /// Which of them have which values of a label; `None` where none has it.
    pub fn column(&self, key: &str) -> Option<&LabelColumn> {
        let column = self.summary().columns.get(key)?;
        Some(column.get_or_init(|| LabelColumn::of(&self.0.types, key)))
    }

    /// Whether both are one list, not only alike.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The types, to change; those of a list that is shared are copied first.
    pub fn types_mut(&mut self) -> &mut Vec<InstanceType> {
        let shared = Arc::make_mut(&mut self.0);
        shared.summary = OnceLock::new();
        &mut shared.types
    }
}

impl Summary {
    fn of(types: &[InstanceType]) -> Self {
        let mut summary = Self::default();
        for (place, own) in types.iter().enumerate() {
            summary.places.entry(own.name.clone()).or_insert(place);
            for (key, values) in &own.labels {
                let is_several = values.len() > 1;
                if let Some(known) = summary.label_keys.get_mut(key) {
                    *known |= is_several;
                } else {
                    summary.label_keys.insert(key.clone(), is_several);
                    summary.columns.insert(key.clone(), OnceLock::new());
                }
            }
            for offering in &own.offerings {
                if !summary.zones.contains(&offering.zone) {
                    summary.zones.insert(offering.zone.clone());
                }
            }
        }
        summary
    }
}

impl Deref for InstanceTypeList {
    type Target = [InstanceType];

    fn deref(&self) -> &[InstanceType] {
        &self.0.types
    }
}

impl From<Vec<InstanceType>> for InstanceTypeList {
    fn from(types: Vec<InstanceType>) -> Self {
        Self(Arc::new(Shared { types, summary: OnceLock::new() }))
    }
}

impl FromIterator<InstanceType> for InstanceTypeList {
    fn from_iter<I: IntoIterator<Item = InstanceType>>(types: I) -> Self {
        Vec::from_iter(types).into()
    }
}

impl PartialEq for InstanceTypeList {
    fn eq(&self, other: &Self) -> bool {
        self.is_same(other) || self.0.types == other.0.types
    }
}

impl Eq for InstanceTypeList {}

impl fmt::Debug for InstanceTypeList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.types.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sold(name: &str, systems: &[&str]) -> InstanceType {
        let labels =
            BTreeMap::from([("os".into(), systems.iter().map(|own| (*own).into()).collect())]);
        InstanceType { name: name.into(), labels, ..InstanceType::default() }
    }

    #[test]
    fn a_label_with_several_values_on_one_type_has_several() {
        let list: InstanceTypeList =
            [sold("a", &["linux"]), sold("b", &["linux", "windows"])].into_iter().collect();
        assert_eq!(list.summary().label_keys, BTreeMap::from([("os".into(), true)]));
    }

    #[test]
    fn types_with_the_same_values_of_a_label_share_them() {
        let plain = InstanceType { name: "d".into(), ..InstanceType::default() };
        let systems: [&[&str]; 3] = [&["linux"], &["linux", "windows"], &["linux"]];
        let list: InstanceTypeList =
            systems.map(|own| sold("t", own)).into_iter().chain([plain]).collect();
        let column = list.column("os").unwrap();
        assert_eq!(column.distinct, [vec!["linux".into()], vec!["linux".into(), "windows".into()]]);
        assert_eq!(column.of_type, [Some(0), Some(1), Some(0), None]);
        assert_eq!(list.column("arch"), None);
    }

    #[test]
    fn a_type_is_found_by_its_name_the_first_of_two() {
        let list = InstanceTypeList::from(vec![sold("a", &["linux"]), sold("a", &["windows"])]);
        assert_eq!(list.named("a"), Some(&list[0]));
        assert_eq!(list.named("b"), None);
    }

    #[test]
    fn what_is_changed_is_worked_out_anew_and_leaves_other_clones_alone() {
        let before = InstanceTypeList::from(vec![sold("a", &["linux"])]);
        assert!(before.named("a").is_some());
        let mut after = before.clone();
        assert!(after.is_same(&before));
        after.types_mut()[0].name = "b".into();
        assert!(after.named("a").is_none() && after.named("b").is_some());
        assert!(before.named("a").is_some() && before != after);
    }
}
