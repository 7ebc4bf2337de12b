"""Smaller things that EC2 and IAM do and moto does not."""

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError, InvalidInstanceIdError
from moto.ec2.models import EC2Backend
from moto.ec2.responses import EC2Response
from moto.iam.responses import IamResponse

import market


# The most rows of a page, from EC2's reference of each action.
TYPES, OFFERINGS, PRICES = 100, 1000, 1000
# What differs between questions that have the same answer.
PASSING = {"NextToken", "MaxResults", "StartTime", "EndTime", "ClientToken"}


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
