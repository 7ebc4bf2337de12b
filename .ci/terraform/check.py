"""Whether the Terraform modules hold together, as far as can be said without the AWS provider.

    check.py [SCHEMA]

SCHEMA is a folder with the package pulumi_aws, whose sources list what the AWS provider's resources take and have.
"""

import ast
import re
import sys
import tomllib
from pathlib import Path

import hcl2

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".ci/template"))

import package  # noqa: E402
import read  # noqa: E402

MODULE = ROOT / "infra/terraform"
CLUSTER = MODULE / "modules/cluster"
EXAMPLES = sorted((MODULE / "examples").iterdir())
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
# What terraform-aws-modules/eks/aws//modules/karpenter 21 puts out, less what has no equal here (infra/terraform/README.md).
KARPENTER_OUTPUTS = {
    "iam_role_arn", "iam_role_name", "queue_arn", "queue_name", "queue_url", "node_iam_role_arn", "node_iam_role_name",
    "node_iam_role_unique_id", "node_access_entry_arn", "instance_profile_arn", "instance_profile_id", "instance_profile_name",
    "instance_profile_unique",
}  # fmt: skip
# Arguments of Terraform itself.
META = {"count", "for_each", "depends_on", "lifecycle", "provider", "source", "version", "providers"}
# Where pulumi_aws describes what Terraform calls so.
DESCRIBED = {
    "aws_cloudformation_stack": ("cloudformation/stack.py", "Stack"),
    "aws_ec2_tag": ("ec2/tag.py", "Tag"),
    "aws_eks_access_entry": ("eks/access_entry.py", "AccessEntry"),
    "aws_iam_instance_profile": ("iam/instance_profile.py", "InstanceProfile"),
    "aws_iam_role": ("iam/role.py", "Role"),
    "aws_iam_role_policy_attachment": ("iam/role_policy_attachment.py", "RolePolicyAttachment"),
    "aws_s3_object": ("s3/bucket_object.py", "BucketObject"),
}
ERRORS = []


def check(holds, what):
    if not holds:
        ERRORS.append(what)


def plain(text):
    """A name or a string without the quotes that the parser leaves."""
    return text[1:-1] if isinstance(text, str) and text.startswith('"') else text


def fields(body):
    return {name: value for name, value in body.items() if not name.startswith("__")}


class Module:
    """All files of a folder."""

    def __init__(self, folder):
        self.folder = folder
        files = sorted(folder.glob("*.tf"))
        check(files, f"{folder}: no Terraform files")
        self.text = "\n".join(path.read_text() for path in files)
        self.blocks = [(kind, block) for path in files for kind, all in hcl2.loads(path.read_text()).items() for block in all]

    def named(self, kind):
        """Blocks with one label, by it."""
        return {plain(name): fields(body) for own, block in self.blocks if own == kind for name, body in fields(block).items()}

    def resources(self):
        return [
            (plain(kind), plain(name), fields(body))
            for own, block in self.blocks
            if own == "resource"
            for kind, names in fields(block).items()
            for name, body in fields(names).items()
        ]

    def locals(self):
        return {name: value for own, block in self.blocks if own == "locals" for name, value in fields(block).items()}


def check_module(module):
    """Everything named is there, everything there is used and described."""
    where = module.folder.relative_to(ROOT)
    variables, outputs = module.named("variable"), module.named("output")
    used = set(re.findall(r"\bvar\.(\w+)", re.sub(r"(?ms)^  validation \{.*?^  \}", "", module.text)))
    check(used <= set(variables), f"{where}: no variable {sorted(used - set(variables))}")
    check(set(variables) <= used, f"{where}: nothing uses variable {sorted(set(variables) - used)}")
    for name, own in (variables | outputs).items():
        check("description" in own, f"{where}: {name} has no description")
    for name, own in variables.items():
        check("type" in own, f"{where}: variable {name} has no type")
        check("default" in own or own.get("nullable") is False, f"{where}: variable {name} may be null and has no default")
    locals_used = set(re.findall(r"\blocal\.(\w+)", module.text))
    check(locals_used == set(module.locals()), f"{where}: locals {sorted(locals_used ^ set(module.locals()))}")
    there = {(kind, name) for kind, name, _ in module.resources()}
    referred = set(re.findall(r"(?<!data\.)\b(aws_\w+)\.(\w+)", module.text))
    check(referred <= there, f"{where}: no resource {sorted(referred - there)}")


def check_call(caller, call, called):
    """A module is given what it needs and nothing that it does not know."""
    where = caller.folder.relative_to(ROOT)
    given = set(caller.named("module")[call]) - META
    known = called.named("variable")
    check(given <= set(known), f"{where}: module {call} knows no {sorted(given - set(known))}")
    needed = {name for name, own in known.items() if "default" not in own}
    check(needed <= given, f"{where}: module {call} needs {sorted(needed - given)}")
    outputs = set(re.findall(rf"\bmodule\.{call}\.(\w+)", caller.text))
    check(outputs <= set(called.named("output")), f"{where}: module {call} has no output {sorted(outputs - set(called.named('output')))}")


def check_parameters(root, cluster):
    """Every parameter of a template is given a value, and nothing else is."""
    packaged = read.template(package.packaged((ROOT / "template.yaml").read_text(), VERSION))
    of_cluster = read.template((ROOT / "infra/cluster.yaml").read_text())

    def given(module, local):
        return set(re.findall(r"(?:^|[{,]\s*)(\w+) = ", str(module.locals()[local])))

    parameters = set(root.locals()["parameters"]) | given(root, "installation_parameters") - {"parameters"}
    expected = set(packaged["Parameters"])
    check(parameters == expected, f"parameters of the installation: {sorted(parameters ^ expected)}")
    stack = {name: own for kind, name, own in cluster.resources() if kind == "aws_cloudformation_stack"}["cluster"]
    parameters = set(cluster.locals()["parameters"]) | set(re.findall(r"(\w+) = ", str(stack["parameters"])))
    expected = set(of_cluster["Parameters"])
    check(parameters == expected, f"parameters of the cluster: {sorted(parameters ^ expected)}")
    for module, template, stack in [(root, packaged, "installation"), (cluster, of_cluster, "cluster")]:
        read_of = set(re.findall(rf'aws_cloudformation_stack\.{stack}\.outputs\["(\w+)"\]', module.text))
        missing = read_of - set(template["Outputs"])
        check(not missing, f"stack {stack} has no output {sorted(missing)}")


def check_node_role(cluster):
    """Nodes get the policies that infra/nodes.yaml gives them, under the path that functions may lend."""
    nodes = read.template((ROOT / "infra/nodes.yaml").read_text())
    role = nodes["Resources"]["NodeRole"]["Properties"]
    expected = {arn["Fn::Sub"].rsplit("/", 1)[1] for arn in role["ManagedPolicyArns"]}
    own = set(re.findall(r"\$\{local\.policies\}/(\w+)", cluster.text))
    check(own == expected, f"policies of nodes: {sorted(own ^ expected)}")
    check(role["Path"] == {"Fn::Sub": "/outrigger/${Installation}/"}, "the path of roles of infra/nodes.yaml")
    check(cluster.text.count('"/outrigger/${var.installation.name}/"') == 2, "the path of the role and the instance profile of nodes")


def described(schema, path, name):
    """Arguments and attributes of a resource, as pulumi_aws has them."""
    classes = {own.name: own for own in ast.parse((schema / path).read_text()).body if isinstance(own, ast.ClassDef)}

    def properties(of):
        return {own.name for own in classes[of].body if isinstance(own, ast.FunctionDef) and own.name != "__init__"}

    return properties(f"{name}Args"), properties(name) | {"id"}


def check_resources(module, schema):
    """Arguments are ones that the provider has, and so is what is read of a resource."""
    where = module.folder.relative_to(ROOT)
    for kind, name, body in module.resources():
        check(kind in DESCRIBED, f"{where}: {kind} is not among those that can be checked")
        if kind in DESCRIBED:
            arguments, _ = described(schema, *DESCRIBED[kind])
            unknown = set(body) - META - arguments
            check(not unknown, f"{where}: {kind}.{name} has no argument {sorted(unknown)}")
    for kind, attribute in set(re.findall(r"(?<!data\.)\b(aws_\w+)\.\w+(?:\[[^\]]*\])?\.(\w+)", module.text)):
        _, attributes = described(schema, *DESCRIBED[kind])
        check(attribute in attributes, f"{where}: {kind} has no attribute {attribute}")


def main():
    root, cluster = Module(MODULE), Module(CLUSTER)
    for module in (root, cluster):
        check_module(module)
    check_call(root, "cluster", cluster)
    for folder in EXAMPLES:
        check_call(Module(folder), "outrigger", root)
    check_parameters(root, cluster)
    check_node_role(cluster)
    missing = KARPENTER_OUTPUTS - set(root.named("output"))
    check(not missing, f"no output {sorted(missing)}, which Karpenter's module has")
    release = plain(root.named("variable")["release"]["default"])
    check(release == VERSION, f"variable release is {release}, and the workspace {VERSION}")
    if len(sys.argv) > 1:
        for module in (root, cluster):
            check_resources(module, Path(sys.argv[1]) / "pulumi_aws")
    if ERRORS:
        raise SystemExit("\n".join(f"error: {each}" for each in ERRORS))
    print(f"{len(root.named('variable'))} variables, {len(root.named('output'))} outputs and {len(EXAMPLES)} examples hold together")


if __name__ == "__main__":
    main()
