//! Node selection terms: which nodes a pod, a volume, a DaemonSet or a NodeOverlay selects.

use std::collections::BTreeMap;

use domain::Text;
use domain::label::HOSTNAME;
use domain::pod::{NodeSelectorTerm, PodSpec};
use domain::requirement::Operator;

use crate::label_state::{ABSENT, Expression, LabelState};

/// What `matchFields` on `metadata.name` looks at, kept apart from every label (label keys have no
/// space).
pub(crate) const NODE_NAME: &str = "field metadata.name";

/// More combinations of label values than this are not tried one by one to show that terms cover
/// all of them.
const COMBINATIONS_MAX: usize = 4096;

/// Something whose labels can be asked for.
pub(crate) trait LabelView {
    /// What is known of a label.
    fn state(&self, key: &str) -> &LabelState;
}

impl LabelView for BTreeMap<Text, LabelState> {
    fn state(&self, key: &str) -> &LabelState {
        self.get(key).unwrap_or(&ABSENT)
    }
}

/// A view in which one label is settled otherwise.
pub(crate) struct With<'a, V: LabelView> {
    pub(crate) view: &'a V,
    pub(crate) key: &'a str,
    pub(crate) state: &'a LabelState,
}

impl<V: LabelView> LabelView for With<'_, V> {
    fn state(&self, key: &str) -> &LabelState {
        if key == self.key { self.state } else { self.view.state(key) }
    }
}

/// Terms of which one must hold, each with expressions that must all hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Terms {
    any_of: Vec<Vec<Expression>>,
}

/// How terms fare on something that may turn out to be several things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verdict {
    /// They hold whatever it turns out to be.
    pub(crate) certain: bool,
    /// They hold for something that it may turn out to be.
    pub(crate) possible: bool,
}

impl Terms {
    /// One term.
    pub(crate) fn all(expressions: Vec<Expression>) -> Self {
        Self { any_of: vec![expressions] }
    }

    /// Terms as Kubernetes writes them; one without expressions matches nothing and is left out.
    pub(crate) fn of_node_selector(terms: &[NodeSelectorTerm]) -> Self {
        let any_of = terms.iter().map(expressions).filter(|term| !term.is_empty()).collect();
        Self { any_of }
    }

    /// A pod's node selector and required node affinity together.
    pub(crate) fn of_pod(spec: &PodSpec) -> Self {
        let selector: Vec<_> =
            spec.node_selector.iter().map(|(key, value)| Expression::is(key, value)).collect();
        let Some(required) = &spec.required_node_terms else {
            return Self::all(selector);
        };
        let mut terms = Self::of_node_selector(required);
        for term in &mut terms.any_of {
            term.extend(selector.iter().cloned());
        }
        terms
    }

    /// Without what they say of host names; a term that says nothing else holds everywhere.
    pub(crate) fn without_hostname(mut self) -> Self {
        for term in &mut self.any_of {
            term.retain(|expression| &*expression.key != HOSTNAME);
        }
        self
    }

    /// Whether there is any term: none means that no node will do.
    pub(crate) fn is_empty(&self) -> bool {
        self.any_of.is_empty()
    }

    /// Whether one of the keys is mentioned.
    pub(crate) fn mention(&self, is_one: impl Fn(&str) -> bool) -> bool {
        self.any_of.iter().flatten().any(|expression| is_one(&expression.key))
    }

    /// Whether something that the view describes meets them.
    pub(crate) fn possible(&self, view: &impl LabelView) -> bool {
        self.any_of.iter().any(|term| term_possible(term, view))
    }

    /// Whether everything that the view describes meets them.
    pub(crate) fn certain(&self, view: &impl LabelView) -> bool {
        let guaranteed = |term: &Vec<Expression>| {
            term.iter().all(|expression| view.state(&expression.key).guarantees(expression))
        };
        if self.any_of.iter().any(guaranteed) {
            return true;
        }
        self.any_of.len() > 1 && self.possible(view) && self.certain_together(view)
    }

    /// Both questions at once.
    pub(crate) fn verdict(&self, view: &impl LabelView) -> Verdict {
        let certain = self.certain(view);
        Verdict { certain, possible: certain || self.possible(view) }
    }

    /// Whether different terms cover different values of the labels that are still open, and all of
    /// them.
    fn certain_together(&self, view: &impl LabelView) -> bool {
        let mut mentioned: BTreeMap<Text, Vec<Text>> = BTreeMap::new();
        for expression in self.any_of.iter().flatten() {
            let values = mentioned.entry(expression.key.clone()).or_default();
            values.extend(expression.values().iter().cloned());
        }
        let cases: Vec<(Text, Vec<LabelState>)> = mentioned
            .into_iter()
            .map(|(key, values)| {
                let cases = view.state(&key).cases(&values);
                (key, cases)
            })
            .collect();
        let combinations =
            cases.iter().try_fold(1_usize, |product, (_, cases)| product.checked_mul(cases.len()));
        let Some(combinations) = combinations.filter(|count| *count <= COMBINATIONS_MAX) else {
            return false;
        };
        (0..combinations).all(|combination| {
            let mut rest = combination;
            let assignment: BTreeMap<Text, LabelState> = cases
                .iter()
                .map(|(key, cases)| {
                    let case = cases[rest % cases.len()].clone();
                    rest /= cases.len();
                    (key.clone(), case)
                })
                .collect();
            self.any_of.iter().any(|term| {
                term.iter()
                    .all(|expression| assignment.state(&expression.key).guarantees(expression))
            })
        })
    }
}

fn term_possible(term: &[Expression], view: &impl LabelView) -> bool {
    term.iter().enumerate().all(|(index, expression)| {
        let earlier = term[..index].iter().any(|other| other.key == expression.key);
        if earlier {
            return true; // judged together with the first expression of its key
        }
        let mut same_key = term[index + 1..].iter().filter(|other| other.key == expression.key);
        let state = view.state(&expression.key);
        match same_key.next() {
            None => state.allows(expression),
            Some(second) => same_key
                .fold(state.narrowed(expression).narrowed(second), |state, next| {
                    state.narrowed(next)
                })
                .is_possible(),
        }
    })
}

fn expressions(term: &NodeSelectorTerm) -> Vec<Expression> {
    let labels = term.expressions.iter().map(Expression::of);
    let fields = term.fields.iter().map(|field| {
        let key = if &*field.key == "metadata.name" {
            Text::from(NODE_NAME)
        } else {
            format!("field {}", field.key).into()
        };
        Expression::new(key, field.operator, field.values.clone())
    });
    labels.chain(fields).collect()
}

/// Whether an expression requires a value, which a label that nobody defines cannot have.
pub(crate) fn asks_for_a_value(operator: Operator) -> bool {
    !matches!(operator, Operator::NotIn | Operator::DoesNotExist)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::requirement::Requirement;

    fn zones(terms: &[&[&str]]) -> Terms {
        let term = |values: &&[&str]| NodeSelectorTerm {
            expressions: vec![Requirement::is_in(
                "zone",
                values.iter().map(|value| Text::from(*value)),
            )],
            fields: vec![],
        };
        Terms::of_node_selector(&terms.iter().map(term).collect::<Vec<_>>())
    }

    fn node_in(zones: &[&str]) -> BTreeMap<Text, LabelState> {
        let zones = LabelState::any_of(zones.iter().map(|zone| Text::from(*zone)));
        [("zone".into(), zones)].into()
    }

    #[test]
    fn terms_may_cover_every_value_together() {
        let terms = zones(&[&["a"], &["b"]]);
        assert!(terms.certain(&node_in(&["a", "b"])));
        assert!(!terms.certain(&node_in(&["a", "b", "c"])));
        assert!(terms.possible(&node_in(&["b", "c"])));
    }

    #[test]
    fn a_term_without_expressions_matches_nothing_and_no_selector_matches_all() {
        let nothing = Terms::of_node_selector(&[NodeSelectorTerm::default()]);
        assert!(nothing.is_empty() && !nothing.possible(&node_in(&["a"])));
        let everything = Terms::of_pod(&PodSpec::default());
        assert!(!everything.is_empty() && everything.certain(&node_in(&["a"])));
    }

    #[test]
    fn expressions_on_one_key_must_hold_for_one_value() {
        let not =
            |value: &str| Expression::new("zone".into(), Operator::NotIn, vec![Text::from(value)]);
        let terms = Terms::all(vec![not("a"), not("b")]);
        assert!(!terms.possible(&node_in(&["a", "b"])));
        assert!(terms.possible(&node_in(&["a", "b", "c"])));
    }
}
