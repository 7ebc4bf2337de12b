//! SpotHistory (`outrigger.dev/v1alpha1`): what is remembered of spot offerings, as a document. It
//! is no object of a cluster: functions keep it in their table.

use documents::Data;
use domain::Text;
use domain::spot::{OfferingHistory, SpotHistory};
use serde_json::{Value, json};

use super::metadata::read_metadata;
use crate::field::Field;

/// A SpotHistory with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct SpotHistoryObject {
    /// The name.
    pub name: Text,
    /// What is remembered.
    pub history: SpotHistory,
}

impl SpotHistoryObject {
    /// The manifest that is read as this.
    pub fn to_manifest(&self) -> Value {
        let offerings = self.history.iter().map(|(instance_type, zone, own)| {
            let OfferingHistory {
                launches,
                node_hours,
                interruptions,
                rebalances,
                capacity_errors,
                last_interruption,
            } = own;
            let mut offering = json!({"instanceType": &**instance_type, "zone": &**zone});
            for (key, count) in [
                ("launches", launches),
                ("nodeHours", node_hours),
                ("interruptions", interruptions),
                ("rebalanceRecommendations", rebalances),
                ("capacityErrors", capacity_errors),
            ] {
                if *count > 0.0 {
                    offering[key] = json!(count);
                }
            }
            if let Some(last) = last_interruption {
                offering["lastInterruption"] = json!(last.to_string());
            }
            offering
        });
        json!({
            "apiVersion": "outrigger.dev/v1alpha1",
            "kind": "SpotHistory",
            "metadata": {"name": &*self.name},
            "spec": {
                "asOf": self.history.as_of().to_string(),
                "offerings": offerings.collect::<Vec<_>>(),
            },
        })
    }
}

/// Why a text counts nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no count: it takes a number from 0 up, such as 12 or 0.75")]
struct NoCount(String);

/// Reads a SpotHistory.
pub(crate) fn read_spot_history(root: Field<'_>) -> Option<SpotHistoryObject> {
    let metadata = read_metadata(root);
    let spec = root.get("spec").required();
    spec.only(&["asOf", "offerings"]);
    let as_of = spec.get("asOf").required().timestamp();
    let offerings: Vec<_> = spec.get("offerings").items().filter_map(read_offering).collect();
    Some(SpotHistoryObject { name: metadata.name, history: SpotHistory::new(as_of?, offerings) })
}

fn read_offering(item: Field<'_>) -> Option<(Text, Text, OfferingHistory)> {
    item.only(&[
        "instanceType",
        "zone",
        "launches",
        "nodeHours",
        "interruptions",
        "rebalanceRecommendations",
        "capacityErrors",
        "lastInterruption",
    ]);
    let count = |key| read_count(item.get(key));
    let history = OfferingHistory {
        launches: count("launches"),
        node_hours: count("nodeHours"),
        interruptions: count("interruptions"),
        rebalances: count("rebalanceRecommendations"),
        capacity_errors: count("capacityErrors"),
        last_interruption: item.get("lastInterruption").timestamp(),
    };
    let instance_type = item.get("instanceType").required().text();
    Some((instance_type?, item.get("zone").required().text()?, history))
}

fn read_count(field: Field<'_>) -> f64 {
    let Some(value) = field.value() else { return 0.0 };
    let text = match &value.data {
        Data::Integer(number) => number.to_string(),
        Data::Decimal(text) | Data::Text(text) => text.to_string(),
        _ => String::new(),
    };
    match text.parse::<f64>() {
        Ok(count) if count.is_finite() && count >= 0.0 => count,
        _ => {
            field.note_rule(NoCount(text));
            0.0
        }
    }
}
