//! The Node object, and what goes with it.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::storage::v1::CSINode;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use super::boot::BootConfig;
use crate::cloud::{Instance, REGION};

/// Of the memory of a type, the part that the operating system sees, in thousandths: the hypervisor
/// and the kernel keep the rest. Above the 925 that Karpenter reckons with, as it is on real
/// machines.
const VISIBLE_MEMORY: u64 = 945;

/// Kubelet's default hard eviction threshold for memory, in MiB.
const EVICTION_MIB: u64 = 100;

/// Volumes that the EBS driver says a node can take.
const VOLUMES: u32 = 25;

/// Registers the Node with the rights of the node itself.
pub(super) async fn register(
    client: &Client,
    instance: &Instance,
    boot: &BootConfig,
) -> Result<()> {
    let name = &instance.private_dns_name;
    let node: Node = serde_json::from_value(object(instance, boot)).context("a Node")?;
    let nodes: Api<Node> = Api::all(client.clone());
    let created = match nodes.create(&PostParams::default(), &node).await {
        Ok(created) => created,
        // One of an attempt before that did not get to its end.
        Err(kube::Error::Api(status)) if status.code == 409 => nodes.get(name).await?,
        Err(error) => return Err(error).context("register the Node"),
    };
    let csi: CSINode = serde_json::from_value(json!({
        "metadata": {
            "name": name,
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": name, "uid": created.uid()}],
        },
        "spec": {"drivers": [{
            "name": "ebs.csi.aws.com",
            "nodeID": instance.id,
            "topologyKeys": ["topology.ebs.csi.aws.com/zone"],
            "allocatable": {"count": VOLUMES},
        }]},
    }))?;
    accept_existing(Api::<CSINode>::all(client.clone()).create(&PostParams::default(), &csi).await)
        .context("create the CSINode")?;
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-node-lease");
    let lease: Lease = serde_json::from_value(json!({
        "metadata": {"name": name},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": now_micro()},
    }))?;
    accept_existing(leases.create(&PostParams::default(), &lease).await).context("create the Lease")
}

fn accept_existing<T>(result: kube::Result<T>) -> kube::Result<()> {
    match result {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        other => other.map(drop),
    }
}

/// The cloud's controller takes its taint off and adds the zone's id; kubelet says that it is
/// ready.
pub(super) async fn become_ready(client: &Client, instance: &Instance) -> Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    let name = &instance.private_dns_name;
    let node = nodes.get(name).await?;
    let taints: Vec<_> = node
        .spec
        .iter()
        .flat_map(|spec| spec.taints.iter().flatten())
        .filter(|taint| taint.key != "node.cloudprovider.kubernetes.io/uninitialized")
        .collect();
    let initialize = json!({
        "metadata": {
            "resourceVersion": node.resource_version(),
            "labels": {"topology.k8s.aws/zone-id": instance.zone_id, "k8s.io/cloud-provider-aws": "rig"},
        },
        "spec": {"taints": taints},
    });
    nodes.patch(name, &PatchParams::default(), &Patch::Merge(initialize)).await?;
    let status = json!({"status": {"conditions": conditions(true)}});
    nodes.patch_status(name, &PatchParams::default(), &Patch::Strategic(status)).await?;
    Ok(())
}

/// Says that the node is still there.
pub(super) async fn renew(client: &Client, name: &str) -> Result<()> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-node-lease");
    let renewal = json!({"spec": {"renewTime": now_micro()}});
    leases.patch(name, &PatchParams::default(), &Patch::Merge(renewal)).await?;
    let nodes: Api<Node> = Api::all(client.clone());
    let status = json!({"status": {"conditions": conditions(true)}});
    nodes.patch_status(name, &PatchParams::default(), &Patch::Strategic(status)).await?;
    Ok(())
}

fn now_micro() -> String {
    format!("{:.6}", Timestamp::now())
}

fn object(instance: &Instance, boot: &BootConfig) -> Value {
    let name = &instance.private_dns_name;
    let mut labels: BTreeMap<&str, &str> =
        boot.labels.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    labels.extend([
        ("kubernetes.io/hostname", name.as_str()),
        ("kubernetes.io/os", "linux"),
        ("kubernetes.io/arch", &instance.architecture),
        ("node.kubernetes.io/instance-type", &instance.instance_type),
        ("topology.kubernetes.io/zone", &instance.zone),
        ("topology.kubernetes.io/region", REGION),
    ]);
    let mut taints: Vec<Value> = boot.taints.iter().map(|taint| json!(taint)).collect();
    // Kubelet's own, with an external cloud provider; its value is `true`.
    taints.push(json!({
        "key": "node.cloudprovider.kubernetes.io/uninitialized", "value": "true", "effect": "NoSchedule",
    }));
    let (capacity, allocatable) = resources(instance, boot);
    json!({
        "metadata": {"name": name, "labels": labels},
        "spec": {"providerID": instance.provider_id(), "taints": taints},
        "status": {
            "capacity": capacity,
            "allocatable": allocatable,
            "conditions": conditions(false),
            "addresses": [
                {"type": "InternalIP", "address": instance.private_ip},
                {"type": "Hostname", "address": name},
                {"type": "InternalDNS", "address": name},
            ],
            "nodeInfo": {
                "architecture": instance.architecture,
                "bootID": instance.id,
                "containerRuntimeVersion": "containerd://2.1.5",
                "kernelVersion": "6.12.53-69.119.amzn2023.x86_64",
                "kubeProxyVersion": "",
                "kubeletVersion": "v1.34.4-eks-rig",
                "machineID": instance.id,
                "operatingSystem": "linux",
                "osImage": instance.image,
                "systemUUID": instance.id,
            },
        },
    })
}

fn conditions(is_ready: bool) -> Value {
    let now = format!("{:.0}", Timestamp::now());
    let one = |kind: &str, status: &str, reason: &str| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": "",
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        })
    };
    let ready = if is_ready { ("True", "KubeletReady") } else { ("False", "KubeletNotReady") };
    json!([
        one("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        one("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        one("PIDPressure", "False", "KubeletHasSufficientPID"),
        one("Ready", ready.0, ready.1),
    ])
}

/// Capacity, and what is left for pods: the formulas of EKS's node agents, from
/// <https://github.com/awslabs/amazon-eks-ami>, unless the user data says otherwise.
fn resources(instance: &Instance, boot: &BootConfig) -> (Value, Value) {
    let by_interfaces = instance.network_interfaces * (instance.addresses_per_interface - 1) + 2;
    let pods = boot.max_pods.unwrap_or(by_interfaces);
    let memory_mib = instance.memory_mib * VISIBLE_MEMORY / 1000;
    let disk_gib = instance.volumes.first().map_or(20, |volume| volume.gib);
    let reserved_cpu = quantity(&boot.kube_reserved, "cpu")
        .unwrap_or_else(|| reserved_millicpu(instance.vcpus))
        + quantity(&boot.system_reserved, "cpu").unwrap_or(0);
    let reserved_memory = quantity(&boot.kube_reserved, "memory")
        .unwrap_or_else(|| 255 + 11 * u64::from(pods))
        + quantity(&boot.system_reserved, "memory").unwrap_or(0)
        + EVICTION_MIB;
    let described = |millicpu: u64, memory_mib: u64, disk_mib: u64| {
        let mut resources = json!({
            "cpu": format!("{millicpu}m"),
            "memory": format!("{memory_mib}Mi"),
            "ephemeral-storage": format!("{disk_mib}Mi"),
            "pods": pods.to_string(),
        });
        if instance.gpus > 0 {
            resources["nvidia.com/gpu"] = json!(instance.gpus.to_string());
        }
        resources
    };
    let (millicpu, disk_mib) = (u64::from(instance.vcpus) * 1000, u64::from(disk_gib) * 1024);
    (
        described(millicpu, memory_mib, disk_mib),
        described(
            millicpu.saturating_sub(reserved_cpu),
            memory_mib.saturating_sub(reserved_memory),
            // 10 % for eviction and 1 GiB reserved.
            (disk_mib * 9 / 10).saturating_sub(1024),
        ),
    )
}

/// 6 % of the first CPU, 1 % of the second, 0.5 % of the next two, 0.25 % of the others.
fn reserved_millicpu(vcpus: u32) -> u64 {
    let share = |from: u32, to: u32| u64::from(vcpus.clamp(from, to) - from);
    (share(0, 1) * 6000 + share(1, 2) * 1000 + share(2, 4) * 500 + share(4, u32::MAX) * 250) / 100
}

/// Millicores or MiB of `100m`, `1`, `574Mi`, `1Gi`: the forms that user data has.
fn quantity(of: &BTreeMap<String, String>, resource: &str) -> Option<u64> {
    let text = of.get(resource)?;
    let number = |suffix: &str, factor: u64| {
        text.strip_suffix(suffix)?.parse::<u64>().ok().map(|value| value * factor)
    };
    number("m", 1)
        .or_else(|| number("Mi", 1))
        .or_else(|| number("Gi", 1024))
        .or_else(|| number("", 1000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_machines_keep_cpu_for_themselves_as_eks_says() {
        assert_eq!(reserved_millicpu(1), 60);
        assert_eq!(reserved_millicpu(2), 70);
        assert_eq!(reserved_millicpu(4), 80);
        assert_eq!(reserved_millicpu(8), 90);
        assert_eq!(reserved_millicpu(96), 310);
    }

    #[test]
    fn quantities_of_user_data_are_read() {
        let of = |text: &str| quantity(&BTreeMap::from([("x".to_owned(), text.to_owned())]), "x");
        assert_eq!(of("70m"), Some(70));
        assert_eq!(of("2"), Some(2000));
        assert_eq!(of("574Mi"), Some(574));
        assert_eq!(of("1Gi"), Some(1024));
    }
}
