"""Where everything in this cloud happens: one account, one region."""

from moto.core import DEFAULT_ACCOUNT_ID
from moto.ec2.models import ec2_backends
from moto.eks.models import eks_backends
from moto.iam.models import iam_backends
from moto.ssm.models import ssm_backends

ACCOUNT = DEFAULT_ACCOUNT_ID
REGION = "us-east-1"


def ec2():
    return ec2_backends[ACCOUNT][REGION]


def eks():
    return eks_backends[ACCOUNT][REGION]


def iam():
    return iam_backends[ACCOUNT]["aws"]


def ssm():
    return ssm_backends[ACCOUNT][REGION]
