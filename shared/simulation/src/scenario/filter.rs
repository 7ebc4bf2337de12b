//! Which instances or offerings are meant.

use domain::Text;
use domain::instance_type::CapacityType;
use domain::label;
use manifests::Field;

use crate::ec2::{CapacityPool, Instance};

/// Instances or offerings, by what they have in common. Empty means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceFilter {
    /// The Node's name.
    pub node: Option<Text>,
    /// The NodePool.
    pub node_pool: Option<Text>,
    /// The instance type, or the beginning of its name up to a dot.
    pub instance_type: Option<Text>,
    /// The zone.
    pub zone: Option<Text>,
    /// How it is bought.
    pub capacity_type: Option<CapacityType>,
}

/// The fields that say which instances are meant.
pub(super) const FILTER_FIELDS: [&str; 5] =
    ["node", "nodePool", "instanceType", "zone", "capacityType"];

/// How often EC2 takes instances of some offerings back.
#[derive(Clone, Debug, PartialEq)]
pub struct SpotInterruptions {
    /// Which offerings.
    pub filter: InstanceFilter,
    /// How often an instance is taken back an hour, on average.
    pub per_node_hour: f64,
}

impl InstanceFilter {
    pub(super) fn of(field: Field<'_>) -> Self {
        let words = CapacityType::ALL.map(|own| (own, own.as_str()));
        Self {
            node: field.get("node").text(),
            node_pool: field.get("nodePool").text(),
            instance_type: field.get("instanceType").text(),
            zone: field.get("zone").text(),
            capacity_type: field.get("capacityType").choice(&words),
        }
    }

    /// Whether an offering is meant; Node and NodePool do not matter.
    pub fn matches_pool(&self, pool: &CapacityPool) -> bool {
        let is_type = |wanted: &Text| {
            *wanted == pool.instance_type || pool.instance_type.split('.').next() == Some(&**wanted)
        };
        self.instance_type.as_ref().is_none_or(is_type)
            && self.zone.as_ref().is_none_or(|zone| *zone == pool.zone)
            && self.capacity_type.is_none_or(|own| own == pool.capacity_type)
    }

    /// Whether an instance is meant.
    pub fn matches(&self, instance: &Instance) -> bool {
        let pool = instance.tags.get(label::NODE_POOL);
        self.matches_pool(&instance.pool)
            && self.node.as_ref().is_none_or(|own| *own == instance.registration.node_name)
            && self.node_pool.as_ref().is_none_or(|own| Some(own) == pool)
    }

    /// ` of NodePool default, m5.large, us-east-1a, spot`: what follows a noun.
    pub fn shown(&self) -> String {
        let Self { node, node_pool, instance_type, zone, capacity_type } = self;
        let mut parts: Vec<String> = Vec::new();
        parts.extend(node.iter().map(ToString::to_string));
        parts.extend(node_pool.iter().map(|pool| format!("NodePool {pool}")));
        parts.extend(instance_type.iter().map(ToString::to_string));
        parts.extend(zone.iter().map(ToString::to_string));
        parts.extend(capacity_type.iter().map(ToString::to_string));
        if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
    }
}
