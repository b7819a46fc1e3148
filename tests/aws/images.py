"""Images in moto, which forgets what is registered of them."""

from datetime import datetime

from moto.core import DEFAULT_ACCOUNT_ID
from moto.ec2.models import ec2_backends

from karpenter.aws.session import AwsSession
from tests.awsbuilders import REGION


async def an_image(
    aws: AwsSession, name: str, *, arch: str = "x86_64", created: str = "2023-01-01", **tags: str
) -> str:
    """Return the id of a new image of our own account."""
    made = await aws.call(
        "ec2", "RegisterImage", Name=name, Architecture=arch, RootDeviceName="/dev/xvda", VirtualizationType="hvm"
    )
    identity = made["ImageId"]
    if tags:
        await aws.call(
            "ec2", "CreateTags", Resources=[identity], Tags=[{"Key": k, "Value": v} for k, v in tags.items()]
        )
    image = ec2_backends[DEFAULT_ACCOUNT_ID][REGION].amis[identity]
    image.creation_date, image.architecture = datetime.fromisoformat(created), arch
    return identity
