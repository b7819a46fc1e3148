"""The provider of AWS, through the real SDK, against the simulated account."""

import asyncio
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


async def test_who_asks_for_types_while_they_are_being_read_waits_for_that_answer(cloud: Cloud) -> None:
    types, calls = cloud.provider._parts.types, cloud.provider.session.calls

    async def pages(*times: None) -> int:
        before = calls["ec2", "DescribeInstanceTypes"]
        await asyncio.gather(*(types.refresh() for _ in times))
        return calls["ec2", "DescribeInstanceTypes"] - before

    assert await pages(None, None, None) == await pages(None) > 0
