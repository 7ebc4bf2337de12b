"""What EC2 refuses in requests of launches and launch templates, and moto lets pass.

Sources: the reference of each action, https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_CreateLaunchTemplate.html,
…/API_CreateFleet.html and …/API_RunInstances.html, and https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/fleet-quotas.html
"""

import base64
import re

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses import EC2Response
from moto.ec2.utils import convert_tag_spec

import behaviour
import consistency
import place

MOST_OVERRIDES = 300
MOST_CONFIGS = 50
MOST_TAGS = 50
MOST_USER_DATA = 16384
TEMPLATE_NAME = re.compile(r"[a-zA-Z0-9().\-/_]{3,128}")
TOKEN = re.compile(r"[\x21-\x7e]{1,64}")
# With instance tags in metadata.
METADATA_KEY = re.compile(r"[0-9a-zA-Z\-_+=,.@:]{1,255}")
RESERVED_KEYS = {".", "..", "_index"}
FLEET_TAGS = {"fleet", "instance", "volume", "network-interface"}
LAUNCH_TAGS = {"instance", "volume", "network-interface", "spot-instances-request"}

TAKEN = "InvalidLaunchTemplateName.AlreadyExistsException", "Launch template name already in use."
NO_DEFAULT_VPC = (
    "VPCIdNotSpecified",
    "No default VPC for this user. GroupName is only supported for EC2-Classic and default VPC.",
)


def install() -> None:
    _check_templates()
    _check_instances()


def tags(specifications: list[dict], kinds: set[str]) -> None:
    for kind, own in convert_tag_spec(specifications).items():
        if kind not in kinds:
            raise _invalid(f"'{kind}' is not a valid taggable resource type for this operation.")
        if len(own) > MOST_TAGS:
            raise EC2ClientError("TagLimitExceeded", f"The maximum number of tags is {MOST_TAGS}.")
        for key, value in own.items():
            if key.startswith("aws:") or len(key) > 128 or len(value) > 256:
                raise _invalid(f"Tag {key} is not valid.")


def fleet(request, configs: list[dict]) -> None:
    """A fleet's request, before its launch templates are looked up."""
    token = request._get_param("ClientToken")
    if token and not TOKEN.fullmatch(token):
        raise _invalid("ClientToken is not valid.")
    least = request._get_param("OnDemandOptions", {}) | request._get_param("SpotOptions", {})
    if least.get("MinTargetCapacity") and not (least.get("SingleInstanceType") or least.get("SingleAvailabilityZone")):
        raise _invalid("MinTargetCapacity needs SingleInstanceType or SingleAvailabilityZone.")
    for override in (own for config in configs for own in config.get("Overrides") or []):
        _override(override)
    if len(configs) > MOST_CONFIGS or sum(len(own.get("Overrides") or [{}]) for own in configs) > MOST_OVERRIDES:
        raise _invalid(f"A fleet has at most {MOST_OVERRIDES} launch template overrides.")
    for config in configs:
        named = config["LaunchTemplateSpecification"]
        if bool(named.get("LaunchTemplateId")) == bool(named.get("LaunchTemplateName")):
            raise _invalid("A launch template has either an id or a name.")
        if not named.get("Version"):
            raise EC2ClientError("MissingParameter", "The request must contain a version of the launch template.")
    tags(request._get_param("TagSpecifications", []), FLEET_TAGS)


def _override(own: dict) -> None:
    for one, other in (("InstanceType", "InstanceRequirements"), ("AvailabilityZone", "AvailabilityZoneId")):
        if own.get(one) and own.get(other):
            raise EC2ClientError("InvalidParameterCombination", f"An override has either {one} or {other}.")
    if "," in own.get("SubnetId", ""):
        raise _invalid("An override of an instant fleet has one subnet.")
    if float(own.get("Priority", 0)) < 0:
        raise _invalid("The priority of an override is 0 or more.")


def pools(all_pools: list) -> None:
    """Each instance type stands once for each zone, whatever its subnet and launch template."""
    seen = set()
    for pool in all_pools:
        own = pool.instance_type, pool.zone
        if own in seen:
            raise EC2ClientError("InvalidFleetConfig", "The fleet configuration contains duplicate instance pools.")
        seen.add(own)


def launch(data: dict, launch_tags: dict[str, dict], capacity_type: str) -> tuple[str, str] | None:
    """Why nothing can be launched from a template with these tags."""
    own = convert_tag_spec(data.get("TagSpecifications", []))
    if "spot-instances-request" in own and capacity_type != "spot":
        return (
            "InvalidParameterValue",
            "You cannot specify tags for Spot instances requests if there are no Spot instances requests being created "
            "by the request.",
        )
    if data.get("NetworkInterfaces") and data.get("SecurityGroupIds"):
        return (
            "InvalidParameterCombination",
            "Network interfaces and an instance-level security groups may not be specified on the same request",
        )
    if (data.get("MetadataOptions") or {}).get("InstanceMetadataTags") != "enabled":
        return None
    keys = own.get("instance", {}) | launch_tags.get("instance", {})
    for key in keys:
        if not METADATA_KEY.fullmatch(key) or key in RESERVED_KEYS:
            return (
                "InvalidParameterValue",
                f"'{key}' is not a valid tag key. Tag keys must match pattern ([0-9a-zA-Z\\\\-_+=,.@:]{{1,255}}), and must "
                "not be a reserved name ('.', '..', '_index')",
            )
    return None


def profile(named: dict | None) -> tuple[str, str] | None:
    """Why EC2 does not take the instance profile of a launch."""
    if not named:
        return None
    asked = named.get("Name") or named.get("Arn")
    for own in place.iam().instance_profiles.values():
        if asked in (own.name, own.arn) and consistency.is_profile_known(own):
            if own.roles:
                return None
            return "InvalidParameterValue", f'IAM Instance Profile "{own.arn}" has no associated IAM Roles'
    form = "name" if named.get("Name") else "arn"
    return (
        "InvalidParameterValue",
        f"Value ({asked}) for parameter iamInstanceProfile.{form} is invalid. Invalid IAM Instance Profile {form}",
    )


def groups(backend, data: dict) -> tuple[str, str] | None:
    """Why EC2 does not take the security groups of a launch template."""
    interfaces = [own for nic in data.get("NetworkInterfaces", []) for own in nic.get("Groups", [])]
    for group in data.get("SecurityGroupIds", []) + interfaces:
        if backend.get_security_group_from_id(group) is None:
            return "InvalidGroup.NotFound", f"The security group '{group}' does not exist"
    return None


def template(backend, named: dict):
    """The launch template that a launch names, if EC2 knows it by now."""
    if identifier := named.get("LaunchTemplateId"):
        own = backend.get_launch_template(identifier)
    else:
        own = backend.get_launch_template_by_name(named["LaunchTemplateName"])
    return own, consistency.is_template_known(own.id)


def unknown_template(own) -> tuple[str, str]:
    return (
        "InvalidLaunchTemplateName.NotFoundException",
        f"The specified launch template, with template name {own.name}, does not exist.",
    )


def _check_templates() -> None:
    originally = EC2Response.create_launch_template

    def create_launch_template(self: EC2Response):
        name = self._get_param("LaunchTemplateName") or ""
        if not TEMPLATE_NAME.fullmatch(name):
            raise EC2ClientError("InvalidLaunchTemplateName.MalformedException", f"The name {name} is not valid.")
        user_data = self._get_param("LaunchTemplateData.UserData") or ""
        if len(base64.b64decode(user_data)) > MOST_USER_DATA:
            raise EC2ClientError("InvalidUserData.Malformed", f"User data is limited to {MOST_USER_DATA} bytes")
        tags(self._get_param("TagSpecifications", []), {"launch-template"})
        tags(self._get_param("LaunchTemplateData.TagSpecifications", []), LAUNCH_TAGS)
        is_taken = name in self.ec2_backend.launch_template_name_to_ids
        is_dry = str(self._get_param("DryRun", "false")).lower() == "true"
        if is_taken and not (is_dry and behaviour.CURRENT.taken_template_name == "dryRunOperation"):
            raise EC2ClientError(*TAKEN)
        return originally(self)

    EC2Response.create_launch_template = create_launch_template


def _check_instances() -> None:
    originally = EC2Response.run_instances

    def run_instances(self: EC2Response):
        tags(self._get_param("TagSpecifications", []), LAUNCH_TAGS)
        data = {}
        if named := self._get_param("LaunchTemplate", {}):
            own, is_known = template(self.ec2_backend, named)
            if not is_known:
                raise EC2ClientError(*unknown_template(own))
            data = own.get_version(named.get("Version", "$Default")).data
        _network(self, data)
        named = self._get_param("IamInstanceProfile", {}) or data.get("IamInstanceProfile")
        if why := profile(named):
            raise EC2ClientError(*why)
        image = self._get_param("ImageId") or data.get("ImageId")
        if image not in self.ec2_backend.amis:
            raise EC2ClientError("InvalidAMIID.NotFound", f"The image id '[{image}]' does not exist")
        return originally(self)

    EC2Response.run_instances = run_instances


def _network(self: EC2Response, data: dict) -> None:
    """Where an instance would stand. An account has no default VPC: what does not say stands nowhere."""
    interfaces = self._get_param("NetworkInterfaces", []) or data.get("NetworkInterfaces", [])
    subnet = self._get_param("SubnetId") or data.get("SubnetId")
    groups = self._get_param("SecurityGroupIds", []) or data.get("SecurityGroupIds", [])
    for what, is_given in (("an instance-level subnet ID", subnet), ("instance-level security groups", groups)):
        if interfaces and is_given:
            message = f"Network interfaces and {what} may not be specified on the same request"
            raise EC2ClientError("InvalidParameterCombination", message)
    if interfaces and not all(own.get("SubnetId") for own in interfaces):
        raise EC2ClientError(*NO_DEFAULT_VPC)
    if not interfaces and not subnet:
        raise EC2ClientError(*NO_DEFAULT_VPC)


def _invalid(message: str) -> EC2ClientError:
    return EC2ClientError("InvalidParameterValue", message)
