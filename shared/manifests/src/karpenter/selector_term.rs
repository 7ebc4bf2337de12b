//! Selector terms of an EC2NodeClass: which subnets, security groups, reservations and images.

use domain::node_class::{AmiFamily, PlacementGroupSelector, SelectorTerm};

use crate::field::Field;

/// Most terms of a selector.
pub(super) const TERMS_MAX: usize = 30;
/// Most tags of a term.
pub(super) const TAGS_MAX: usize = 20;
/// Longest alias.
pub(super) const ALIAS_MAX: usize = 30;

/// Which rule a selector breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SelectorRule {
    /// No terms where some are required.
    #[error("at least one term is needed")]
    NoTerms,
    /// Too many terms.
    #[error("{0} terms are too many: at most 30 are allowed")]
    TooManyTerms(usize),
    /// Too many tags.
    #[error("{0} tags are too many: at most 20 are allowed")]
    TooManyTags(usize),
    /// A term that selects by nothing.
    #[error("the term selects nothing: it needs one of {0}")]
    Empty(String),
    /// A field that must be alone.
    #[error("{0} cannot stand beside {1} in a term")]
    Exclusive(&'static str, &'static str),
    /// Tags without key or value.
    #[error("a tag's key and value may not be empty: write \"*\" for any value")]
    EmptyTag,
    /// An id of another form.
    #[error("{found:?} is not of the form {prefix}0123456789abcdef0")]
    Id {
        /// What was written.
        found: String,
        /// What it must start with.
        prefix: &'static str,
    },
    /// Not an account.
    #[error("{0:?} is not an AWS account: it takes twelve digits")]
    Owner(String),
    /// Not an alias.
    #[error(
        "{0:?} is not an alias: it takes a family and a version of at most 30 characters together, such as al2023@latest"
    )]
    Alias(String),
    /// A family that has no alias.
    #[error(
        "{0:?} is not an alias: its family is none of al2, al2023, bottlerocket, windows2019, windows2022, windows2025"
    )]
    AliasFamily(String),
    /// Windows images are not kept by version.
    #[error("{0:?} is not an alias: Windows images have no version but latest")]
    WindowsVersion(String),
    /// An alias among other terms.
    #[error("an alias must be the only term")]
    AliasAmongTerms,
    /// A placement group by two names, or by none.
    #[error("exactly one of name and id is needed")]
    PlacementGroup,
}

/// A kind of selector: its fields, which of them select by themselves, and which must be alone.
struct Selector {
    /// Fields other than `tags`.
    fields: &'static [&'static str],
    /// Fields one of which a term needs.
    selecting: &'static [&'static str],
    /// Fields that stand alone in their term.
    alone: &'static [&'static str],
    /// What an id starts with.
    id_prefix: &'static str,
}

const SUBNETS: Selector = Selector {
    fields: &["tags", "id"],
    selecting: &["tags", "id"],
    alone: &["id"],
    id_prefix: "subnet-",
};
const SECURITY_GROUPS: Selector = Selector {
    fields: &["tags", "id", "name"],
    selecting: &["tags", "id", "name"],
    alone: &["id", "name"],
    id_prefix: "sg-",
};
const RESERVATIONS: Selector = Selector {
    fields: &["tags", "id", "ownerID", "instanceMatchCriteria"],
    selecting: &["tags", "id", "instanceMatchCriteria"],
    alone: &["id"],
    id_prefix: "cr-",
};
const IMAGES: Selector = Selector {
    fields: &["tags", "id", "name", "owner", "alias", "ssmParameter"],
    selecting: &["tags", "id", "name", "alias", "ssmParameter"],
    alone: &["id", "alias"],
    id_prefix: "ami-",
};

/// Reads `subnetSelectorTerms`.
pub(crate) fn read_subnet_terms(list: Field<'_>) -> Vec<SelectorTerm> {
    read_required_terms(list, &SUBNETS)
}

/// Reads `securityGroupSelectorTerms`.
pub(crate) fn read_security_group_terms(list: Field<'_>) -> Vec<SelectorTerm> {
    read_required_terms(list, &SECURITY_GROUPS)
}

/// Reads `capacityReservationSelectorTerms`.
pub(crate) fn read_reservation_terms(list: Field<'_>) -> Vec<SelectorTerm> {
    for item in list.items() {
        let owner = item.get("ownerID");
        let is_account =
            |owner: &str| owner.len() == 12 && owner.bytes().all(|b| b.is_ascii_digit());
        if let Some(found) = owner.str().filter(|found| !is_account(found)) {
            owner.note_rule(SelectorRule::Owner(found.to_owned()));
        }
        item.get("instanceMatchCriteria").choice(&[((), "open"), ((), "targeted")]);
    }
    read_terms(list, &RESERVATIONS)
}

/// Reads `amiSelectorTerms`; with an alias, also the family it names.
pub(crate) fn read_ami_terms(list: Field<'_>) -> (Vec<SelectorTerm>, Option<AmiFamily>) {
    let count = list.items().len();
    let mut family = None;
    for alias in list.items().map(|item| item.get("alias")).filter(|alias| alias.exists()) {
        family = alias.parsed(parse_alias);
        if count > 1 {
            alias.note_rule(SelectorRule::AliasAmongTerms);
        }
    }
    (read_required_terms(list, &IMAGES), family)
}

/// Reads `placementGroupSelector`.
pub(crate) fn read_placement_group(field: Field<'_>) -> Option<PlacementGroupSelector> {
    field.only(&["name", "id"]);
    let (name, id) = (field.get("name"), field.get("id"));
    if field.exists() && name.exists() == id.exists() {
        field.note_rule(SelectorRule::PlacementGroup);
    }
    check_id(id, "pg-");
    let name = name.text().map(PlacementGroupSelector::Name);
    name.or_else(|| id.text().map(PlacementGroupSelector::Id))
}

fn read_required_terms(list: Field<'_>, selector: &Selector) -> Vec<SelectorTerm> {
    if list.required().exists() && list.items().len() == 0 {
        list.note_rule(SelectorRule::NoTerms);
    }
    read_terms(list, selector)
}

fn read_terms(list: Field<'_>, selector: &Selector) -> Vec<SelectorTerm> {
    let count = list.items().len();
    if count > TERMS_MAX {
        list.note_rule(SelectorRule::TooManyTerms(count));
    }
    list.items().map(|item| read_term(item, selector)).collect()
}

fn read_term(item: Field<'_>, selector: &Selector) -> SelectorTerm {
    item.only(selector.fields);
    let is_set = |field: &&&str| item.get(field).exists();
    if !selector.selecting.iter().any(|field| is_set(&field)) {
        item.note_rule(SelectorRule::Empty(selector.selecting.join(", ")));
    }
    if let Some(alone) = selector.alone.iter().find(is_set)
        && let Some(other) = selector.fields.iter().filter(is_set).find(|other| *other != alone)
    {
        item.note_rule(SelectorRule::Exclusive(alone, other));
    }
    check_id(item.get("id"), selector.id_prefix);
    SelectorTerm {
        tags: read_tags(item.get("tags")),
        id: item.get("id").text(),
        name: item.get("name").text(),
        // Images name it `owner`, reservations `ownerID`; a term has only the one its kind knows.
        owner: item.get("owner").text().or_else(|| item.get("ownerID").text()),
        alias: item.get("alias").text(),
        ssm_parameter: item.get("ssmParameter").text(),
        instance_match_criteria: item.get("instanceMatchCriteria").text(),
    }
}

fn read_tags(tags: Field<'_>) -> domain::label::Labels {
    let labels = tags.labels();
    if labels.len() > TAGS_MAX {
        tags.note_rule(SelectorRule::TooManyTags(labels.len()));
    }
    if labels.iter().any(|(key, value)| key.is_empty() || value.is_empty()) {
        tags.note_rule(SelectorRule::EmptyTag);
    }
    labels
}

fn check_id(field: Field<'_>, prefix: &'static str) {
    let is_id = |id: &str| {
        id.strip_prefix(prefix).is_some_and(|rest| {
            !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit() || b.is_ascii_lowercase())
        })
    };
    if let Some(found) = field.str().filter(|found| !is_id(found)) {
        field.note_rule(SelectorRule::Id { found: found.to_owned(), prefix });
    }
}

/// Reads `family@version`.
fn parse_alias(alias: &str) -> Result<AmiFamily, SelectorRule> {
    let malformed = || SelectorRule::Alias(alias.to_owned());
    let (family, version) = alias.split_once('@').ok_or_else(malformed)?;
    if version.is_empty() || alias.len() > ALIAS_MAX {
        return Err(malformed());
    }
    let family = AmiFamily::parse_alias(family)
        .ok_or_else(|| SelectorRule::AliasFamily(alias.to_owned()))?;
    if family.is_windows() && version != "latest" {
        return Err(SelectorRule::WindowsVersion(alias.to_owned()));
    }
    Ok(family)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alias_names_a_family_and_a_version() {
        assert_eq!(parse_alias("al2023@latest"), Ok(AmiFamily::Al2023));
        assert_eq!(parse_alias("al2@v20240807"), Ok(AmiFamily::Al2));
        assert_eq!(parse_alias("windows2025@latest"), Ok(AmiFamily::Windows2025));
        for text in
            ["al2023", "al2023@", "AL2023@latest", "custom@latest", "windows2022@v1", "@latest"]
        {
            assert!(parse_alias(text).is_err(), "{text}");
        }
        assert!(parse_alias(&format!("al2023@{}", "v".repeat(30))).is_err());
    }
}
