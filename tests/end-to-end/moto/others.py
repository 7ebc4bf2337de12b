"""Instances that somebody else runs beside ours in the same account and cluster. Their tags are what their makers set."""

from datetime import timedelta

import place

# By whom they are made: their tags in a cluster.
TAGS = {
    "auto-mode": lambda cluster: {
        f"kubernetes.io/cluster/{cluster}": "owned",
        "aws:eks:cluster-name": cluster,
        "eks:eks-cluster-name": cluster,
        "eks:kubernetes-node-class-name": "default",
        "eks:kubernetes-node-pool-name": "general-purpose",
    },
    "node-group": lambda cluster: {
        f"kubernetes.io/cluster/{cluster}": "owned",
        f"k8s.io/cluster-autoscaler/{cluster}": "owned",
        "k8s.io/cluster-autoscaler/enabled": "true",
        "aws:autoscaling:groupName": "eks-workers",
        "eks:cluster-name": cluster,
        "eks:nodegroup-name": "workers",
    },
    # Before NodePools there were Provisioners.
    "old-karpenter": lambda cluster: {
        f"kubernetes.io/cluster/{cluster}": "owned",
        "karpenter.sh/managed-by": cluster,
        "karpenter.sh/provisioner-name": "default",
        "Name": "karpenter.sh/provisioner-name/default",
    },
}

AGE = timedelta(hours=1)

_MAKERS: dict[str, str] = {}


def launch(request: dict) -> dict:
    """`{"maker": "auto-mode", "cluster": "rig"}`: an instance that has run for a while."""
    ec2 = place.ec2()
    subnet = next(own for own in ec2.describe_subnets() if own.vpc_id == ec2.get_default_vpc().id)
    image = next(i for i, own in ec2.amis.items() if "al2023-x86_64-standard" in own.name)
    reservation = ec2.run_instances(
        image, 1, None, [],
        instance_type="m5.large",
        is_instance_type_default=False,
        region_name=place.REGION,
        subnet_id=subnet.id,
        tags={"instance": TAGS[request["maker"]](request["cluster"])},
    )
    instance = reservation.instances[0]
    instance.launch_time -= AGE
    _MAKERS[instance.id] = request["maker"]
    return {"id": instance.id}


def maker(identifier: str) -> str | None:
    return _MAKERS.get(identifier)


def forget() -> None:
    _MAKERS.clear()
