//! What is known of one label of a node that may not be there yet, and what a requirement makes of
//! it.
//!
//! A node that runs has one value of a label, or lacks it. A claim may still be launched as one of
//! many things, so its label has a set of values, and may be missing on some of them. A rule of
//! Kubernetes holds on a claim only if it holds whatever comes of it: [`LabelState::guarantees`].
//! Whether it can hold at all is the other question: [`LabelState::allows`].

use domain::Text;
use domain::requirement::{Operator, Requirement};

/// The values that a label may turn out to have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Values {
    /// One of these; sorted, each once.
    Listed(Vec<Text>),
    /// Any but the excluded (sorted, each once); where a bound is set, an integer within both.
    Open { excluded: Vec<Text>, low: i128, high: i128 },
}

/// What is known of one label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LabelState {
    values: Values,
    may_be_absent: bool,
}

/// The label is not there.
pub(crate) static ABSENT: LabelState =
    LabelState { values: Values::Listed(Vec::new()), may_be_absent: true };

/// One requirement on one label, its values sorted and its bound read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Expression {
    pub(crate) key: Text,
    operator: Operator,
    /// Sorted, each once.
    values: Vec<Text>,
    /// The lowest and highest integer that a bound allows; `None` where its value is no integer,
    /// which nothing meets. Without meaning for other operators.
    bounds: Option<(i128, i128)>,
}

fn integer(value: &str) -> Option<i128> {
    value.parse().ok()
}

fn within(value: &str, low: i128, high: i128) -> bool {
    if low == i128::MIN && high == i128::MAX {
        return true;
    }
    integer(value).is_some_and(|value| low <= value && value <= high)
}

fn sorted(mut values: Vec<Text>) -> Vec<Text> {
    values.sort_unstable();
    values.dedup();
    values
}

fn holds(sorted: &[Text], value: &Text) -> bool {
    sorted.binary_search(value).is_ok()
}

impl Expression {
    /// A requirement's label, operator and values.
    pub(crate) fn of(requirement: &Requirement) -> Self {
        Self::new(requirement.key.clone(), requirement.operator, requirement.values.clone())
    }

    /// `key In [value]`.
    pub(crate) fn is(key: &Text, value: &Text) -> Self {
        Self::new(key.clone(), Operator::In, vec![value.clone()])
    }

    /// From its parts; values in the order written, of which a bound reads the first.
    pub(crate) fn new(key: Text, operator: Operator, values: Vec<Text>) -> Self {
        let bound = values.first().and_then(|value| integer(value));
        let bounds = match operator {
            Operator::Gt => bound.map(|bound| (bound.saturating_add(1), i128::MAX)),
            Operator::Gte => bound.map(|bound| (bound, i128::MAX)),
            Operator::Lt => bound.map(|bound| (i128::MIN, bound.saturating_sub(1))),
            Operator::Lte => bound.map(|bound| (i128::MIN, bound)),
            Operator::In | Operator::NotIn | Operator::Exists | Operator::DoesNotExist => None,
        };
        Self { key, operator, values: sorted(values), bounds }
    }

    /// The values that it names.
    pub(crate) fn values(&self) -> &[Text] {
        &self.values
    }

    /// Whether a label of that value meets it.
    fn admits(&self, value: &Text) -> bool {
        match self.operator {
            Operator::In => holds(&self.values, value),
            Operator::NotIn => !holds(&self.values, value),
            Operator::Exists => true,
            Operator::DoesNotExist => false,
            Operator::Gt | Operator::Gte | Operator::Lt | Operator::Lte => {
                self.bounds.is_some_and(|(low, high)| {
                    integer(value).is_some_and(|value| low <= value && value <= high)
                })
            }
        }
    }

    /// Whether a node without the label meets it.
    fn admits_absence(&self) -> bool {
        matches!(self.operator, Operator::NotIn | Operator::DoesNotExist)
    }
}

impl LabelState {
    /// Nothing is known: any value, or none.
    pub(crate) const fn unknown() -> Self {
        Self {
            values: Values::Open { excluded: Vec::new(), low: i128::MIN, high: i128::MAX },
            may_be_absent: true,
        }
    }

    /// Exactly one value.
    pub(crate) fn one(value: Text) -> Self {
        Self { values: Values::Listed(vec![value]), may_be_absent: false }
    }

    /// One of several values.
    pub(crate) fn any_of(values: impl IntoIterator<Item = Text>) -> Self {
        let values = sorted(values.into_iter().collect());
        Self { values: Values::Listed(values), may_be_absent: false }
    }

    /// No value and no absence: the start of a [`union`](Self::join).
    pub(crate) const fn impossible() -> Self {
        Self { values: Values::Listed(Vec::new()), may_be_absent: false }
    }

    /// Whether there is a node that this describes.
    pub(crate) fn is_possible(&self) -> bool {
        self.may_be_absent || self.has_value()
    }

    /// Whether the label may have a value.
    pub(crate) fn has_value(&self) -> bool {
        match &self.values {
            Values::Listed(values) => !values.is_empty(),
            Values::Open { low, high, .. } => low <= high,
        }
    }

    /// Whether the label is sure to be there.
    pub(crate) fn is_there(&self) -> bool {
        !self.may_be_absent && self.has_value()
    }

    /// Whether the label may be missing.
    pub(crate) fn may_be_absent(&self) -> bool {
        self.may_be_absent
    }

    /// The values, where they can be counted out; sorted.
    pub(crate) fn listed(&self) -> Option<&[Text]> {
        match &self.values {
            Values::Listed(values) => Some(values),
            Values::Open { .. } => None,
        }
    }

    /// The value, where it is settled.
    pub(crate) fn settled(&self) -> Option<&Text> {
        match (&self.values, self.may_be_absent) {
            (Values::Listed(values), false) if values.len() == 1 => values.first(),
            _ => None,
        }
    }

    fn admits(&self, value: &Text) -> bool {
        match &self.values {
            Values::Listed(values) => holds(values, value),
            Values::Open { excluded, low, high } => {
                !holds(excluded, value) && within(value, *low, *high)
            }
        }
    }

    /// The label of a node that is required to meet the expression.
    pub(crate) fn narrowed(&self, expression: &Expression) -> Self {
        Self {
            values: self.narrowed_values(expression),
            may_be_absent: self.may_be_absent && expression.admits_absence(),
        }
    }

    fn narrowed_values(&self, expression: &Expression) -> Values {
        let (excluded, low, high) = match &self.values {
            Values::Listed(values) => {
                let kept = values.iter().filter(|value| expression.admits(value));
                return Values::Listed(kept.cloned().collect());
            }
            Values::Open { excluded, low, high } => (excluded, *low, *high),
        };
        match expression.operator {
            Operator::In => {
                let kept = expression.values.iter().filter(|value| self.admits(value));
                Values::Listed(kept.cloned().collect())
            }
            Operator::NotIn => {
                let both = excluded.iter().chain(&expression.values).cloned().collect();
                Values::Open { excluded: sorted(both), low, high }
            }
            Operator::Exists => self.values.clone(),
            Operator::DoesNotExist => Values::Listed(Vec::new()),
            Operator::Gt | Operator::Gte | Operator::Lt | Operator::Lte => {
                match expression.bounds {
                    None => Values::Listed(Vec::new()),
                    Some((least, most)) => Values::Open {
                        excluded: excluded.clone(),
                        low: low.max(least),
                        high: high.min(most),
                    },
                }
            }
        }
    }

    /// Whether some node that this describes meets the expression.
    pub(crate) fn allows(&self, expression: &Expression) -> bool {
        if self.may_be_absent && expression.admits_absence() {
            return true;
        }
        match &self.values {
            Values::Listed(values) => values.iter().any(|value| expression.admits(value)),
            Values::Open { .. } => self.narrowed(expression).is_possible(),
        }
    }

    /// Whether every node that this describes meets the expression.
    pub(crate) fn guarantees(&self, expression: &Expression) -> bool {
        match &self.values {
            Values::Listed(values) => {
                (!self.may_be_absent || expression.admits_absence())
                    && (self.may_be_absent || !values.is_empty() || expression.admits_absence())
                    && values.iter().all(|value| expression.admits(value))
            }
            Values::Open { low, high, .. } => match expression.operator {
                Operator::In | Operator::DoesNotExist => false,
                Operator::NotIn => !expression.values.iter().any(|value| self.admits(value)),
                // A NodePool's own requirement on a key (such as NotIn) gives its nodes some value.
                Operator::Exists => true,
                Operator::Gt | Operator::Gte | Operator::Lt | Operator::Lte => {
                    !self.may_be_absent
                        && expression
                            .bounds
                            .is_some_and(|(least, most)| least <= *low && *high <= most)
                }
            },
        }
    }

    /// Takes in what the label may be on something else that may be launched.
    pub(crate) fn join(&mut self, other: &Self) {
        self.may_be_absent |= other.may_be_absent;
        match (&mut self.values, &other.values) {
            (Values::Listed(own), Values::Listed(values)) => {
                for value in values {
                    if let Err(index) = own.binary_search(value) {
                        own.insert(index, value.clone());
                    }
                }
            }
            (Values::Open { .. }, _) => {}
            (Values::Listed(_), Values::Open { .. }) => {
                self.values =
                    Values::Open { excluded: Vec::new(), low: i128::MIN, high: i128::MAX };
            }
        }
    }

    /// The cases to tell apart where expressions name these values: each of them that the label may
    /// have, all others together, and absence.
    pub(crate) fn cases(&self, mentioned: &[Text]) -> Vec<Self> {
        let mut cases: Vec<_> = match &self.values {
            Values::Listed(values) => values.iter().cloned().map(Self::one).collect(),
            Values::Open { excluded, low, high } => {
                let named = mentioned.iter().filter(|value| self.admits(value));
                let mut cases: Vec<_> = named.cloned().map(Self::one).collect();
                let excluded = sorted(excluded.iter().chain(mentioned).cloned().collect());
                cases.push(Self {
                    values: Values::Open { excluded, low: *low, high: *high },
                    may_be_absent: false,
                });
                cases
            }
        };
        if self.may_be_absent {
            cases.push(ABSENT.clone());
        }
        cases
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expression(operator: Operator, values: &[&str]) -> Expression {
        Expression::new("k".into(), operator, values.iter().map(|value| (*value).into()).collect())
    }

    fn any_of(values: &[&str]) -> LabelState {
        LabelState::any_of(values.iter().map(|value| Text::from(*value)))
    }

    #[test]
    fn a_label_with_several_values_guarantees_only_what_holds_for_all() {
        let zones = any_of(&["a", "b"]);
        assert!(zones.allows(&expression(Operator::In, &["b", "c"])));
        assert!(!zones.guarantees(&expression(Operator::In, &["b", "c"])));
        assert!(zones.guarantees(&expression(Operator::In, &["a", "b", "c"])));
        assert!(zones.guarantees(&expression(Operator::NotIn, &["c"])));
        assert!(!zones.guarantees(&expression(Operator::NotIn, &["a"])));
        assert!(zones.guarantees(&expression(Operator::Exists, &[])));
        assert!(!zones.allows(&expression(Operator::DoesNotExist, &[])));
    }

    #[test]
    fn an_absent_label_meets_only_what_asks_for_no_value() {
        for (operator, holds) in [
            (Operator::In, false),
            (Operator::NotIn, true),
            (Operator::Exists, false),
            (Operator::DoesNotExist, true),
            (Operator::Gt, false),
        ] {
            let expression = expression(operator, &["4"]);
            assert_eq!(ABSENT.guarantees(&expression), holds, "{operator:?}");
            assert_eq!(ABSENT.allows(&expression), holds, "{operator:?}");
        }
    }

    #[test]
    fn bounds_compare_integers_and_nothing_else() {
        assert!(any_of(&["5", "9"]).guarantees(&expression(Operator::Gt, &["4"])));
        assert!(!any_of(&["5", "many"]).guarantees(&expression(Operator::Gt, &["4"])));
        assert!(!any_of(&["5"]).allows(&expression(Operator::Gt, &["many"])));
        let open = LabelState::unknown()
            .narrowed(&expression(Operator::Gt, &["4"]))
            .narrowed(&expression(Operator::Lt, &["9"]));
        assert!(open.guarantees(&expression(Operator::Gte, &["5"])));
        assert!(!open.guarantees(&expression(Operator::Gte, &["6"])));
        assert_eq!(
            open.narrowed(&expression(Operator::In, &["4", "8", "x"])).settled(),
            Some(&"8".into())
        );
        assert!(!open.narrowed(&expression(Operator::Lt, &["5"])).is_possible());
    }

    #[test]
    fn what_is_excluded_stays_excluded() {
        let open = LabelState::unknown().narrowed(&expression(Operator::NotIn, &["x"]));
        assert!(open.guarantees(&expression(Operator::NotIn, &["x"])));
        assert!(!open.allows(&expression(Operator::In, &["x"])));
        assert!(open.allows(&expression(Operator::In, &["x", "y"])));
    }

    #[test]
    fn joining_keeps_every_possibility() {
        let mut joined = LabelState::impossible();
        joined.join(&any_of(&["b"]));
        joined.join(&any_of(&["a"]));
        assert_eq!(joined, any_of(&["a", "b"]));
        joined.join(&ABSENT);
        assert!(joined.may_be_absent() && !joined.is_there());
        joined.join(&LabelState::unknown());
        assert_eq!(joined.listed(), None);
    }
}
