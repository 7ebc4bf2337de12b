"""Presigns GetCallerIdentity as `aws eks get-token` does, with botocore, for fixed times and credentials.

Reads cases (JSON, one list) from standard input and writes the addresses to standard output. The committed
`eks_tokens.json` was made with botocore 1.43.11; the test runs this again where botocore is installed.
"""

import datetime
import json
import sys

import botocore.auth
import botocore.session


def presign(case):
    now = datetime.datetime.fromisoformat(case["time"].replace("Z", "+00:00"))
    botocore.auth.get_current_datetime = lambda remove_tzinfo=True: now.replace(tzinfo=None)
    session = botocore.session.Session()
    session.set_credentials(case["access_key"], case["secret_key"], case.get("session_token"))
    session.set_config_variable("sts_regional_endpoints", "regional")
    client = session.create_client("sts", region_name=case["region"])

    def add_header(request, **_):
        request.headers["x-k8s-aws-id"] = case["cluster"]

    client.meta.events.register("before-sign.sts.GetCallerIdentity", add_header)
    return client.generate_presigned_url("get_caller_identity", ExpiresIn=60, HttpMethod="GET")


print(json.dumps([presign(case) for case in json.load(sys.stdin)], indent=1))
