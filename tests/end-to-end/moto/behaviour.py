"""How this cloud behaves where EC2's documentation leaves it open, or where strictness would cost every case time: knobs.

What EC2 is documented to do needs no knob and always holds. Names in the document of `PUT /rig/behaviour` are those of
the fields in camelCase. Whatever a document does not name has its default, so an empty one undoes everything.
"""

from dataclasses import MISSING, dataclass, field, fields
from threading import Lock

from moto.core.utils import camelcase_to_underscores

# What a knob may be set to, where not every value makes sense.
CHOICES = {
    "unknown_ids_named": {"all", "one", "none"},
    "failed_token": {"sameAnswer", "newAttempt", "mismatch"},
    "repeated_success": {"sameInstances", "nothing", "error"},
    "taken_template_name": {"exists", "dryRunOperation"},
    "ip_family": {"ipv4", "ipv6"},
}


@dataclass
class Behaviour:
    # For so long after its launch, calls with an instance's id do not know it, and lists lack it.
    instance_lag_seconds: float = 0.0
    # For so long after its launch, a list that has an instance shows none of its tags, nor finds it by them.
    tag_lag_seconds: float = 0.0
    # For so long after its creation, launches do not find a launch template (which fails the call, or stands in the
    # answer of a fleet), …
    template_lag_seconds: float = 0.0
    unknown_template_in_answer: bool = False
    # … and EC2 does not know an instance profile.
    profile_lag_seconds: float = 0.0
    # For so long after an instance was told to end, reads still show it as it was.
    stale_read_seconds: float = 0.0
    # Which of several unknown ids an error names.
    unknown_ids_named: str = "all"
    # Who changes an instance that has vanished is denied that, as a policy that asks for tags has it.
    vanished_is_denied: bool = False
    # CreateFleet's answer names the launch template beside its id; it tells zone and subnet of instances.
    answer_names_template: bool = False
    answer_places_instances: bool = False
    # It repeats nothing of the request beside what was launched, or was not.
    answer_omits_overrides: bool = False
    # What CreateFleet answers to the token of a fleet that launched nothing, and of one that did.
    failed_token: str = "sameAnswer"
    repeated_success: str = "sameInstances"
    # What a dry run of CreateLaunchTemplate answers for a name that is taken.
    taken_template_name: str = "exists"
    # So many instances more than were asked for.
    surplus_instances: int = 0
    # So many of the next fleets answer with neither instances nor errors.
    empty_fleets: int = 0
    # What becomes of the next fleets: see `fleet_failures.py`.
    fleet_failures: list = field(default_factory=list)
    # What becomes of the next calls of an action, whatever they ask for: see `refusals.py`.
    call_failures: list = field(default_factory=list)
    # Requests and launches draw on EC2's token buckets.
    rate_buckets: bool = False
    # What others in the account have left of those buckets at first: of each for requests that change something, and of
    # that for launched instances. All of it, where it is not given.
    requests_left: int | None = None
    launches_left: int | None = None
    # Of the cluster's pods and services.
    ip_family: str = "ipv4"


# The one there is. Whoever reads several fields for one answer reads them at once.
CURRENT = Behaviour()
LOCK = Lock()


def _set(values: dict) -> None:
    with LOCK:
        for knob in fields(Behaviour):
            default = knob.default_factory() if knob.default is MISSING else knob.default
            setattr(CURRENT, knob.name, values.get(knob.name, default))


def change(document: dict) -> str | None:
    """Sets all knobs, or none: then why not."""
    values = {camelcase_to_underscores(name): value for name, value in document.items()}
    known = {knob.name for knob in fields(Behaviour)}
    if unknown := sorted(set(values) - known):
        return f"there is no knob {', '.join(unknown)}"
    for name, choices in CHOICES.items():
        if values.get(name, next(iter(choices))) not in choices:
            return f"{name} is one of {', '.join(sorted(choices))}, not {values[name]}"
    _set(values)
    return None


def forget() -> None:
    """Every knob has its default."""
    _set({})


def take(name: str, matches) -> dict | None:
    """The first failure of a list that matches and has times left; it has one less from now on. One with `every` lets
    so many pass, less one, before each time."""
    with LOCK:
        for failure in getattr(CURRENT, name):
            if failure.get("times", 1) > 0 and matches(failure):
                failure["asked"] = failure.get("asked", 0) + 1
                if failure["asked"] % failure.get("every", 1):
                    continue
                failure["times"] = failure.get("times", 1) - 1
                return failure
    return None
