"""What goes wrong with the next fleets, by the knob `fleetFailures`: each

    {"times": 1, "every": 1, "code": "RequestLimitExceeded", "message": "…", "instanceType": "m5.large", "zone": "…",
     "cheapestOnly": false, "fillers": false}

With `every` only each such fleet fails. Code and message stand in the answer, whose status is 200: beside every override, those of a type or zone, or (with
`cheapestOnly`) the one that would have been launched from. Other overrides launch, unless `fillers` asks that nothing
does: then `UnfulfillableCapacity` stands beside each of them.
"""

from dataclasses import dataclass

import behaviour

FILLER = (
    "UnfulfillableCapacity",
    "Unable to fulfill capacity due to your request configuration. Please adjust your request and try again.",
)

# What EC2 says beside a code, where a failure does not word it itself.
MESSAGES = {
    "RequestLimitExceeded": "Request limit exceeded.",
    "InternalError": "An internal error has occurred",
    "UnauthorizedOperation": (
        "You are not authorized to perform this operation. User: arn:aws:sts::123456789012:assumed-role/x/y is not "
        "authorized to perform: ec2:RunInstances on resource: arn:aws:ec2:us-east-1:123456789012:instance/* because no "
        "identity-based policy allows the ec2:RunInstances action. Encoded authorization failure message: AQAB"
    ),
    "VcpuLimitExceeded": (
        "You have requested more vCPU capacity than your current vCPU limit of 0 allows for the instance bucket that the "
        "specified instance type belongs to. Please visit http://aws.amazon.com/contact-us/ec2-request to request an "
        "adjustment to this limit."
    ),
    "MaxSpotInstanceCountExceeded": "Max spot instance count exceeded",
    "AuthFailure.ServiceLinkedRoleCreationNotPermitted": (
        "The provided credentials do not have permission to create the service-linked role for EC2 Spot Instances."
    ),
    "UnfulfillableCapacity": FILLER[1],
}




def message(code: str, instance_type: str, zone: str) -> str:
    """What EC2 says beside a code about a pool."""
    if code == "InsufficientInstanceCapacity":
        return (
            f"We currently do not have sufficient {instance_type} capacity in the Availability Zone you requested ({zone}). "
            "Our system will be working on provisioning additional capacity."
        )
    return MESSAGES.get(code, f"{code} for {instance_type} in {zone}")


@dataclass
class Failing:
    """What becomes of the pools of one fleet."""

    failure: dict

    def of(self, pool, is_cheapest: bool) -> tuple[str, str] | None:
        """Why nothing is launched from a pool."""
        if self._is_about(pool, is_cheapest):
            code = self.failure["code"]
            return code, self.failure.get("message") or message(code, pool.instance_type, pool.zone)
        return FILLER if self.failure.get("fillers") else None

    def _is_about(self, pool, is_cheapest: bool) -> bool:
        failure = self.failure
        return (
            failure.get("instanceType", pool.instance_type) == pool.instance_type
            and failure.get("zone", pool.zone) == pool.zone
            and (is_cheapest or not failure.get("cheapestOnly"))
        )


def next_one() -> Failing | None:
    """What becomes of the fleet that is asked for now."""
    failure = behaviour.take("fleet_failures", lambda _: True)
    return failure and Failing(failure)
