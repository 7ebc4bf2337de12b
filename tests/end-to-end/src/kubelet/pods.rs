//! Pods on nodes whose kubelet runs: they start once they are bound, and end once they are asked
//! to.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use anyhow::Result;
use futures_util::future::join_all;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

use super::Habits;

/// When pods were first seen ending, by uid.
pub(super) type Ending = BTreeMap<String, Instant>;

/// Looks at all bound pods once.
pub(super) async fn bring_on(
    client: &Client,
    nodes: &BTreeSet<String>,
    habits: &Habits,
    ending: &mut Ending,
) -> Result<()> {
    // From the API server's cache: the next poll is not far.
    let bound = ListParams::default().fields("spec.nodeName!=").match_any();
    let pods = Api::<Pod>::all(client.clone()).list(&bound).await?.items;
    let mut starts = Vec::new();
    let mut ends = Vec::new();
    let mut still = BTreeSet::new();
    for pod in &pods {
        let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default();
        if !nodes.contains(node) {
            continue;
        }
        let uid = pod.uid().unwrap_or_default();
        if pod.metadata.deletion_timestamp.is_some() {
            let since = *ending.entry(uid.clone()).or_insert_with(Instant::now);
            if since.elapsed() >= time_to_end(pod, habits) {
                ends.push(end(client, pod));
            }
            still.insert(uid);
        } else if phase(pod) == "Pending" {
            starts.push(start(client, pod));
        }
    }
    ending.retain(|uid, _| still.contains(uid));
    // One that failed is retried at the next poll.
    join_all(starts).await;
    join_all(ends).await;
    Ok(())
}

fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|status| status.phase.as_deref()).unwrap_or("Pending")
}

fn time_to_end(pod: &Pod, habits: &Habits) -> Duration {
    let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(30);
    habits.pod_ends.min(Duration::from_secs(u64::try_from(grace).unwrap_or(0)))
}

async fn start(client: &Client, pod: &Pod) -> Result<()> {
    let now = format!("{:.0}", Timestamp::now());
    let condition = |kind: &str| json!({"type": kind, "status": "True", "lastTransitionTime": now});
    let containers: Vec<_> = pod
        .spec
        .iter()
        .flat_map(|spec| &spec.containers)
        .map(|container| {
            json!({
                "name": container.name,
                "image": container.image,
                "imageID": "",
                "containerID": format!("containerd://{}", container.name),
                "ready": true,
                "started": true,
                "restartCount": 0,
                "state": {"running": {"startedAt": now}},
            })
        })
        .collect();
    let conditions =
        ["Initialized", "Ready", "ContainersReady", "PodReadyToStartContainers"].map(condition);
    let status = json!({"status": {
        "phase": "Running",
        "startTime": now,
        "conditions": conditions,
        "containerStatuses": containers,
    }});
    api(client, pod)
        .patch_status(&pod.name_any(), &PatchParams::default(), &Patch::Strategic(status))
        .await?;
    Ok(())
}

async fn end(client: &Client, pod: &Pod) -> Result<()> {
    let now = DeleteParams {
        grace_period_seconds: Some(0),
        preconditions: Some(Preconditions { uid: pod.uid(), resource_version: None }),
        ..DeleteParams::default()
    };
    api(client, pod).delete(&pod.name_any(), &now).await?;
    Ok(())
}

fn api(client: &Client, pod: &Pod) -> Api<Pod> {
    Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default())
}
