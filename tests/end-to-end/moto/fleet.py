"""CreateFleet of type `instant` as EC2 does it: strategies, errors of single offerings beside successes, idempotency by
client token, and instances that get everything their launch template says. moto has none of these.

Source: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateFleet.html
"""

import json
from collections import defaultdict
from dataclasses import dataclass
from threading import Lock

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.fleets import Fleet
from moto.ec2.models.instance_types import INSTANCE_TYPES
from moto.ec2.responses.fleets import Fleets
from moto.ec2.utils import convert_tag_spec, random_fleet_id

import behaviour
import consistency
import fleet_failures
import market
import place
import refusals
import states
import validation

MISMATCH = (
    "IdempotentParameterMismatch",
    "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).",
)

_LOCK = Lock()
_ANSWERS: dict[str, tuple[str, dict]] = {}


def install() -> None:
    originally = Fleets.create_fleet

    def create_fleet(self: Fleets):
        if self._get_param("Type", if_none="maintain") != "instant":
            return originally(self)
        with _LOCK:
            return _create_instant(self)

    Fleets.create_fleet = create_fleet


def forget() -> None:
    """Forgets client tokens."""
    with _LOCK:
        _ANSWERS.clear()


def _create_instant(request: Fleets) -> ActionResult:
    configs = request._get_param("LaunchTemplateConfigs", [])
    validation.fleet(request, configs)
    token = request._get_param("ClientToken")
    digest = json.dumps({k: v for k, v in request.params.items() if k != "ClientToken"}, sort_keys=True, default=str)
    if token and (earlier := _earlier(token, digest)):
        return ActionResult(earlier)
    order = _Order(request, configs)
    request.error_on_dryrun()
    answer = order.fulfil()
    if token:
        _ANSWERS[token] = (digest, answer)
    return ActionResult(answer)


def _earlier(token: str, digest: str) -> dict | None:
    """What a token gets that was used before; None for one that counts as new."""
    if token not in _ANSWERS:
        return None
    before, answer = _ANSWERS[token]
    if before != digest:
        raise EC2ClientError(*MISMATCH)
    variant = behaviour.CURRENT.repeated_success if answer["Instances"] else behaviour.CURRENT.failed_token
    match variant:
        case "newAttempt":
            return None
        case "mismatch" | "error":
            raise EC2ClientError(*MISMATCH)
        case "nothing":
            return answer | {"Instances": [], "Errors": []}
        case _:
            return answer


@dataclass
class _Pool:
    """One override: an instance type in a zone, from a launch template."""

    specification: dict
    override: dict
    data: dict
    subnet: object
    capacity_type: str
    # Why EC2 does not find the launch template, where that is told in the answer.
    unknown: tuple[str, str] | None = None

    @property
    def instance_type(self) -> str:
        return self.override.get("InstanceType") or self.data["InstanceType"]

    @property
    def zone(self) -> str:
        return self.subnet.availability_zone

    @property
    def image_id(self) -> str:
        return self.override.get("ImageId") or self.data["ImageId"]

    def price(self) -> float:
        return market.price(self.instance_type, self.zone, self.capacity_type)

    def described(self) -> dict:
        return {
            "LaunchTemplateAndOverrides": {
                "LaunchTemplateSpecification": self.specification,
                "Overrides": {} if behaviour.CURRENT.answer_omits_overrides else self.override,
            },
            "Lifecycle": self.capacity_type,
        }


class _Order:
    """What one request asks for."""

    def __init__(self, request: Fleets, configs: list[dict]):
        self.backend = request.ec2_backend
        self.configs = configs
        self.target = request._get_param("TargetCapacitySpecification", {})
        self.capacity_type = self.target.get("DefaultTargetCapacityType") or "on-demand"
        options = request._get_param("SpotOptions" if self.capacity_type == "spot" else "OnDemandOptions", {})
        self.strategy = options.get("AllocationStrategy") or ("price-capacity-optimized" if self.capacity_type == "spot" else "lowest-price")
        self.tag_specifications = request._get_param("TagSpecifications", [])
        self.pools = [pool for config in configs for pool in self._pools(config)]
        validation.pools(self.pools)

    def _pools(self, config: dict):
        named = config["LaunchTemplateSpecification"]
        template, is_known = validation.template(self.backend, named)
        unknown = None if is_known else validation.unknown_template(template)
        if unknown and not behaviour.CURRENT.unknown_template_in_answer:
            raise EC2ClientError(*unknown)
        version = template.get_version(named["Version"])
        specification = {"LaunchTemplateId": template.id, "Version": str(version.number)}
        if behaviour.CURRENT.answer_names_template:
            specification["LaunchTemplateName"] = template.name
        for override in config.get("Overrides") or [{}]:
            if "InstanceRequirements" in override:
                raise EC2ClientError("UnsupportedOperation", "InstanceRequirements are not part of this rig")
            subnet_id = override.get("SubnetId") or version.data.get("SubnetId")
            if not subnet_id:
                raise EC2ClientError("InvalidFleetConfiguration", "an override names no subnet")
            subnet = self.backend.get_subnet(subnet_id)
            yield _Pool(specification, override, version.data, subnet, self.capacity_type, unknown)

    def fulfil(self) -> dict:
        """Launches what there is. The answer holds what failed beside what did not."""
        fleet = self._fleet()
        wanted = int(self.target["TotalTargetCapacity"])
        if self._is_empty():
            return {"FleetId": fleet.id, "Errors": [], "Instances": []}
        failing = fleet_failures.next_one()
        errors, launched = [], defaultdict(list)
        for rank, index in enumerate(self._ranked()):
            pool = self.pools[index]
            failure = (failing and failing.of(pool, rank == 0)) or self._failure(pool)
            if not failure and not refusals.may_launch(wanted):
                failure = refusals.LIMIT, "Request limit exceeded."
            if failure:
                code, message = failure
                errors.append({**pool.described(), "ErrorCode": code, "ErrorMessage": message})
                continue
            for _ in range(wanted + behaviour.CURRENT.surplus_instances):
                launched[index].append(self._launch(pool, fleet))
            break
        return {
            "FleetId": fleet.id,
            "Errors": errors,
            "Instances": [self._launched(self.pools[index], own) for index, own in launched.items()],
        }

    def _is_empty(self) -> bool:
        """Whether this is one of the fleets that answer with nothing at all."""
        with behaviour.LOCK:
            is_empty = behaviour.CURRENT.empty_fleets > 0
            behaviour.CURRENT.empty_fleets -= is_empty
        return is_empty

    def _launched(self, pool: _Pool, instances: list) -> dict:
        """The entry of an answer. Zone and subnet came to it late, and not every region has them."""
        entry = {
            **pool.described(),
            "InstanceType": pool.instance_type,
            "InstanceIds": [instance.id for instance in instances],
        }
        if behaviour.CURRENT.answer_places_instances:
            entry |= {"AvailabilityZone": pool.zone, "SubnetId": pool.subnet.id}
        return entry

    def _ranked(self) -> list[int]:
        """Pools in the order in which they are tried. A type that nobody knows comes last: it has no price."""

        def rank(index: int):
            pool = self.pools[index]
            if pool.instance_type not in INSTANCE_TYPES:
                return (float("inf"), index)
            if "prioritized" in self.strategy:
                return (float(pool.override.get("Priority", "inf")), index)
            return (pool.price(), index)

        return sorted(range(len(self.pools)), key=rank)

    def _failure(self, pool: _Pool) -> tuple[str, str] | None:
        """Why EC2 would not launch from this pool."""
        kind, zone = pool.instance_type, pool.zone
        if pool.unknown:
            return pool.unknown
        facts = INSTANCE_TYPES.get(kind)
        if facts is None:
            return "InvalidParameterValue", f"The instance type '{kind}' is not valid."
        if not market.is_offered(kind, zone):
            return (
                "InvalidFleetConfiguration",
                f"Your requested instance type ({kind}) is not supported in your requested Availability Zone ({zone}).",
            )
        image = self.backend.amis.get(pool.image_id)
        if image is None:
            return "InvalidAMIID.NotFound", f"The image id '[{pool.image_id}]' does not exist"
        if image.architecture not in facts["ProcessorInfo"]["SupportedArchitectures"]:
            return (
                "InvalidParameterValue",
                f"The architecture of the specified instance type ({kind}) does not match that of the image, {image.architecture}.",
            )
        own_tags = convert_tag_spec(self.tag_specifications)
        if why := validation.launch(pool.data, own_tags, pool.capacity_type):
            return why
        if why := validation.profile(pool.data.get("IamInstanceProfile")):
            return why
        if why := validation.groups(self.backend, pool.data):
            return why
        if pool.subnet.available_ip_address_count <= 0:
            return "InsufficientFreeAddressesInSubnet", (
                f"There are not enough free addresses in subnet '{pool.subnet.id}' to satisfy the requested number of instances."
            )
        if code := market.SHORTAGE.code(kind, zone, pool.capacity_type):
            return code, fleet_failures.message(code, kind, zone)
        return None

    def _fleet(self) -> Fleet:
        """The record of the request; its instances are launched here, not by moto."""
        fleet = Fleet.__new__(Fleet)
        fleet.ec2_backend = self.backend
        fleet.id = random_fleet_id()
        fleet.fleet_type, fleet.state = "instant", "active"
        fleet.target_capacity_specification = self.target
        fleet.launch_template_configs = self.configs
        fleet.launch_specs, fleet.spot_requests, fleet.on_demand_instances = [], [], []
        fleet.fulfilled_capacity = fleet.target_capacity = int(self.target["TotalTargetCapacity"])
        self.backend.fleets[fleet.id] = fleet
        fleet.add_tags(convert_tag_spec(self.tag_specifications).get("fleet", {}))
        return fleet

    def _profile(self, named: dict):
        for profile in place.iam().instance_profiles.values():
            if profile.name == named.get("Name") or profile.arn == named.get("Arn"):
                return profile
        return None

    def _launch(self, pool: _Pool, fleet: Fleet):
        data = pool.data
        tags = {kind: dict(values) for kind, values in convert_tag_spec(data.get("TagSpecifications", [])).items()}
        for kind, values in convert_tag_spec(self.tag_specifications).items():
            tags.setdefault(kind, {}).update(values)
        instance_tags = tags.setdefault("instance", {})
        instance_tags["aws:ec2:fleet-id"] = fleet.id
        instance_tags["aws:ec2launchtemplate:id"] = pool.specification["LaunchTemplateId"]
        instance_tags["aws:ec2launchtemplate:version"] = pool.specification["Version"]
        settings = {
            "instance_type": pool.instance_type,
            "is_instance_type_default": False,
            "region_name": self.backend.region_name,
            "subnet_id": pool.subnet.id,
            "security_group_ids": list(data.get("SecurityGroupIds", [])),
            "nics": data.get("NetworkInterfaces", []),
            "tags": tags,
            "metadata_options": data.get("MetadataOptions", {}),
            "monitoring_state": "enabled" if (data.get("Monitoring") or {}).get("Enabled") else "disabled",
            "ebs_optimized": data.get("EbsOptimized", False),
            "lifecycle": "spot" if pool.capacity_type == "spot" else None,
            "fleet_id": fleet.id,
        }
        if mappings := [m for m in data.get("BlockDeviceMappings", []) if "Ebs" in m]:
            settings["block_device_mappings"] = mappings
        with states.LAUNCHING:
            reservation = self.backend.run_instances(pool.image_id, 1, data.get("UserData"), [], **settings)
            instance = reservation.instances[0]
            if profile := data.get("IamInstanceProfile"):
                self.backend.associate_iam_instance_profile(
                    instance_id=instance.id,
                    iam_instance_profile_name=self._profile(profile).name,
                )
            states.start(instance)
            consistency.born(instance.id)
        return instance
