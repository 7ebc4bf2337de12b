//! Pods that differ in what their interruption costs.
//!
//! A NodePool whose pods differ in that offers each spot offering several times: once for every
//! cost that a node may come to by the dearest of its pods, at the price that it is then chosen at.
//! A pod goes to those that are chosen at what its own interruption costs or more. So the price of
//! a spot node follows from its pods, and on-demand is bought for those for which that is cheaper.

use std::collections::BTreeSet;

use domain::Text;
use domain::node_pool::NodePool;
use domain::pod::Pod;
use domain::snapshot::ClusterSnapshot;
use domain::spot::{InterruptionCosts, NodeInterruptionCost, PodInterruption, SpotPolicy};

/// Stands for a label that no node has: its values are what decides the cost of interruptions. No
/// label's key has spaces.
pub(crate) const INTERRUPTION_FIELD: &str = "cost of an interruption";

/// What of pods decides in some NodePool what their interruption costs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interruptions {
    /// Some NodePool says what an interruption costs that a pod needs more than its notice for.
    tells_long_ones_apart: bool,
}

impl Interruptions {
    /// By the NodePools of a snapshot.
    pub(crate) fn of(snapshot: &ClusterSnapshot) -> Self {
        let says = |pool: &NodePool| SpotPolicy::of(&pool.annotations).do_not_disrupt.is_some();
        Self { tells_long_ones_apart: snapshot.objects.node_pools.iter().any(says) }
    }

    /// Of a pod.
    pub(crate) fn of_pod(self, snapshot: &ClusterSnapshot, pod: &Pod) -> PodInterruption {
        if !self.tells_long_ones_apart && pod.spec.spot_interruption_cost.is_none() {
            return PodInterruption::default();
        }
        let mut known = PodInterruption::of(pod, snapshot.now);
        known.outlasts_notice &= self.tells_long_ones_apart;
        known
    }

    /// Of all pods that new nodes may be launched for, and of those that nothing sets apart.
    pub(crate) fn all(self, snapshot: &ClusterSnapshot) -> BTreeSet<PodInterruption> {
        let mut last = PodInterruption::default();
        let mut all = BTreeSet::from([last]);
        for pod in snapshot.objects.pods.iter().filter(|pod| counts(pod)) {
            let own = self.of_pod(snapshot, pod);
            // Most are like those beside them.
            if own != last {
                all.insert(own);
                last = own;
            }
        }
        all
    }
}

/// Whether something is lost with the pod that would run elsewhere.
pub(crate) fn counts(pod: &Pod) -> bool {
    !pod.is_terminal() && !pod.is_daemon() && !pod.is_static()
}

/// A value of [`INTERRUPTION_FIELD`].
pub(crate) fn named(pod: PodInterruption) -> Text {
    let own = pod.own.map_or_else(|| "usual".to_owned(), |cost| cost.to_string());
    let notice = if pod.outlasts_notice { ", outlasts the notice" } else { "" };
    format!("{own}{notice}").into()
}

/// Every cost that nodes with some of the pods may come to.
pub(crate) fn costs_of_nodes(
    costs: &InterruptionCosts,
    pods: &BTreeSet<PodInterruption>,
) -> Vec<NodeInterruptionCost> {
    let mut known: BTreeSet<NodeInterruptionCost> = BTreeSet::new();
    for own in pods.iter().map(|pod| costs.of_pod(*pod)).collect::<BTreeSet<_>>() {
        let joint: Vec<_> = known.iter().map(|other| own.and(*other)).collect();
        known.extend(joint.into_iter().chain([own]));
    }
    known.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    use domain::pod::{DoNotDisrupt, GracePeriodSeconds};
    use domain::spot::InterruptionCost;

    use crate::testing::{PodMaker, now, pod};

    fn costing(name: &str, cost: Option<&str>) -> PodMaker {
        let own = cost.and_then(InterruptionCost::parse);
        pod(name).with(|spec| spec.spot_interruption_cost = own)
    }

    fn cost_of(costs: &InterruptionCosts, pod: &Pod) -> (i64, i64) {
        let cost = costs.of_pod(PodInterruption::of(pod, now()));
        (cost.time.as_secs(), cost.nanos_per_pod)
    }

    #[test]
    fn a_pod_costs_what_it_says_itself_and_else_what_its_node_pool_says() {
        let policy = SpotPolicy {
            cost: InterruptionCost::parse("15m"),
            do_not_disrupt: InterruptionCost::parse("$2"),
            ..SpotPolicy::default()
        };
        let own = costing("own", Some("$0.50"));
        let free = costing("free", Some("0s"));
        let held = pod("held").having(|pod| pod.do_not_disrupt = Some(DoNotDisrupt::Always));
        let slow = pod("slow").with(|spec| spec.termination_grace = GracePeriodSeconds(121));
        let pods = [own, free, held, slow, pod("usual")].map(PodMaker::make);
        let costs = InterruptionCosts::of(policy, &pods, now());
        let found = pods.each_ref().map(|pod| cost_of(&costs, pod));
        assert_eq!(
            found,
            [(0, 500_000_000), (0, 0), (0, 2_000_000_000), (0, 2_000_000_000), (900, 0)]
        );
        let usual = costs.usual();
        assert_eq!((usual.time.as_secs(), usual.nanos_per_pod), (900, 0));
    }

    #[test]
    fn of_many_costs_a_few_are_kept_apart_and_the_rest_round_up() {
        let pods: Vec<Pod> =
            (1..=10).map(|hours| costing("p", Some(&format!("{hours}h"))).make()).collect();
        let costs = InterruptionCosts::of(SpotPolicy::default(), &pods, now());
        let hours: Vec<i64> = pods.iter().map(|pod| cost_of(&costs, pod).0 / 3600).collect();
        assert_eq!(hours, [3, 3, 3, 5, 5, 8, 8, 8, 10, 10]);
    }
}
