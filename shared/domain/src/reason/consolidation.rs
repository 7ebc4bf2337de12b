//! Why a node is not consolidated, with the figures: where its pods stand, what would be saved, and
//! what moving them costs.

use crate::Text;
use crate::money::UsdPerHour;
use crate::nearest::all_of;
use crate::pod::PodKey;
use crate::reason::NodePoolUnfit;

/// Why taking nodes away together is not worth it, or not possible.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Unconsolidatable {
    /// A pod has no other place, be it on a new node.
    #[error("pod {0} finds no other place")]
    NoPlace(PodKey),
    /// Pods would need new nodes, and none that holds them together may be launched.
    #[error("{pods} of its pods fit on no node that stays, and on no single new one")]
    NoReplacement {
        /// Pods without a place on nodes that stay.
        pods: u32,
    },
    /// Pods would need a new node, and that costs as much or more.
    #[error(
        "{pods} of its pods would need a new node: the cheapest, {instance_type}, costs {price}, and {before} would be saved"
    )]
    NothingCheaper {
        /// Pods without a place on nodes that stay.
        pods: u32,
        /// The cheapest type that holds them.
        instance_type: Text,
        /// What it costs.
        price: UsdPerHour,
        /// What the nodes that go cost.
        before: UsdPerHour,
    },
    /// A spot node is not replaced by a spot node, unless the gate says so.
    #[error(
        "{pods} of its pods would need a new spot node, and feature gate SpotToSpotConsolidation is off"
    )]
    SpotToSpot {
        /// Pods without a place on nodes that stay.
        pods: u32,
    },
    /// A spot node is replaced by a spot node only where there are many kinds to choose from.
    #[error("only {found} cheaper spot types would hold its pods, and {needed} are needed")]
    TooFewSpotTypes {
        /// Types left.
        found: u32,
        /// Types needed.
        needed: u32,
    },
    /// Too few distinct values of a key would be left of what is cheaper.
    #[error("what is cheaper has too few values of {0} for minValues")]
    MinValues(Text),
    /// It would go together with others, and limits leave too little choice to launch what replaces
    /// them.
    #[error("it could go together with others, but what replaces them cannot be launched: {0}")]
    NotLaunchable(NodePoolUnfit),
    /// It would save less than moving its pods costs.
    #[error("it {}, and moving {pods} pods has to save {needed}", saving.would_save())]
    TooLittle {
        /// What it saves.
        saving: UsdPerHour,
        /// Pods that move.
        pods: u32,
        /// What it has to save.
        needed: UsdPerHour,
    },
    /// Its pods would go to spot nodes, where their interruptions cost more than it saves.
    #[error(
        "it {}, and its pods would go to spot nodes, where their interruptions weigh {weight}",
        saving.would_save()
    )]
    DearInterruptions {
        /// What it saves.
        saving: UsdPerHour,
        /// What is added to the nodes that its pods would go to.
        weight: UsdPerHour,
    },
    /// More than its share of a workload's replicas would be on one spot offering.
    #[error("more than its share of {workload} would be on {instance_type} spot in {zone}")]
    SpotShare {
        /// Namespace and name of the pods' owner.
        workload: Text,
        /// The instance type.
        instance_type: Text,
        /// The zone.
        zone: Text,
    },
    /// kube-scheduler would put its pods elsewhere than planned, and nodes for those that find no
    /// place then cost what it would save.
    #[error(
        "it {}, but kube-scheduler spreads pods, and {pods} would be left to need new nodes for {price}",
        saving.would_save()
    )]
    SchedulerDivergence {
        /// Pods that would find no place.
        pods: u32,
        /// What it would save if pods went where they are planned to go.
        saving: UsdPerHour,
        /// What nodes for them cost.
        price: UsdPerHour,
    },
    /// A `Balanced` pool finds the saving too small for the disruption.
    #[error(
        "it {}, which scores {score_percent} of 50 needed (consolidationPolicy Balanced)",
        saving.would_save()
    )]
    Unbalanced {
        /// What it saves.
        saving: UsdPerHour,
        /// The score, in hundredths.
        score_percent: u32,
    },
    /// It is worth it, and another move comes first.
    #[error("it can go and {}: {}", saving.would_save(), first(before))]
    Later {
        /// What it saves.
        saving: UsdPerHour,
        /// The nodes that go first, by name; none where budgets let no such move be tried.
        before: Vec<Text>,
    },
}

/// Which nodes go before one that can go too.
fn first(before: &[Text]) -> String {
    match before {
        [] => "not in this run".to_owned(),
        [one] => format!("{one} goes first"),
        [one, others @ ..] if others.len() > 2 => {
            format!("{one} and {} more go first", others.len())
        }
        several => format!("{} go first", all_of(several)),
    }
}
