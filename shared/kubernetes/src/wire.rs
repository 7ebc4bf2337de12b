//! Domain values as the API's JSON.

use domain::node_claim::{Condition, NodeClaim};
use domain::node_class::{ResolvedAmi, ResolvedSubnet};
use domain::node_pool::NeverOr;
use domain::requirement::Requirement;
use domain::resource::{Resources, ShownAmount};
use domain::taint::Taint;
use domain::{SignedDuration, Text, Timestamp};
use serde_json::{Map, Value as Json, json};

use controllers::status::{ObjectCondition, ReservationStatus, ResolvedSecurityGroup};

/// A time in whole seconds, as the API keeps times.
pub(crate) fn time(time: Timestamp) -> String {
    Timestamp::from_second(time.as_second()).unwrap_or(time).to_string()
}

/// A duration in Karpenter's notation: `1h30m`.
pub(crate) fn duration(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    let parts = [(seconds / 3600, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s")];
    let named = parts.into_iter().filter(|(count, _)| *count != 0);
    let shown: Vec<String> = named.map(|(count, unit)| format!("{count}{unit}")).collect();
    if shown.is_empty() { "0s".to_owned() } else { shown.concat() }
}

fn never_or(value: NeverOr) -> String {
    value.duration().map_or_else(|| "Never".to_owned(), duration)
}

/// An object of the members that have a value.
pub(crate) fn object<const N: usize>(members: [(&str, Option<Json>); N]) -> Json {
    let members = members.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
    Json::Object(members.collect())
}

/// A list, or nothing where it is empty.
pub(crate) fn list<T>(items: &[T], each: impl Fn(&T) -> Json) -> Option<Json> {
    (!items.is_empty()).then(|| items.iter().map(each).collect())
}

fn optional_text(text: Option<&Text>) -> Option<Json> {
    text.map(|text| Json::from(&**text))
}

/// Quantities by resource name, or nothing where there are none.
pub(crate) fn resources(resources: &Resources) -> Option<Json> {
    let quantities: Map<String, Json> = resources
        .iter()
        .map(|(name, amount)| (name.to_string(), ShownAmount { name, amount }.to_string().into()))
        .collect();
    (!quantities.is_empty()).then_some(Json::Object(quantities))
}

pub(crate) fn taint(taint: &Taint) -> Json {
    let value = (!taint.value.is_empty()).then(|| Json::from(&*taint.value));
    object([
        ("key", Some(Json::from(&*taint.key))),
        ("value", value),
        ("effect", Some(taint.effect.as_str().into())),
    ])
}

fn requirement(requirement: &Requirement) -> Json {
    object([
        ("key", Some(Json::from(&*requirement.key))),
        ("operator", Some(requirement.operator.as_str().into())),
        ("values", list(&requirement.values, |value| Json::from(&**value))),
        ("minValues", requirement.min_values.map(Json::from)),
    ])
}

/// `spec` of a NodeClaim.
pub(crate) fn claim_spec(claim: &NodeClaim) -> Json {
    let reference = &claim.node_class_ref;
    let requests = resources(&claim.requests).map(|requests| json!({ "requests": requests }));
    object([
        (
            "nodeClassRef",
            Some(json!({
                "group": &*reference.group,
                "kind": &*reference.kind,
                "name": &*reference.name,
            })),
        ),
        ("requirements", Some(claim.requirements.iter().map(requirement).collect())),
        ("resources", requests),
        ("taints", list(&claim.taints, taint)),
        ("startupTaints", list(&claim.startup_taints, taint)),
        ("terminationGracePeriod", claim.termination_grace_period.map(|it| duration(it).into())),
        ("expireAfter", Some(never_or(claim.expire_after).into())),
    ])
}

/// The members of a NodeClaim's `status` that a claim decides, conditions left out.
pub(crate) fn claim_status(claim: &NodeClaim) -> [(&'static str, Option<Json>); 6] {
    let status = &claim.status;
    [
        ("nodeName", optional_text(status.node_name.as_ref())),
        ("providerID", optional_text(status.provider_id.as_ref())),
        ("imageID", optional_text(status.image_id.as_ref())),
        ("capacity", resources(&status.capacity)),
        ("allocatable", resources(&status.allocatable)),
        ("lastPodEventTime", status.last_pod_event.map(|at| time(at).into())),
    ]
}

/// A condition of a NodeClaim. One that says no time is as old as the claim.
pub(crate) fn claim_condition(condition: &Condition, claim: &NodeClaim) -> Json {
    let changed = condition.changed.or(claim.created).unwrap_or(Timestamp::UNIX_EPOCH);
    // The API wants a word.
    let reason = match &*condition.reason {
        "" => condition.kind.as_str(),
        reason => reason,
    };
    json!({
        "type": condition.kind.as_str(),
        "status": condition.status.as_str(),
        "reason": reason,
        "message": &*condition.message,
        "lastTransitionTime": time(changed),
    })
}

/// A condition of a NodePool or EC2NodeClass.
pub(crate) fn object_condition<K: Copy>(
    condition: &ObjectCondition<K>,
    word: fn(K) -> &'static str,
) -> Json {
    json!({
        "type": word(condition.kind),
        "status": condition.status.as_str(),
        "reason": &*condition.reason,
        "message": &*condition.message,
        "lastTransitionTime": time(condition.changed),
        "observedGeneration": condition.observed_generation,
    })
}

pub(crate) fn subnet(subnet: &ResolvedSubnet) -> Json {
    object([
        ("id", Some(Json::from(&*subnet.id))),
        ("zone", Some(Json::from(&*subnet.zone))),
        ("zoneID", optional_text(subnet.zone_id.as_ref())),
    ])
}

pub(crate) fn security_group(group: &ResolvedSecurityGroup) -> Json {
    object([("id", Some(Json::from(&*group.id))), ("name", optional_text(group.name.as_ref()))])
}

pub(crate) fn ami(ami: &ResolvedAmi) -> Json {
    object([
        ("id", Some(Json::from(&*ami.id))),
        ("name", optional_text(ami.name.as_ref())),
        ("deprecated", ami.is_deprecated.then_some(Json::Bool(true))),
        ("requirements", Some(ami.requirements.iter().map(requirement).collect())),
    ])
}

pub(crate) fn reservation(status: &ReservationStatus) -> Json {
    let ReservationStatus { reservation, owner_id, match_criteria, end } = status;
    object([
        ("id", Some(Json::from(&*reservation.id))),
        ("instanceType", Some(Json::from(&*reservation.instance_type))),
        ("availabilityZone", Some(Json::from(&*reservation.zone))),
        ("reservationType", Some(Json::from(&*reservation.reservation_type))),
        ("state", Some(if reservation.is_expiring { "expiring" } else { "active" }.into())),
        ("interruptible", reservation.is_interruptible.then_some(Json::Bool(true))),
        ("ownerID", Some(Json::from(&**owner_id))),
        ("instanceMatchCriteria", Some(Json::from(&**match_criteria))),
        ("endTime", end.map(|end| time(end).into())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_karpenter_reads_them() {
        let shown = |seconds| duration(SignedDuration::from_secs(seconds));
        assert_eq!(shown(720 * 3600), "720h");
        assert_eq!(shown(5400), "1h30m");
        assert_eq!(shown(61), "1m1s");
        assert_eq!(shown(0), "0s");
        assert_eq!(never_or(NeverOr::Never), "Never");
    }

    #[test]
    fn times_are_written_in_whole_seconds() {
        let at: Timestamp = "2026-01-01T12:00:00.987Z".parse().unwrap();
        assert_eq!(time(at), "2026-01-01T12:00:00Z");
    }
}
