//! What CustomResourceDefinitions refuse and readers take, so that what somebody else wrote is
//! planned with all the same.

use documents::{Origin, Value};

use crate::error::{ManifestError, Problem};
use crate::field::{Field, ObjectReader};
use crate::intern::Interner;

/// Which rule of a definition is broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum DefinitionRule {
    #[error("{wanted} distinct values are asked for, and only {listed} are listed")]
    MinValues { wanted: i64, listed: usize },
    #[error("{count} are too many: at most {most} are allowed")]
    TooMany { count: usize, most: usize },
    #[error("it has {length} characters: {most} are the most")]
    TooLong { length: usize, most: usize },
}

/// Most taints, and most tags of instances.
const TAINTS_MAX: usize = 100;
const TAGS_MAX: usize = 50;

/// Longest values of selector terms, by their fields.
const TERM_LENGTHS: [(&str, &str, usize); 4] = [
    ("amiSelectorTerms", "name", 128),
    ("amiSelectorTerms", "owner", 64),
    ("amiSelectorTerms", "ssmParameter", 1011),
    ("securityGroupSelectorTerms", "name", 255),
];

/// What only the definition of the object's kind refuses.
pub(super) fn errors(object: &Value<'_>, origin: &Origin<'_>) -> Vec<ManifestError> {
    let interner = Interner::default();
    let reader = ObjectReader::named(object, origin, &interner);
    let spec = reader.root().get("spec");
    match reader.root().get("kind").str() {
        Some("NodePool") => node(spec.get("template").get("spec")),
        Some("NodeClaim") => node(spec),
        Some("EC2NodeClass") => node_class(spec),
        _ => {}
    }
    // Whatever else is wrong the kind's reader has noted.
    let (result, _) = reader.finish(Some(()));
    let is_own = |error: &ManifestError| matches!(&error.problem, Problem::Rule(rule) if rule.is::<DefinitionRule>());
    result.err().unwrap_or_default().into_iter().filter(is_own).collect()
}

fn node(spec: Field<'_>) {
    for item in spec.get("requirements").items() {
        let (least, listed) = (item.get("minValues"), item.get("values").items().len());
        if let Some(wanted) = least.integer()
            && item.get("operator").str() == Some("In")
            && usize::try_from(wanted).is_ok_and(|wanted| wanted > listed)
        {
            least.note_rule(DefinitionRule::MinValues { wanted, listed });
        }
    }
    for taints in ["taints", "startupTaints"] {
        at_most(spec.get(taints), spec.get(taints).items().len(), TAINTS_MAX);
    }
}

fn node_class(spec: Field<'_>) {
    at_most(spec.get("tags"), spec.get("tags").entries().count(), TAGS_MAX);
    for (terms, field, most) in TERM_LENGTHS {
        for term in spec.get(terms).items() {
            let field = term.get(field);
            let length = field.str().map_or(0, |text| text.chars().count());
            if length > most {
                field.note_rule(DefinitionRule::TooLong { length, most });
            }
        }
    }
}

fn at_most(field: Field<'_>, count: usize, most: usize) {
    if count > most {
        field.note_rule(DefinitionRule::TooMany { count, most });
    }
}
