"""Compares what `helm template` made with infra/kubernetes, and with what the values ask for.

    compare.py FOLDER   which holds default.yaml, first.yaml and values.yaml
"""

import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
KUBERNETES = ROOT / "infra/kubernetes"


def objects(text):
    """Every object of a stream, by kind and name."""
    found = [own for own in yaml.safe_load_all(text) if own]
    named = {(own["kind"], own["metadata"]["name"]): own for own in found}
    assert len(named) == len(found), "an object is there twice"
    return named


def rendered(name):
    return objects((Path(sys.argv[1]) / name).read_text())


def same(what, left, right):
    if left != right:
        raise SystemExit(f"error: {what}:\n{yaml.safe_dump(left)}\nand not\n{yaml.safe_dump(right)}")


def main():
    listed = yaml.safe_load((KUBERNETES / "kustomization.yaml").read_text())["resources"]
    installed = {}
    for path in listed:
        installed |= objects((KUBERNETES / path).read_text())
    default = rendered("default.yaml")
    same("kinds and names of the default values", sorted(default), sorted(installed))
    for key, own in installed.items():
        same(" ".join(key), default[key], own)

    first = rendered("first.yaml")
    added = {key: own for key, own in first.items() if key not in installed}
    same("what the first NodePool adds", sorted(added), [("EC2NodeClass", "default"), ("NodePool", "default")])
    discovery = [{"tags": {"karpenter.sh/discovery": "shop"}}]
    same(
        "the EC2NodeClass",
        added["EC2NodeClass", "default"]["spec"],
        {
            "amiSelectorTerms": [{"alias": "al2023@latest"}],
            "role": "node-role",
            "securityGroupSelectorTerms": discovery,
            "subnetSelectorTerms": discovery,
        },
    )
    same(
        "the NodePool",
        added["NodePool", "default"]["spec"],
        {
            "disruption": {"consolidateAfter": "30s", "consolidationPolicy": "WhenEmptyOrUnderutilized"},
            "limits": {"cpu": 100},
            "template": {
                "spec": {
                    "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
                    "requirements": [
                        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot", "on-demand"]},
                        {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c", "m", "r"]},
                    ],
                }
            },
        },
    )
    for own in added.values():
        same("who keeps it", own["metadata"]["annotations"], {"helm.sh/resource-policy": "keep"})

    values = rendered("values.yaml")
    same("objects without rights", sorted(values), [("EC2NodeClass", "default"), ("NodePool", "spot")])
    node_class, pool = values["EC2NodeClass", "default"], values["NodePool", "spot"]
    same("images that spec names", node_class["spec"]["amiSelectorTerms"], [{"id": "ami-0123456789abcdef0"}])
    same("further fields of the EC2NodeClass", node_class["spec"]["tags"], {"team": "shop"})
    same("a NodePool without limits", "limits" in pool["spec"], False)
    same("further fields of the NodePool", pool["spec"]["weight"], 10)
    template = pool["spec"]["template"]
    same("labels of nodes", template["metadata"], {"labels": {"team": "shop"}})
    same("fields of nodes", sorted(template["spec"]), ["expireAfter", "nodeClassRef", "requirements", "taints"])
    same("what is not kept", "annotations" in pool["metadata"], False)
    print(f"{len(installed)} objects are those of infra/kubernetes; the first NodePool and EC2NodeClass are as their values say")


if __name__ == "__main__":
    main()
