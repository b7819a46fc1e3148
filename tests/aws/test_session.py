"""How calls to AWS fail, and that nothing of the SDK is loaded before the first."""

import subprocess
import sys

import pytest

from karpenter.aws.errors import error_code
from karpenter.aws.session import AwsSession, collect
from karpenter.cloud.errors import CloudError, UnauthorizedError
from tests.awsbuilders import REGION

pytestmark = pytest.mark.real_time


async def test_an_error_of_aws_keeps_its_code(aws: AwsSession) -> None:
    with pytest.raises(CloudError, match="DescribeInstances failed") as caught:
        await aws.call("ec2", "DescribeInstances", InstanceIds=["i-0123456789abcdef0"])
    assert error_code(caught.value) == "InvalidInstanceID.NotFound"


async def test_missing_credentials_are_said_to_be_missing(
    monkeypatch: pytest.MonkeyPatch, moto_url: str, credentials: None
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    nobody = AwsSession(region=REGION, endpoint_url=moto_url)
    with pytest.raises(UnauthorizedError, match="there are no AWS credentials; check the role of the service account"):
        await nobody.call("ec2", "DescribeVpcs")
    nobody.close()


async def test_a_server_that_is_not_there_is_an_error_of_the_cloud(aws: AwsSession) -> None:
    nowhere = AwsSession(region=REGION, endpoint_url="http://127.0.0.1:9")
    with pytest.raises(CloudError, match="DescribeVpcs could not be sent"):
        await nowhere.call("ec2", "DescribeVpcs")
    nowhere.close()


async def test_all_pages_of_a_list_are_read(aws: AwsSession) -> None:
    for name in ("one", "two", "three"):
        await aws.call("iam", "CreateInstanceProfile", InstanceProfileName=name)
    names = await collect(aws, ("iam", "ListInstanceProfiles"), "InstanceProfiles", cursor="Marker", MaxItems=1)
    assert sorted(profile["InstanceProfileName"] for profile in names) == ["one", "three", "two"]


def test_importing_the_provider_does_not_load_the_sdk() -> None:
    """`karpenter version` stays quick, `simulate` needs no SDK."""
    program = "import sys, karpenter.aws.network; print('boto3' in sys.modules, 'botocore' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
