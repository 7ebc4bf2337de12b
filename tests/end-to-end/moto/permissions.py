"""What IAM has to permit for a call: every action with its resource and the facts that conditions ask for.

One call takes more than its own action: a launch also reads the subnet, creates volumes, tags them and lends a role. What
EC2 asks of IAM stands in the Service Authorization Reference:
https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonec2.html
"""

from dataclasses import dataclass, field

from moto.core.responses import BaseResponse
from moto.ec2.utils import convert_tag_spec

import place

LENT_TO = {"iam:PassedToService": "ec2.amazonaws.com"}
# What a launch may make; each is tagged with what the request or the template says of its kind.
MADE = ("instance", "volume", "network-interface")
# CreateFleet asks for less than the launches it leads to.
MADE_BY_FLEETS = ("fleet", "instance", "volume")


@dataclass
class Permission:
    action: str
    resource: str = "*"
    context: dict[str, str | list[str]] = field(default_factory=dict)


def of(service: str, name: str, region: str, request: BaseResponse) -> list[Permission]:
    """What a call takes; its own action first."""
    asked = f"{service}:{name}"
    match service, name:
        case "ec2", "CreateFleet" | "RunInstances":
            return _launch(name, request)
        case "ec2", "CreateLaunchTemplate":
            tags = _tags(request._get_param("TagSpecifications", [])).get("launch-template", {})
            resource = _ec2("launch-template/*")
            creation = {"ec2:CreateAction": name}
            return [Permission(asked, resource, _request(tags)), *_tagging(resource, tags, creation)]
        case "ec2", "CreateTags":
            tags = {tag["Key"]: tag["Value"] for tag in request._get_param("Tags", [])}
            ids = request._get_param("Resources", [])
            return [Permission(asked, _ec2(_kind(i)), _resource(place.ec2().tags.get(i, {})) | _request(tags)) for i in ids]
        case "ec2", "TerminateInstances":
            ids = request._get_param("InstanceIds", [])
            return [Permission(asked, _ec2(f"instance/{i}"), _resource(place.ec2().tags.get(i, {}))) for i in ids]
        case "ec2", "DeleteLaunchTemplate":
            template = request._get_param("LaunchTemplateId")
            return [Permission(asked, _ec2(f"launch-template/{template}"), _resource(place.ec2().tags.get(template, {})))]
        case "iam", "CreateInstanceProfile":
            path, own = request._get_param("Path", "/"), request._get_param("InstanceProfileName")
            resource = f"arn:aws:iam::{place.ACCOUNT}:instance-profile{path}{own}"
            tags = _request({tag["Key"]: tag["Value"] for tag in request._get_param("Tags", [])})
            return [Permission(asked, resource, tags), *([Permission("iam:TagInstanceProfile", resource, tags)] if tags else [])]
        case "iam", "AddRoleToInstanceProfile":
            role = f"arn:aws:iam::{place.ACCOUNT}:role/{request._get_param('RoleName')}"
            return [Permission(asked, *_profile(request)), Permission("iam:PassRole", role, LENT_TO)]
        case "iam", "GetInstanceProfile" | "RemoveRoleFromInstanceProfile" | "DeleteInstanceProfile":
            return [Permission(asked, *_profile(request))]
        case "ssm", "GetParameters":
            names = request._get_param("Names", [])
            return [Permission(asked, f"arn:aws:ssm:{region}:{_owner(own)}:parameter{own}") for own in names]
        case "sqs", "SendMessage" | "SendMessageBatch":
            # IAM has no action of its own for batches.
            queue = request._get_param("QueueUrl").rsplit("/", 1)[-1]
            return [Permission("sqs:SendMessage", f"arn:aws:sqs:{region}:{place.ACCOUNT}:{queue}")]
        case "eks", "DescribeCluster":
            return [Permission(asked, f"arn:aws:eks:{region}:{place.ACCOUNT}:cluster/{request._get_param('name')}")]
        case _:
            return [Permission(asked, context={"aws:RequestedRegion": region})]


def _launch(name: str, request: BaseResponse) -> list[Permission]:
    spot = (request._get_param("TargetCapacitySpecification") or {}).get("DefaultTargetCapacityType") == "spot"
    # RunInstances says where an instance stands for itself, or for each of its interfaces.
    stands_in = [request._get_param("NetworkInterfaces", []), [{"SubnetId": request._get_param("SubnetId")}]]
    configs = request._get_param("LaunchTemplateConfigs") or [
        {
            "LaunchTemplateSpecification": request._get_param("LaunchTemplate", {}),
            "Overrides": [{"SubnetId": own.get("SubnetId")} for places in stands_in for own in places],
        }
    ]
    asked = _tags(request._get_param("TagSpecifications", []))
    needed = []
    for config in configs:
        template = _template(config["LaunchTemplateSpecification"])
        if template is None:
            continue
        data = template.latest_version().data
        # moto puts the template's own tags among those of what it makes.
        tags = {kind: dict(own) for kind, own in _tags(data.get("TagSpecifications", [])).items() if kind != "launch-template"}
        for kind, own in asked.items():
            tags.setdefault(kind, {}).update(own)
        subnets = {override.get("SubnetId") for override in config.get("Overrides", [])} - {None}
        used = [_ec2(f"subnet/{subnet}") for subnet in sorted(subnets)]
        used.append(_ec2(f"image/{data['ImageId']}", ""))
        interfaces = data.get("NetworkInterfaces", [])
        of_interfaces = {group for own in interfaces for group in own.get("Groups", [])}
        groups = [_ec2(f"security-group/{group}") for group in [*data.get("SecurityGroupIds", []), *sorted(of_interfaces)]]
        own = _ec2(f"launch-template/{template.id}"), _resource(place.ec2().tags.get(template.id, {}))
        if name == "CreateFleet":
            needed += [Permission("ec2:CreateFleet", resource) for resource in used]
            needed += [Permission("ec2:CreateFleet", *own)]
            needed += [Permission("ec2:CreateFleet", _ec2(f"{kind}/*"), _request(tags.get(kind, {}))) for kind in MADE_BY_FLEETS]
        needed += [Permission("ec2:RunInstances", resource) for resource in used + groups]
        needed += [Permission("ec2:RunInstances", *own)]
        made = MADE + (("spot-instances-request",) if spot else ())
        needed += [Permission("ec2:RunInstances", _ec2(f"{kind}/*"), _request(tags.get(kind, {}))) for kind in made]
        for kind, own_tags in tags.items():
            for action in {name, "RunInstances"} - ({"RunInstances"} if kind == "fleet" else set()):
                needed += _tagging(_ec2(f"{kind}/*"), own_tags, {"ec2:CreateAction": action})
        needed += [Permission("iam:PassRole", role, LENT_TO) for role in _roles(data.get("IamInstanceProfile") or {})]
    return needed or [Permission(f"ec2:{name}")]


def _template(specification: dict):
    named = specification.get("LaunchTemplateName")
    identifier = specification.get("LaunchTemplateId") or place.ec2().launch_template_name_to_ids.get(named)
    return place.ec2().launch_templates.get(identifier)


def _roles(named: dict) -> list[str]:
    """The roles that an instance profile of a launch lends."""
    for profile in place.iam().instance_profiles.values():
        if profile.name == named.get("Name") or profile.arn == named.get("Arn"):
            return [role.arn for role in profile.roles]
    return []


def _profile(request: BaseResponse) -> tuple[str, dict]:
    """An instance profile that is there by its path and tags, any other by its name alone."""
    name = request._get_param("InstanceProfileName")
    for profile in place.iam().instance_profiles.values():
        if profile.name == name:
            return profile.arn, _resource({tag["Key"]: tag["Value"] for tag in profile.tags})
    return f"arn:aws:iam::{place.ACCOUNT}:instance-profile/{name}", {}


def _owner(parameter: str) -> str:
    """AWS's own parameters are of no account."""
    return "" if parameter.startswith("/aws/service/") else place.ACCOUNT


def _kind(identifier: str) -> str:
    prefix = identifier.split("-")[0]
    return {"i": "instance", "lt": "launch-template", "vol": "volume", "eni": "network-interface"}[prefix] + f"/{identifier}"


def _ec2(path: str, account: str = place.ACCOUNT) -> str:
    return f"arn:aws:ec2:{place.REGION}:{account}:{path}"


def _tags(specifications: list[dict]) -> dict[str, dict[str, str]]:
    return convert_tag_spec(specifications)


def _tagging(resource: str, tags: dict[str, str], creation: dict[str, str]) -> list[Permission]:
    return [Permission("ec2:CreateTags", resource, _request(tags) | creation)] if tags else []


def _request(tags: dict[str, str]) -> dict[str, str | list[str]]:
    own: dict[str, str | list[str]] = {f"aws:RequestTag/{key}": value for key, value in tags.items()}
    return own | ({"aws:TagKeys": sorted(tags)} if tags else {})


def _resource(tags: dict[str, str]) -> dict[str, str]:
    return {f"aws:ResourceTag/{key}": value for key, value in tags.items()}
