"""Instances take a moment to start and to end. moto's run and are gone at once."""

import time
from threading import Lock, Timer

from moto.ec2.models.instances import Instance
from moto.ec2.responses import EC2Response

import behaviour
import consistency

PENDING, RUNNING, SHUTTING_DOWN, TERMINATED = ("pending", 0), ("running", 16), ("shutting-down", 32), ("terminated", 48)

# Held while an instance is launched: moto's runs at once, and gets its profile only then.
LAUNCHING = Lock()

# Seconds; the rig keeps them short.
STARTING = 0.5
ENDING = 0.5


# When instances that reads still show running were told to end, by id.
_ENDED: dict[str, float] = {}


def truth(instance: Instance) -> tuple[str, int]:
    """The state an instance is in, whatever reads show."""
    if consistency.has_vanished(instance.id):
        return TERMINATED
    if ended := _ENDED.get(instance.id):
        return TERMINATED if time.monotonic() - ended >= ENDING else SHUTTING_DOWN
    return instance._state.name, instance._state.code


def forget() -> None:
    _ENDED.clear()


def _set(instance: Instance, state: tuple[str, int]) -> None:
    instance._state.name, instance._state.code = state


def _later(seconds: float, instance: Instance, expected: tuple[str, int], then: tuple[str, int]) -> None:
    def move():
        if instance.state == expected[0]:
            _set(instance, then)

    timer = Timer(seconds, move)
    timer.daemon = True
    timer.start()


def install() -> None:
    end = Instance.terminate

    def terminate(self):
        if truth(self) in (SHUTTING_DOWN, TERMINATED):
            return self._state
        previous = end(self)
        if stale := behaviour.CURRENT.stale_read_seconds:
            _ENDED[self.id] = time.monotonic()
            _set(self, RUNNING)
            _later(stale, self, RUNNING, TERMINATED)
        else:
            _set(self, SHUTTING_DOWN)
            _later(ENDING, self, SHUTTING_DOWN, TERMINATED)
        return previous

    Instance.terminate = terminate
    _tell_the_state_that_is()


def _tell_the_state_that_is() -> None:
    """TerminateInstances of moto says `shutting-down` also of what ended long ago."""
    originally = EC2Response.terminate_instances

    def terminate_instances(self):
        answer = originally(self)
        for row in answer.result["TerminatingInstances"]:
            name, code = truth(self.ec2_backend.get_instance(row["InstanceId"]))
            row["CurrentState"] = {"Code": code, "Name": name}
        # Not in the order of the request.
        answer.result["TerminatingInstances"].reverse()
        return answer

    EC2Response.terminate_instances = terminate_instances


def start(instance: Instance) -> None:
    """For an instance that has just been launched."""
    _set(instance, PENDING)
    _later(STARTING, instance, PENDING, RUNNING)
