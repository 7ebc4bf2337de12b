"""The roles that `template.yaml` gives the functions, in moto's IAM.

moto's IAM judges actions; of resources and conditions it knows nothing. So here a role may do its actions on
everything, and what on which resource was asked for is kept for a judge who knows more; see authorization.py.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

import yaml
from moto.core import DEFAULT_ACCOUNT_ID
from moto.sts.models import sts_backends

import place

TEMPLATE = Path(__file__).parents[3] / "template.yaml"
ANYBODY = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"}]}


class _Loader(yaml.SafeLoader):
    """CloudFormation's short forms (`!Ref`, `!GetAtt`, …) become what stands behind them."""


def _behind(loader: yaml.SafeLoader, name: str, node: yaml.Node):
    if isinstance(node, yaml.ScalarNode):
        return loader.construct_scalar(node)
    value = loader.construct_sequence(node, deep=True) if isinstance(node, yaml.SequenceNode) else loader.construct_mapping(node, deep=True)
    # What is there if its condition holds: an installation with everything switched on.
    return value[1] if name == "If" else value


_Loader.add_multi_constructor("!", _behind)


def _list(value) -> list:
    return value if isinstance(value, list) else [value]


@dataclass
class Template:
    """What the template says of functions' rights."""

    actions: dict[str, set[str]] = field(default_factory=dict)
    condition_keys: set[str] = field(default_factory=set)

    @classmethod
    def read(cls) -> "Template":
        resources = yaml.load(TEMPLATE.read_text(), _Loader)["Resources"]
        # The watcher has the role of provisioning, which comes first.
        roles: dict[str, str] = {}
        for own in resources.values():
            if own["Type"] == "AWS::Serverless::Function":
                roles.setdefault(own["Properties"]["Role"].removesuffix(".Arn"), own["Properties"]["Handler"])
        template = cls({function: set() for function in roles.values()})
        for name, resource in resources.items():
            properties = resource.get("Properties", {})
            if name in roles:
                for policy in properties["Policies"]:
                    template._add([roles[name]], policy["PolicyDocument"])
            if resource["Type"] == "AWS::IAM::Policy":
                template._add([roles[role] for role in properties["Roles"]], properties["PolicyDocument"])
        return template

    def _add(self, functions: list[str], document: dict) -> None:
        for statement in document["Statement"]:
            for function in functions:
                self.actions[function].update(_list(statement["Action"]))
            for tests in statement.get("Condition", {}).values():
                self.condition_keys.update(tests)


class Roles:
    """The functions' roles, and the keys with which each is assumed."""

    def __init__(self):
        self.template = Template.read()
        self._functions: dict[str, str] = {}
        self._actions: dict[str, set[str]] = {}

    def assume(self, sessions: dict[str, dict]) -> dict[str, list[str]]:
        """Makes the roles, each assumed with the keys given: `{function: {accessKey, secret, sessionToken}}`. Returns their
        actions."""
        for function, keys in sessions.items():
            name = f"outrigger-{function}"
            place.iam().create_role(name, json.dumps(ANYBODY), "/", None, "", [], "3600")
            session = sts_backends[DEFAULT_ACCOUNT_ID]["aws"].assume_role(
                place.REGION, "rig", f"arn:aws:iam::{place.ACCOUNT}:role/{name}", "", 3600, ""
            )
            session.access_key_id, session.secret_access_key = keys["accessKey"], keys["secret"]
            session.session_token = keys["sessionToken"]
            self._functions[keys["accessKey"]] = function
            self.permit(function, self.template.actions[function])
        return {function: sorted(actions) for function, actions in self._actions.items()}

    def permit(self, function: str, actions) -> None:
        """Says what a function may do from now on."""
        self._actions[function] = set(actions)
        statement = {"Effect": "Allow", "Action": sorted(actions), "Resource": "*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        place.iam().put_role_policy(f"outrigger-{function}", "own", document)

    def function(self, access_key: str) -> str | None:
        """Whose key it is; none for the rig's own calls."""
        return self._functions.get(access_key)

    def actions(self, function: str) -> set[str]:
        return self._actions[function]


ROLES = Roles()
