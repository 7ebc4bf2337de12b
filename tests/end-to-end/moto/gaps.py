"""Smaller things that EC2 and IAM do and moto does not."""

from moto.core.responses import ActionResult
from moto.core.serialize import EC2Serializer
from moto.ec2.exceptions import EC2ClientError, InvalidInstanceIdError, OperationNotPermitted4
from moto.ec2.models import EC2Backend
from moto.ec2.responses import EC2Response
from moto.iam.responses import IamResponse

import market


# The most rows of a page, from EC2's reference of each action.
TYPES, OFFERINGS, PRICES = 100, 1000, 1000
# What differs between questions that have the same answer.
PASSING = {"NextToken", "MaxResults", "StartTime", "EndTime", "ClientToken"}

# The HTTP status of errors of EC2; of all others it is 400.
STATUSES = {
    "AuthFailure": 401,
    "UnauthorizedOperation": 403,
    "DryRunOperation": 412,
    "InternalError": 500,
    "InsufficientInstanceCapacity": 500,
    "RequestLimitExceeded": 503,
}


def install() -> None:
    EC2Response.describe_instance_types = _paged(EC2Response.describe_instance_types, "InstanceTypes", TYPES)
    EC2Response.describe_instance_type_offerings = _paged(
        EC2Response.describe_instance_type_offerings, "InstanceTypeOfferings", OFFERINGS
    )
    EC2Response.describe_spot_price_history = _paged(_describe_spot_price_history, "SpotPriceHistory", PRICES)
    EC2Response.describe_capacity_reservations = lambda _: ActionResult({"CapacityReservations": []})
    EC2Response.describe_placement_groups = _describe_placement_groups
    IamResponse.list_instance_profiles = _list_instance_profiles
    _refuse_tags_of_what_is_gone()
    _spare_zones_of_protected_instances()
    _say_statuses()


def _paged(originally, rows: str, most: int):
    """A page at a time, as EC2 answers: moto answers with everything at once, in megabytes. What is asked for never
    changes, so it is gathered once for each question."""
    known: dict[str, list] = {}

    def answer(self: EC2Response) -> ActionResult:
        asked = repr(sorted((k, v) for k, v in self.params.items() if k not in PASSING))
        if asked not in known:
            known[asked] = originally(self).result[rows]
        return ActionResult(_page(self, rows, known[asked], most))

    return answer


def _page(request: EC2Response, name: str, rows: list, most: int) -> dict:
    start = int(request._get_param("NextToken") or 0)
    end = start + min(int(request._get_param("MaxResults") or most), most)
    return {name: rows[start:end]} | ({"NextToken": str(end)} if end < len(rows) else {})


def _describe_spot_price_history(self: EC2Response) -> ActionResult:
    rows = market.spot_price_history(
        self.ec2_backend, self._get_param("InstanceTypes", []), self._filters_from_querystring()
    )
    return ActionResult({"SpotPriceHistory": rows})


def _describe_placement_groups(self: EC2Response) -> ActionResult:
    if names := self._get_param("GroupNames", []):
        raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{names[0]}' is unknown.")
    return ActionResult({"PlacementGroups": []})


def _list_instance_profiles(self: IamResponse) -> ActionResult:
    prefix = self._get_param("PathPrefix", "/")
    profiles = self.backend.get_instance_profiles()
    return ActionResult({"InstanceProfiles": [profile for profile in profiles if profile.path.startswith(prefix)]})


def _refuse_tags_of_what_is_gone() -> None:
    originally = EC2Backend.create_tags

    def create_tags(self, resource_ids, tags):
        instances = {i.id for i in self.all_instances() if i.state != "terminated"}
        if missing := [r for r in resource_ids if r.startswith("i-") and r not in instances]:
            raise InvalidInstanceIdError(missing)
        return originally(self, resource_ids, tags)

    EC2Backend.create_tags = create_tags


def _spare_zones_of_protected_instances() -> None:
    """One instance that is protected from termination spares all of its zone; the others end, and the call fails.

    Source: https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_TerminateInstances.html
    """
    originally = EC2Backend.terminate_instances

    def terminate_instances(self, instance_ids):
        instances = self.get_multi_instances_by_id(instance_ids)
        protected = [own for own in instances if str(own.disable_api_termination).lower() == "true"]
        if not protected:
            return originally(self, instance_ids)
        spared = {own.availability_zone for own in protected}
        if others := [own.id for own in instances if own.availability_zone not in spared]:
            originally(self, others)
        raise OperationNotPermitted4(protected[0].id)

    EC2Backend.terminate_instances = terminate_instances


def _say_statuses() -> None:
    originally = EC2Serializer._serialized_error_to_response

    def respond(self, resp, error, shape, serialized_error):
        response = originally(self, resp, error, shape, serialized_error)
        response["status_code"] = STATUSES.get(shape.error_code, response["status_code"])
        return response

    EC2Serializer._serialized_error_to_response = respond
