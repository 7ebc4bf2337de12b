//! Documents of nominations, unavailable offerings and NodePools.

use controllers::record::nomination::Nomination;
use controllers::record::pool::PoolRecord;
use controllers::record::unavailable::UnavailableOffering;
use domain::Text;
use serde::{Deserialize, Serialize};

use super::scalar::{Moment, Pod, pod_keys, pods};
use super::words::CapacityWord;

#[derive(Serialize, Deserialize)]
pub(crate) struct NominationDocument {
    node: Text,
    pods: Vec<Pod>,
    until: Moment,
}

impl From<&Nomination> for NominationDocument {
    fn from(Nomination { node, pods: expected, until }: &Nomination) -> Self {
        Self { node: node.clone(), pods: pods(expected), until: Moment(*until) }
    }
}

impl From<NominationDocument> for Nomination {
    fn from(NominationDocument { node, pods, until }: NominationDocument) -> Self {
        Self { node, pods: pod_keys(pods), until: until.0 }
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct UnavailableDocument {
    instance_type: Text,
    zone: Text,
    capacity_type: CapacityWord,
    code: Text,
    until: Moment,
}

impl From<&UnavailableOffering> for UnavailableDocument {
    fn from(offering: &UnavailableOffering) -> Self {
        let UnavailableOffering { instance_type, zone, capacity_type, code, until } = offering;
        Self {
            instance_type: instance_type.clone(),
            zone: zone.clone(),
            capacity_type: (*capacity_type).into(),
            code: code.clone(),
            until: Moment(*until),
        }
    }
}

impl From<UnavailableDocument> for UnavailableOffering {
    fn from(document: UnavailableDocument) -> Self {
        Self {
            instance_type: document.instance_type,
            zone: document.zone,
            capacity_type: document.capacity_type.into(),
            code: document.code,
            until: document.until.0,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(crate) struct PoolDocument {
    node_pool: Text,
    uid: Text,
    generation: i64,
    node_class_generation: i64,
    registrations: Vec<bool>,
}

impl From<&PoolRecord> for PoolDocument {
    fn from(record: &PoolRecord) -> Self {
        let PoolRecord { node_pool, uid, generation, node_class_generation, registrations } =
            record;
        Self {
            node_pool: node_pool.clone(),
            uid: uid.clone(),
            generation: *generation,
            node_class_generation: *node_class_generation,
            registrations: registrations.clone(),
        }
    }
}

impl From<PoolDocument> for PoolRecord {
    fn from(document: PoolDocument) -> Self {
        Self {
            node_pool: document.node_pool,
            uid: document.uid,
            generation: document.generation,
            node_class_generation: document.node_class_generation,
            registrations: document.registrations,
        }
    }
}
