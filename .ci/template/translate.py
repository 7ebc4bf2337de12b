"""Translates template.yaml as SAM does on deployment, and has moto's CloudFormation create the result, with the stacks of one cluster, and delete it.

    translate.py TEMPLATE CLUSTER NODES OUT_FOLDER

Writes OUT_FOLDER/template.json, the translated template, and OUT_FOLDER/policies.json, which holds the policies of every
function's role with all references resolved, the names of what they are about, and of the clusters served. Fails where a resource is not created, or created other than it was asked for.
"""

import ast
import io
import json
import logging
import os
import shlex
import sys
import time
import zipfile
from pathlib import Path

# Nothing here may reach AWS, whatever the environment holds.
os.environ.update(
    AWS_DEFAULT_REGION="eu-west-1",
    AWS_ACCESS_KEY_ID="testing",
    AWS_SECRET_ACCESS_KEY="testing",
    AWS_SESSION_TOKEN="testing",
)

import boto3
from moto import mock_aws
from moto.core import DEFAULT_ACCOUNT_ID
from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

BUCKET = "artefacts"
CODE = f"s3://{BUCKET}/bootstrap.zip"
# What it does not make it says at length; see NOT_MADE_BY_MOTO.
logging.getLogger("moto").setLevel(logging.ERROR)

STACK = "outrigger"
CLUSTER = "shop"
FUNCTIONS = ["provisioning", "lifecycle", "disruption", "interruption", "catalog", "watcher"]
PARAMETERS = {
    "ClusterNames": f"team-*,{CLUSTER}",
    "OtherNodeRoleArns": f"arn:aws:iam::{DEFAULT_ACCOUNT_ID}:role/KarpenterNodeRole-shop",
    "AlarmTopicArn": f"arn:aws:sns:eu-west-1:{DEFAULT_ACCOUNT_ID}:operators",
    "VpcId": "vpc-0123456789abcdef0",
    "TableKmsKeyArn": f"arn:aws:kms:eu-west-1:{DEFAULT_ACCOUNT_ID}:key/1234abcd-12ab-34cd-56ef-1234567890ab",
}
# What moto takes note of without making it.
NOT_MADE_BY_MOTO = {
    "AWS::CloudWatch::Alarm",
    "AWS::EKS::AccessEntry",
    "AWS::Lambda::EventInvokeConfig",
    "AWS::SQS::QueuePolicy",
    "AWS::Scheduler::Schedule",
}


def translated(path):
    template = yaml_parse(path.read_text())
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = CODE
    template["Globals"]["Function"].pop("CodeUri")
    parameters = {
        name: PARAMETERS.get(name, declared.get("Default", ""))
        for name, declared in template["Parameters"].items()
    }
    return Translator({}, Parser()).translate(template, parameters)


def archive():
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("bootstrap", b"")
    return held.getvalue()


def upload_code():
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": "eu-west-1"})
    s3.put_object(Bucket=BUCKET, Key="bootstrap.zip", Body=archive())


def create(stacks, name, template, parameters):
    stacks.create_stack(
        StackName=name,
        TemplateBody=json.dumps(template),
        Parameters=[{"ParameterKey": k, "ParameterValue": v} for k, v in parameters.items()],
        Capabilities=["CAPABILITY_IAM"],
    )


def outputs(stacks, name):
    described = stacks.describe_stacks(StackName=name)["Stacks"][0]
    return {own["OutputKey"]: own["OutputValue"] for own in described["Outputs"]}


def added(command):
    """What the output AddCluster makes of a cluster: its stack's name and parameters."""
    words = shlex.split(command.replace("NAME", CLUSTER))
    given = words[words.index("--parameter-overrides") + 1 :]
    return words[words.index("--stack-name") + 1], dict(own.split("=", 1) for own in given)


def resources(stacks, stack):
    paginator = stacks.get_paginator("list_stack_resources")
    return [own for page in paginator.paginate(StackName=stack) for own in page["StackResourceSummaries"]]


class Problems(list):
    def unless(self, holds, what):
        if not holds:
            self.append(what)


def check_stack(stacks, name, template, problems):
    """Whether every declared resource stands; the physical ids by logical id."""
    described = stacks.describe_stacks(StackName=name)["Stacks"][0]
    problems.unless(described["StackStatus"] == "CREATE_COMPLETE", f"{name}: {described['StackStatus']}")
    made = {own["LogicalResourceId"]: own.get("PhysicalResourceId") for own in resources(stacks, name)}
    # Whatever depends on a condition, the parameters here ask for.
    for logical_id, resource in template["Resources"].items():
        if resource["Type"] not in NOT_MADE_BY_MOTO:
            problems.unless(made.get(logical_id), f"{name}: {logical_id} ({resource['Type']}) was not made")
    return made


def check_queues(made, problems):
    sqs = boto3.client("sqs")
    queue = sqs.get_queue_attributes(QueueUrl=made["InterruptionQueue"], AttributeNames=["All"])["Attributes"]
    dead = sqs.get_queue_attributes(QueueUrl=made["InterruptionDeadLetters"], AttributeNames=["All"])["Attributes"]
    redrive = json.loads(queue["RedrivePolicy"])
    problems.unless(redrive["deadLetterTargetArn"] == dead["QueueArn"], "notices are not redriven")
    sources = boto3.client("lambda").list_event_source_mappings(EventSourceArn=queue["QueueArn"])
    taken_by = [own["FunctionArn"].rsplit(":", 1)[-1] for own in sources["EventSourceMappings"]]
    problems.unless(taken_by == [f"{STACK}-interruption"], f"notices are taken by {taken_by}")
    # From here on nobody takes them: they are looked at.
    for own in sources["EventSourceMappings"]:
        boto3.client("lambda").update_event_source_mapping(UUID=own["UUID"], Enabled=False)


def check_notices_arrive(made, problems):
    """Each kind of notice, sent to the bus, reaches the queue; the same about other things does not."""
    samples = [
        ("EC2 Spot Instance Interruption Warning", "aws.ec2", {"instance-id": "i-1"}, True),
        ("EC2 Instance Rebalance Recommendation", "aws.ec2", {"instance-id": "i-1"}, True),
        ("EC2 Instance State-change Notification", "aws.ec2", {"state": "stopping"}, True),
        ("EC2 Instance State-change Notification", "aws.ec2", {"state": "running"}, False),
        ("AWS Health Event", "aws.health", {"service": "EC2", "eventTypeCategory": "scheduledChange"}, True),
        ("AWS Health Event", "aws.health", {"service": "RDS", "eventTypeCategory": "scheduledChange"}, False),
        ("EC2 Capacity Reservation Instance Interruption Warning", "aws.ec2", {"instance-id": "i-1"}, True),
    ]
    events, sqs = boto3.client("events"), boto3.client("sqs")
    for detail_type, source, detail, arrives in samples:
        events.put_events(Entries=[{"Source": source, "DetailType": detail_type, "Detail": json.dumps(detail)}])
        got = sqs.receive_message(QueueUrl=made["InterruptionQueue"], MaxNumberOfMessages=10).get("Messages", [])
        problems.unless(len(got) == arrives, f"{detail_type} {detail}: {len(got)} messages")
        for message in got:
            problems.unless(json.loads(message["Body"])["detail-type"] == detail_type, "another notice came")
            sqs.delete_message(QueueUrl=made["InterruptionQueue"], ReceiptHandle=message["ReceiptHandle"])


def check_dashboard(problems):
    cloudwatch = boto3.client("cloudwatch")
    body = json.loads(cloudwatch.get_dashboard(DashboardName=f"{STACK}-{CLUSTER}")["DashboardBody"])
    unresolved = [own["properties"]["title"] for own in body["widgets"] if "${M" in json.dumps(own)]
    problems.unless(body["widgets"] and not unresolved, f"widgets with names that stand for nothing: {unresolved}")


def check_functions(problems):
    client = boto3.client("lambda")
    for name in FUNCTIONS:
        own = client.get_function_configuration(FunctionName=f"{STACK}-{name}")
        problems.unless(own["Handler"] == name, f"{name}: handler {own['Handler']}")
        problems.unless(own["Environment"]["Variables"].get("TABLE_NAME"), f"{name}: no table")


def policies_of(functions):
    """The policies of each function's role, by the function's name."""
    iam, client = boto3.client("iam"), boto3.client("lambda")
    found = {}
    for name in functions:
        role = client.get_function_configuration(FunctionName=f"{STACK}-{name}")["Role"].rsplit("/", 1)[-1]
        own = iam.list_role_policies(RoleName=role)["PolicyNames"]
        documents = (iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"] for policy in own)
        # Of a role's own policies moto keeps what Python prints.
        found[name] = [ast.literal_eval(it) if isinstance(it, str) else it for it in documents]
    for statement in (own for documents in found.values() for it in documents for own in it["Statement"]):
        # CloudFormation's ARN of a log group stands for its streams too; moto's does not.
        if ":log-group:" in str(statement["Resource"]):
            statement["Resource"] += ":*"
    return found


def check_deletion(stacks, cluster_stack, made, nodes, problems):
    """Whether the stacks go in the order of docs/install.md, and what nodes run on stays until the last of them."""
    iam, tables = boto3.client("iam"), boto3.client("dynamodb")

    def delete(stack):
        stacks.delete_stack(StackName=stack)
        left = [own["StackName"] for own in stacks.describe_stacks()["Stacks"]]
        problems.unless(stack not in left, f"{stack} cannot be deleted")

    def roles():
        return {own["RoleName"] for page in iam.get_paginator("list_roles").paginate() for own in page["Roles"]}

    delete(cluster_stack)
    delete(STACK)
    problems.unless(roles() == {nodes["NodeRole"]}, f"once the functions are deleted, the nodes' role is to be left, and no other: {roles()}")
    functions = boto3.client("lambda").list_functions()["Functions"]
    problems.unless(not functions, f"functions outlive their stack: {[own['FunctionName'] for own in functions]}")
    problems.unless(tables.list_tables()["TableNames"] == [made["Table"]], "the table went with the functions")
    delete(f"{STACK}-nodes-{CLUSTER}")
    problems.unless(not roles(), "the nodes' role outlives its stack")


def names_of(made, nodes):
    """What the resources that policies are about are called here; see judge/cases.mjs."""
    queue = f"arn:aws:sqs:eu-west-1:{DEFAULT_ACCOUNT_ID}:"
    return {
        "FAILED_EVENTS": queue + made["FailedEvents"].rsplit("/", 1)[-1],
        "QUEUE": queue + made["InterruptionQueue"].rsplit("/", 1)[-1],
        "PROVISIONING_WAKES": queue + made["ProvisioningWakes"].rsplit("/", 1)[-1],
        "LIFECYCLE_WAKES": queue + made["LifecycleWakes"].rsplit("/", 1)[-1],
        "DISRUPTION_WAKES": queue + made["DisruptionWakes"].rsplit("/", 1)[-1],
        "TABLE": f"arn:aws:dynamodb:eu-west-1:{DEFAULT_ACCOUNT_ID}:table/{made['Table']}",
        "NODE_ROLE": boto3.client("iam").get_role(RoleName=nodes["NodeRole"])["Role"]["Arn"],
        "VPC": PARAMETERS["VpcId"],
        "KMS_KEY": PARAMETERS["TableKmsKeyArn"],
        "ACCOUNT": DEFAULT_ACCOUNT_ID,
        "REGION": "eu-west-1",
    }


def main():
    source, cluster, nodes, out = (Path(argument) for argument in sys.argv[1:5])
    out.mkdir(parents=True, exist_ok=True)
    template = translated(source)
    (out / "template.json").write_text(json.dumps(template, indent=1, sort_keys=True))
    started, problems = time.monotonic(), Problems()
    with mock_aws(config={"lambda": {"use_docker": False}}):
        upload_code()
        stacks = boto3.client("cloudformation")

        def stack(name, body, parameters):
            create(stacks, name, body, parameters)
            return check_stack(stacks, name, body, problems)

        # In the order of docs/install.md.
        made_nodes = stack(f"{STACK}-nodes-{CLUSTER}", yaml_parse(nodes.read_text()), {"ClusterName": CLUSTER, "Installation": STACK})
        made = stack(STACK, template, PARAMETERS)
        stack_name, parameters = added(outputs(stacks, STACK)["AddCluster"])
        stack(stack_name, yaml_parse(cluster.read_text()), parameters)
        check_functions(problems)
        check_dashboard(problems)
        check_queues(made, problems)
        check_notices_arrive(made, problems)
        policies = policies_of(FUNCTIONS)
        names = names_of(made, made_nodes)
        check_deletion(stacks, stack_name, made, made_nodes, problems)
    (out / "policies.json").write_text(json.dumps({"policies": policies, "names": names, "served": PARAMETERS["ClusterNames"].split(",")}, indent=1, sort_keys=True))
    for name, own in policies.items():
        problems.unless(own, f"{name}: its role has no policy")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    count = len(template["Resources"])
    print(f"moto created and deleted {count} resources, and those of one cluster, in {time.monotonic() - started:.1f} s")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
