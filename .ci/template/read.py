"""Reads CloudFormation templates as data: functions such as !Ref become {"Ref": …}."""

import yaml


class Loader(yaml.SafeLoader):
    """YAML with CloudFormation's short forms."""


def _function(loader, suffix, node):
    name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
    if isinstance(node, yaml.ScalarNode):
        return {name: loader.construct_scalar(node)}
    if isinstance(node, yaml.SequenceNode):
        return {name: loader.construct_sequence(node, deep=True)}
    return {name: loader.construct_mapping(node, deep=True)}


Loader.add_multi_constructor("!", _function)


def template(text):
    """The template that the text holds."""
    return yaml.load(text, Loader)
