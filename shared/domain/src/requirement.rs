//! Requirements on node labels, and their algebra.
//!
//! A requirement is an operator with values, as users write it. A [`ValueSet`] is what it means:
//! the set of values the label may have. Sets intersect; a node that is still to be launched has
//! one set for each key that somebody constrained.
//!
//! Source: `nodeSelectorTerms` of Kubernetes and `requirements` of Karpenter
//! (`pkg/scheduling/requirement.go`), cases 11 and 12 of its traps excepted: values excluded by
//! `NotIn` stay excluded beside a bound.

use std::collections::BTreeMap;
use std::fmt;

use strum::{EnumString, IntoStaticStr, VariantArray};

use crate::Text;
use crate::label::Labels;

/// An operator of a requirement.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
pub enum Operator {
    /// The label has one of the values.
    In,
    /// The label is absent or has none of the values.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is not there.
    DoesNotExist,
    /// The label is an integer above the value.
    Gt,
    /// The label is an integer below the value.
    Lt,
    /// The label is an integer, the value or above.
    Gte,
    /// The label is an integer, the value or below.
    Lte,
}

impl Operator {
    /// All of them.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The word of the API.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Reads the word of the API.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// One requirement as users write it; the key is already normalised.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Requirement {
    /// The label's key.
    pub key: Text,
    /// The operator.
    pub operator: Operator,
    /// The operator's values.
    pub values: Vec<Text>,
    /// `minValues`: the fewest distinct values of the key among a claim's instance types.
    pub min_values: Option<u32>,
}

impl Requirement {
    /// `key In values`.
    pub fn is_in(key: &str, values: impl IntoIterator<Item = Text>) -> Self {
        Self {
            key: key.into(),
            operator: Operator::In,
            values: values.into_iter().collect(),
            min_values: None,
        }
    }

    /// The values that the label may have under this requirement alone.
    pub fn value_set(&self) -> ValueSet {
        ValueSet::of(self.operator, &self.values)
    }

    /// Whether a node without the label meets it.
    pub const fn holds_when_absent(&self) -> bool {
        matches!(self.operator, Operator::NotIn | Operator::DoesNotExist)
    }

    /// Whether a node with exactly these labels meets it.
    pub fn holds_for(&self, labels: &Labels) -> bool {
        match labels.get(&self.key) {
            None => self.holds_when_absent(),
            Some(value) => self.value_set().contains(value),
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key, self.operator.as_str())?;
        match self.values.as_slice() {
            [] => Ok(()),
            [one] => write!(f, " {one}"),
            many => write!(f, " [{}]", many.join(" ")),
        }
    }
}

/// A set of label values: a list, or everything but a list, within optional integer bounds.
///
/// A list holds only values within the bounds, and then has no bounds of its own. The empty list
/// means that the label may not be there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueSet {
    complement: bool,
    values: Vec<Text>,
    gte: Option<i64>,
    lte: Option<i64>,
}

fn integer(value: &str) -> Option<i64> {
    value.parse().ok()
}

impl ValueSet {
    /// Every value.
    pub const fn any() -> Self {
        Self { complement: true, values: Vec::new(), gte: None, lte: None }
    }

    /// No value: the label may not be there.
    pub const fn none() -> Self {
        Self { complement: false, values: Vec::new(), gte: None, lte: None }
    }

    /// Exactly one value.
    pub fn one(value: Text) -> Self {
        Self { complement: false, values: vec![value], gte: None, lte: None }
    }

    /// Exactly these values.
    pub fn list(values: impl IntoIterator<Item = Text>) -> Self {
        let mut values: Vec<_> = values.into_iter().collect();
        values.sort();
        values.dedup();
        Self { complement: false, values, gte: None, lte: None }
    }

    /// What an operator with its values allows. A bound whose value is no integer allows nothing.
    pub fn of(operator: Operator, values: &[Text]) -> Self {
        let bounds = |gte: Option<i64>, lte: Option<i64>| {
            if gte.is_none() && lte.is_none() {
                return Self::none();
            }
            Self { complement: true, values: Vec::new(), gte, lte }
        };
        let bound = values.first().and_then(|value| integer(value));
        match operator {
            Operator::In => Self::list(values.iter().cloned()),
            Operator::NotIn => Self { complement: true, ..Self::list(values.iter().cloned()) },
            Operator::Exists => Self::any(),
            Operator::DoesNotExist => Self::none(),
            Operator::Gt => bounds(bound.and_then(|bound| bound.checked_add(1)), None),
            Operator::Gte => bounds(bound, None),
            Operator::Lt => bounds(None, bound.and_then(|bound| bound.checked_sub(1))),
            Operator::Lte => bounds(None, bound),
        }
    }

    fn within_bounds(&self, value: &str) -> bool {
        if self.gte.is_none() && self.lte.is_none() {
            return true;
        }
        integer(value).is_some_and(|value| {
            self.gte.is_none_or(|gte| value >= gte) && self.lte.is_none_or(|lte| value <= lte)
        })
    }

    /// Whether the value is in the set.
    pub fn contains(&self, value: &str) -> bool {
        let listed = self.values.binary_search_by(|own| (**own).cmp(value)).is_ok();
        if self.complement { !listed && self.within_bounds(value) } else { listed }
    }

    /// Whether no value is in the set.
    pub fn is_empty(&self) -> bool {
        if !self.complement {
            return self.values.is_empty();
        }
        match (self.gte, self.lte) {
            (Some(gte), Some(lte)) => {
                // Finitely many integers lie between the bounds; all may be excluded one by one.
                gte > lte
                    || (i128::from(lte) - i128::from(gte) < self.values.len() as i128
                        && (gte..=lte).all(|value| !self.contains(&value.to_string())))
            }
            _ => false,
        }
    }

    /// The values, if they can be counted out: sorted.
    pub fn as_list(&self) -> Option<&[Text]> {
        (!self.complement).then_some(self.values.as_slice())
    }

    /// The only value, if there is exactly one.
    pub fn single(&self) -> Option<&Text> {
        match self.as_list() {
            Some([value]) => Some(value),
            _ => None,
        }
    }

    /// What both sets allow.
    pub fn intersection(&self, other: &Self) -> Self {
        match (self.complement, other.complement) {
            (false, _) => self.retained(|value| other.contains(value)),
            (_, false) => other.retained(|value| self.contains(value)),
            (true, true) => {
                let gte = self.gte.max(other.gte);
                let lte = match (self.lte, other.lte) {
                    (Some(a), Some(b)) => Some(a.min(b)),
                    (a, b) => a.or(b),
                };
                let mut both = Self { complement: true, values: Vec::new(), gte, lte };
                let excluded = Self::list(self.values.iter().chain(&other.values).cloned());
                both.values =
                    excluded.values.into_iter().filter(|value| both.within_bounds(value)).collect();
                if both.is_empty() { Self::none() } else { both }
            }
        }
    }

    fn retained(&self, keep: impl Fn(&str) -> bool) -> Self {
        Self {
            complement: false,
            values: self.values.iter().filter(|value| keep(value)).cloned().collect(),
            gte: None,
            lte: None,
        }
    }

    /// Whether some value is in both sets.
    pub fn intersects(&self, other: &Self) -> bool {
        !self.intersection(other).is_empty()
    }

    /// The requirements that say this of a key, in the words of the API; two where both bounds are
    /// set and another for values excluded beside a bound.
    pub fn to_requirements(&self, key: &Text, min_values: Option<u32>) -> Vec<Requirement> {
        let requirement =
            |operator, values| Requirement { key: key.clone(), operator, values, min_values };
        if !self.complement {
            return vec![if self.values.is_empty() {
                requirement(Operator::DoesNotExist, vec![])
            } else {
                requirement(Operator::In, self.values.clone())
            }];
        }
        let mut requirements = Vec::new();
        if let Some(gte) = self.gte {
            requirements.push(requirement(Operator::Gte, vec![gte.to_string().into()]));
        }
        if let Some(lte) = self.lte {
            requirements.push(requirement(Operator::Lte, vec![lte.to_string().into()]));
        }
        if !self.values.is_empty() {
            requirements.push(requirement(Operator::NotIn, self.values.clone()));
        }
        if requirements.is_empty() {
            requirements.push(requirement(Operator::Exists, vec![]));
        }
        requirements
    }

    /// A value of the set, always the same one: the first listed, or the smallest non-negative
    /// integer allowed, or the largest negative one. `None` if the set is empty.
    ///
    /// Karpenter draws a random integer for a custom label that may have any value; the same input
    /// must give the same output here.
    pub fn representative(&self) -> Option<Text> {
        if !self.complement {
            return self.values.first().cloned();
        }
        if self.is_empty() {
            return None;
        }
        let start = self.gte.unwrap_or(0);
        let upward = start..=self.lte.unwrap_or(i64::MAX);
        // Below zero only where nothing else is allowed.
        let downward = (self.gte.unwrap_or(i64::MIN)..=self.lte.unwrap_or(-1).min(start)).rev();
        upward
            .chain(downward)
            .map(|value| value.to_string())
            .find(|value| self.contains(value))
            .map(Text::from)
    }
}

impl fmt::Display for ValueSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let requirements = self.to_requirements(&Text::from(""), None);
        for (index, requirement) in requirements.iter().enumerate() {
            let and = if index == 0 { "" } else { " and " };
            write!(f, "{and}{}", requirement.to_string().trim_start())?;
        }
        Ok(())
    }
}

/// The sets of several keys, all of which must hold, with the strictest `minValues` of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements(BTreeMap<Text, KeyRequirement>);

/// What is required of one key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRequirement {
    /// The values it may have.
    pub values: ValueSet,
    /// Whether a node without the label is as good.
    pub may_be_absent: bool,
    /// The fewest distinct values of the key among a claim's instance types.
    pub min_values: Option<u32>,
}

impl Requirements {
    /// All of the given requirements together.
    pub fn of<'a>(requirements: impl IntoIterator<Item = &'a Requirement>) -> Self {
        let mut all = Self::default();
        for requirement in requirements {
            all.add(requirement);
        }
        all
    }

    /// Adds one requirement.
    pub fn add(&mut self, requirement: &Requirement) {
        let values = requirement.value_set();
        let absent = requirement.holds_when_absent();
        match self.0.get_mut(&requirement.key) {
            Some(own) => {
                own.values = own.values.intersection(&values);
                own.may_be_absent &= absent;
                own.min_values = own.min_values.max(requirement.min_values);
            }
            None => {
                self.0.insert(
                    requirement.key.clone(),
                    KeyRequirement {
                        values,
                        may_be_absent: absent,
                        min_values: requirement.min_values,
                    },
                );
            }
        }
    }

    /// Requires a label to have one value.
    pub fn add_label(&mut self, key: &Text, value: &Text) {
        self.add(&Requirement::is_in(key, [value.clone()]));
    }

    /// What is required of a key.
    pub fn get(&self, key: &str) -> Option<&KeyRequirement> {
        self.0.get(key)
    }

    /// Keys and what is required of them, by key.
    pub fn iter(&self) -> impl Iterator<Item = (&Text, &KeyRequirement)> {
        self.0.iter()
    }

    /// Whether nothing is required.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first key that no value and no absence can satisfy.
    pub fn contradiction(&self) -> Option<&Text> {
        self.0
            .iter()
            .find(|(_, own)| own.values.is_empty() && !own.may_be_absent)
            .map(|(key, _)| key)
    }

    /// In the words of the API, by key.
    pub fn to_requirements(&self) -> Vec<Requirement> {
        self.0
            .iter()
            .flat_map(|(key, own)| own.values.to_requirements(key, own.min_values))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn set(operator: Operator, values: &[&str]) -> ValueSet {
        ValueSet::of(operator, &values.iter().map(|value| Text::from(*value)).collect::<Vec<_>>())
    }

    #[test]
    fn bounds_need_numbers() {
        assert!(set(Operator::Gt, &["many"]).is_empty());
        assert!(!set(Operator::Gt, &["4"]).contains("many"));
        assert!(set(Operator::Gt, &["4"]).contains("5"));
        assert!(!set(Operator::Gt, &["4"]).contains("4"));
        assert!(set(Operator::Gte, &["4"]).contains("4"));
        assert!(set(Operator::Gt, &[&i64::MAX.to_string()]).is_empty());
    }

    #[test]
    fn bounds_that_exclude_each_other_leave_nothing() {
        assert!(!set(Operator::Gt, &["5"]).intersects(&set(Operator::Lt, &["6"])));
        let only_five = set(Operator::Gt, &["4"]).intersection(&set(Operator::Lt, &["6"]));
        assert!(only_five.contains("5"));
        assert!(!only_five.intersects(&set(Operator::NotIn, &["5"])));
    }

    #[test]
    fn values_excluded_beside_a_bound_stay_excluded() {
        let both = set(Operator::NotIn, &["7"]).intersection(&set(Operator::Gt, &["5"]));
        let shown: Vec<_> =
            both.to_requirements(&"k".into(), None).iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["k Gte 6", "k NotIn 7"]);
        assert_eq!(both.representative().as_deref(), Some("6"));
    }

    #[test]
    fn exclusions_hold_without_the_label_and_bounds_do_not() {
        let requirement = |operator| Requirement {
            key: "k".into(),
            operator,
            values: vec!["1".into()],
            min_values: None,
        };
        let absent = Labels::new();
        assert!(requirement(Operator::NotIn).holds_for(&absent));
        assert!(!requirement(Operator::Gt).holds_for(&absent));
        let two: Labels = [("k".into(), "2".into())].into();
        assert!(requirement(Operator::Gt).holds_for(&two));
    }

    fn any_set() -> impl Strategy<Value = ValueSet> {
        let value = prop_oneof![Just("a"), Just("b"), Just("0"), Just("1"), Just("2"), Just("3")];
        (0..Operator::ALL.len(), proptest::collection::vec(value, 1..4))
            .prop_map(|(operator, values)| set(Operator::ALL[operator], &values))
    }

    proptest! {
        #[test]
        fn intersection_is_what_both_contain(a in any_set(), b in any_set(), c in any_set()) {
            let both = a.intersection(&b).intersection(&c);
            for value in ["a", "b", "0", "1", "2", "3", "4", "z", "-1"] {
                prop_assert_eq!(
                    both.contains(value),
                    a.contains(value) && b.contains(value) && c.contains(value)
                );
            }
            prop_assert_eq!(a.intersection(&b), b.intersection(&a));
            prop_assert_eq!(both.is_empty(), both.representative().is_none());
            if let Some(value) = both.representative() {
                prop_assert!(both.contains(&value));
            }
        }

        #[test]
        fn requirements_say_the_same_as_the_set(a in any_set(), b in any_set()) {
            let both = a.intersection(&b);
            let again = both
                .to_requirements(&"k".into(), None)
                .iter()
                .fold(ValueSet::any(), |all, next| all.intersection(&next.value_set()));
            prop_assert_eq!(again, both);
        }
    }
}
