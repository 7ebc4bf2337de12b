//! Why no instance type meets the requirements of a NodePool or a pod, and what was meant instead.

use std::fmt;

use crate::Text;
use crate::label;
use crate::nearest::{all_of, any_of};
use crate::requirement::ValueSet;

/// Why no node can meet what a NodePool itself requires, whatever the pods are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnmetRequirements {
    /// One requirement rules out every instance type of the node class.
    One(UnmetRequirement),
    /// Each requirement leaves some instance types, and no type meets all of them.
    Together {
        /// The requirement that leaves the last of them, or `its other requirements`.
        others: Text,
        /// The requirement that leaves none of these, such as `kubernetes.io/arch In arm64`.
        requirement: Text,
        /// Which values those that were left have of that label, some of them; empty for none.
        offered: Vec<Text>,
        /// How many more values they have.
        more: usize,
    },
    /// Requirements on one label leave none of its values.
    Contradiction {
        /// The label's key.
        key: Text,
        /// Those requirements as they are written.
        requirements: Vec<Text>,
    },
    /// A new node's name is not known before it is launched.
    Hostname,
    /// Instance types meet them, and none is sold in the zones and capacity types that they allow.
    NotSold,
    /// The node class leaves no instance type at all.
    NoTypes {
        /// The EC2NodeClass.
        node_class: Text,
    },
}

/// A requirement that nothing meets, and what may have been meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnmetRequirement {
    /// The label's key.
    pub key: Text,
    /// What is required of it.
    pub required: ValueSet,
    /// The region, where it is the key of one of the region's zones.
    pub region: Option<Text>,
    /// What may have been meant.
    pub meant: Meant,
}

/// What may have been meant by a requirement that nothing meets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Meant {
    /// Labels that have the values that are required, the one that is spelt most like it first.
    Keys(Vec<Text>),
    /// Values that are spelt nearly like those that are required.
    Values(Vec<Text>),
    /// The numbers next to those that are required.
    Numbers(Vec<Text>),
    /// Nothing comes near: what there is, some of it, and how much more.
    Offered {
        /// Values, by name.
        values: Vec<Text>,
        /// How many more there are.
        more: usize,
    },
}

impl fmt::Display for Meant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Keys(keys) => write!(f, "did you mean {}?", any_of(keys)),
            Self::Values(values) => write!(f, "did you mean {}?", any_of(values)),
            Self::Numbers(numbers) => match numbers.as_slice() {
                [one] => write!(f, "the nearest is {one}"),
                several => write!(f, "the nearest are {}", all_of(several)),
            },
            Self::Offered { values, .. } if values.is_empty() => f.write_str("none has that label"),
            Self::Offered { values, more } => write!(f, "there is {}", some_of(values, *more)),
        }
    }
}

/// `a and b`, or `a, b and 3 more`.
fn some_of(values: &[Text], more: usize) -> String {
    match more {
        0 => all_of(values),
        more => format!("{} and {more} more", values.join(", ")),
    }
}

impl fmt::Display for UnmetRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, required, region, meant } = self;
        let required = match required.as_list() {
            Some([]) => return write!(f, "every node has {key}, and it requires DoesNotExist"),
            Some(values) => any_of(values),
            None => required.to_string(),
        };
        match (&**key, region) {
            (label::ZONE, Some(region)) => {
                write!(f, "region {region} has no zone {required}: {meant}")
            }
            (label::ZONE, None) => write!(f, "there is no zone {required}: {meant}"),
            (label::REGION, Some(region)) => {
                write!(f, "region {region} is planned for, and it requires {key} {required}")
            }
            (
                label::CAPACITY_TYPE
                | label::ZONE_ID
                | label::RESERVATION_ID
                | label::RESERVATION_TYPE
                | label::RESERVATION_INTERRUPTIBLE,
                _,
            ) => {
                write!(f, "nothing is sold with {key} {required}: {meant}")
            }
            _ => write!(f, "no instance type has {key} {required}: {meant}"),
        }
    }
}

impl fmt::Display for UnmetRequirements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(requirement) => requirement.fmt(f),
            Self::Together { others, requirement, offered, .. } if offered.is_empty() => write!(
                f,
                "its requirements leave no instance type: those left by {others} lack the label \
                 of {requirement}"
            ),
            Self::Together { others, requirement, offered, more } => write!(
                f,
                "its requirements leave no instance type: it requires {requirement}, and those \
                 left by {others} have {}",
                some_of(offered, *more)
            ),
            Self::Contradiction { key, requirements } => {
                write!(f, "its requirements leave no value of {key}: {}", all_of(requirements))
            }
            Self::Hostname => write!(
                f,
                "it requires {}, which no node has before it is launched",
                label::HOSTNAME
            ),
            Self::NotSold => f.write_str(
                "no instance type that it allows is sold in the zones and capacity types that it \
                 allows",
            ),
            Self::NoTypes { node_class } => {
                write!(f, "EC2NodeClass {node_class} leaves no instance type")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::Operator;

    fn texts(values: &[&str]) -> Vec<Text> {
        values.iter().map(|value| Text::from(*value)).collect()
    }

    #[track_caller]
    fn check(key: &str, required: (Operator, &[&str]), meant: Meant, expected: &str) {
        let (operator, values) = required;
        let required = ValueSet::of(operator, &texts(values));
        let region = (key == label::ZONE).then(|| "us-east-1".into());
        let unmet = UnmetRequirement { key: key.into(), required, region, meant };
        assert_eq!(UnmetRequirements::One(unmet).to_string(), expected);
    }

    #[test]
    fn an_unmet_requirement_says_what_may_have_been_meant() {
        check(
            "karpenter.k8s.aws/instance-cpu",
            (Operator::In, &["c", "m", "r"]),
            Meant::Keys(texts(&["karpenter.k8s.aws/instance-category"])),
            "no instance type has karpenter.k8s.aws/instance-cpu c, m or r: did you mean \
             karpenter.k8s.aws/instance-category?",
        );
        check(
            "karpenter.k8s.aws/instance-cpu",
            (Operator::Gt, &["900"]),
            Meant::Numbers(texts(&["896"])),
            "no instance type has karpenter.k8s.aws/instance-cpu Gt 900: the nearest is 896",
        );
        check(
            label::ZONE,
            (Operator::In, &["eu-west-1a"]),
            Meant::Offered { values: texts(&["us-east-1a", "us-east-1b"]), more: 0 },
            "region us-east-1 has no zone eu-west-1a: there is us-east-1a and us-east-1b",
        );
    }

    #[test]
    fn requirements_that_exclude_each_other_are_both_named() {
        let together = UnmetRequirements::Together {
            others: "karpenter.k8s.aws/instance-family In m7i".into(),
            requirement: "kubernetes.io/arch In arm64".into(),
            offered: texts(&["amd64"]),
            more: 0,
        };
        assert_eq!(
            together.to_string(),
            "its requirements leave no instance type: it requires kubernetes.io/arch In arm64, and \
             those left by karpenter.k8s.aws/instance-family In m7i have amd64"
        );
    }
}
