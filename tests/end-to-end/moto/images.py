"""Images that EKS nodes start from, and the SSM parameters that lead to them. moto has neither."""

import hashlib
from datetime import datetime, timezone

from moto.ec2.models.amis import Ami
from moto.ssm.models import Parameter

from place import REGION, ec2, ssm

AMAZON_EKS = "602401143452"
RELEASE = "v20261101"
CREATED = datetime(2026, 11, 1, tzinfo=timezone.utc)


def seed(version: str) -> None:
    """Makes the images of a Kubernetes version (`1.34`) known."""
    for arch in ("x86_64", "arm64"):
        variants = ["standard", "nvidia"] + (["neuron"] if arch == "x86_64" else [])
        for variant in variants:
            name = f"amazon-eks-node-al2023-{arch}-{variant}-{version}-{RELEASE}"
            root = f"/aws/service/eks/optimized-ami/{version}/amazon-linux-2023/{arch}/{variant}"
            image = _image(name, arch, "/dev/xvda")
            _parameter(f"{root}/recommended/image_id", image)
            _parameter(f"{root}/{name}/image_id", image)
        for flavour in ("", "-nvidia"):
            release = "1.50.0"
            image = _image(f"bottlerocket-aws-k8s-{version}{flavour}-{arch}-v{release}", arch, "/dev/xvda")
            for word in ("latest", release):
                _parameter(f"/aws/service/bottlerocket/aws-k8s-{version}{flavour}/{arch}/{word}/image_id", image)


def _image(name: str, arch: str, root_device: str) -> str:
    image_id = f"ami-{hashlib.sha256(name.encode()).hexdigest()[:17]}"
    backend = ec2()
    backend.amis.setdefault(
        image_id,
        Ami(
            backend,
            image_id,
            name=name,
            description=f"EKS-optimized image {name}",
            owner_id=AMAZON_EKS,
            owner_alias="amazon",
            public=True,
            virtualization_type="hvm",
            architecture=arch,
            creation_date=CREATED,
            hypervisor="xen",
            root_device_type="ebs",
            root_device_name=root_device,
            region_name=f"{REGION}a",
        ),
    )
    return image_id


def _parameter(name: str, value: str) -> None:
    store = ssm()
    store._parameters[name] = [
        Parameter(
            account_id=store.account_id,
            name=name,
            value=value,
            parameter_type="String",
            description=None,
            allowed_pattern=None,
            keyid=None,
            last_modified_date=CREATED,
            version=1,
            data_type="text",
            tier="Standard",
        )
    ]
