//! Limits in dollars an hour.

use crate::support::{SHOP, Workspace};

#[test]
fn a_limit_in_dollars_is_never_exceeded_and_said_to_be_why_pods_wait() {
    let limited = SHOP
        .replacen("spec:\n", "spec:\n  limits: {outrigger.dev/usd-per-hour: '0.20'}\n", 1)
        .replace("replicas: 3", "replicas: 16")
        .replace("cpu: 500m", "cpu: 900m");
    let workspace = Workspace::with(&[("shop.yaml", &limited)]);
    let plan = |options: &str| {
        workspace.run(&format!(
            "plan --catalog catalog.yaml --now 2026-01-01T12:00:00Z -f shop.yaml {options}"
        ))
    };
    let run = plan("");
    assert_eq!((run.status, &*run.err), (0, ""), "{run:?}");
    let said = "of $0.2000/h are used, and the cheapest node for the pod may cost";
    assert!(run.out.contains(said), "{run:?}");
    let json = plan("-o json").json();
    let claims = json["nodeClaims"].as_array().unwrap();
    let most = |claim: &serde_json::Value| {
        let offerings = claim["offerings"].as_array().unwrap();
        offerings.iter().map(|own| own["hourlyUsd"].as_f64().unwrap()).fold(0.0, f64::max)
    };
    let total: f64 = claims.iter().map(most).sum();
    assert!(!claims.is_empty() && total <= 0.20, "{total}: {json}");
    let placed: usize = claims.iter().map(|own| own["pods"].as_array().unwrap().len()).sum();
    assert_eq!(placed + json["unschedulable"].as_array().unwrap().len(), 16);
    assert!(json.to_string().contains("\"UsdLimitExceeded\""), "{json}");
}

#[test]
fn a_limit_of_the_cluster_is_read_from_its_object_and_named() {
    let limit = "---\napiVersion: outrigger.dev/v1alpha1\nkind: ClusterLimit\nmetadata: {name: all}\n\
                 spec: {limits: {nodes: 1}}\n";
    let text = SHOP.replace("replicas: 3", "replicas: 200");
    let workspace = Workspace::with(&[("shop.yaml", &format!("{text}{limit}"))]);
    let plan = "plan --catalog catalog.yaml --now 2026-01-01T12:00:00Z -f shop.yaml";
    let run = workspace.run(plan);
    assert_eq!(&*run.err, "", "{run:?}");
    assert!(run.out.contains("ClusterLimit all: limit nodes 1 is reached"), "{run:?}");
    let json = workspace.run(&format!("{plan} -o json")).json();
    assert_eq!(json["nodeClaims"].as_array().unwrap().len(), 1);
    assert!(json.to_string().contains("\"ClusterLimitExceeded\""), "{json}");
}

#[test]
fn a_limit_of_the_cluster_that_cannot_be_read_launches_nothing_and_is_named() {
    let limit = "---\napiVersion: outrigger.dev/v1alpha1\nkind: ClusterLimit\nmetadata: {name: all}\n\
                 spec: {limits: {nodes: lots}}\n";
    let workspace = Workspace::with(&[("shop.yaml", &format!("{SHOP}{limit}"))]);
    let plan = "plan --catalog catalog.yaml --now 2026-01-01T12:00:00Z -f shop.yaml";
    let run = workspace.run(&format!("{plan} -o json"));
    assert!(run.err.contains("spec.limits.nodes"), "{run:?}");
    let json = run.json();
    assert!(json["nodeClaims"].as_array().unwrap().is_empty(), "{json}");
    assert_eq!(json["unschedulable"][0]["codes"][0], "ClusterLimitUnreadable", "{json}");
    let said = "nothing new is launched while ClusterLimit all cannot be read: spec.limits.nodes: ";
    let reason = json["unschedulable"][0]["reasons"][0].as_str().unwrap();
    assert!(reason.contains(said), "{reason}");
    let pod = json["unschedulable"][0]["pod"]["name"].as_str().unwrap_or("web-0");
    let explain = workspace.run(&format!("explain pod {pod} {}", plan.trim_start_matches("plan ")));
    assert!(explain.out.contains(said), "{explain:?}");
}
