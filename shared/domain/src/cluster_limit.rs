//! ClusterLimit (`outrigger.dev/v1alpha1`): what the nodes of all NodePools together may come to.

use std::collections::BTreeMap;

use crate::Text;
use crate::resource::{NODES, Resources, USD_PER_HOUR};

/// A ClusterLimit. Where there are several, all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterLimit {
    /// The name.
    pub name: Text,
    /// `spec.limits`, as those of a NodePool: resources, `nodes`, and dollars an hour.
    pub limits: Resources,
    /// What keeps it from being read, with the field. It then limits nodes to none: what it would
    /// have allowed is not known, so nothing new is launched.
    pub problem: Option<Text>,
}

impl ClusterLimit {
    /// A ClusterLimit of these limits.
    pub fn new(name: impl Into<Text>, limits: Resources) -> Self {
        Self { name: name.into(), limits, problem: None }
    }

    /// What holds in place of one that cannot be read.
    pub fn unreadable(name: impl Into<Text>, problem: impl Into<Text>) -> Self {
        let limits = Resources::new().with(NODES, 0);
        Self { name: name.into(), limits, problem: Some(problem.into()) }
    }
}

/// The first by name that cannot be read, with what is wrong.
pub fn first_unreadable(all: &[ClusterLimit]) -> Option<(&Text, &Text)> {
    all.iter().filter_map(|own| Some((&own.name, own.problem.as_ref()?))).min()
}

/// The tightest limit on a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tightest {
    /// The amount.
    pub limit: i64,
    /// The name of the ClusterLimit that has it; of equal ones the first.
    pub by: Text,
}

/// The tightest limit on each resource that any of them limits.
pub fn tightest(all: &[ClusterLimit]) -> BTreeMap<Text, Tightest> {
    let mut found: BTreeMap<Text, Tightest> = BTreeMap::new();
    for own in all {
        for (resource, limit) in own.limits.iter() {
            let is_beaten = |known: &Tightest| (known.limit, &known.by) <= (limit, &own.name);
            if !found.get(resource).is_some_and(is_beaten) {
                found.insert(resource.clone(), Tightest { limit, by: own.name.clone() });
            }
        }
    }
    found
}

/// Whether any of them limits dollars.
pub fn limits_dollars(all: &[ClusterLimit]) -> bool {
    all.iter().any(|own| own.limits.find(USD_PER_HOUR).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::CPU;

    #[test]
    fn of_several_limits_the_tightest_holds_by_resource() {
        let limit = |name: &str, nodes, cpu| {
            ClusterLimit::new(name, Resources::new().with(NODES, nodes).with(CPU, cpu))
        };
        let found = tightest(&[limit("b", 5, 7), limit("a", 5, 9)]);
        assert_eq!(found[NODES], Tightest { limit: 5, by: "a".into() });
        assert_eq!(found[CPU], Tightest { limit: 7, by: "b".into() });
    }

    #[test]
    fn one_that_cannot_be_read_allows_no_node() {
        let wide = ClusterLimit::new("a", Resources::new().with(NODES, 500));
        let all = [wide, ClusterLimit::unreadable("c", "x"), ClusterLimit::unreadable("b", "y")];
        assert_eq!(tightest(&all)[NODES], Tightest { limit: 0, by: "b".into() });
        assert_eq!(first_unreadable(&all), Some((&"b".into(), &"y".into())));
        assert_eq!(first_unreadable(&all[..1]), None);
    }
}
