"""Whoever calls with the keys of a function's role has its rights and no others, and what it needed is kept.

moto's IAM checks the signature and the action itself. What else a call takes (the launches of a fleet, tags, the role of
nodes) moto does not ask for: that is held against the role's actions here. A refusal is marked with `x-rig-denied`; the
rig's gate words it as the service does.
"""

import json
import re
from collections import Counter
from io import BytesIO
from threading import Lock, local

from moto import settings
from moto.core.authorization import ActionAuthenticatorMixin
from moto.core.exceptions import AccessDeniedError

import permissions
from permissions import Permission
from roles import ROLES

DENIED = "x-rig-denied"
SCOPE = re.compile(r"Credential=([^/]+)/[0-9]+/([^/]+)/([^/]+)/")
# What differs between two resources of one kind.
IDENTIFIER = re.compile(r"[0-9a-f]{4,}(-[0-9a-f]{4,})+|(?<=-)[0-9a-f]{8,}|(?<=_)[0-9a-f]{8,}")


# The call that this thread answers.
_CALL = local()


def receive(environ: dict) -> None:
    """Keeps the body of a call as it came."""
    _CALL.body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    rewind(environ)


def rewind(environ: dict) -> None:
    """Lets the body be read again."""
    environ["wsgi.input"] = BytesIO(_CALL.body)


class Ledger:
    """What functions needed, each kind once, with the facts that the template's conditions ask for."""

    def __init__(self):
        self._lock = Lock()
        self._times: Counter[str] = Counter()
        self._examples: dict[str, dict] = {}

    def note(self, function: str, needed: list[Permission]) -> None:
        asked = ROLES.template.condition_keys
        for one in needed:
            context = {key: value for key, value in one.context.items() if key in asked}
            row = {"function": function, "action": one.action, "resource": one.resource, "context": context}
            kind = json.dumps(row | {"resource": IDENTIFIER.sub("", one.resource)}, sort_keys=True)
            with self._lock:
                self._times[kind] += 1
                self._examples.setdefault(kind, row)

    def rows(self) -> list[dict]:
        with self._lock:
            return [self._examples[kind] | {"times": times} for kind, times in sorted(self._times.items())]


LEDGER = Ledger()


def refused(authorization: str, name: str, request=None) -> str | None:
    """The action that the caller of a call lacks. None where it lacks nothing, and for the rig's own calls."""
    scope = SCOPE.search(authorization)
    function = ROLES.function(scope[1]) if scope else None
    if function is None:
        return None
    needed = permissions.of(scope[3], name, scope[2], request)
    LEDGER.note(function, needed)
    return next((one.action for one in needed if one.action not in ROLES.actions(function)), None)


def install() -> None:
    settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
    originally = ActionAuthenticatorMixin._authenticate_and_authorize_normal_action

    def authorize(self, resource: str = "*") -> None:
        scope = SCOPE.search(self.headers.get("Authorization", ""))
        if scope is None or ROLES.function(scope[1]) is None:
            return
        lacked = refused(self.headers["Authorization"], self._get_action(), self)
        parsed = self.raw_body, self.data
        # What was signed. moto would write anew what it has parsed, and not every client writes as it does.
        self.raw_body, self.data = _CALL.body, {}
        try:
            originally(self, resource)
            if lacked:
                raise AccessDeniedError(user_arn=scope[1], action=lacked)
        except AccessDeniedError:
            self.response_headers[DENIED] = lacked or f"{scope[3]}:{self._get_action()}"
            raise
        finally:
            self.raw_body, self.data = parsed

    ActionAuthenticatorMixin._authenticate_and_authorize_normal_action = authorize
