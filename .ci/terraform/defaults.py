"""Has Terraform itself evaluate the variables that stand for parameters: their defaults are those of the templates, and what
CloudFormation would refuse, Terraform does. Needs no provider.

    defaults.py TERRAFORM
"""

import json
import os
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / ".ci/template"))

import package  # noqa: E402
import read  # noqa: E402

VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
REQUIRED = {"cluster_name": "shop", "code_bucket": "my-artefacts"}
# Values that the patterns, limits and lists of the templates do not allow.
REFUSED = [
    {"cluster_name": "two/parts"},
    {"cluster_names": '["a b"]'},
    {"architecture": "arm"},
    {"mode": "active"},
    {"max_launches_per_tick": "0"},
    {"max_terminations_per_tick_percent": "101"},
    {"log_retention_days": "2"},
    {"catalog_schedule": "rate(1 minutes)"},
    {"lifecycle_schedule": "rate(60 minutes)"},
    {"feature_gates": "NodeRepair"},
    {"vpc_id": "vpc"},
    {"subnet_ids": '["subnet-0123456789abcdef0", "sg-0123456789abcdef0"]'},
    {"other_node_role_arns": '["role/nodes"]'},
    {"alarm_topic_arn": "operators"},
    {"code_bucket": "My_Bucket"},
]
TAKEN = [
    {"cluster_names": '["shop", "team-*"]', "feature_gates": "NodeRepair=true,SpotToSpotConsolidation=true"},
    {"subnet_ids": '["subnet-0123456789abcdef0"]', "security_group_ids": '["sg-0123456789abcdef0"]'},
    {"other_node_role_arns": '["arn:aws:iam::123456789012:role/KarpenterNodeRole-shop"]', "catalog_schedule": "rate(2 hours)"},
    {"alarm_topic_arn": "arn:aws:sns:ap-northeast-2:123456789012:operators", "code_prefix": "outrigger/0.1.0/"},
]


def main():
    terraform = sys.argv[1]
    environment = os.environ | {"TF_CLI_CONFIG_FILE": os.devnull, "TF_IN_AUTOMATION": "1", "CHECKPOINT_DISABLE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "parameters.tf").write_text((ROOT / "infra/terraform/parameters.tf").read_text())
        (Path(folder) / "outputs.tf").write_text('output "parameters" {\n  value = local.parameters\n}\n')

        def run(*arguments):
            return subprocess.run([terraform, f"-chdir={folder}", *arguments], env=environment, capture_output=True, text=True)

        def plan(given, *arguments):
            variables = [f"-var={name}={value}" for name, value in (REQUIRED | given).items()]
            return run("plan", "-input=false", "-no-color", *variables, *arguments)

        started = run("init", "-input=false", "-no-color")
        if started.returncode:
            raise SystemExit(started.stdout + started.stderr)
        planned = plan({}, "-out=plan")
        if planned.returncode:
            raise SystemExit(planned.stdout + planned.stderr)
        shown = json.loads(run("show", "-json", "plan").stdout)
        found = shown["planned_values"]["outputs"]["parameters"]["value"]
        template = read.template(package.packaged((ROOT / "template.yaml").read_text(), VERSION))
        expected = {name: str(own.get("Default", "")) for name, own in template["Parameters"].items()}
        expected["CodeBucket"] = REQUIRED["code_bucket"]
        # Which clusters and roles there are, main.tf works out.
        for name in ("ClusterNames", "OtherNodeRoleArns"):
            del expected[name]
        if found != expected:
            raise SystemExit(f"error: defaults: {sorted(set(found.items()) ^ set(expected.items()))}")
        for given in REFUSED:
            answer = plan(given)
            (name,) = given
            if answer.returncode == 0 or "Invalid value for variable" not in answer.stderr or f'variable "{name}"' not in answer.stderr:
                raise SystemExit(f"error: Terraform does not refuse {given}: {answer.stderr}")
        for given in TAKEN:
            answer = plan(given)
            if answer.returncode:
                raise SystemExit(f"error: Terraform refuses {given}: {answer.stderr}")
    print(f"{len(found)} defaults are those of the template; {len(REFUSED)} values are refused, and {len(TAKEN)} sets of values taken")


if __name__ == "__main__":
    main()
