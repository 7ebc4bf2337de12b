//! Hashes against Karpenter's own: `vectors.jsonl` holds objects made at random, with the hash that
//! Karpenter 1.14 (NodePools `v3`, EC2NodeClasses `v5`) and 1.15 (EC2NodeClasses `v6`) gives each.
//! Its Go code was asked once for these figures.

use documents::{Document, Source, Value, documents};
use domain::Text;
use domain::node_class::AmiFamily;

use super::{node_class_hashes, node_pool_hash};

const VECTORS: &str = include_str!("vectors.jsonl");

fn with_value<T>(json: &str, ask: impl FnOnce(&Value<'_>) -> T) -> T {
    let source = Source::new("vector.json", json);
    let document: Document<'_> = documents(&source).remove(0).unwrap();
    ask(&document.value)
}

fn text<'v>(vector: &'v Value<'v>, key: &str) -> &'v str {
    vector.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// The family that an EC2NodeClass's images are of, resolved as Karpenter does.
fn family(spec: &Value<'_>) -> AmiFamily {
    if let Some(given) = spec.get("amiFamily").and_then(Value::as_str) {
        return AmiFamily::parse(given).unwrap();
    }
    let terms = spec.get("amiSelectorTerms").and_then(Value::as_list).unwrap_or_default();
    let alias = terms.iter().find_map(|term| term.get("alias")?.as_str()).unwrap();
    AmiFamily::parse_alias(alias.split_once('@').unwrap().0).unwrap()
}

fn hash_of(vector: &Value<'_>) -> Option<Text> {
    if text(vector, "kind") == "NodePool" {
        return node_pool_hash(vector.get("template").unwrap());
    }
    let spec = vector.get("spec").unwrap();
    node_class_hashes(spec, family(spec))
        .by_rules(text(vector, "version"), text(vector, "caBundle"))
}

#[track_caller]
fn check(kind: &str, version: &str, least: usize) {
    let mut seen = 0;
    for line in VECTORS.lines() {
        with_value(line, |vector| {
            if (text(vector, "kind"), text(vector, "version")) == (kind, version) {
                seen += 1;
                assert_eq!(hash_of(vector).as_deref(), Some(text(vector, "hash")), "{line}");
            }
        });
    }
    assert!(seen >= least, "{seen} vectors");
}

#[test]
fn node_pools_hash_as_karpenter_hashes_them() {
    check("NodePool", "v3", 100);
}

#[test]
fn node_classes_hash_as_karpenter_1_14_hashes_them() {
    check("EC2NodeClass", "v5", 100);
}

#[test]
fn node_classes_hash_as_karpenter_1_15_hashes_them() {
    check("EC2NodeClass", "v6", 100);
}

fn pool_hash(template: &str) -> Option<Text> {
    with_value(template, node_pool_hash)
}

#[test]
fn what_the_api_server_fills_in_makes_no_difference() {
    let class = |options: &str| {
        let json = format!(r#"{{"role": "r", "metadataOptions": {options}}}"#);
        with_value(&json, |spec| node_class_hashes(spec, AmiFamily::Al2023))
    };
    let all = r#"{"httpEndpoint": "enabled", "httpProtocolIPv6": "disabled", "httpPutResponseHopLimit": 1, "httpTokens": "required"}"#;
    assert_eq!(class("null"), class(all));
    assert_eq!(class(r#"{"httpTokens": "required"}"#), class(all));
    assert_ne!(class(r#"{"httpTokens": "optional"}"#), class(all));
    let pool = |lifetime: &str| {
        pool_hash(&format!(r#"{{"spec": {{"nodeClassRef": {{"name": "a"}}{lifetime}}}}}"#))
    };
    assert_eq!(pool(""), pool(r#", "expireAfter": "720h""#));
    assert_ne!(pool(""), pool(r#", "expireAfter": "Never""#));
}

#[test]
fn requirements_do_not_count() {
    let pool = |requirements: &str| {
        pool_hash(&format!(
            r#"{{"spec": {{"nodeClassRef": {{"name": "a"}}, "requirements": {requirements}}}}}"#
        ))
    };
    let one = r#"[{"key": "kubernetes.io/arch", "operator": "In", "values": ["arm64"]}]"#;
    assert_eq!(pool("[]"), pool(one));
}

#[test]
fn what_cannot_be_hashed_faithfully_has_no_hash() {
    let tainted = r#"{"spec": {"taints": [{"key": "a", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"}]}}"#;
    assert_eq!(pool_hash(tainted), None);
    assert_eq!(pool_hash(r#"{"spec": {"terminationGracePeriod": 30}}"#), None);
}

/// A hash without it would differ from Karpenter's, and every node that Karpenter launched would
/// drift.
#[test]
fn what_has_a_field_of_a_newer_api_has_no_hash() {
    let pool = |more: &str| {
        pool_hash(&format!(r#"{{"spec": {{"nodeClassRef": {{"name": "a"}}, {more}}}}}"#))
    };
    assert_eq!(pool(r#""bootTimeout": "10m""#), None);
    assert!(pool(r#""bootTimeout": null"#).is_some());
    let newer_metadata = r#"{"metadata": {"managedBy": "a"}, "spec": {}}"#;
    assert_eq!(pool_hash(newer_metadata), None);
    let class = |more: &str| {
        let json = format!(r#"{{"role": "r", {more}}}"#);
        let hashes = with_value(&json, |spec| node_class_hashes(spec, AmiFamily::Al2023));
        ["v5", "v6"].map(|version| hashes.by_rules(version, "").is_some())
    };
    assert_eq!(class(r#""subnetSelectorTerms": [{"id": "subnet-1"}]"#), [true; 2]);
    for newer in [
        r#""bootMode": "uefi""#,
        r#""cpuOptions": {"coreCount": 2}"#,
        r#""metadataOptions": {"instanceMetadataTags": "enabled"}"#,
        r#""blockDeviceMappings": [{"deviceName": "/dev/xvda", "virtualName": "a"}]"#,
    ] {
        assert_eq!(class(newer), [false; 2], "{newer}");
    }
}
