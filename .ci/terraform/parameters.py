"""Writes the Terraform variables that stand for parameters of the templates, so that both are equal.

    parameters.py [--check]

infra/terraform/parameters.tf has a variable for each parameter of the packaged template, and for those that infra/cluster.yaml alone
has; infra/terraform/modules/cluster/parameters.tf those of infra/cluster.yaml. With --check nothing is written, and what is stale is
an error.
"""

import json
import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".ci/template"))

import package  # noqa: E402
import read  # noqa: E402

MODULE = ROOT / "infra/terraform"
# What the modules know by themselves, and no user says.
GIVEN_BY_INSTALLATION = {"Installation", "FunctionRoleArns", "FailedEventsArn", "ManageAccessEntries"}
HEADER = "# Made by .ci/terraform/parameters.py from {source}: a variable for each parameter.\n"


def snake(name):
    """`ClusterNames` is `cluster_names`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def is_switch(parameter):
    return parameter.get("AllowedValues") == ["true", "false"]


def kind(parameter):
    """Terraform's type of a parameter."""
    if parameter["Type"] == "CommaDelimitedList":
        return "list(string)"
    if parameter["Type"] == "Number":
        return "number"
    return "bool" if is_switch(parameter) else "string"


def literal(parameter, value):
    """A default as Terraform writes it."""
    of = kind(parameter)
    if of == "list(string)":
        return "[" + ", ".join(json.dumps(each) for each in str(value).split(",") if each) + "]"
    if of in ("number", "bool"):
        return str(value)
    return json.dumps(str(value))


def expression(parameter, variable):
    """A variable as CloudFormation takes the parameter: text."""
    of = kind(parameter)
    if of == "list(string)":
        return f'join(",", var.{variable})'
    return f"var.{variable}" if of == "string" else f"tostring(var.{variable})"


def condition(parameter, variable):
    """When a value is one that CloudFormation takes; None where each is."""
    value = f"var.{variable}"
    if "AllowedValues" in parameter and not is_switch(parameter):
        allowed = ", ".join(literal(parameter, each) for each in parameter["AllowedValues"])
        return f"contains([{allowed}], {value})"
    if "MinValue" in parameter:
        return f"{value} >= {parameter['MinValue']} && {value} <= {parameter['MaxValue']}"
    if "AllowedPattern" in parameter:
        pattern = json.dumps(parameter["AllowedPattern"])
        if kind(parameter) == "list(string)":
            return f"alltrue([for each in {value} : can(regex({pattern}, each))])"
        return f"can(regex({pattern}, {value}))"
    return None


def text(description):
    """As a Terraform string: ${ and %{ would be interpolated."""
    return json.dumps(description, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")


def variable(name, parameter):
    own = snake(name)
    lines = [f'variable "{own}" {{', f"  description = {text(parameter['Description'])}", f"  type        = {kind(parameter)}"]
    if "Default" in parameter:
        lines.append(f"  default     = {literal(parameter, parameter['Default'])}")
    lines.append("  nullable    = false")
    holds = condition(parameter, own)
    if holds:
        message = text(f"{own} {parameter['ConstraintDescription']}.")
        lines += ["", "  validation {", f"    condition     = {holds}", f"    error_message = {message}", "  }"]
    return "\n".join(lines + ["}"]) + "\n"


def values(name, parameters):
    """The local that holds what CloudFormation is given."""
    width = max(map(len, parameters))
    pairs = [f"    {key.ljust(width)} = {expression(own, snake(key))}" for key, own in parameters.items()]
    return "\n".join(["locals {", f"  {name} = {{"] + pairs + ["  }", "}"]) + "\n"


def document(source, parameters, given):
    """One file: the variables, and a local for each name of `given` with the parameters that it holds."""
    parts = [HEADER.format(source=source)]
    parts += [variable(name, parameters[name]) for name in sorted(parameters)]
    parts += [values(name, own) for name, own in given.items()]
    return "\n".join(parts)


def version():
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


def documents():
    """What each file has to hold."""
    template = package.packaged((ROOT / "template.yaml").read_text(), version())
    installation = read.template(template)["Parameters"]
    # The module knows one cluster by its name, which is all of them unless more are named.
    installation["ClusterNames"] = {**installation["ClusterNames"], "Default": ""}
    cluster = read.template((ROOT / "infra/cluster.yaml").read_text())["Parameters"]
    cluster = {name: own for name, own in cluster.items() if name not in GIVEN_BY_INSTALLATION}
    # Terraform fills these in: see local.installation_parameters in main.tf.
    named = {name: own for name, own in installation.items() if name not in ("ClusterNames", "OtherNodeRoleArns")}
    return {
        MODULE / "parameters.tf": document(
            "template.yaml and infra/cluster.yaml",
            {**cluster, **installation},
            {"parameters": named},
        ),
        MODULE / "modules/cluster/parameters.tf": document("infra/cluster.yaml", cluster, {"parameters": cluster}),
    }


def main():
    stale = []
    for path, content in documents().items():
        if "--check" not in sys.argv:
            path.write_text(content)
        elif not path.exists() or path.read_text() != content:
            stale.append(str(path.relative_to(ROOT)))
    if stale:
        raise SystemExit(f"error: {', '.join(stale)}: not what the templates say; run .ci/terraform/parameters.py")


if __name__ == "__main__":
    main()
