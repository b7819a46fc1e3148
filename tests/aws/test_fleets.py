"""How machines are launched, through the real SDK. Source: spec v1alpha5 §3.5, §7.5; spec v1 A-33 … A-45."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from karpenter.aws.provider import AwsCloud
from karpenter.cloud.errors import InsufficientCapacityError, LaunchError
from karpenter.cloud.unavailable import OfferingKey
from karpenter.model import labels
from karpenter.model.aws.tags import CLAIM, CLAIM_UID
from karpenter.sim.market.capacity import Pattern, Shortage
from tests.aws.clouds import Cloud, a_cloud
from tests.sim.cloud.clouds import POOL, a_small_claim

pytestmark = pytest.mark.real_time


@pytest.fixture
async def cloud(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Cloud]:
    async with a_cloud(monkeypatch) as one:
        yield one


def sold_out(cloud: Cloud, *patterns: Pattern) -> None:
    cloud.account.market.declare([Shortage(pattern) for pattern in patterns], [])


async def is_available(provider: AwsCloud, key: OfferingKey) -> bool:
    types = {found.name: found for found in await provider.instance_types(POOL)}
    place = (key.zone, key.capacity_type)
    return any(one.available for one in types[key.instance_type].offerings if (one.zone, one.capacity_type) == place)


async def test_claims_that_want_the_same_are_launched_by_one_call_and_get_a_machine_each(cloud: Cloud) -> None:
    """AWS-47."""
    claims = [a_small_claim(f"claim-{number}") for number in range(40)]
    launched = await asyncio.gather(*(cloud.provider.create(claim) for claim in claims))
    assert len({one.provider_id for one in launched}) == 40
    assert cloud.provider.session.calls["ec2", "CreateFleet"] == 1
    assert [one.claim_uid for one in launched] == [claim.metadata.uid for claim in claims]


async def test_spot_is_asked_for_where_it_is_allowed(cloud: Cloud) -> None:
    """TV-90."""
    launched = await cloud.provider.create(a_small_claim())
    assert launched.capacity_type == labels.SPOT


async def test_without_spot_on_offer_on_demand_is_launched(cloud: Cloud) -> None:
    """TV-91: the first claim finds out that spot is sold out, the next does not try it again."""
    sold_out(cloud, Pattern(capacity_type="spot"))
    with pytest.raises(InsufficientCapacityError) as refused:
        await cloud.provider.create(a_small_claim("one"))
    assert {key[2] for key in refused.value.offerings} == {"spot"}
    assert (await cloud.provider.create(a_small_claim("two"))).capacity_type == labels.ON_DEMAND


async def test_a_refused_offering_is_unavailable_and_its_neighbour_is_not(cloud: Cloud) -> None:
    """TV-95."""
    sold_out(cloud, Pattern("m5.xlarge", "us-west-2a", "spot"))
    claim = a_small_claim(types=("m5.xlarge",), zones=("us-west-2a",), kinds=("spot",))
    with pytest.raises(InsufficientCapacityError):
        await cloud.provider.create(claim)
    assert not await is_available(cloud.provider, OfferingKey("m5.xlarge", "us-west-2a", "spot"))
    assert await is_available(cloud.provider, OfferingKey("m5.xlarge", "us-west-2b", "spot"))
    assert await is_available(cloud.provider, OfferingKey("m5.xlarge", "us-west-2a", "on-demand"))


async def test_another_process_finds_the_machine_of_a_claim_again(cloud: Cloud) -> None:
    """A crash between the launch and writing it down costs nothing."""
    claim = a_small_claim()
    launched = await cloud.provider.create(claim)
    again = await cloud.another().create(claim)
    assert again.provider_id == launched.provider_id
    assert dict(again.labels) == dict(launched.labels)


async def test_machines_launched_together_are_tagged_with_their_claims_afterwards(cloud: Cloud) -> None:
    """AWS-47, A-47."""
    await asyncio.gather(*(cloud.provider.create(a_small_claim(name)) for name in ("one", "two")))
    tagging = asyncio.create_task(cloud.provider.run())
    try:
        async with asyncio.timeout(20):
            while True:
                tags = [one.tags for one in cloud.account.market.instances()]
                if all(CLAIM_UID in one for one in tags):
                    break
                await asyncio.sleep(0.05)
    finally:
        tagging.cancel()
    assert sorted(one[CLAIM] for one in tags) == ["one", "two"]


async def test_a_launch_that_is_not_allowed_says_which_action(cloud: Cloud) -> None:
    """A-43: one reason on the claim, and the next try works once it is allowed."""
    cloud.account.backend.denied.add("ec2:CreateFleet")
    with pytest.raises(LaunchError, match="CreateFleet") as refused:
        await cloud.provider.create(a_small_claim())
    assert refused.value.reason == "Unauthorized"
    cloud.account.backend.denied.clear()
    assert await cloud.provider.create(a_small_claim())


async def test_a_full_quota_is_a_shortage(cloud: Cloud) -> None:
    """A-43: `VcpuLimitExceeded` marks the offerings, so that others are tried."""
    cloud.account.backend.vcpu_quota["on-demand"] = 0
    with pytest.raises(InsufficientCapacityError, match="VcpuLimitExceeded"):
        await cloud.provider.create(a_small_claim(kinds=("on-demand",)))


async def test_launching_a_thousand_nodes_meets_no_throttle(cloud: Cloud) -> None:
    """Issue 8, point 3, at the buckets of spec v1 §6.7: the simulated account has them, and refuses what is over."""
    zones = tuple(f"us-west-2{letter}" for letter in "abcd")
    claims = [a_small_claim(f"claim-{number}", zones=zones) for number in range(1000)]
    launched = await asyncio.gather(*(cloud.provider.create(claim) for claim in claims))
    assert len({one.provider_id for one in launched}) == 1000
    assert cloud.provider.session.calls["ec2", "CreateFleet"] <= 20
    assert cloud.provider.session.calls.total() <= 60
