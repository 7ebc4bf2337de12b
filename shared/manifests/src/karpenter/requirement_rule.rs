//! What Karpenter's API allows as a requirement, apart from where it stands in a manifest.

use domain::label::CAPACITY_TYPE;
use domain::requirement::Operator;

/// Most requirements of one object.
pub(crate) const REQUIREMENTS_MAX: usize = 100;
/// What `minValues` may be.
pub(crate) const MIN_VALUES: std::ops::RangeInclusive<i64> = 1..=50;

/// Well-known keys whose values are known beforehand.
///
/// Source: Karpenter's well-known values, core and AWS provider.
const KNOWN_VALUES: [(&str, &[&str]); 2] = [
    (CAPACITY_TYPE, &["on-demand", "spot", "reserved"]),
    ("karpenter.k8s.aws/instance-tenancy", &["default", "dedicated"]),
];

/// Which rule a requirement breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RequirementRule {
    /// An operator that compares with values has none.
    #[error("operator {} needs at least one value", .0.as_str())]
    NoValues(Operator),
    /// An operator that compares with a bound has not exactly one whole number.
    #[error("operator {} needs exactly one value, an integer from 0 to {}", .0.as_str(), i64::MAX)]
    NoBound(Operator),
    /// Too many requirements.
    #[error("{0} requirements are too many: at most 100 are allowed")]
    TooMany(usize),
    /// `minValues` out of range.
    #[error("minValues {0} is out of range: it takes 1 to 50")]
    MinValues(i64),
    /// None of the values can ever occur.
    #[error("none of the values of {key} is known: they are {known}")]
    AllUnknown {
        /// The key.
        key: String,
        /// The values there are.
        known: String,
    },
    /// More distinct values are asked for than can occur.
    #[error("minValues {min_values} cannot be met: only {valid} of the values of {key} are known")]
    TooFewKnown {
        /// The key.
        key: String,
        /// How many are asked for.
        min_values: u32,
        /// How many can occur.
        valid: usize,
    },
}

/// Checks operator against values: In (and, where the API says so, NotIn) needs values, a bound one
/// integer.
pub(crate) fn check_values(
    operator: Operator,
    values: &[impl AsRef<str>],
    not_in_needs_values: bool,
) -> Result<(), RequirementRule> {
    match operator {
        Operator::In if values.is_empty() => Err(RequirementRule::NoValues(operator)),
        Operator::NotIn if values.is_empty() && not_in_needs_values => {
            Err(RequirementRule::NoValues(operator))
        }
        Operator::Gt | Operator::Lt | Operator::Gte | Operator::Lte => match values {
            [bound] if is_bound(bound.as_ref()) => Ok(()),
            _ => Err(RequirementRule::NoBound(operator)),
        },
        _ => Ok(()),
    }
}

fn is_bound(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<i64>().is_ok()
}

/// Checks the values of a well-known key whose values are known; returns those that are not.
pub(crate) fn check_known<'a>(
    key: &str,
    operator: Operator,
    values: &'a [impl AsRef<str>],
    min_values: Option<u32>,
) -> Result<Vec<&'a str>, RequirementRule> {
    let known = KNOWN_VALUES.iter().find(|(known, _)| *known == key);
    let (Some((_, known)), Operator::In) = (known, operator) else {
        return Ok(Vec::new());
    };
    let unknown: Vec<&str> =
        values.iter().map(AsRef::as_ref).filter(|value| !known.contains(value)).collect();
    let valid = values.len() - unknown.len();
    if valid == 0 && !values.is_empty() {
        return Err(RequirementRule::AllUnknown { key: key.to_owned(), known: known.join(", ") });
    }
    match min_values {
        Some(min_values) if !unknown.is_empty() && valid < min_values as usize => {
            Err(RequirementRule::TooFewKnown { key: key.to_owned(), min_values, valid })
        }
        _ => Ok(unknown),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_need_the_values_they_compare_with() {
        let none: [&str; 0] = [];
        for operator in [Operator::Exists, Operator::DoesNotExist, Operator::NotIn] {
            assert_eq!(check_values(operator, &none, false), Ok(()));
        }
        let no_values = |operator| Err(RequirementRule::NoValues(operator));
        assert_eq!(check_values(Operator::In, &none, false), no_values(Operator::In));
        assert_eq!(check_values(Operator::NotIn, &none, true), no_values(Operator::NotIn));
        for bad in
            [vec![], vec!["1", "2"], vec!["-1"], vec!["+1"], vec!["1.5"], vec!["many"], vec![""]]
        {
            for operator in [Operator::Gt, Operator::Lt, Operator::Gte, Operator::Lte] {
                let no_bound = Err(RequirementRule::NoBound(operator));
                assert_eq!(check_values(operator, &bad, false), no_bound, "{bad:?}");
            }
        }
        assert_eq!(check_values(Operator::Gte, &["0"], false), Ok(()));
    }

    #[test]
    fn values_of_a_well_known_key_must_not_all_be_unknown() {
        assert_eq!(check_known(CAPACITY_TYPE, Operator::In, &["spot"], None), Ok(vec![]));
        assert_eq!(
            check_known(CAPACITY_TYPE, Operator::In, &["spot", "cheap"], None),
            Ok(vec!["cheap"])
        );
        assert_eq!(check_known("team", Operator::In, &["cheap"], None), Ok(vec![]));
        assert_eq!(check_known(CAPACITY_TYPE, Operator::NotIn, &["cheap"], None), Ok(vec![]));
        let all_unknown = check_known(CAPACITY_TYPE, Operator::In, &["cheap"], None).unwrap_err();
        assert_eq!(
            all_unknown.to_string(),
            "none of the values of karpenter.sh/capacity-type is known: they are on-demand, spot, reserved"
        );
        let too_few = check_known(CAPACITY_TYPE, Operator::In, &["spot", "cheap"], Some(2));
        assert_eq!(
            too_few.unwrap_err().to_string(),
            "minValues 2 cannot be met: only 1 of the values of karpenter.sh/capacity-type are known"
        );
    }
}
