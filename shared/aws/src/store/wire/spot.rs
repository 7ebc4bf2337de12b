//! The document of what a cluster remembers of spot offerings.
//!
//! Counts are whole ten-thousandths and times whole seconds: a region's 1,300 types in six zones
//! stay far below the size of an item.

use controllers::record::spot::SpotRecord;
use domain::spot::{OfferingHistory, SpotHistory};
use domain::{Text, Timestamp};
use serde::{Deserialize, Serialize};

use super::scalar::{Moment, moment, timestamp};

/// What a count is held in.
const PARTS: f64 = 10_000.0;

#[derive(Serialize, Deserialize)]
pub(crate) struct SpotDocument {
    as_of: Moment,
    #[serde(default)]
    counted_until: Option<Moment>,
    /// By instance type, then zone.
    offerings: Vec<(Text, Vec<Offering>)>,
    /// Hashes, each with seconds since 1970.
    #[serde(default)]
    seen: Vec<(u64, i64)>,
}

/// Zone; launches, node-hours, interruptions, recommendations, capacity errors; the last
/// interruption in seconds since 1970.
#[derive(Serialize, Deserialize)]
struct Offering(Text, [u64; 5], Option<i64>);

impl From<&SpotRecord> for SpotDocument {
    fn from(SpotRecord { history, counted_until, seen }: &SpotRecord) -> Self {
        let mut offerings: Vec<(Text, Vec<Offering>)> = Vec::new();
        for (instance_type, zone, own) in history.iter() {
            let OfferingHistory {
                launches,
                node_hours,
                interruptions,
                rebalances,
                capacity_errors,
                last_interruption,
            } = own;
            let counts = [launches, node_hours, interruptions, rebalances, capacity_errors];
            let offering = Offering(
                zone.clone(),
                counts.map(|count| parts(*count)),
                last_interruption.map(Timestamp::as_second),
            );
            match offerings.last_mut().filter(|(known, _)| known == instance_type) {
                Some((_, zones)) => zones.push(offering),
                None => offerings.push((instance_type.clone(), vec![offering])),
            }
        }
        Self {
            as_of: Moment(history.as_of()),
            counted_until: moment(*counted_until),
            offerings,
            seen: seen.iter().map(|(key, until)| (*key, until.as_second())).collect(),
        }
    }
}

impl From<SpotDocument> for SpotRecord {
    fn from(SpotDocument { as_of, counted_until, offerings, seen }: SpotDocument) -> Self {
        let offering = |instance_type: &Text, Offering(zone, counts, last): Offering| {
            let [launches, node_hours, interruptions, rebalances, capacity_errors] =
                counts.map(count);
            let own = OfferingHistory {
                launches,
                node_hours,
                interruptions,
                rebalances,
                capacity_errors,
                last_interruption: last.map(seconds),
            };
            (instance_type.clone(), zone, own)
        };
        let offerings = offerings.into_iter().flat_map(|(instance_type, zones)| {
            zones.into_iter().map(move |own| offering(&instance_type, own)).collect::<Vec<_>>()
        });
        Self {
            history: SpotHistory::new(as_of.0, offerings),
            counted_until: timestamp(counted_until),
            seen: seen.into_iter().map(|(key, until)| (key, seconds(until))).collect(),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts are no less than zero; the largest saturate"
)]
fn parts(count: f64) -> u64 {
    (count * PARTS).round() as u64
}

#[expect(clippy::cast_precision_loss, reason = "counts have far less than 53 bits")]
fn count(parts: u64) -> f64 {
    parts as f64 / PARTS
}

fn seconds(since_1970: i64) -> Timestamp {
    Timestamp::from_second(since_1970).unwrap_or(Timestamp::UNIX_EPOCH)
}
