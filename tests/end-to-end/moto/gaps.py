"""Smaller things that EC2 does and moto does not."""

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError, InvalidInstanceIdError
from moto.ec2.models import EC2Backend
from moto.ec2.responses import EC2Response

import market


def install() -> None:
    EC2Response.describe_spot_price_history = _describe_spot_price_history
    EC2Response.describe_capacity_reservations = lambda _: ActionResult({"CapacityReservations": []})
    EC2Response.describe_placement_groups = _describe_placement_groups
    _refuse_tags_of_what_is_gone()


def _describe_spot_price_history(self: EC2Response) -> ActionResult:
    rows = market.spot_price_history(
        self.ec2_backend, self._get_param("InstanceTypes", []), self._filters_from_querystring()
    )
    start = int(self._get_param("NextToken") or 0)
    size = min(int(self._get_param("MaxResults") or 1000), 1000)
    token = str(start + size) if start + size < len(rows) else ""
    return ActionResult({"SpotPriceHistory": rows[start : start + size], "NextToken": token})


def _describe_placement_groups(self: EC2Response) -> ActionResult:
    if names := self._get_param("GroupNames", []):
        raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{names[0]}' is unknown.")
    return ActionResult({"PlacementGroups": []})


def _refuse_tags_of_what_is_gone() -> None:
    originally = EC2Backend.create_tags

    def create_tags(self, resource_ids, tags):
        instances = {i.id for i in self.all_instances() if i.state != "terminated"}
        if missing := [r for r in resource_ids if r.startswith("i-") and r not in instances]:
            raise InvalidInstanceIdError(missing)
        return originally(self, resource_ids, tags)

    EC2Backend.create_tags = create_tags
