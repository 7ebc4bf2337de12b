#!/usr/bin/env python3
"""Writes the scenarios and the cluster whose pages are opened: scenarios.py FOLDER

`day.yaml` is a day in which a dozen workloads scale over some hundred nodes, `wide.yaml` has five hundred nodes at once with
long names, and `hostile.yaml` has names and words that would be markup, or turn the writing direction, if anybody let them.
`cluster.yaml` is a small cluster with something to launch, to take away and to leave without a place; `old` and `new` are its NodePool
before and after a change.
"""

import json
import pathlib
import sys

HOURS = [4, 4, 3, 3, 3, 4, 6, 9, 12, 14, 14, 13, 12, 13, 14, 13, 12, 11, 12, 14, 16, 13, 9, 6]


def pool(name, policy="WhenEmptyOrUnderutilized", **more):
    requirements = [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": more.pop("capacity", ["spot", "on-demand"])},
        {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
        {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["c7i", "m7i", "r7i"]},
    ] + more.pop("requirements", [])
    return {
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": name},
        "spec": {
            "template": {"spec": {
                "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                "requirements": requirements, "expireAfter": "Never", **more,
            }},
            "disruption": {"consolidationPolicy": policy, "consolidateAfter": "5m",
                           "budgets": [{"nodes": "20%"}]},
        },
    }


# So that a day has a hundred nodes, and not twenty large ones.
MIDDLING = [{"key": "karpenter.k8s.aws/instance-size", "operator": "In", "values": ["xlarge", "2xlarge"]}]

NODE_CLASS = {
    "apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "default"},
    "spec": {
        "amiSelectorTerms": [{"alias": "al2023@latest"}], "role": "KarpenterNodeRole",
        "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": "test"}}],
        "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": "test"}}],
    },
}


def deployment(name, replicas, cpu, memory, namespace="default", **spec):
    label = name[:60]
    return {
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": label}},
            "template": {
                "metadata": {"labels": {"app": label}},
                "spec": {"containers": [{"name": "main", "image": "example",
                                         "resources": {"requests": {"cpu": cpu, "memory": memory}}}], **spec},
            },
        },
    }


def scenario(name, about, duration, timeline):
    return {
        "apiVersion": "outrigger.dev/v1alpha1", "kind": "Scenario", "metadata": {"name": name},
        "spec": {"about": about, "start": "2026-01-05T00:00:00Z", "duration": duration, "seed": 7,
                 "region": "us-east-1", "timeline": timeline},
    }


def day():
    sizes = [("500m", "1Gi"), ("1", "2Gi"), ("2", "4Gi"), ("1500m", "6Gi"), ("250m", "512Mi"), ("3", "3Gi"), ("1", "7Gi"),
             ("700m", "900Mi"), ("2", "14Gi"), ("1200m", "2Gi")]
    timeline = [{"at": "0s", "apply": [NODE_CLASS, pool("general", "WhenEmpty", requirements=MIDDLING), pool("steady", "WhenEmpty", requirements=MIDDLING, capacity=["on-demand"], taints=[
        {"key": "steady", "value": "true", "effect": "NoSchedule"}])]}]
    workloads = []
    for index, (cpu, memory) in enumerate(sizes):
        more = {}
        if index % 4 == 3:
            more = {"tolerations": [{"key": "steady", "operator": "Exists"}],
                    "nodeSelector": {"karpenter.sh/nodepool": "steady"}}
        workloads.append(deployment(f"service-{index}", 3 + index % 3, cpu, memory, f"team-{index % 3}", **more))
    timeline[0]["apply"] += workloads
    for hour, load in enumerate(HOURS):
        for index in range(len(sizes)):
            timeline.append({
                "at": f"{hour}h{index * 5 + 3}m",
                "scale": {"kind": "Deployment", "name": f"service-{index}", "namespace": f"team-{index % 3}",
                          "replicas": load * (2 + index % 3)},
            })
        if hour % 6 == 5:
            timeline.append({"at": f"{hour}h55m", "interrupt": {"capacityType": "spot", "count": 2}})
    return scenario("day", "A day with a morning, a noon and an evening.", "24h", timeline)


def node(index):
    name = f"ip-10-{index // 250}-{index % 250}-7.a-domain-that-somebody-made-rather-long.us-east-1.example.internal"
    return {
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "eks.amazonaws.com/nodegroup": "base", "node.kubernetes.io/instance-type": "m5.large",
            "topology.kubernetes.io/zone": f"us-east-1{'abc'[index % 3]}", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
            "kubernetes.io/hostname": name.split('.')[0]}},
        "spec": {"providerID": f"aws:///us-east-1{'abc'[index % 3]}/i-{index:017x}"},
        "status": {"capacity": {"cpu": "2", "memory": "8Gi", "pods": "29"},
                   "allocatable": {"cpu": "1930m", "memory": "7Gi", "pods": "29"},
                   "conditions": [{"type": "Ready", "status": "True"}]},
    }


def wide():
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [
        {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "apart"}}}]}}
    small = [{"key": "karpenter.k8s.aws/instance-size", "operator": "In", "values": ["large"]}]
    return scenario("wide", "Five hundred pods that keep off each other on hosts, two hundred of them on nodes that are there.", "15m", [
        {"at": "0s", "apply": [*map(node, range(200)), NODE_CLASS, pool("a-node-pool-with-a-rather-long-name", requirements=small),
                               deployment("apart", 500, "900m", "1Gi", affinity=apart)]},
        {"at": "8m", "scale": {"kind": "Deployment", "name": "apart", "replicas": 430}},
    ])


def cluster_node(index, kind, capacity):
    name = f"ip-10-0-0-{index}.us-east-1.compute.internal"
    made = node(index)
    made["metadata"] = {"name": name, "creationTimestamp": "2026-01-04T00:00:00Z", "labels": {
        "karpenter.sh/nodepool": "general", "karpenter.sh/capacity-type": capacity, "karpenter.sh/initialized": "true",
        "node.kubernetes.io/instance-type": kind, "topology.kubernetes.io/zone": f"us-east-1{'abc'[index % 3]}",
        "topology.kubernetes.io/region": "us-east-1", "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": name}}
    cpu, memory = {"m7i.xlarge": (4, 16), "c7i.2xlarge": (8, 16)}[kind]
    made["status"] = {"capacity": {"cpu": str(cpu), "memory": f"{memory}Gi", "pods": "58"},
                      "allocatable": {"cpu": f"{cpu * 1000 - 80}m", "memory": f"{memory - 2}Gi", "pods": "58"},
                      "conditions": [{"type": "Ready", "status": "True"}]}
    return made


def claim(of):
    labels = of["metadata"]["labels"]
    name = f"general-{of['metadata']['name'].split('.')[0]}"
    return {
        "apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
        "metadata": {"name": name, "creationTimestamp": "2026-01-04T00:00:00Z", "labels": labels},
        "spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}, "requirements": []},
        "status": {"providerID": of["spec"]["providerID"], "nodeName": of["metadata"]["name"],
                   "capacity": of["status"]["capacity"], "allocatable": of["status"]["allocatable"],
                   "conditions": [{"type": kind, "status": "True", "lastTransitionTime": "2026-01-04T00:01:00Z"}
                                  for kind in ("Launched", "Registered", "Initialized", "Consolidatable")]},
    }


def pod(name, cpu, on=None, namespace="shop"):
    made = {
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": {"app": name.rsplit("-", 1)[0]},
                     "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": name.rsplit("-", 1)[0],
                                          "uid": "1", "controller": True}]},
        "spec": {"containers": [{"name": "main", "image": "example", "resources": {"requests": {"cpu": cpu, "memory": "1Gi"}}}]},
        "status": {"phase": "Running" if on else "Pending"},
    }
    if on:
        made["spec"]["nodeName"] = on["metadata"]["name"]
    else:
        made["status"]["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    return made


def cluster():
    nodes = [cluster_node(index, "c7i.2xlarge" if index % 2 else "m7i.xlarge", "on-demand") for index in range(1, 9)]
    pods = [pod(f"web-{index}", "900m", nodes[index % 4]) for index in range(12)]
    pods += [pod(f"api-{index}", "500m", nodes[4 + index % 3]) for index in range(4)]
    pods += [pod(f"new-{index}", "3") for index in range(5)] + [pod("huge-0", "900")]
    return {"apiVersion": "v1", "kind": "List", "items": [NODE_CLASS, pool("general"), *nodes, *map(claim, nodes), *pods]}


def hostile():
    name = "</script><script>document.title='owned'</script>"
    about = f"A {name} & <img onerror=alert(1)> \u202e that turns \u2066 round, \x1b[31m and a very long word: {'w' * 180}"
    return scenario("hostile", about, "12m", [
        {"at": "0s", "apply": [NODE_CLASS, pool("default"), deployment("web-" + "x" * 180, 3, "1", "1Gi")]},
        {"at": "5m", "mark": name},
    ])


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for make in (day, wide, hostile):
        (folder / f"{make.__name__}.yaml").write_text(json.dumps(make(), indent=1))
    (folder / "cluster.yaml").write_text(json.dumps(cluster(), indent=1))
    for name, capacity in [("old", ["on-demand"]), ("new", ["spot", "on-demand"])]:
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "pool.yaml").write_text(json.dumps(pool("general", capacity=capacity), indent=1))


main()
