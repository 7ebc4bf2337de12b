//! What a function would have done, stored where it only observes.

use std::fmt;

use domain::instance_type::CapacityType;
use domain::money::UsdPerHour;
use domain::plan::{Plan, PlannedDisruption, PlannedNodeClaim};
use domain::pod::PodKey;
use domain::reason::DisruptionReason;
use domain::{Text, Timestamp};

/// A function that plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Observer {
    /// It plans nodes for pending pods.
    Provisioning,
    /// It looks for nodes to disrupt.
    Disruption,
}

impl Observer {
    /// The word in keys and messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Provisioning => "provisioning",
            Self::Disruption => "disruption",
        }
    }
}

impl fmt::Display for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The latest plan of a function that was not carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// Whose plan it is.
    pub function: Observer,
    /// When the cluster was listed.
    pub at: Timestamp,
    /// Nodes that would have been launched, by name.
    pub launches: Vec<ObservedLaunch>,
    /// Pods that would have waited for a node that exists or is in flight, with its name.
    pub placements: Vec<(PodKey, Text)>,
    /// Pods that nothing could have hosted, and why.
    pub unschedulable: Vec<(PodKey, Text)>,
    /// Nodes that would have been proposed for disruption.
    pub disruptions: Vec<ObservedDisruption>,
    /// Rules that the plan breaks, because of which it would not have been carried out.
    pub refused: Vec<Text>,
}

/// A node that would have been launched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedLaunch {
    /// The NodePool.
    pub node_pool: Text,
    /// The instance type of the offering that it was planned at.
    pub instance_type: Text,
    /// The zone of that offering.
    pub zone: Text,
    /// How that offering is bought.
    pub capacity_type: CapacityType,
    /// What that offering costs.
    pub price: UsdPerHour,
    /// Its pods, sorted.
    pub pods: Vec<PodKey>,
}

/// Nodes that would have been disrupted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedDisruption {
    /// Why.
    pub reason: DisruptionReason,
    /// The nodes, sorted.
    pub nodes: Vec<Text>,
    /// What would have replaced them.
    pub replacements: Vec<ObservedLaunch>,
    /// What that would have saved; negative where it costs more.
    pub savings: UsdPerHour,
}

impl Observation {
    /// The observation of a plan.
    pub fn of(function: Observer, plan: &Plan, refused: Vec<Text>, at: Timestamp) -> Self {
        let placements = plan.placements.iter();
        let unschedulable = plan.unschedulable.iter().map(|pod| {
            let reasons: Vec<String> = pod.reasons.iter().map(ToString::to_string).collect();
            (pod.pod.clone(), reasons.join("; ").into())
        });
        Self {
            function,
            at,
            launches: launches(&plan.node_claims),
            placements: placements.map(|own| (own.pod.clone(), own.node.clone())).collect(),
            unschedulable: unschedulable.collect(),
            disruptions: plan.disruptions.iter().map(disruption).collect(),
            refused,
        }
    }
}

fn launches(planned: &[PlannedNodeClaim]) -> Vec<ObservedLaunch> {
    let launch = |planned: &PlannedNodeClaim| ObservedLaunch {
        node_pool: planned.node_pool.clone(),
        instance_type: planned.offering.instance_type.clone(),
        zone: planned.offering.zone.clone(),
        capacity_type: planned.offering.capacity_type,
        price: planned.offering.price,
        pods: planned.pods.clone(),
    };
    planned.iter().map(launch).collect()
}

fn disruption(planned: &PlannedDisruption) -> ObservedDisruption {
    ObservedDisruption {
        reason: planned.reason,
        nodes: planned.nodes.clone(),
        replacements: launches(&planned.replacements),
        savings: planned.savings,
    }
}
