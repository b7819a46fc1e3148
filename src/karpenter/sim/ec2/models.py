"""The AWS service models that botocore ships: what every operation takes and gives, and in which protocol.

The only module here that imports botocore when it runs.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from botocore.model import ServiceModel

AnyShape: TypeAlias = Any
"""A shape of whichever kind; botocore has a class for each."""

SERVICES: Final = ("ec2", "eks", "iam", "pricing", "sqs", "ssm", "sts")
"""What the endpoint serves, by the name that requests are signed for."""


@lru_cache(maxsize=len(SERVICES))
def service_model(name: str) -> ServiceModel:
    """Return the newest model of a service. Reading EC2's takes a quarter of a second, so it is read when asked for."""
    from botocore.loaders import Loader  # noqa: PLC0415 - the SDK is an extra, and slow to import
    from botocore.model import ServiceModel  # noqa: PLC0415

    return ServiceModel(Loader().load_service_model(name, "service-2"), name)
