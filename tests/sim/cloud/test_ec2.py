"""EC2's assortment as node classes get it: zones, images, prices, shortages, drift."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from karpenter.cloud.errors import NodeClassNotReadyError
from karpenter.cloud.unavailable import OfferingKey
from karpenter.model import labels
from karpenter.model.aws.catalog import load_aws_catalog
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.instancetype import InstanceType
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.units import ProviderID
from karpenter.runtime.clock import LoopClock
from karpenter.sim.cloud import SimulatedCloud
from karpenter.sim.market.account import make_account
from karpenter.sim.market.images import choose_images
from tests.awsbuilders import SEED_KUBELET, a_record, an_aws_node_class, terms
from tests.sim.cloud.clouds import POOL, a_cloud, a_small_claim

ACCOUNT = make_account("us-west-2", load_aws_catalog().zones("us-west-2"))


async def types_of(cloud: SimulatedCloud) -> dict[str, InstanceType]:
    return {found.name: found for found in await cloud.instance_types(POOL)}


def places(found: InstanceType, *, available: bool = True) -> set[tuple[str, str]]:
    return {(one.zone[-1], one.capacity_type) for one in found.offerings if one.available == available}


def subnet_named(name: str) -> Mapping[str, Any]:
    return {"tags": {"Name": name}}


async def test_every_type_of_the_region_is_offered_in_its_zones_and_usage_classes(clock: LoopClock) -> None:
    """AWS-10, AWS-11."""
    types = await types_of(a_cloud(clock))
    assert len(types) == 1369
    assert places(types["m5.large"]) == {(zone, kind) for zone in "abcd" for kind in ("spot", "on-demand")}
    assert places(types["a1.large"]) == {(zone, kind) for zone in "ac" for kind in ("spot", "on-demand")}


async def test_only_zones_of_selected_subnets_are_offered(clock: LoopClock) -> None:
    """AWS-11."""
    selected = terms(subnet_named("simulated-private-us-west-2b"), subnet_named("simulated-public-us-west-2d"))
    types = await types_of(a_cloud(clock, node_class=an_aws_node_class(subnet_terms=selected)))
    assert {zone for zone, _ in places(types["m5.large"])} == {"b", "d"}
    assert types["a1.large"].offerings == ()


async def test_a_type_without_a_price_is_listed_and_unavailable(clock: LoopClock) -> None:
    """AWS-11, AWS-31."""
    catalog = load_aws_catalog()
    types = await types_of(a_cloud(clock))
    unpriced = [name for name in types if name not in catalog.on_demand]
    assert unpriced
    assert all(not places(types[name]) and places(types[name], available=False) for name in unpriced)


async def test_types_without_an_image_are_dropped(clock: LoopClock) -> None:
    """AWS-61."""
    arm = choose_images(load_aws_catalog().images, an_aws_node_class(), generation=1).for_type(a_record("m6g.large"))
    assert arm is not None
    types = await types_of(a_cloud(clock, node_class=an_aws_node_class(ami_terms=terms({"id": arm.id}))))
    assert {value for found in types.values() for value in found.requirements[labels.ARCH].values} == {"arm64"}


async def test_kubelet_settings_of_the_pool_are_worked_in(clock: LoopClock) -> None:
    """TV-51 through the provider."""
    types = await a_cloud(clock).instance_types(replace(POOL, kubelet=SEED_KUBELET))
    assert {found.name: found.allocatable["memory"] for found in types}["c5.xlarge"] == 7211057152


async def test_a_refused_offering_is_unavailable_for_three_minutes_and_others_are_not(clock: LoopClock) -> None:
    """AWS-48, TV-95, AWS-12."""
    cloud = a_cloud(clock)
    before = await types_of(cloud)
    cloud.unavailable.mark([OfferingKey("m5.xlarge", "us-west-2a", "spot")])
    after = await types_of(cloud)
    assert places(after["m5.xlarge"], available=False) == {("a", "spot")}
    assert all(after[name] is before[name] for name in before if name != "m5.xlarge")
    await clock.sleep(180)
    assert (await types_of(cloud))["m5.xlarge"] == before["m5.xlarge"]


async def test_prices_are_those_of_the_market_and_move_with_it(clock: LoopClock) -> None:
    cloud = a_cloud(clock)
    key = OfferingKey("m5.xlarge", "us-west-2a", "spot")

    async def seen() -> float:
        found = (await types_of(cloud))["m5.xlarge"]
        return next(one.price for one in found.offerings if (one.zone, one.capacity_type) == key[1:])

    first = await seen()
    assert first == cloud.market.price(key)
    await clock.sleep(24 * 3600)
    assert await seen() == cloud.market.price(key) != first


async def test_equal_seeds_give_equal_prices_at_market_start(clock: LoopClock) -> None:
    """What `simulate` shows is what the demo begins with."""
    first = await types_of(a_cloud(clock, seed=4))
    await clock.sleep(12345)
    assert await types_of(a_cloud(clock, seed=4)) == first
    assert await types_of(a_cloud(clock, seed=5)) != first


@pytest.mark.parametrize(
    "fields, message",
    [
        ({"subnet_terms": terms({"id": "subnet-1"})}, "selects no subnets; the simulated account has subnet-0"),
        ({"security_group_terms": terms({"id": "sg-1"})}, "selects no security groups; the simulated account has sg-0"),
        ({"family": "Windows2022"}, "selects no images of family Windows2022; the simulated account has AL2, AL2023"),
        ({"ami_terms": terms({"id": "ami-1"})}, "selects no images of family AL2"),
    ],
)
async def test_a_class_that_selects_nothing_is_not_ready_and_says_what_there_is(
    clock: LoopClock, fields: dict[str, Any], message: str
) -> None:
    """AWS-60, AWS-61."""
    with pytest.raises(NodeClassNotReadyError, match=f"node class 'default' {message}"):
        await types_of(a_cloud(clock, node_class=an_aws_node_class(**fields)))


async def test_a_launch_template_of_ones_own_needs_no_security_groups(clock: LoopClock) -> None:
    """API-51, AWS-57."""
    own = an_aws_node_class(launch_template="mine", security_group_terms=())
    cloud = a_cloud(clock, node_class=own)
    await cloud.create(a_small_claim())
    assert cloud.market.instances()[0].blueprint.security_group_ids == ()


async def test_an_instance_goes_into_the_subnet_with_the_most_free_addresses(clock: LoopClock) -> None:
    """AWS-45, TV-96: 8187 free addresses in the private subnet, 251 in the public one."""
    cloud = a_cloud(clock)
    await cloud.create(a_small_claim(zones=("us-west-2a",)))
    subnet = ACCOUNT.subnet(cloud.market.instances()[0].blueprint.subnet_id)
    assert subnet.tags["Name"] == "simulated-private-us-west-2a"


class ChangingClass:
    """A cloud whose node class is edited after an instance was launched."""

    def __init__(self, clock: LoopClock, before: AwsNodeClass) -> None:
        self.node_class: AwsNodeClass | None = before
        self.cloud = a_cloud(clock, find_class=lambda _: self.node_class)

    async def launched(self) -> NodeClaim:
        instance = await self.cloud.create(a_small_claim())
        return a_small_claim(provider_id=instance.provider_id)


async def test_a_new_recommended_image_makes_nodes_drift(clock: LoopClock) -> None:
    """DEP-31, DEP-32."""
    changing = ChangingClass(clock, an_aws_node_class())
    claim = await changing.launched()
    assert await changing.cloud.drift_reason(claim) is None
    changing.cloud.market.release_images()
    assert await changing.cloud.drift_reason(claim) == "AMIDrift"


async def test_a_pinned_image_does_not_drift(clock: LoopClock) -> None:
    """DEP-33."""
    image = choose_images(load_aws_catalog().images, an_aws_node_class(), generation=1).for_type(a_record())
    assert image is not None
    changing = ChangingClass(clock, an_aws_node_class(ami_terms=terms({"id": image.id})))
    claim = await changing.launched()
    changing.cloud.market.release_images()
    assert await changing.cloud.drift_reason(claim) is None


async def test_a_launch_template_of_ones_own_has_no_image_drift(clock: LoopClock) -> None:
    """AWS-57."""
    changing = ChangingClass(clock, an_aws_node_class(launch_template="mine", security_group_terms=()))
    claim = await changing.launched()
    changing.cloud.market.release_images()
    assert await changing.cloud.drift_reason(claim) is None


@pytest.mark.parametrize(
    "fields, reason",
    [
        ({"security_group_terms": terms({"name": "node-shared"})}, "SecurityGroupDrift"),
        ({"subnet_terms": terms({"tags": {"tier": "public"}})}, "SubnetDrift"),
        ({"tags": {"team": "web"}}, None),
    ],
)
async def test_changed_selectors_make_nodes_drift(clock: LoopClock, fields: dict[str, Any], reason: str | None) -> None:
    """DEP-32, DEP-33; tags are the static hash's business."""
    changing = ChangingClass(clock, an_aws_node_class())
    claim = await changing.launched()
    changing.node_class = an_aws_node_class(**fields)
    assert await changing.cloud.drift_reason(claim) == reason


async def test_a_class_that_is_gone_or_finds_nothing_makes_nothing_drift(clock: LoopClock) -> None:
    """Spec v1 A-50."""
    changing = ChangingClass(clock, an_aws_node_class())
    claim = await changing.launched()
    changing.node_class = an_aws_node_class(subnet_terms=terms({"id": "subnet-1"}))
    assert await changing.cloud.drift_reason(claim) is None
    changing.node_class = None
    assert await changing.cloud.drift_reason(claim) is None


async def test_a_machine_that_is_unknown_or_not_launched_has_not_drifted(clock: LoopClock) -> None:
    cloud = a_cloud(clock)
    assert await cloud.drift_reason(a_small_claim()) is None
    assert await cloud.drift_reason(a_small_claim(provider_id=ProviderID("aws:///us-west-2a/i-1"))) is None
