"""What the rig asks of this cloud under `/rig/`, in JSON. AWS has no such thing.

| call | does |
| --- | --- |
| `GET /rig/health` | answers once everything is loaded |
| `PUT /rig/cluster` | makes DescribeCluster answer for a cluster; knows its images and parameters |
| `PUT /rig/access-entries` | who may enter clusters: access key → `{secret, username, groups}` |
| `POST /rig/token-review` | the webhook of the API server |
| `GET /rig/refusals` | why tokens were refused |
| `PUT /rig/roles` | makes the functions' roles as the template has them, assumed with keys: function → `{accessKey, secret, sessionToken}`; answers with their actions |
| `PUT /rig/roles/FUNCTION` | what a role may do from now on: a list of actions |
| `GET /rig/permissions` | what functions have needed so far |
| `PUT /rig/shortage` | which offerings fail from now on, and with which code |
| `PUT /rig/behaviour` | sets all knobs of `behaviour.py`, those that are not named to their defaults; one that nobody knows is refused, and nothing is changed |
| `POST /rig/others` | an instance that somebody else runs in the cluster: see `others.py`; answers with its id |
| `GET /rig/instances` | all instances with what they were launched with |
| `POST /rig/instances/age` | all instances were launched so many seconds earlier: `{"seconds": 60}` |
| `POST /rig/instances/ID/end` | an instance ends by itself |
| `POST /rig/instances/ID/vanish` | an instance is gone: who changes it does not find it, reads show it for `staleReadSeconds` |
| `POST /rig/clean` | no instance, launch template, instance profile, shortage or client token is left; knobs have their defaults |
"""

import json
from datetime import timedelta, timezone

from moto.ec2.models.instance_types import INSTANCE_TYPES

import behaviour
import consistency
import fleet
import images
import market
import others
import place
import refusals
import states
from authentication import Authenticator
from authorization import LEDGER
from roles import ROLES

ROLE = "rig-node"

# Services of a cluster of the family ipv6, as EKS gives them.
SERVICES_V6 = "fd8b:29f1:37c2::/108"


class Administration:
    def __init__(self):
        self.authenticator = Authenticator()
        self.service_cidr = ""

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, object]:
        """Status and document for a call."""
        request = json.loads(body) if body else None
        match (method, *path.removeprefix("/rig/").split("/")):
            case ("GET", "health"):
                return 200, {"instanceTypes": len(INSTANCE_TYPES), "images": len(place.ec2().amis)}
            case ("PUT", "cluster"):
                return 200, self._cluster(request)
            case ("PUT", "access-entries"):
                self.authenticator.entries = request
                return 200, {}
            case ("POST", "token-review"):
                return 200, self.authenticator.review(request)
            case ("GET", "refusals"):
                return 200, self.authenticator.refusals
            case ("PUT", "roles"):
                return 200, ROLES.assume(request)
            case ("PUT", "roles", function):
                ROLES.permit(function, request)
                return 200, {}
            case ("GET", "permissions"):
                return 200, LEDGER.rows()
            case ("PUT", "shortage"):
                market.SHORTAGE.set(request)
                return 200, {}
            case ("PUT", "behaviour"):
                if why := behaviour.change(request):
                    return 400, {"error": why}
                refusals.BUCKETS_LEFT.forget()
                self._set_network()
                return 200, {}
            case ("POST", "others"):
                return 200, others.launch(request)
            case ("GET", "instances"):
                with states.LAUNCHING:
                    return 200, [_instance(i) for i in place.ec2().all_instances()]
            case ("POST", "instances", instance_id, "end"):
                place.ec2().terminate_instances([instance_id])
                return 200, {}
            case ("POST", "instances", instance_id, "vanish"):
                consistency.vanish(place.ec2().get_instance(instance_id))
                return 200, {}
            case ("POST", "instances", "age"):
                for instance in place.ec2().all_instances():
                    instance.launch_time -= timedelta(seconds=request["seconds"])
                return 200, {}
            case ("POST", "clean"):
                _clean()
                self._set_network()
                return 200, {}
            case _:
                return 404, {"error": f"there is no {method} {path}"}

    def _cluster(self, request: dict) -> dict:
        ec2, eks, iam = place.ec2(), place.eks(), place.iam()
        network = ec2.get_default_vpc()
        subnets = [s for s in ec2.describe_subnets() if s.vpc_id == network.id]
        group = ec2.get_security_group_by_name_or_id("default", network.id)
        name = request["name"]
        for resource in (*subnets, group):
            resource.add_tag("karpenter.sh/discovery", name)
        if name not in eks.clusters:
            role = f"arn:aws:iam::{place.ACCOUNT}:role/rig-cluster"
            eks.create_cluster(name, role, {}, version=request["version"])
        cluster = eks.clusters[name]
        cluster.version = request["version"]
        cluster.endpoint = request["endpoint"]
        cluster.certificate_authority = {"data": request["certificateAuthority"]}
        self.service_cidr = request["serviceCidr"]
        self._set_network()
        cluster.resources_vpc_config = {
            "subnetIds": [s.id for s in subnets],
            "securityGroupIds": [group.id],
            "clusterSecurityGroupId": group.id,
            "vpcId": network.id,
            "endpointPublicAccess": True,
            "endpointPrivateAccess": True,
            "publicAccessCidrs": ["0.0.0.0/0"],
        }
        self.authenticator.clusters.add(name)
        images.seed(request["version"])
        if not any(role.name == ROLE for role in iam.roles.values()):
            iam.create_role(ROLE, "{}", "/", None, "", [], "3600")
        return {"role": ROLE, "zones": sorted(s.availability_zone for s in subnets)}


    def _set_network(self) -> None:
        """Has clusters say of which family their addresses are."""
        family = behaviour.CURRENT.ip_family
        services = {"serviceIpv6Cidr": SERVICES_V6} if family == "ipv6" else {"serviceIpv4Cidr": self.service_cidr}
        for cluster in place.eks().clusters.values():
            cluster.kubernetes_network_config = services | {"ipFamily": family}


def _instance(instance) -> dict:
    facts = INSTANCE_TYPES[instance.instance_type]
    data = instance.user_data.decode() if instance.user_data else None
    profiles = place.ec2().iam_instance_profile_associations
    profile = profiles.get(instance.id)
    return {
        "id": instance.id,
        "type": instance.instance_type,
        "zone": instance.availability_zone,
        "zoneId": place.ec2().get_subnet(instance.subnet_id).availability_zone_id,
        "state": states.truth(instance)[0],
        "maker": others.maker(instance.id),
        "capacityType": instance.lifecycle or "on-demand",
        "imageId": instance.image_id,
        "image": place.ec2().amis[instance.image_id].name,
        "launched": instance.launch_time.replace(tzinfo=timezone.utc).isoformat(),
        "privateDnsName": instance.private_dns_name,
        "privateIp": instance.private_ip,
        "tags": {tag["key"]: tag["value"] for tag in instance.get_tags()},
        "instanceProfile": profile.iam_instance_profile.name if profile else None,
        "securityGroups": sorted({g.id for nic in instance.nics.values() for g in nic.group_set}),
        "volumes": [
            {"device": device, "gib": int(place.ec2().volumes[block.volume_id].size), "type": place.ec2().volumes[block.volume_id].volume_type}
            for device, block in instance.get_block_device_mapping
            if block.volume_id in place.ec2().volumes
        ],
        "httpTokens": instance.metadata_options.http_tokens,
        "userData": data,
        "vcpus": facts["VCpuInfo"]["DefaultVCpus"],
        "memoryMiB": facts["MemoryInfo"]["SizeInMiB"],
        "gpus": sum(g["Count"] for g in facts.get("GpuInfo", {}).get("Gpus", [])),
        "architecture": "arm64" if "arm64" in facts["ProcessorInfo"]["SupportedArchitectures"] else "amd64",
        "networkInterfaces": facts["NetworkInfo"]["MaximumNetworkInterfaces"],
        "addressesPerInterface": facts["NetworkInfo"]["Ipv4AddressesPerInterface"],
    }


def _clean() -> None:
    for subject in (behaviour, refusals.BUCKETS_LEFT, consistency, states, others):
        subject.forget()
    ec2 = place.ec2()
    for instance in ec2.all_instances():
        if instance.state not in ("shutting-down", "terminated"):
            instance.terminate()
        states._set(instance, states.TERMINATED)
    ec2.reservations.clear()
    ec2.fleets.clear()
    ec2.launch_templates.clear()
    ec2.launch_template_name_to_ids.clear()
    place.iam().instance_profiles.clear()
    market.SHORTAGE.set([])
    fleet.forget()
