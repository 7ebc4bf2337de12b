#!/usr/bin/env python3
"""Prints a cluster as `kubectl get -o json` does, in which consolidation has much to save:
cluster.py [--nodes 200] [--pods 5000] [--load 1.0] [--capacity-type spot|on-demand]

Nodes are of seven types, a third of them spot unless all have one capacity type, in three zones. Pods belong to Deployments of some thirty
replicas; a third of these is spread over zones, an eighth has a PodDisruptionBudget. CPU requests are multiplied by the load. Five DaemonSets
run everywhere. The same arguments print the same cluster.
"""

import argparse
import json
import random
import uuid

BORN = "2026-01-05T00:00:00Z"
ZONES = ["us-east-1a", "us-east-1b", "us-east-1c"]
# vCPUs and GiB by type.
TYPES = {"m7i.xlarge": (4, 16), "m7i.2xlarge": (8, 32), "m7i.4xlarge": (16, 64), "c7i.2xlarge": (8, 16), "c7i.4xlarge": (16, 32),
         "r7i.xlarge": (4, 32), "r7i.2xlarge": (8, 64)}
REPLICAS = 33
DAEMONS = 5


def owner(kind, name):
    return [{"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": f"uid-{name}", "controller": True}]


def spec(milli, mebibytes, **more):
    requests = {"cpu": f"{milli}m", "memory": f"{mebibytes}Mi"}
    return {"containers": [{"name": "main", "image": "example", "resources": {"requests": requests}}], **more}


def pool(capacity_types):
    requirements = [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": capacity_types},
        {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
        {"key": "karpenter.k8s.aws/instance-family", "operator": "In", "values": ["c7i", "m7i", "r7i"]},
    ]
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    template = {"spec": {"nodeClassRef": reference, "requirements": requirements, "expireAfter": "Never"}}
    disruption = {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "30s", "budgets": [{"nodes": "20%"}]}
    return {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "default"},
            "spec": {"template": template, "disruption": disruption}}


def node_class():
    tags = [{"tags": {"karpenter.sh/discovery": "test"}}]
    return {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "default"},
            "spec": {"amiSelectorTerms": [{"alias": "al2023@latest"}], "role": "nodes", "subnetSelectorTerms": tags,
                     "securityGroupSelectorTerms": tags},
            "status": {"subnets": [{"id": f"subnet-{zone[-1]}", "zone": zone} for zone in ZONES]}}


def node(index, kind, zone, capacity_type):
    name, claim = f"ip-10-0-{index // 250}-{index % 250}.ec2.internal", f"default-{index:05}"
    cpu, memory = TYPES[kind]
    capacity = {"cpu": str(cpu), "memory": f"{memory * 1024 * 93 // 100}Mi", "pods": "58", "ephemeral-storage": "20Gi"}
    allocatable = capacity | {"cpu": f"{cpu * 1000 - 90}m", "memory": f"{memory * 1024 * 93 // 100 - 1200}Mi", "ephemeral-storage": "17Gi"}
    labels = {
        "karpenter.sh/nodepool": "default", "karpenter.sh/capacity-type": capacity_type, "karpenter.k8s.aws/ec2nodeclass": "default",
        "node.kubernetes.io/instance-type": kind, "topology.kubernetes.io/zone": zone, "topology.kubernetes.io/region": "us-east-1",
        "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux", "kubernetes.io/hostname": name,
        "karpenter.sh/registered": "true", "karpenter.sh/initialized": "true",
        "karpenter.k8s.aws/instance-family": kind.partition(".")[0], "karpenter.k8s.aws/instance-size": kind.partition(".")[2],
    }
    instance = f"aws:///{zone}/i-{index:017x}"
    conditions = [{"type": own, "status": "True", "lastTransitionTime": BORN} for own in ("Launched", "Registered", "Initialized", "Consolidatable")]
    return [
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels, "creationTimestamp": BORN},
         "spec": {"providerID": instance},
         "status": {"capacity": capacity, "allocatable": allocatable, "conditions": [{"type": "Ready", "status": "True"}]}},
        {"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim",
         "metadata": {"name": claim, "labels": labels, "creationTimestamp": BORN},
         "spec": {"nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}, "requirements": [],
                  "expireAfter": "Never"},
         "status": {"nodeName": name, "providerID": instance, "capacity": capacity, "allocatable": allocatable, "conditions": conditions}},
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=200)
    parser.add_argument("--pods", type=int, default=5000)
    parser.add_argument("--load", type=float, default=1.0)
    parser.add_argument("--capacity-type", choices=["spot", "on-demand"])
    arguments = parser.parse_args()
    draw = random.Random(1)
    one = arguments.capacity_type
    items, names = [pool([one] if one else ["spot", "on-demand"]), node_class()], []
    room = {}
    for index in range(arguments.nodes):
        kind, capacity_type = draw.choice(list(TYPES)), draw.choice([one] if one else ["spot", "on-demand", "on-demand"])
        both = node(index, kind, ZONES[index % 3], capacity_type)
        items += both
        names.append(both[0]["metadata"]["name"])
        cpu, memory = TYPES[kind]
        room[names[-1]] = [cpu * 1000 - 90 - DAEMONS * 50, memory * 952 - 1200 - DAEMONS * 64, 58 - DAEMONS]
    for index in range(DAEMONS):
        name = f"agent-{index}"
        template = {"metadata": {"labels": {"app": name}}, "spec": spec(50, 64, tolerations=[{"operator": "Exists"}])}
        items.append({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": name, "namespace": "kube-system"},
                      "spec": {"selector": {"matchLabels": {"app": name}}, "template": template}})
        items += [running(f"{name}-{at}", "kube-system", name, owner("DaemonSet", name), template["spec"], on)
                  for at, on in enumerate(names)]
    placed = 0
    for index in range(-(-arguments.pods // REPLICAS)):
        name = f"app-{index:03}"
        milli, mebibytes = int(arguments.load * draw.choice([50, 100, 150, 200, 250])), draw.choice([64, 128, 256, 512])
        more = {}
        if index % 3 == 0:
            more["topologySpreadConstraints"] = [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule",
                                                  "labelSelector": {"matchLabels": {"app": name}}}]
        template = {"metadata": {"labels": {"app": name}}, "spec": spec(milli, mebibytes, **more)}
        replicas = min(REPLICAS, arguments.pods - placed)
        placed += replicas
        items.append({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"},
                      "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}})
        if index % 8 == 0:
            items.append({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": name, "namespace": "default"},
                          "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": name}}},
                          "status": {"disruptionsAllowed": 1, "expectedPods": replicas, "currentHealthy": replicas, "desiredHealthy": replicas - 1}})
        for at in range(replicas):
            # One zone after the other, so that spreads hold.
            fitting = [on for on in names[at % 3 :: 3] if room[on][0] >= milli and room[on][1] >= mebibytes and room[on][2] > 0]
            on = draw.choice(fitting)
            room[on] = [room[on][0] - milli, room[on][1] - mebibytes, room[on][2] - 1]
            items.append(running(f"{name}-{at:02}", "default", name, owner("ReplicaSet", f"{name}-5d4f8c7b9"), template["spec"], on))
    for item in items:
        metadata = item["metadata"]
        name = f'{item["kind"]} {metadata.get("namespace", "")} {metadata["name"]}'
        metadata["uid"] = str(uuid.uuid5(uuid.NAMESPACE_OID, name))
    print(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=1))


def running(name, namespace, app, owners, own, on):
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "labels": {"app": app}, "ownerReferences": owners, "creationTimestamp": BORN},
            "spec": own | {"nodeName": on}, "status": {"phase": "Running", "startTime": BORN, "conditions": [{"type": "Ready", "status": "True"}]}}


if __name__ == "__main__":
    main()
