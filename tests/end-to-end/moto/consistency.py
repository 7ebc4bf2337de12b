"""EC2 is eventually consistent; moto is consistent at once. How long each window lasts is a knob of `behaviour.py`.

A call with the id of an instance that is too new fails as a whole, a list merely lacks it. Its tags may come later still.
Launches find a template or profile only some seconds after it was made. Reads may go back in time: an instance is shown
running after it was told to end.

Source: https://docs.aws.amazon.com/ec2/latest/devguide/eventual-consistency.html
"""

import copy
import time

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend
from moto.ec2.models.instances import Instance
from moto.ec2.responses import EC2Response
from moto.iam.models import IAMBackend

import behaviour
import fleet_failures

# https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_TerminateInstances.html
MOST_IDS = 1000
# https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/Using_Filtering.html
MOST_VALUES = 200

# When each thing came to be, and when instances vanished, by id.
_BORN: dict[str, float] = {}
_VANISHED: dict[str, float] = {}


def born(identifier: str) -> None:
    """From now on a thing is there; others hear of it later."""
    _BORN[identifier] = time.monotonic()


def _is_new(identifier: str, seconds: float) -> bool:
    return time.monotonic() - _BORN.get(identifier, float("-inf")) < seconds


def vanish(instance: Instance) -> None:
    """The instance is gone for whoever wants to change it; reads hear of it later."""
    _VANISHED[instance.id] = time.monotonic()


def has_vanished(identifier: str) -> bool:
    return identifier in _VANISHED


def forget() -> None:
    _BORN.clear()
    _VANISHED.clear()


def is_template_known(identifier: str) -> bool:
    return not _is_new(identifier, behaviour.CURRENT.template_lag_seconds)


def is_profile_known(profile) -> bool:
    return not _is_new(profile.id, behaviour.CURRENT.profile_lag_seconds)


def is_shown(instance: Instance) -> bool:
    """Whether reads show the instance."""
    if gone := _VANISHED.get(instance.id):
        return time.monotonic() - gone < behaviour.CURRENT.stale_read_seconds
    return not _is_new(instance.id, behaviour.CURRENT.instance_lag_seconds)


def _refuse_unknown(self: EC2Response, ids: list[str], changes: bool) -> None:
    """Fails a call with an id that EC2 does not know, or with too many."""
    if len(ids) > MOST_IDS:
        raise EC2ClientError("InvalidParameterValue", f"The maximum number of instance ids is {MOST_IDS}.")
    shown = {
        instance.id
        for instance in self.ec2_backend.all_instances()
        if is_shown(instance) and not (changes and has_vanished(instance.id))
    }
    if unknown := [own for own in ids if own not in shown]:
        if changes and behaviour.CURRENT.vanished_is_denied and any(map(has_vanished, unknown)):
            raise EC2ClientError("UnauthorizedOperation", fleet_failures.MESSAGES["UnauthorizedOperation"])
        raise unknown_instances(unknown)


def unknown_instances(ids: list[str]) -> EC2ClientError:
    named = {"all": ids, "one": ids[:1], "none": []}[behaviour.CURRENT.unknown_ids_named]
    match named:
        case []:
            message = "An instance ID of the request does not exist"
        case [one]:
            message = f"The instance ID '{one}' does not exist"
        case several:
            message = f"The instance IDs '{', '.join(several)}' do not exist"
    return EC2ClientError("InvalidInstanceID.NotFound", message)


def install() -> None:
    _note_what_is_made()
    _describe_with_lag()
    _change_only_what_is_known()


def _note_what_is_made() -> None:
    create_template, create_profile = EC2Backend.create_launch_template, IAMBackend.create_instance_profile

    def create_launch_template(self, *arguments, **named):
        template = create_template(self, *arguments, **named)
        born(template.id)
        return template

    def create_instance_profile(self, *arguments, **named):
        profile = create_profile(self, *arguments, **named)
        born(profile.id)
        return profile

    EC2Backend.create_launch_template = create_launch_template
    IAMBackend.create_instance_profile = create_instance_profile


def _describe_with_lag() -> None:
    originally = EC2Response.describe_instances

    def describe_instances(self: EC2Response):
        filters = self._filters_from_querystring()
        if sum(len(values) for values in filters.values()) > MOST_VALUES:
            raise EC2ClientError("FilterLimitExceeded", f"The maximum number of filter values is {MOST_VALUES}.")
        _refuse_unknown(self, self._get_param("InstanceIds", []), changes=False)
        answer = originally(self)
        asks_tags = any(name.startswith("tag") for name in filters)
        rows = (_seen(reservation, asks_tags) for reservation in answer.result["Reservations"])
        # In no order that means anything.
        answer.result["Reservations"] = sorted((row for row in rows if row.instances), key=lambda row: row.id[::-1])
        return answer

    EC2Response.describe_instances = describe_instances


def _seen(reservation, asks_tags: bool):
    """A reservation as reads show it now."""
    instances = []
    for instance in reservation.instances:
        is_tagged = not _is_new(instance.id, behaviour.CURRENT.tag_lag_seconds)
        if not is_shown(instance) or (asks_tags and not is_tagged):
            continue
        if not is_tagged:
            instance = copy.copy(instance)
            instance.get_tags = list
        instances.append(instance)
    reservation = copy.copy(reservation)
    reservation.instances = instances
    return reservation


def _change_only_what_is_known() -> None:
    terminate, tag = EC2Response.terminate_instances, EC2Response.create_tags

    def terminate_instances(self: EC2Response):
        _refuse_unknown(self, self._get_param("InstanceIds", []), changes=True)
        return terminate(self)

    def create_tags(self: EC2Response):
        ids = [own for own in self._get_param("Resources", []) if own.startswith("i-")]
        _refuse_unknown(self, ids, changes=True)
        return tag(self)

    EC2Response.terminate_instances = terminate_instances
    EC2Response.create_tags = create_tags
