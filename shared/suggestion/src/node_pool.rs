//! NodePools that may launch other nodes, let nodes go otherwise, or launch more.

use domain::Text;
use serde_json::{Map, Value, json};

use crate::candidate::{Candidate, CandidateKind};
use crate::manifest::{Manifests, name_of};

/// Labels that choose instance types by what they are, not by what they can do.
const TYPE_KEYS: [&str; 8] = [
    "node.kubernetes.io/instance-type",
    "karpenter.k8s.aws/instance-family",
    "karpenter.k8s.aws/instance-category",
    "karpenter.k8s.aws/instance-generation",
    "karpenter.k8s.aws/instance-size",
    "karpenter.k8s.aws/instance-cpu",
    "karpenter.k8s.aws/instance-memory",
    "karpenter.k8s.aws/instance-cpu-manufacturer",
];
const CATEGORY: &str = "karpenter.k8s.aws/instance-category";
const GENERATION: &str = "karpenter.k8s.aws/instance-generation";
const CPU: &str = "karpenter.k8s.aws/instance-cpu";
const CAPACITY_TYPE: &str = "karpenter.sh/capacity-type";
/// Labels that ask for accelerators: which family has them is for the NodePool's author to say.
const ACCELERATOR_KEYS: [&str; 2] =
    ["karpenter.k8s.aws/instance-gpu", "karpenter.k8s.aws/instance-accelerator"];
/// Categories for general use.
const ANY_CATEGORY: [&str; 3] = ["c", "m", "r"];
/// Beginnings of families without accelerators.
const GENERAL_PURPOSE: [&str; 4] = ["c", "m", "r", "t"];
/// Sizes of which smaller ones are left out, in vCPUs.
const SMALLEST_CPUS: [u32; 3] = [4, 8, 16];
const SHORT_WAIT: &str = "5m";
/// Longer than this a node that could go is not to stay, in minutes.
const SHORT_WAIT_MINUTES: f64 = 5.0;

/// What a replay with nothing changed tells of a NodePool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodePoolUse {
    /// Its name.
    pub name: Text,
    /// Instances that were launched for it.
    pub launched: usize,
    /// Its limits kept pods from getting a node.
    pub is_at_its_limits: bool,
}

/// What NodePools could have otherwise, of those that nodes were launched for, or pods waited for.
pub fn node_pools(manifests: &Manifests, uses: &[NodePoolUse]) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for manifest in manifests.of_kind("NodePool") {
        let name = name_of(manifest);
        let Some(own) = uses.iter().find(|own| &*own.name == name) else { continue };
        // A static NodePool has the nodes that its author wants.
        if manifest.pointer("/spec/replicas").is_some() || !is_v1(manifest) {
            continue;
        }
        if own.launched > 0 {
            candidates.extend(capacity(manifest));
            candidates.extend(families(manifest));
            if manifests.of_kind("DaemonSet").next().is_some() {
                candidates.extend(sizes(manifest));
            }
            candidates.extend(consolidation(manifest));
        }
        if own.is_at_its_limits {
            candidates.extend(limits(manifest));
        }
    }
    candidates
}

fn is_v1(manifest: &Value) -> bool {
    manifest.get("apiVersion").and_then(Value::as_str) == Some("karpenter.sh/v1")
}

fn requirements(manifest: &Value) -> &[Value] {
    manifest
        .pointer("/spec/template/spec/requirements")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn key(requirement: &Value) -> &str {
    requirement.get("key").and_then(Value::as_str).unwrap_or_default()
}

fn operator(requirement: &Value) -> &str {
    requirement.get("operator").and_then(Value::as_str).unwrap_or_default()
}

fn values(requirement: &Value) -> Vec<&str> {
    let values = requirement.get("values").and_then(Value::as_array);
    values.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Requirements with others in the place of the first of certain ones, without the rest of those.
fn with_in_place(
    requirements: &[Value],
    is_meant: impl Fn(&&Value) -> bool,
    others: &[Value],
) -> Vec<Value> {
    let first = requirements.iter().position(|own| is_meant(&own)).unwrap_or(requirements.len());
    let mut changed = Vec::new();
    for (index, own) in requirements.iter().enumerate() {
        if index == first {
            changed.extend_from_slice(others);
        }
        if !is_meant(&own) {
            changed.push(own.clone());
        }
    }
    if first == requirements.len() {
        changed.extend_from_slice(others);
    }
    changed
}

/// The NodePool with other requirements.
fn with_requirements(manifest: &Value, requirements: Vec<Value>) -> Value {
    let mut changed = manifest.clone();
    if let Some(Value::Object(spec)) = changed.pointer_mut("/spec/template/spec") {
        spec.insert("requirements".to_owned(), requirements.into());
    }
    changed
}

fn candidate(
    manifest: &Value,
    (group, option): (&str, &str),
    what: &str,
    why: String,
    changed: Value,
) -> Candidate {
    let name = name_of(manifest);
    let group: Text = format!("nodepool-{name}-{group}").into();
    Candidate {
        id: if option.is_empty() { group.clone() } else { format!("{group}-{option}").into() },
        group,
        kind: CandidateKind::NodePool,
        what: format!("NodePool {name}: {what}"),
        why,
        manifests: vec![changed],
    }
}

/// Spot beside on-demand, where only on-demand is launched.
fn capacity(manifest: &Value) -> Option<Candidate> {
    let own: Vec<&Value> =
        requirements(manifest).iter().filter(|own| key(own) == CAPACITY_TYPE).collect();
    // Without a requirement, Karpenter launches on-demand.
    let allows_spot = own.iter().any(|own| match operator(own) {
        "In" => values(own).contains(&"spot"),
        "NotIn" => !values(own).contains(&"spot"),
        _ => true,
    });
    if allows_spot {
        return None;
    }
    let both = json!({"key": CAPACITY_TYPE, "operator": "In", "values": ["spot", "on-demand"]});
    let is_of_type = |own: &&Value| key(own) == CAPACITY_TYPE;
    let changed = with_in_place(requirements(manifest), is_of_type, &[both]);
    let why = "it launches on-demand only; EC2 takes spot capacity back with two minutes' notice";
    let changed = with_requirements(manifest, changed);
    Some(candidate(manifest, ("capacity", ""), "spot beside on-demand", why.to_owned(), changed))
}

/// Any recent family for general use, where certain types are named.
fn families(manifest: &Value) -> Option<Candidate> {
    let own = requirements(manifest);
    if own.iter().any(|own| ACCELERATOR_KEYS.iter().any(|start| key(own).starts_with(start))) {
        return None;
    }
    // What is ruled out stays ruled out.
    let is_choice =
        |own: &&Value| TYPE_KEYS.contains(&key(own)) && !matches!(operator(own), "NotIn");
    let choices: Vec<&Value> = own.iter().filter(is_choice).collect();
    let names_types = choices.iter().filter(|own| operator(own) == "In").collect::<Vec<_>>();
    let is_general = |value: &str| {
        let letters: String = value.chars().take_while(char::is_ascii_lowercase).collect();
        // `trn1` begins like `t3`, and `mac2` like `m5`.
        !["trn", "mac"].contains(&&*letters)
            && GENERAL_PURPOSE.iter().any(|start| letters.starts_with(start))
    };
    let by_name = |own: &Value| {
        ["instance-type", "instance-family", "instance-category"]
            .iter()
            .any(|ending| key(own).ends_with(ending))
    };
    if names_types.is_empty()
        || names_types.iter().any(|own| by_name(own) && !values(own).into_iter().all(is_general))
    {
        return None;
    }
    // Whoever names all categories, and no families or sizes, has chosen nothing.
    let is_open = |own: &&&Value| match key(own) {
        CATEGORY => ANY_CATEGORY.iter().all(|any| values(own).contains(any)),
        own => own == GENERATION,
    };
    if names_types.iter().all(is_open) {
        return None;
    }
    let named: Vec<String> =
        names_types.iter().map(|own| format!("{} {}", key(own), values(own).join(", "))).collect();
    let any = [
        json!({"key": CATEGORY, "operator": "In", "values": ANY_CATEGORY}),
        json!({"key": GENERATION, "operator": "Gt", "values": ["2"]}),
    ];
    let changed = with_in_place(own, is_choice, &any);
    let why = format!("it launches {} only", named.join(" and "));
    let changed = with_requirements(manifest, changed);
    let what = "any size of families c, m and r from the third generation on";
    Some(candidate(manifest, ("families", ""), what, why, changed))
}

/// No small nodes, where sizes are free.
fn sizes(manifest: &Value) -> Vec<Candidate> {
    const DECIDE_SIZE: [&str; 3] = [
        "node.kubernetes.io/instance-type",
        "karpenter.k8s.aws/instance-size",
        "karpenter.k8s.aws/instance-cpu",
    ];
    let own = requirements(manifest);
    if own.iter().any(|own| DECIDE_SIZE.contains(&key(own))) {
        return Vec::new();
    }
    let at_least = |cpus: &u32| {
        let mut changed = own.to_vec();
        changed.push(json!({"key": CPU, "operator": "Gt", "values": [(cpus - 1).to_string()]}));
        let what = format!("no node with fewer than {cpus} vCPUs");
        let why = "a DaemonSet's pod takes the same of a small node and of a large one";
        let changed = with_requirements(manifest, changed);
        let option = format!("{cpus}");
        candidate(manifest, ("sizes", &option), &what, why.to_owned(), changed)
    };
    SMALLEST_CPUS.iter().map(at_least).collect()
}

/// Nodes that are hardly used go, and soon.
fn consolidation(manifest: &Value) -> Vec<Candidate> {
    let policy = manifest.pointer("/spec/disruption/consolidationPolicy").and_then(Value::as_str);
    let after = manifest.pointer("/spec/disruption/consolidateAfter").and_then(Value::as_str);
    let is_long = after.is_some_and(|own| own == "Never" || minutes(own) > SHORT_WAIT_MINUTES);
    let keeps_used = policy == Some("WhenEmpty");
    let changed = |policy: Option<&str>, after: Option<&str>| {
        let mut changed = manifest.clone();
        if let Some(Value::Object(spec)) = changed.get_mut("spec") {
            let own = spec.entry("disruption").or_insert_with(|| Map::new().into());
            let put = [("consolidationPolicy", policy), ("consolidateAfter", after)];
            for (member, value) in put.into_iter().filter_map(|(key, own)| Some((key, own?))) {
                if let Value::Object(own) = own {
                    own.insert(member.to_owned(), value.into());
                }
            }
        }
        changed
    };
    let mut found = Vec::new();
    let group = "consolidation";
    if is_long {
        let what = format!("nodes may go after {SHORT_WAIT}");
        let why = format!("consolidateAfter is {}", after.unwrap_or_default());
        let changed = changed(None, Some(SHORT_WAIT));
        found.push(candidate(manifest, (group, "sooner"), &what, why, changed));
    }
    if keeps_used {
        let after = is_long.then_some(SHORT_WAIT);
        let soon = if is_long { format!(", after {SHORT_WAIT}") } else { String::new() };
        let what = format!("nodes that are hardly used go too{soon}");
        let why = "consolidationPolicy is WhenEmpty: a node stays for its last pod".to_owned();
        let changed = changed(Some("WhenEmptyOrUnderutilized"), after);
        found.push(candidate(manifest, (group, "underutilized"), &what, why, changed));
    }
    found
}

/// Of a duration such as `1h30m`; zero of what is none.
fn minutes(text: &str) -> f64 {
    let duration: Option<domain::SignedDuration> = text.parse().ok();
    duration.map_or(0.0, |own| own.as_secs_f64() / 60.0)
}

/// Twice the limits.
fn limits(manifest: &Value) -> Option<Candidate> {
    let own = manifest.pointer("/spec/limits")?.as_object()?;
    let doubled: Map<String, Value> = own
        .iter()
        .map(|(name, most)| (name.clone(), twice(most).unwrap_or_else(|| most.clone())))
        .collect();
    if &doubled == own {
        return None;
    }
    let shown = |limits: &Map<String, Value>| {
        let own = limits.iter().map(|(name, most)| {
            format!("{name} {}", most.as_str().map_or_else(|| most.to_string(), ToOwned::to_owned))
        });
        own.collect::<Vec<_>>().join(", ")
    };
    let why = format!("pods waited since its limits are {}", shown(own));
    let what = format!("limits {}", shown(&doubled));
    let mut changed = manifest.clone();
    if let Some(limits) = changed.pointer_mut("/spec/limits") {
        *limits = doubled.into();
    }
    let candidate = candidate(manifest, ("limits", ""), &what, why, changed);
    Some(Candidate { kind: CandidateKind::Limits, ..candidate })
}

/// Twice a quantity such as `100`, `64Gi` or `1500m`.
fn twice(quantity: &Value) -> Option<Value> {
    let text = match quantity {
        Value::Number(number) => return Some((number.as_u64()? * 2).into()),
        other => other.as_str()?,
    };
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    unit.chars()
        .all(|own| own.is_ascii_alphabetic())
        .then(|| format!("{}{unit}", number * 2).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(requirements: &Value, disruption: &Value) -> Value {
        json!({
            "apiVersion": "karpenter.sh/v1",
            "kind": "NodePool",
            "metadata": {"name": "default"},
            "spec": {
                "disruption": disruption,
                "limits": {"cpu": "100", "memory": "64Gi"},
                "template": {"spec": {"requirements": requirements}},
            },
        })
    }

    fn ids(manifest: Value, at_its_limits: bool) -> Vec<String> {
        let own =
            NodePoolUse { name: "default".into(), launched: 1, is_at_its_limits: at_its_limits };
        let agent = json!({"kind": "DaemonSet", "metadata": {"name": "agent"}});
        let found = node_pools(&Manifests::of([manifest, agent]), &[own]);
        found.iter().map(|own| own.id.to_string()).collect()
    }

    #[test]
    fn what_is_open_already_is_not_suggested() {
        let open = json!([{"key": CAPACITY_TYPE, "operator": "In", "values": ["spot"]}]);
        let when = json!({"consolidationPolicy": "WhenEmptyOrUnderutilized"});
        let sizes = ["4", "8", "16"].map(|own| format!("nodepool-default-sizes-{own}"));
        assert_eq!(ids(pool(&open, &when), false), sizes);
    }

    #[test]
    fn types_that_are_named_are_opened_and_those_with_accelerators_are_not() {
        let named = |values: Value| json!([{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": values}]);
        let has = |values: Value| {
            ids(pool(&named(values), &json!({})), false)
                .contains(&"nodepool-default-families".to_owned())
        };
        assert!(has(json!(["m5.large", "c5.large"])));
        for other in ["g5.xlarge", "trn1.2xlarge", "mac2.metal", "p4d.24xlarge"] {
            assert!(!has(json!([other])), "{other}");
        }
    }

    #[test]
    fn types_that_are_ruled_out_stay_out() {
        let own = json!([
            {"key": "karpenter.k8s.aws/instance-family", "operator": "NotIn", "values": ["m5"]},
            {"key": "karpenter.k8s.aws/instance-size", "operator": "In", "values": ["large"]},
        ]);
        let found = families(&pool(&own, &json!({}))).unwrap();
        let keys: Vec<&str> = requirements(&found.manifests[0]).iter().map(key).collect();
        assert_eq!(keys, ["karpenter.k8s.aws/instance-family", CATEGORY, GENERATION]);
    }

    #[test]
    fn nodes_that_stay_for_their_last_pod_may_go() {
        let when = json!({"consolidationPolicy": "WhenEmpty", "consolidateAfter": "1h"});
        let [sooner, used] = consolidation(&pool(&json!([]), &when)).try_into().unwrap();
        assert_eq!(sooner.manifests[0]["spec"]["disruption"]["consolidateAfter"], "5m");
        assert_eq!(sooner.manifests[0]["spec"]["disruption"]["consolidationPolicy"], "WhenEmpty");
        let own = &used.manifests[0]["spec"]["disruption"];
        assert_eq!(own["consolidationPolicy"], "WhenEmptyOrUnderutilized");
        assert_eq!(sooner.group, used.group);
    }

    #[test]
    fn limits_that_pods_waited_for_are_doubled() {
        let found = limits(&pool(&json!([]), &json!({}))).unwrap();
        let limits = &found.manifests[0]["spec"]["limits"];
        assert_eq!(limits, &json!({"cpu": "200", "memory": "128Gi"}));
        assert!(
            ids(pool(&json!([]), &json!({})), true).contains(&"nodepool-default-limits".into())
        );
        assert!(
            !ids(pool(&json!([]), &json!({})), false).contains(&"nodepool-default-limits".into())
        );
    }
}
