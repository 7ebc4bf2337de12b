//! `requirements` of NodePools, NodeClaims, NodeOverlays and resolved images.

use domain::label::normalized_key;
use domain::requirement::{Operator, Requirement};
use domain::{Text, label};

use super::requirement_rule::{
    MIN_VALUES, REQUIREMENTS_MAX, RequirementRule, check_known, check_values,
};
use crate::field::Field;
use crate::label_rule::{check_key, check_unrestricted, check_value};

/// Whose requirements they are, which decides what is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequirementsOf {
    /// A user's: no keys that are Karpenter's own.
    NodePool,
    /// Written by a controller as a rule: Karpenter's own keys are among them.
    NodeClaim,
    /// A user's too, who may name a NodePool or EC2NodeClass; `NotIn` needs values, and there is no
    /// `minValues`.
    NodeOverlay,
    /// Of a resolved image, in the status of an EC2NodeClass.
    Image,
}

impl RequirementsOf {
    const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::NodePool | Self::NodeClaim => &["key", "operator", "values", "minValues"],
            Self::NodeOverlay | Self::Image => &["key", "operator", "values"],
        }
    }
}

/// Reads a list of requirements; one that is wrong is noted and left out.
pub(crate) fn read_requirements(field: Field<'_>, of: RequirementsOf) -> Vec<Requirement> {
    let count = field.items().len();
    if count > REQUIREMENTS_MAX {
        field.note_rule(RequirementRule::TooMany(count));
    }
    field.items().filter_map(|item| read(item, of)).collect()
}

fn read(item: Field<'_>, of: RequirementsOf) -> Option<Requirement> {
    item.only(of.fields());
    let operator = item.get("operator").required().word::<Operator>();
    let key = read_key(item.get("key").required(), of);
    let min_values = item.get("minValues").integer().and_then(|count| {
        let fitting = MIN_VALUES.contains(&count).then_some(count);
        if fitting.is_none() {
            item.get("minValues").note_rule(RequirementRule::MinValues(count));
        }
        u32::try_from(fitting?).ok()
    });
    let values = item.get("values").texts();
    let (key, operator) = (key?, operator?);
    // A value of another type has been reported, and says nothing about how many there are.
    if values.len() < item.get("values").items().len() {
        return None;
    }
    if let Err(rule) = check_values(operator, &values, of == RequirementsOf::NodeOverlay) {
        item.get("values").note_rule(rule);
        return None;
    }
    check_value_syntax(item, operator);
    let mut requirement = Requirement { key, operator, values, min_values };
    if of == RequirementsOf::NodePool {
        check_meaning(item, &requirement);
    }
    if !takes_values(operator) {
        requirement.values.clear();
    }
    Some(requirement)
}

fn read_key(field: Field<'_>, of: RequirementsOf) -> Option<Text> {
    let key = normalized_key(field.str()?);
    if let Err(rule) = check_key(key) {
        field.note_rule(rule);
        return None;
    }
    let is_free = match of {
        RequirementsOf::NodePool => check_unrestricted(key),
        // An overlay may be for the nodes of one NodePool or EC2NodeClass.
        RequirementsOf::NodeOverlay if ![label::NODE_POOL, label::NODE_CLASS].contains(&key) => {
            check_unrestricted(key)
        }
        RequirementsOf::NodeOverlay | RequirementsOf::NodeClaim | RequirementsOf::Image => Ok(()),
    };
    if let Err(rule) = is_free {
        field.note_rule(rule);
        return None;
    }
    Some(field.reader().interner().text(key))
}

const fn takes_values(operator: Operator) -> bool {
    !matches!(operator, Operator::Exists | Operator::DoesNotExist)
}

fn check_value_syntax(item: Field<'_>, operator: Operator) {
    if !matches!(operator, Operator::In | Operator::NotIn) {
        return;
    }
    for value in item.get("values").items() {
        if let Some(Err(rule)) = value.str().map(check_value) {
            value.note_rule(rule);
        }
    }
}

/// Checks a NodePool's requirement as Karpenter does when it runs: values that can never occur, and
/// `minValues` that cannot be met.
fn check_meaning(item: Field<'_>, requirement: &Requirement) {
    let Requirement { key, operator, values, min_values } = requirement;
    let (operator, min_values) = (*operator, *min_values);
    let field = item.get("values");
    if !takes_values(operator) && !values.is_empty() {
        field.warn(format!("operator {} takes no values: they have no effect", operator.as_str()));
    }
    match check_known(key, operator, values, min_values) {
        Err(rule) => field.note_rule(rule),
        Ok(unknown) if !unknown.is_empty() => {
            field.warn(format!("no instance has {key} {}", unknown.join(" or ")));
        }
        Ok(_) => {}
    }
    // The API server refuses it where Karpenter would only find that no instance type is left; the
    // pool is read, so that policy BestEffort can still use it.
    if let Some(min_values) =
        min_values.filter(|min| operator == Operator::In && values.len() < *min as usize)
    {
        item.get("minValues").warn(format!(
            "{min_values} distinct values are asked for, but only {} are listed: no node can meet that",
            values.len()
        ));
    }
}

/// Reads the labels of a template: keys normalised, none that is Karpenter's own.
pub(crate) fn read_template_labels(field: Field<'_>) -> label::Labels {
    let mut labels = label::Labels::new();
    for (key, value) in field.entries() {
        let key = normalized_key(key);
        for rule in [check_key(key), check_unrestricted(key)].into_iter().filter_map(Result::err) {
            value.note_rule(rule);
        }
        if let Some(Err(rule)) = value.str().map(check_value) {
            value.note_rule(rule);
        }
        if let Some(text) = value.text() {
            labels.insert(value.reader().interner().text(key), text);
        }
    }
    labels
}
