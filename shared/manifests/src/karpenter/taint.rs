//! `taints` and `startupTaints`.

use domain::taint::{Taint, TaintEffect};

use super::requirement::RequirementsOf;
use crate::field::Field;
use crate::label_rule::{check_key, check_value};

/// Two taints that a node cannot have both.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("taint {key}:{} is given twice: key and effect must be unique over taints and startupTaints", .effect.as_str())]
struct DuplicateTaint {
    key: String,
    effect: TaintEffect,
}

/// Reads both lists of a template; key and effect are unique over the two. Of a NodeClaim that is
/// no more than a warning: API servers hold such objects, and their nodes run.
pub(crate) fn read_taints(spec: Field<'_>, of: RequirementsOf) -> (Vec<Taint>, Vec<Taint>) {
    let mut seen = Vec::new();
    let taints = read_list(spec.get("taints"), of, &mut seen);
    let startup_taints = read_list(spec.get("startupTaints"), of, &mut seen);
    (taints, startup_taints)
}

fn read_list(
    list: Field<'_>,
    of: RequirementsOf,
    seen: &mut Vec<(domain::Text, TaintEffect)>,
) -> Vec<Taint> {
    let mut taints = Vec::new();
    for item in list.items() {
        let Some(taint) = read(item) else { continue };
        let identity = (taint.key.clone(), taint.effect);
        if seen.contains(&identity) {
            let twice = DuplicateTaint { key: taint.key.to_string(), effect: taint.effect };
            match of {
                RequirementsOf::NodeClaim => item.remark(twice),
                _ => item.note_rule(twice),
            }
        }
        seen.push(identity);
        taints.push(taint);
    }
    taints
}

fn read(item: Field<'_>) -> Option<Taint> {
    item.only(&["key", "value", "effect", "timeAdded"]);
    let effect = item.get("effect").required().word();
    let key = item.get("key").required();
    let value = item.get("value");
    for (field, check) in [(key, check_key as fn(&str) -> _), (value, check_value)] {
        if let Some(Err(rule)) = field.str().map(check) {
            field.note_rule(rule);
        }
    }
    Some(Taint {
        key: key.text()?,
        value: value.text().unwrap_or_else(|| item.reader().interner().text("")),
        effect: effect?,
    })
}
