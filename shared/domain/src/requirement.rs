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
    lower: Option<Bound>,
    upper: Option<Bound>,
}

/// An integer bound, which is itself within, and whether it was written with an operator that
/// leaves it out: `Gt 4` and `Gte 5` allow the same, and each stays what its user wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Bound {
    value: i64,
    is_strict: bool,
}

impl Bound {
    const fn at(value: i64) -> Self {
        Self { value, is_strict: false }
    }

    const fn strictly(value: i64) -> Self {
        Self { value, is_strict: true }
    }

    /// Of two lower bounds, the one that allows less; of equal ones, the strict one.
    fn tighter_lower(self, other: Self) -> Self {
        self.max(other)
    }

    /// Of two upper bounds, the one that allows less; of equal ones, the strict one.
    fn tighter_upper(self, other: Self) -> Self {
        let looseness = |own: &Self| (own.value, !own.is_strict);
        if looseness(&other) < looseness(&self) { other } else { self }
    }
}

/// Both bounds in one, or the one that there is.
fn both_bounds(
    a: Option<Bound>,
    b: Option<Bound>,
    tighter: impl Fn(Bound, Bound) -> Bound,
) -> Option<Bound> {
    match (a, b) {
        (Some(a), Some(b)) => Some(tighter(a, b)),
        (a, b) => a.or(b),
    }
}

fn integer(value: &str) -> Option<i64> {
    value.parse().ok()
}

impl ValueSet {
    /// Every value.
    pub const fn any() -> Self {
        Self { complement: true, values: Vec::new(), lower: None, upper: None }
    }

    /// No value: the label may not be there.
    pub const fn none() -> Self {
        Self { complement: false, values: Vec::new(), lower: None, upper: None }
    }

    /// Exactly one value.
    pub fn one(value: Text) -> Self {
        Self { complement: false, values: vec![value], lower: None, upper: None }
    }

    /// Exactly these values.
    pub fn list(values: impl IntoIterator<Item = Text>) -> Self {
        let mut values: Vec<_> = values.into_iter().collect();
        values.sort();
        values.dedup();
        Self { complement: false, values, lower: None, upper: None }
    }

    /// What an operator with its values allows. A bound whose value is no integer allows nothing.
    pub fn of(operator: Operator, values: &[Text]) -> Self {
        let bounds = |lower: Option<Bound>, upper: Option<Bound>| {
            if lower.is_none() && upper.is_none() {
                return Self::none();
            }
            Self { complement: true, values: Vec::new(), lower, upper }
        };
        let bound = values.first().and_then(|value| integer(value));
        let moved_by = |by: i64| bound.and_then(|bound| bound.checked_add(by)).map(Bound::strictly);
        match operator {
            Operator::In => Self::list(values.iter().cloned()),
            Operator::NotIn => Self { complement: true, ..Self::list(values.iter().cloned()) },
            Operator::Exists => Self::any(),
            Operator::DoesNotExist => Self::none(),
            Operator::Gt => bounds(moved_by(1), None),
            Operator::Gte => bounds(bound.map(Bound::at), None),
            Operator::Lt => bounds(None, moved_by(-1)),
            Operator::Lte => bounds(None, bound.map(Bound::at)),
        }
    }

    /// The least integer within the bounds: a label's value begins with no sign.
    fn least(&self) -> i64 {
        self.lower.map_or(0, |own| own.value.max(0))
    }

    fn within_bounds(&self, value: &str) -> bool {
        if self.lower.is_none() && self.upper.is_none() {
            return true;
        }
        integer(value).filter(|value| *value >= 0).is_some_and(|value| {
            self.lower.is_none_or(|lower| value >= lower.value)
                && self.upper.is_none_or(|upper| value <= upper.value)
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
        self.upper.is_some_and(|Bound { value: lte, .. }| {
            let gte = self.least();
            // Finitely many integers lie between the bounds; all may be excluded one by one.
            gte > lte
                || (i128::from(lte) - i128::from(gte) < self.values.len() as i128
                    && (gte..=lte).all(|value| !self.contains(&value.to_string())))
        })
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
                let lower = both_bounds(self.lower, other.lower, Bound::tighter_lower);
                let upper = both_bounds(self.upper, other.upper, Bound::tighter_upper);
                let mut both = Self { complement: true, values: Vec::new(), lower, upper };
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
            lower: None,
            upper: None,
        }
    }

    /// Whether some value is in both sets.
    pub fn intersects(&self, other: &Self) -> bool {
        !self.intersection(other).is_empty()
    }

    /// The requirements that say this of a key, in the words of the API; two where both bounds are
    /// set and another for values excluded beside a bound. A bound has the operator that it was
    /// written with: a NodeClaim must not show `Gte 5` where a NodePool says `Gt 4`.
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
        let number = |value: i64| vec![Text::from(value.to_string())];
        match self.lower {
            // A strict bound was moved by one when it was read, so that moving it back is exact.
            Some(Bound { value, is_strict: true }) => {
                requirements.push(requirement(Operator::Gt, number(value.saturating_sub(1))));
            }
            Some(Bound { value, .. }) => {
                requirements.push(requirement(Operator::Gte, number(value)));
            }
            None => {}
        }
        match self.upper {
            Some(Bound { value, is_strict: true }) => {
                requirements.push(requirement(Operator::Lt, number(value.saturating_add(1))));
            }
            Some(Bound { value, .. }) => {
                requirements.push(requirement(Operator::Lte, number(value)));
            }
            None => {}
        }
        if !self.values.is_empty() {
            requirements.push(requirement(Operator::NotIn, self.values.clone()));
        }
        if requirements.is_empty() {
            requirements.push(requirement(Operator::Exists, vec![]));
        }
        requirements
    }

    /// A value of the set, always the same one: the first listed, or the smallest integer allowed.
    /// `None` if the set is empty.
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
        let upper = self.upper.map_or(i64::MAX, |own| own.value);
        (self.least()..=upper)
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
    fn no_label_has_a_value_below_zero() {
        let none = set(Operator::Lt, &["0"]);
        assert!(none.is_empty() && !none.contains("-1"));
        assert_eq!(none.representative(), None);
        assert_eq!(set(Operator::Lt, &["3"]).representative().as_deref(), Some("0"));
        let one = set(Operator::NotIn, &["0"]).intersection(&set(Operator::Lt, &["2"]));
        assert_eq!(one.representative().as_deref(), Some("1"));
        assert!(one.intersection(&set(Operator::NotIn, &["1"])).is_empty());
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
        assert_eq!(shown, ["k Gt 5", "k NotIn 7"]);
        assert_eq!(both.representative().as_deref(), Some("6"));
    }

    #[test]
    fn bounds_keep_the_operator_that_they_were_written_with() {
        let shown = |set: ValueSet| set.to_string();
        for (operator, text) in [
            (Operator::Gt, "Gt 4"),
            (Operator::Gte, "Gte 4"),
            (Operator::Lt, "Lt 4"),
            (Operator::Lte, "Lte 4"),
        ] {
            assert_eq!(shown(set(operator, &["4"])), text);
        }
        let gt = set(Operator::Gt, &["4"]);
        assert_eq!(shown(gt.intersection(&set(Operator::Gte, &["5"]))), "Gt 4");
        assert_eq!(shown(gt.intersection(&set(Operator::Gte, &["6"]))), "Gte 6");
        let lt = set(Operator::Lt, &["9"]);
        assert_eq!(shown(set(Operator::Lte, &["8"]).intersection(&lt)), "Lt 9");
        assert_eq!(shown(gt.intersection(&lt)), "Gt 4 and Lt 9");
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
