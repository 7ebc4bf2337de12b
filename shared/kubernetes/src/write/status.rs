//! Annotations, finalizers and status of NodePools and EC2NodeClasses, and status of
//! CapacityBuffers.

use controllers::ports::cluster::{
    FinalizerChange, NamespacedRef, NodeClassUpdate, NodePoolUpdate,
};
use controllers::ports::{ObjectRef, PortError};
use controllers::status::{
    CapacityBufferCondition, CapacityBufferStatus, NodeClassCondition, NodeClassStatus,
    NodePoolCondition, NodePoolStatus,
};
use serde_json::{Map, Value as Json, json};

use super::claim::merged_conditions;
use super::{Target, check_uid, set_finalizer, set_texts};
use crate::connection::Connection;
use crate::kind::{CAPACITY_BUFFER, NODE_CLASS, NODE_POOL};
use crate::state::NODE_CLASS_FINALIZER;
use crate::wire;

impl Connection {
    /// Writes annotations and status of a NodePool.
    pub(crate) async fn update_node_pool(
        &self,
        pool: &ObjectRef,
        update: &NodePoolUpdate,
    ) -> Result<(), PortError> {
        let NodePoolUpdate { annotations, status } = update;
        self.update(&NODE_POOL, &pool.name, |object| {
            check_uid(object, &pool.uid, &NODE_POOL, &pool.name)?;
            set_texts(object, &["metadata", "annotations"], annotations);
            if let Some(status) = status {
                set_status(object, pool_members(status), |known| {
                    let own = status.conditions.iter();
                    let own = own.map(|it| wire::object_condition(it, NodePoolCondition::as_str));
                    merged_conditions(known, own, |word| NodePoolCondition::parse(word).is_some())
                });
            }
            Ok(())
        })
        .await
    }

    /// Writes annotations, finalizer and status of an EC2NodeClass.
    pub(crate) async fn update_node_class(
        &self,
        class: &ObjectRef,
        update: &NodeClassUpdate,
    ) -> Result<(), PortError> {
        let NodeClassUpdate { annotations, finalizer, status } = update;
        self.update(&NODE_CLASS, &class.name, |object| {
            check_uid(object, &class.uid, &NODE_CLASS, &class.name)?;
            set_texts(object, &["metadata", "annotations"], annotations);
            match finalizer {
                FinalizerChange::Keep => {}
                FinalizerChange::Add => set_finalizer(object, NODE_CLASS_FINALIZER, true),
                FinalizerChange::Remove => set_finalizer(object, NODE_CLASS_FINALIZER, false),
            }
            if let Some(status) = status {
                set_status(object, class_members(status), |known| {
                    let own = status.conditions.iter();
                    let own = own.map(|it| wire::object_condition(it, NodeClassCondition::as_str));
                    merged_conditions(known, own, |word| NodeClassCondition::parse(word).is_some())
                });
            }
            Ok(())
        })
        .await
    }
}

impl Connection {
    /// Writes the status of a CapacityBuffer.
    pub(crate) async fn update_capacity_buffer(
        &self,
        buffer: &NamespacedRef,
        status: &CapacityBufferStatus,
    ) -> Result<(), PortError> {
        let target = Target::in_namespace(&CAPACITY_BUFFER, &buffer.key);
        self.update_at(&CAPACITY_BUFFER, &target, |object| {
            check_uid(object, &buffer.uid, &CAPACITY_BUFFER, &target.shown)?;
            set_status(object, buffer_members(status), |known| {
                let own = status.conditions.iter();
                let own = own.map(|it| wire::object_condition(it, CapacityBufferCondition::as_str));
                merged_conditions(known, own, |word| CapacityBufferCondition::parse(word).is_some())
            });
            Ok(())
        })
        .await
    }
}

/// Sets members of `status`, and its conditions from those known. Members of others stay.
fn set_status<const N: usize>(
    object: &mut Json,
    members: [(&str, Option<Json>); N],
    conditions: impl FnOnce(&[Json]) -> Vec<Json>,
) {
    let mut status = match object.get("status") {
        Some(Json::Object(status)) => status.clone(),
        _ => Map::new(),
    };
    for (key, value) in members {
        match value {
            Some(value) => status.insert(key.to_owned(), value),
            None => status.remove(key),
        };
    }
    let known = status.get("conditions").and_then(Json::as_array).map_or(&[][..], Vec::as_slice);
    let conditions = conditions(known);
    if conditions.is_empty() {
        status.remove("conditions");
    } else {
        status.insert("conditions".to_owned(), conditions.into());
    }
    if let Json::Object(object) = object
        && (!status.is_empty() || object.contains_key("status"))
    {
        object.insert("status".to_owned(), Json::Object(status));
    }
}

fn buffer_members(status: &CapacityBufferStatus) -> [(&'static str, Option<Json>); 4] {
    let CapacityBufferStatus {
        pod_template,
        pod_template_generation,
        replicas,
        provisioning_strategy,
        conditions: _,
    } = status;
    let strategy =
        (!provisioning_strategy.is_empty()).then(|| Json::from(&**provisioning_strategy));
    [
        ("podTemplateRef", pod_template.as_ref().map(|name| json!({ "name": &**name }))),
        ("podTemplateGeneration", pod_template_generation.map(Json::from)),
        ("replicas", replicas.map(Json::from)),
        ("provisioningStrategy", strategy),
    ]
}

fn pool_members(status: &NodePoolStatus) -> [(&'static str, Option<Json>); 3] {
    let NodePoolStatus { resources, nodes, node_class_observed_generation, conditions: _ } = status;
    [
        ("resources", wire::resources(resources)),
        ("nodes", Some((*nodes).into())),
        ("nodeClassObservedGeneration", Some((*node_class_observed_generation).into())),
    ]
}

fn class_members(status: &NodeClassStatus) -> [(&'static str, Option<Json>); 5] {
    let NodeClassStatus {
        subnets,
        security_groups,
        amis,
        capacity_reservations,
        instance_profile,
        conditions: _,
    } = status;
    [
        ("subnets", wire::list(subnets, wire::subnet)),
        ("securityGroups", wire::list(security_groups, wire::security_group)),
        ("amis", wire::list(amis, wire::ami)),
        ("capacityReservations", wire::list(capacity_reservations, wire::reservation)),
        ("instanceProfile", instance_profile.as_ref().map(|profile| Json::from(&**profile))),
    ]
}
