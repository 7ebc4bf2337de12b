//! Plain values.

use domain::money::UsdPerHour;
use domain::pod::ObjectKey;
use domain::requirement::{Operator, Requirement};
use domain::selector::LabelSelector;
use domain::taint::{Taint, TaintEffect};
use domain::{SignedDuration, Text, Timestamp};

/// A Thursday.
pub(crate) fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

/// The moment `minutes` before [`now`].
pub(crate) fn minutes_ago(minutes: i64) -> Timestamp {
    now() - SignedDuration::from_mins(minutes)
}

/// Dollars per hour.
pub(crate) fn usd(price: f64) -> UsdPerHour {
    UsdPerHour::from_f64(price).unwrap()
}

pub(crate) fn texts(values: &[&str]) -> Vec<Text> {
    values.iter().map(|value| Text::from(*value)).collect()
}

/// `key operator values`.
pub(crate) fn requirement(key: &str, operator: Operator, values: &[&str]) -> Requirement {
    Requirement { key: key.into(), operator, values: texts(values), min_values: None }
}

/// `key In [value]`.
pub(crate) fn is(key: &str, value: &str) -> Requirement {
    requirement(key, Operator::In, &[value])
}

pub(crate) fn taint(key: &str, effect: TaintEffect) -> Taint {
    Taint { key: key.into(), value: "".into(), effect }
}

/// Selects one label.
pub(crate) fn selector(label: (&str, &str)) -> LabelSelector {
    LabelSelector::of_labels([label])
}

/// A key in namespace `default`.
pub(crate) fn pod_key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}
