//! The way from a value to another inside it.

use std::fmt;

use crate::value::{Data, Value};

/// One step of a field's path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into a member of an object.
    Key(String),
    /// Into an item of a list, counted from 0.
    Index(usize),
}

/// The path of a field as people write it: `spec.template.spec.requirements[2].operator`, with keys
/// that hold dots in brackets: `metadata.labels["example.com/team"]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPath {
    /// The steps, from the outermost object inwards.
    pub steps: Vec<Step>,
}

impl FieldPath {
    /// The path from a value to another inside it, found by its address; `None` if it is not
    /// inside.
    ///
    /// Trees carry no paths, since one is needed only where something is wrong.
    pub fn between(root: &Value<'_>, target: &Value<'_>) -> Option<Self> {
        let mut steps = Vec::new();
        find(root, target, &mut steps).then_some(Self { steps })
    }

    /// Whether it stays at the outermost object.
    pub const fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) if key.is_empty() || key.contains(is_special) => {
                    write!(f, "[{key:?}]")?;
                }
                Step::Key(key) => {
                    let separator = if index == 0 { "" } else { "." };
                    write!(f, "{separator}{key}")?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a key with this letter is written in brackets and quotes.
fn is_special(letter: char) -> bool {
    matches!(letter, '.' | '[' | ' ' | '"') || letter.is_control()
}

fn find(value: &Value<'_>, target: &Value<'_>, steps: &mut Vec<Step>) -> bool {
    if std::ptr::eq(value, target) {
        return true;
    }
    let mut descend = |step: Step, child| {
        steps.push(step);
        let found = find(child, target, steps);
        if !found {
            steps.pop();
        }
        found
    };
    match &value.data {
        Data::List(items) => {
            items.iter().enumerate().any(|(index, item)| descend(Step::Index(index), item))
        }
        Data::Object(members) => {
            members.iter().any(|(key, member)| descend(Step::Key(key.to_string()), member))
        }
        _ => false,
    }
}
