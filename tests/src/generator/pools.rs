//! Strategies for NodePools.

use domain::Text;
use domain::label::{CAPACITY_TYPE, ZONE};
use domain::node_pool::NodePool;
use domain::requirement::Requirement;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::pods::{TAINTS, TEAM, ZONES};
use crate::builder::{self, NodePoolBuilder};

/// Something that sets a NodePool apart.
#[derive(Clone, Debug)]
enum Trait {
    Requires(Requirement),
    Labels(&'static str),
    Taints(&'static str),
    CpuLimit(i64),
    NodeLimit(i64),
    Weight(u32),
}

impl Trait {
    fn apply(pool: NodePoolBuilder, own: &Self) -> NodePoolBuilder {
        match own {
            Self::Requires(requirement) => pool.require(requirement.clone()),
            Self::Labels(team) => pool.label(TEAM, team),
            Self::Taints(key) => pool.taint(key),
            Self::CpuLimit(millis) => pool.cpu_limit(*millis),
            Self::NodeLimit(nodes) => pool.node_limit(*nodes),
            Self::Weight(weight) => pool.weight(*weight),
        }
    }
}

/// One to three NodePools, `pool-0` and so on.
pub(super) fn pools(with_limits: bool) -> impl Strategy<Value = Vec<NodePool>> {
    prop::collection::vec(prop::collection::vec(own_trait(with_limits), 0..=3), 1..=3).prop_map(
        |pools| {
            let named = |(index, traits): (usize, Vec<Trait>)| {
                let pool = builder::node_pool(&format!("pool-{index}"));
                traits.iter().fold(pool, Trait::apply).build()
            };
            pools.into_iter().enumerate().map(named).collect()
        },
    )
}

fn own_trait(with_limits: bool) -> impl Strategy<Value = Trait> {
    let list = |key: &'static str, values: &'static [&'static str]| {
        let listed = subsequence(values.to_vec(), 1..=values.len());
        listed.prop_map(move |listed| {
            Trait::Requires(Requirement::is_in(key, listed.into_iter().map(Text::from)))
        })
    };
    let limits = prop_oneof![
        select(vec![1_000, 4_000, 20_000]).prop_map(Trait::CpuLimit),
        (0..=3_i64).prop_map(Trait::NodeLimit),
    ];
    let limit_weight = u32::from(with_limits) * 2;
    prop_oneof![
        2 => list(ZONE, &ZONES),
        2 => list(CAPACITY_TYPE, &["spot", "on-demand"]),
        1 => list(TEAM, &["blue", "red"]),
        2 => select(vec!["blue", "red"]).prop_map(Trait::Labels),
        2 => select(TAINTS.to_vec()).prop_map(Trait::Taints),
        2 => (1..=100_u32).prop_map(Trait::Weight),
        limit_weight => limits,
    ]
}
