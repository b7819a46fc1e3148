"""The provider of AWS, through the real SDK, against the simulated account."""

from collections.abc import AsyncIterator

import pytest

from karpenter.cloud.conformance import Harness, ProviderConformance
from tests.aws.clouds import Cloud, a_cloud

pytestmark = pytest.mark.real_time


@pytest.fixture
async def cloud(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Cloud]:
    async with a_cloud(monkeypatch) as one:
        yield one


class TestAwsConformance(ProviderConformance):
    @pytest.fixture
    async def harness(self, cloud: Cloud) -> Harness:
        return cloud.harness()
