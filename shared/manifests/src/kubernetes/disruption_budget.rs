//! PodDisruptionBudget.

use documents::Data;
use domain::pdb::{CountOrPercent, PodDisruptionBudget};

use super::metadata::Metadata;
use super::selector::label_selector;
use crate::field::Field;

pub(super) fn read(root: Field<'_>) -> PodDisruptionBudget {
    let (_, key) = Metadata::namespaced(root);
    let (spec, status) = (root.get("spec"), root.get("status"));
    let (max_unavailable, min_available) = (spec.get("maxUnavailable"), spec.get("minAvailable"));
    if max_unavailable.exists() && min_available.exists() {
        max_unavailable.note_rule("maxUnavailable and minAvailable exclude each other");
    }
    let policy = spec.get("unhealthyPodEvictionPolicy");
    PodDisruptionBudget {
        key,
        selector: label_selector(spec.get("selector")),
        max_unavailable: count_or_percent(max_unavailable),
        min_available: count_or_percent(min_available),
        always_allow_unhealthy: policy
            .choice(&[(true, "AlwaysAllow"), (false, "IfHealthyBudget")])
            .unwrap_or_default(),
        disruptions_allowed: status.get("disruptionsAllowed").count(),
        current_healthy: status.get("currentHealthy").count().unwrap_or_default(),
        desired_healthy: status.get("desiredHealthy").count().unwrap_or_default(),
    }
}

/// An `IntOrString`: a number, or a percentage.
pub(super) fn count_or_percent(field: Field<'_>) -> Option<CountOrPercent> {
    if matches!(field.value()?.data, Data::Integer(_)) {
        return field.count().map(CountOrPercent::Count);
    }
    field.parsed(|text| {
        let percent =
            text.strip_suffix('%').filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
        percent
            .and_then(|digits| digits.parse().ok())
            .map(CountOrPercent::Percent)
            .ok_or_else(|| format!("{text:?} is neither a number nor a percentage such as 30%"))
    })
}
