//! Documents of launch requests and instances.
//!
//! A claim keeps every offering that may be launched: thousands, in a large region. They are rows
//! of numbers that refer to tables of instance types and zones.

use std::collections::BTreeMap;

use controllers::ports::cloud::Instance;
use controllers::record::launch::{LaunchAttempt, LaunchChoices, LaunchRequest};
use domain::Text;
use domain::money::UsdPerHour;
use domain::plan::LaunchOffering;
use serde::{Deserialize, Serialize};

use super::node_claim::{TaintDocument, all, each};
use super::scalar::Moment;
use super::words::{CapacityWord, StateWord};
use crate::store::error::DocumentError;

#[derive(Serialize, Deserialize)]
pub(super) struct LaunchDocument {
    token: Text,
    claim: Text,
    node_pool: Text,
    node_class: Text,
    instance_types: Vec<Text>,
    zones: Vec<Text>,
    offerings: Vec<OfferingRow>,
    labels: BTreeMap<Text, Text>,
    taints: Vec<TaintDocument>,
    /// Absent where it is false: older documents do not have the field.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    wants_efa: bool,
    /// Absent in older documents, whose launches are at their first attempt.
    #[serde(default)]
    attempt: AttemptDocument,
}

#[derive(Default, Serialize, Deserialize)]
struct AttemptDocument {
    number: Option<u32>,
    since: Option<Moment>,
    choices: Option<ChoicesDocument>,
    #[serde(default)]
    is_over: bool,
}

#[derive(Serialize, Deserialize)]
struct ChoicesDocument {
    subnets: BTreeMap<Text, Text>,
    is_overlaid: bool,
}

impl From<&LaunchAttempt> for AttemptDocument {
    fn from(attempt: &LaunchAttempt) -> Self {
        let LaunchAttempt { number, since, choices, is_over } = attempt;
        let choices = choices.as_ref().map(|own| {
            let LaunchChoices { subnets, is_overlaid } = own;
            ChoicesDocument { subnets: subnets.clone(), is_overlaid: *is_overlaid }
        });
        let (number, since) = (Some(*number), Some(Moment(*since)));
        Self { number, since, choices, is_over: *is_over }
    }
}

impl From<AttemptDocument> for LaunchAttempt {
    fn from(document: AttemptDocument) -> Self {
        let first = Self::default();
        let choices = document
            .choices
            .map(|own| LaunchChoices { subnets: own.subnets, is_overlaid: own.is_overlaid });
        Self {
            number: document.number.unwrap_or(first.number),
            since: document.since.map_or(first.since, |since| since.0),
            choices,
            is_over: document.is_over,
        }
    }
}

/// Index of the instance type, index of the zone, capacity type, price in billionths of a dollar
/// per hour, reservation.
#[derive(Serialize, Deserialize)]
struct OfferingRow(usize, usize, CapacityWord, i64, Option<Text>);

impl From<&LaunchRequest> for LaunchDocument {
    fn from(request: &LaunchRequest) -> Self {
        let LaunchRequest {
            token,
            claim,
            node_pool,
            node_class,
            offerings,
            labels,
            taints,
            wants_efa,
            attempt,
        } = request;
        let (mut instance_types, mut zones) = (Numbered::default(), Numbered::default());
        let rows = offerings
            .iter()
            .map(|offering| {
                let LaunchOffering { price, instance_type, zone, capacity_type, reservation_id } =
                    offering;
                OfferingRow(
                    instance_types.number_of(instance_type),
                    zones.number_of(zone),
                    (*capacity_type).into(),
                    price.nanos(),
                    reservation_id.clone(),
                )
            })
            .collect();
        Self {
            token: token.clone(),
            claim: claim.clone(),
            node_pool: node_pool.clone(),
            node_class: node_class.clone(),
            instance_types: instance_types.names,
            zones: zones.names,
            offerings: rows,
            labels: (**labels).clone(),
            taints: each(taints),
            wants_efa: *wants_efa,
            attempt: attempt.into(),
        }
    }
}

impl TryFrom<LaunchDocument> for LaunchRequest {
    type Error = DocumentError;

    fn try_from(document: LaunchDocument) -> Result<Self, DocumentError> {
        let LaunchDocument { instance_types, zones, offerings, .. } = document;
        let offerings = offerings
            .into_iter()
            .map(|OfferingRow(instance_type, zone, capacity, price, reservation_id)| {
                Ok(LaunchOffering {
                    price: UsdPerHour::from_nanos(price),
                    instance_type: entry(&instance_types, instance_type)?,
                    zone: entry(&zones, zone)?,
                    capacity_type: capacity.into(),
                    reservation_id,
                })
            })
            .collect::<Result<_, DocumentError>>()?;
        Ok(Self {
            token: document.token,
            claim: document.claim,
            node_pool: document.node_pool,
            node_class: document.node_class,
            offerings,
            labels: document.labels.into(),
            taints: all(document.taints),
            wants_efa: document.wants_efa,
            attempt: document.attempt.into(),
        })
    }
}

fn entry(table: &[Text], number: usize) -> Result<Text, DocumentError> {
    table.get(number).cloned().ok_or(DocumentError::Reference("an offering"))
}

/// Names in the order in which they first came.
#[derive(Default)]
struct Numbered {
    names: Vec<Text>,
    numbers: BTreeMap<Text, usize>,
}

impl Numbered {
    fn number_of(&mut self, name: &Text) -> usize {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = self.names.len();
        self.names.push(name.clone());
        self.numbers.insert(name.clone(), number);
        number
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct InstanceDocument {
    id: Text,
    provider_id: Text,
    instance_type: Text,
    zone: Text,
    capacity_type: CapacityWord,
    reservation_id: Option<Text>,
    /// Billionths of a dollar an hour.
    price: Option<i64>,
    image_id: Text,
    launched: Moment,
    state: StateWord,
    claim: Option<Text>,
    claim_uid: Option<Text>,
    #[serde(default)]
    installation: Option<Text>,
    node_pool: Option<Text>,
}

impl From<&Instance> for InstanceDocument {
    fn from(instance: &Instance) -> Self {
        let Instance {
            id,
            provider_id,
            instance_type,
            zone,
            capacity_type,
            reservation_id,
            price,
            image_id,
            launched,
            state,
            claim,
            claim_uid,
            installation,
            node_pool,
        } = instance;
        Self {
            id: id.clone(),
            provider_id: provider_id.clone(),
            instance_type: instance_type.clone(),
            zone: zone.clone(),
            capacity_type: (*capacity_type).into(),
            reservation_id: reservation_id.clone(),
            price: price.map(UsdPerHour::nanos),
            image_id: image_id.clone(),
            launched: Moment(*launched),
            state: (*state).into(),
            claim: claim.clone(),
            claim_uid: claim_uid.clone(),
            installation: installation.clone(),
            node_pool: node_pool.clone(),
        }
    }
}

impl From<InstanceDocument> for Instance {
    fn from(document: InstanceDocument) -> Self {
        Self {
            id: document.id,
            provider_id: document.provider_id,
            instance_type: document.instance_type,
            zone: document.zone,
            capacity_type: document.capacity_type.into(),
            reservation_id: document.reservation_id,
            price: document.price.map(UsdPerHour::from_nanos),
            image_id: document.image_id,
            launched: document.launched.0,
            state: document.state.into(),
            claim: document.claim,
            claim_uid: document.claim_uid,
            installation: document.installation,
            node_pool: document.node_pool,
        }
    }
}
