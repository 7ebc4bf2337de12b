"""What EKS does with a token: a webhook that the API server asks (`TokenReview`).

A token is `k8s-aws-v1.` and, in URL-safe base64, a presigned GetCallerIdentity that covers the header
`x-k8s-aws-id`. AWS would be sent that request; here the signature is made again by botocore, which shares no code with
whoever made the token. Access keys lead to users and groups, as access entries do.
"""

import base64
import binascii
from datetime import datetime, timedelta, timezone
from urllib.parse import parse_qs, urlsplit

import botocore.auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

PREFIX = "k8s-aws-v1."
CLUSTER_HEADER = "x-k8s-aws-id"
# STS honours a presigned URL for as long, whatever it says.
LONGEST = timedelta(minutes=15)


class Refused(Exception):
    """Why a token is not accepted."""


class Authenticator:
    """Who may enter which cluster, by access key."""

    def __init__(self):
        self.entries: dict[str, dict] = {}
        self.clusters: set[str] = set()
        self.refusals: list[str] = []

    def review(self, review: dict) -> dict:
        try:
            entry = self._entry(review["spec"]["token"])
            status = {
                "authenticated": True,
                "user": {"username": entry["username"], "uid": entry["username"], "groups": entry["groups"]},
            }
        except Refused as refused:
            self.refusals.append(str(refused))
            status = {"authenticated": False, "error": str(refused)}
        return {"apiVersion": review["apiVersion"], "kind": "TokenReview", "status": status}

    def _entry(self, token: str) -> dict:
        url = _url(token)
        parts = urlsplit(url)
        query = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        if parts.scheme != "https" or not (parts.netloc.startswith("sts.") and parts.netloc.endswith(".amazonaws.com")):
            raise Refused(f"the token leads to {parts.netloc}, not to STS")
        if query.get("Action") != "GetCallerIdentity":
            raise Refused("the token asks for something other than GetCallerIdentity")
        if CLUSTER_HEADER not in query.get("X-Amz-SignedHeaders", "").split(";"):
            raise Refused(f"the token does not sign {CLUSTER_HEADER}")
        key = query.get("X-Amz-Credential", "").split("/")[0]
        entry = self.entries.get(key)
        if entry is None:
            raise Refused("no access entry for the principal of the token")
        _check_time(query)
        if not any(_signature(url, query, cluster, key, entry["secret"]) == query.get("X-Amz-Signature") for cluster in self.clusters):
            raise Refused("the signature of the token is not right for any cluster here")
        return entry


def _url(token: str) -> str:
    if not token.startswith(PREFIX):
        raise Refused("not a token of EKS")
    encoded = token[len(PREFIX) :]
    if "=" in encoded:
        raise Refused("the token is padded")
    try:
        return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise Refused("the token is not base64") from error


def _signed_at(query: dict) -> datetime:
    try:
        return datetime.strptime(query["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=timezone.utc)
    except (KeyError, ValueError) as error:
        raise Refused("the token has no date") from error


def _check_time(query: dict) -> None:
    expires = int(query.get("X-Amz-Expires", "0"))
    if not 0 < expires <= LONGEST.total_seconds():
        raise Refused(f"the token is made for {expires} s")
    now = datetime.now(timezone.utc)
    if not _signed_at(query) - timedelta(minutes=5) <= now <= _signed_at(query) + LONGEST:
        raise Refused("the token has expired")


def _signature(url: str, query: dict, cluster: str, key: str, secret: str) -> str:
    """The signature that botocore gives the same request at the same moment."""
    parts = urlsplit(url)
    bare = f"{parts.scheme}://{parts.netloc}{parts.path or '/'}?Action=GetCallerIdentity&Version={query.get('Version', '2011-06-15')}"
    request = AWSRequest(method="GET", url=bare, headers={CLUSTER_HEADER: cluster})
    credential = query["X-Amz-Credential"].split("/")
    token = query.get("X-Amz-Security-Token")
    signer = botocore.auth.SigV4QueryAuth(
        Credentials(key, secret, token), "sts", credential[2], expires=int(query["X-Amz-Expires"])
    )
    # Step by step, because `add_auth` would read the clock: the request under review was signed when it says.
    request.context["timestamp"] = query["X-Amz-Date"]
    signer._modify_request_before_signing(request)
    return signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
