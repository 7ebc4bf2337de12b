//! Selectors of v1alpha1 and v1alpha5 (one map) as selector terms of v1 (alternatives).
//!
//! In the old form every entry of the map had to match, an entry's value was a list with commas,
//! and a few keys stood for something else than a tag. In the new form each term has one value a
//! tag, so lists multiply out.

use std::collections::BTreeMap;

/// One term of v1: fields other than tags by name, and tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Term {
    /// `id`, `name` or `owner`, by field name.
    pub(crate) fields: BTreeMap<&'static str, String>,
    /// Tags.
    pub(crate) tags: BTreeMap<String, String>,
}

/// What becomes of an old selector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The terms.
    pub(crate) terms: Vec<Term>,
    /// Keys that cannot stand beside the others in a term of v1.
    pub(crate) dropped: Vec<String>,
}

/// What the keys of a selector mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Selects {
    /// `subnetSelector` and `securityGroupSelector`: ids or tags.
    Network,
    /// `amiSelector`: ids, or names, owners and tags.
    Images,
}

impl Selects {
    /// The field of a term that a key stands for; `None` for a tag.
    fn field(self, key: &str) -> Option<&'static str> {
        match (self, key) {
            (_, "aws-ids" | "aws::ids") => Some("id"),
            (Self::Images, "aws::name") => Some("name"),
            (Self::Images, "aws::owners") => Some("owner"),
            _ => None,
        }
    }
}

/// Turns the entries of an old selector into terms.
pub(crate) fn terms(selects: Selects, entries: &[(String, String)]) -> Terms {
    let ids = entries.iter().find(|(key, _)| selects.field(key) == Some("id"));
    if let Some((own_key, ids)) = ids {
        // A term that names an id has nothing else in v1.
        let terms = alternatives(ids)
            .map(|id| Term { fields: [("id", id.to_owned())].into(), tags: BTreeMap::new() })
            .collect();
        let others = entries.iter().map(|(key, _)| key).filter(|key| *key != own_key);
        return Terms { terms, dropped: others.cloned().collect() };
    }
    let mut terms = vec![Term::default()];
    for (key, value) in entries {
        terms = terms
            .iter()
            .flat_map(|term| {
                alternatives(value).map(|value| with(term, selects.field(key), key, value))
            })
            .collect();
    }
    Terms { terms, dropped: Vec::new() }
}

fn with(term: &Term, field: Option<&'static str>, key: &str, value: &str) -> Term {
    let mut term = term.clone();
    match field {
        Some(field) => term.fields.insert(field, value.to_owned()),
        None => term.tags.insert(key.to_owned(), value.to_owned()),
    };
    term
}

/// The values of a list with commas; an empty list is the old way to say "any".
fn alternatives(list: &str) -> impl Iterator<Item = &str> {
    let any = list.split(',').all(|value| value.trim().is_empty());
    let values = list.split(',').map(str::trim).filter(|value| !value.is_empty());
    any.then_some("*").into_iter().chain(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(entries: &[(&str, &str)]) -> Vec<(String, String)> {
        entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn tags(entries: &[(&str, &str)]) -> Term {
        Term { fields: BTreeMap::new(), tags: selector(entries).into_iter().collect() }
    }

    #[test]
    fn lists_of_values_multiply_out() {
        let terms = terms(Selects::Network, &selector(&[("Name", "a, b"), ("env", "")]));
        assert_eq!(
            terms.terms,
            [tags(&[("Name", "a"), ("env", "*")]), tags(&[("Name", "b"), ("env", "*")])]
        );
    }

    #[test]
    fn ids_stand_alone() {
        let terms =
            terms(Selects::Network, &selector(&[("aws-ids", "subnet-1,subnet-2"), ("env", "x")]));
        let ids: Vec<_> = terms.terms.iter().map(|term| term.fields["id"].as_str()).collect();
        assert_eq!(ids, ["subnet-1", "subnet-2"]);
        assert_eq!(terms.dropped, ["env"]);
    }

    #[test]
    fn images_are_named_by_owner_too() {
        let entries = selector(&[("aws::name", "mine-*"), ("aws::owners", "self,amazon")]);
        let terms = terms(Selects::Images, &entries).terms;
        assert_eq!(terms.len(), 2);
        assert_eq!(terms[1].fields["name"], "mine-*");
        assert_eq!(terms[1].fields["owner"], "amazon");
    }
}
