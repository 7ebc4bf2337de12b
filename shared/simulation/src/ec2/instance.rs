//! Instances.

use domain::instance_type::CapacityType;
use domain::label::Labels;
use domain::money::UsdPerHour;
use domain::resource::Resources;
use domain::taint::Taint;
use domain::{Text, Timestamp};

use super::capacity_pool::CapacityPool;

/// An instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// `i-` and 17 hexadecimal digits.
    pub id: Text,
    /// Its type, zone and how it is bought.
    pub pool: CapacityPool,
    /// What it costs while it is billed.
    pub price: UsdPerHour,
    /// When it was launched.
    pub launched: Timestamp,
    /// How far it is.
    pub state: InstanceState,
    /// When EC2 takes it back, once that was announced.
    pub reclaimed_at: Option<Timestamp>,
    /// Tags.
    pub tags: Labels,
    /// The machine image.
    pub image: Text,
    /// The capacity reservation.
    pub reservation: Option<Text>,
    /// What it has, as its node class sees it.
    pub capacity: Resources,
    /// What pods may use of it.
    pub allocatable: Resources,
    /// How its kubelet registers.
    pub registration: Registration,
}

/// `state.name` of an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstanceState {
    /// It boots.
    Pending,
    /// It runs.
    Running,
    /// It was terminated, and still shuts down.
    ShuttingDown,
    /// It has ended.
    Terminated,
}

/// How an instance's kubelet registers its Node, from its user data.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registration {
    /// The Node's name.
    pub node_name: Text,
    /// Labels.
    pub labels: Labels,
    /// Taints to register with.
    pub taints: Vec<Taint>,
}

impl Instance {
    /// `aws:///ZONE/ID`, as Nodes name it.
    pub fn provider_id(&self) -> Text {
        format!("aws:///{}/{}", self.pool.zone, self.id).into()
    }

    /// How it is bought.
    pub fn capacity_type(&self) -> CapacityType {
        self.pool.capacity_type
    }

    /// Pending or running: it is paid for.
    pub fn is_billed(&self) -> bool {
        matches!(self.state, InstanceState::Pending | InstanceState::Running)
    }
}
