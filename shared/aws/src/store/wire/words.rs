//! Words that stand for the cases of the vocabulary.
//!
//! Each list is matched both ways without a wildcard: a case that is added to the domain does not compile
//! until it has a word here.

use serde::{Deserialize, Serialize};

macro_rules! words {
    ($(#[$doc:meta])* $word:ident for $type:ident of $module:path { $($case:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Serialize, Deserialize)]
        pub(super) enum $word {
            $($case),+
        }

        const _: () = {
            use $module as module;
            use module::$type;

            impl From<$type> for $word {
                fn from(own: $type) -> Self {
                    match own {
                        $($type::$case => Self::$case),+
                    }
                }
            }

            impl From<$word> for $type {
                fn from(word: $word) -> Self {
                    match word {
                        $($word::$case => Self::$case),+
                    }
                }
            }
        };
    };
}

words! {
    /// How capacity is bought.
    CapacityWord for CapacityType of domain::instance_type { Reserved, Spot, OnDemand }
}
words! {
    /// What a taint does.
    EffectWord for TaintEffect of domain::taint { NoSchedule, PreferNoSchedule, NoExecute }
}
words! {
    /// An operator of a requirement.
    OperatorWord for Operator of domain::requirement {
        In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte,
    }
}
words! {
    /// A condition.
    ConditionWord for ConditionType of domain::node_claim {
        Launched, Registered, Initialized, Consolidatable, Drifted, Drained, VolumesDetached,
        InstanceTerminating, ConsistentStateFound, DisruptionReason, Ready,
    }
}
words! {
    /// Whether a condition holds.
    StatusWord for ConditionStatus of domain::node_claim { True, False, Unknown }
}
words! {
    /// Why a node goes.
    DisruptionWord for DisruptionReason of domain::reason {
        Empty, Underutilized, Drifted, Expired, Unhealthy, Interrupted, ScaledDown,
    }
}
words! {
    /// How an instance is.
    StateWord for InstanceState of controllers::ports::cloud {
        Pending, Running, Stopping, Stopped, ShuttingDown, Terminated,
    }
}
