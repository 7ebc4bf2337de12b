//! Enums of the domain as they are stored.
//!
//! Each list is matched both ways without a wildcard: a variant that is added to the domain does
//! not compile until it is stored, too.

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
    /// A capacity type.
    CapacityWord for CapacityType of domain::instance_type { Reserved, Spot, OnDemand }
}
words! {
    /// A taint effect.
    EffectWord for TaintEffect of domain::taint { NoSchedule, PreferNoSchedule, NoExecute }
}
words! {
    /// An operator of a requirement.
    OperatorWord for Operator of domain::requirement {
        In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte,
    }
}
words! {
    /// A condition type.
    ConditionWord for ConditionType of domain::node_claim {
        Launched, Registered, Initialized, Consolidatable, Drifted, Drained, VolumesDetached,
        InstanceTerminating, ConsistentStateFound, DisruptionReason, Ready,
    }
}
words! {
    /// A condition status.
    StatusWord for ConditionStatus of domain::node_claim { True, False, Unknown }
}
words! {
    /// A disruption reason.
    DisruptionWord for DisruptionReason of domain::reason {
        Empty, Underutilized, Drifted, Expired, Unhealthy, Interrupted, ScaledDown, OffHours,
    }
}
words! {
    /// A function that plans.
    ObserverWord for Observer of controllers::record::observation { Provisioning, Disruption }
}
words! {
    /// What fuses count.
    CountedWord for Counted of controllers::record::fuses { Launches, Terminations }
}
words! {
    /// An instance state.
    StateWord for InstanceState of controllers::ports::cloud {
        Pending, Running, Stopping, Stopped, ShuttingDown, Terminated,
    }
}
