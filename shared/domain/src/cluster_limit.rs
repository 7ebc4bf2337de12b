//! ClusterLimit (`outrigger.dev/v1alpha1`): what the nodes of all NodePools together may come to.

use std::collections::BTreeMap;

use crate::Text;
use crate::resource::{Resources, USD_PER_HOUR};

/// A ClusterLimit. Where there are several, all hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterLimit {
    /// The name.
    pub name: Text,
    /// `spec.limits`, as those of a NodePool: resources, `nodes`, and dollars an hour.
    pub limits: Resources,
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
    use crate::resource::{CPU, NODES};

    #[test]
    fn of_several_limits_the_tightest_holds_by_resource() {
        let limit = |name: &str, nodes, cpu| ClusterLimit {
            name: name.into(),
            limits: Resources::new().with(NODES, nodes).with(CPU, cpu),
        };
        let found = tightest(&[limit("b", 5, 7), limit("a", 5, 9)]);
        assert_eq!(found[NODES], Tightest { limit: 5, by: "a".into() });
        assert_eq!(found[CPU], Tightest { limit: 7, by: "b".into() });
    }
}
