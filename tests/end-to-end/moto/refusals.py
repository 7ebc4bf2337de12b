"""Whole calls that EC2 refuses before it has looked at them: for their rate, or because a case says so.

The knob `callFailures` lists what becomes of the next calls of an action, each

    {"times": 1, "every": 1, "action": "CreateFleet", "dryRun": false, "status": 503, "code": "RequestLimitExceeded",
     "message": "…"}

where `dryRun` picks real calls or dry runs, and both where it is not given, and with `every` only each such call fails.

Rates: https://docs.aws.amazon.com/AWSEC2/latest/DeveloperGuide/ec2-api-throttling.html
"""

import time
from threading import Lock
from urllib.parse import parse_qs
from xml.sax.saxutils import escape

import behaviour

# Requests: how many at once, and how many more each second.
MUTATING = (50, 5)
READING = (100, 20)
# Reads of these without filter and page size are dearer.
WITHOUT_BOUNDS = (50, 10)
UNBOUNDED = {
    "DescribeInstances", "DescribeInstanceStatus", "DescribeSecurityGroups", "DescribeVolumes",
    "DescribeNetworkInterfaces", "DescribeSnapshots", "DescribeSpotInstanceRequests",
}
BUCKETS = {
    "RunInstances": (5, 2),
    "StartInstances": (5, 2),
    "TerminateInstances": (100, 5),
    "CreateTags": (100, 10),
    "DeleteTags": (100, 10),
    "CreateLaunchTemplateVersion": (100, 5),
    "ModifyLaunchTemplate": (100, 5),
}
# Instances, whatever call launches or ends them.
LAUNCHED, ENDED = (1000, 2), (1000, 20)

LIMIT = "RequestLimitExceeded"


class Buckets:
    """Token buckets, each full at first but for what others have taken."""

    def __init__(self):
        self._lock = Lock()
        self._left: dict[str, tuple[float, float]] = {}

    def draw(self, name: str, bucket: tuple[float, float], tokens: int = 1, at_first: int | None = None) -> bool:
        """Whether there were so many."""
        now = time.monotonic()
        size, refill = bucket
        with self._lock:
            left, at = self._left.get(name, (size if at_first is None else at_first, now))
            left = min(size, left + (now - at) * refill)
            has_enough = left >= tokens
            self._left[name] = (left - tokens if has_enough else left, now)
        return has_enough

    def forget(self) -> None:
        with self._lock:
            self._left.clear()


BUCKETS_LEFT = Buckets()


def may_launch(instances: int) -> bool:
    """Fleets draw on the bucket of RunInstances; where it is empty, the error stands in a 200."""
    knobs = behaviour.CURRENT
    return not knobs.rate_buckets or BUCKETS_LEFT.draw("launched", LAUNCHED, instances, knobs.launches_left)


def answer(authorization: str, body: bytes) -> tuple[int, bytes] | None:
    """Status and body of a call that is refused; None where it goes on."""
    if "/ec2/" not in authorization:
        return None
    form = {key: values[0] for key, values in parse_qs(body.decode(errors="replace")).items()}
    action = form.get("Action", "")
    is_dry = form.get("DryRun", "false").lower() == "true"
    failure = behaviour.take(
        "call_failures",
        lambda own: own["action"] == action and own.get("dryRun", is_dry) == is_dry,
    )
    if failure:
        return _error(failure.get("status", 400), failure["code"], failure.get("message", failure["code"]))
    if behaviour.CURRENT.rate_buckets and not _may_ask(action, form):
        return _error(503, LIMIT, "Request limit exceeded.")
    return None


def _may_ask(action: str, form: dict) -> bool:
    is_read = action.startswith(("Describe", "Get"))
    is_unbounded = action in UNBOUNDED and not any(
        key.startswith(("Filter.", "InstanceId.")) or key == "MaxResults" for key in form
    )
    bucket, name = BUCKETS.get(action, READING if is_read else MUTATING), action
    if is_unbounded:
        bucket, name = WITHOUT_BOUNDS, f"{action} without bounds"
    at_first = None if is_read else behaviour.CURRENT.requests_left
    if not BUCKETS_LEFT.draw(name, bucket, at_first=at_first):
        return False
    if action != "TerminateInstances":
        return True
    ended = sum(key.startswith("InstanceId.") for key in form)
    return BUCKETS_LEFT.draw("ended", ENDED, ended)


def _error(status: int, code: str, message: str) -> tuple[int, bytes]:
    text = (
        f"<Response><Errors><Error><Code>{escape(code)}</Code><Message>{escape(message)}</Message></Error></Errors>"
        "<RequestID>rig</RequestID></Response>"
    )
    return status, text.encode()
