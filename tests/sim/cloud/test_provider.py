"""Launches, faults, notices and tags of the simulated cloud (spec v1alpha5 §3.5, §5.7; issue 3, point 6)."""

import asyncio
import logging
from dataclasses import replace
from typing import Any

import pytest

from karpenter.cloud.errors import (
    CloudError,
    InstanceNotFoundError,
    InsufficientCapacityError,
    LaunchError,
    NodeClassNotReadyError,
    ThrottledError,
    UnauthorizedError,
)
from karpenter.model import labels
from karpenter.model.errors import FieldError, ManifestError
from karpenter.model.instance import InterruptionKind
from karpenter.model.units import ProviderID
from karpenter.runtime.clock import LoopClock
from karpenter.sim.cloud import SimulatedCloud
from karpenter.sim.market.faults import Fault, FaultKind
from karpenter.sim.market.instances import InstanceState
from tests.awsbuilders import an_aws_node_class
from tests.builders import a_claim, a_pool
from tests.sim.cloud.clouds import ORPHAN, POOL, a_catalog, a_catalog_claim, a_cloud, a_small_claim


async def test_spot_is_bought_at_the_cheapest_offering_of_all(clock: LoopClock) -> None:
    """AWS-44, AWS-46, TV-90."""
    cloud = a_cloud(clock)
    instance = await cloud.create(a_small_claim())
    offers = [
        (offering.price, found.name, offering.zone)
        for found in await cloud.instance_types(POOL)
        if found.name in {"m5.large", "m5.xlarge", "c5.xlarge"}
        for offering in found.offerings
        if offering.capacity_type == "spot" and offering.zone in {"us-west-2a", "us-west-2b"}
    ]
    assert instance.capacity_type == "spot"
    assert (instance.price, instance.instance_type, instance.zone) == min(offers)


async def test_a_refused_spot_offering_is_remembered_and_the_next_one_launched(clock: LoopClock) -> None:
    """AWS-48."""
    cloud = a_cloud(clock)
    cloud.market.exhaust("m5.large")
    instance = await cloud.create(a_small_claim())
    assert instance.instance_type != "m5.large"
    refused = cloud.unavailable.offerings()
    assert {(key.instance_type, key.capacity_type) for key in refused} == {("m5.large", "spot")}


async def test_when_spot_is_sold_out_the_claim_is_refused_and_the_next_one_gets_on_demand(clock: LoopClock) -> None:
    """AWS-44: one capacity type per request; TV-91."""
    cloud = a_cloud(clock)
    cloud.market.exhaust(capacity_type="spot")
    with pytest.raises(InsufficientCapacityError, match=r"no capacity for claim 'one': .* and \d more") as refusal:
        await cloud.create(a_small_claim())
    assert {kind for _, _, kind in refusal.value.offerings} == {"spot"}
    instance = await cloud.create(a_small_claim("two"))
    assert instance.capacity_type == "on-demand"


async def test_refused_offerings_are_not_tried_again_for_three_minutes(clock: LoopClock) -> None:
    """AWS-48; case ICE-FALLBACK."""
    cloud = a_cloud(clock)
    cloud.market.exhaust(capacity_type="spot")
    with pytest.raises(InsufficientCapacityError):
        await cloud.create(a_small_claim())
    cloud.market.replenish()
    await clock.sleep(170)
    assert (await cloud.create(a_small_claim("two"))).capacity_type == "on-demand"
    await clock.sleep(10)
    assert (await cloud.create(a_small_claim("three"))).capacity_type == "spot"


async def test_a_claim_whose_offerings_were_all_refused_lately_says_when_they_are_tried_again(clock: LoopClock) -> None:
    """Case WHY-PENDING (d)."""
    cloud = a_cloud(clock)
    cloud.market.exhaust()
    with pytest.raises(InsufficientCapacityError):
        await cloud.create(a_small_claim(kinds=("spot",)))
    await clock.sleep(60)
    with pytest.raises(InsufficientCapacityError, match=r"; 6 were refused lately, the first is tried again in 120 s"):
        await cloud.create(a_small_claim("two", kinds=("spot",)))


async def test_a_fallback_to_on_demand_with_few_types_is_warned_of(
    clock: LoopClock, caplog: pytest.LogCaptureFixture
) -> None:
    """AWS-44, TV-91."""
    cloud = a_cloud(clock)
    cloud.market.exhaust(capacity_type="spot")
    with pytest.raises(InsufficientCapacityError):
        await cloud.create(a_small_claim())
    with caplog.at_level(logging.WARNING, logger="karpenter"):
        await cloud.create(a_small_claim("two"))
    assert [record.message for record in caplog.records] == [
        "falling back to on-demand with few instance types to choose from"
    ]


async def test_a_launch_takes_the_clouds_time_divided_by_its_speed(clock: LoopClock) -> None:
    cloud = a_cloud(clock, launch_s=2.0, speed=10.0)
    started = clock.now()
    await cloud.create(a_small_claim())
    assert clock.now() - started == pytest.approx(0.2)


async def test_an_instance_carries_its_labels_image_and_amounts(clock: LoopClock) -> None:
    cloud = a_cloud(clock)
    instance = await cloud.create(a_small_claim(types=("m5.large",), kinds=("on-demand",), zones=("us-west-2b",)))
    assert instance.provider_id.startswith("aws:///us-west-2b/i-0")
    assert instance.image_id.startswith("ami-")
    assert instance.price == 0.096
    assert instance.labels["karpenter.k8s.aws/instance-memory"] == "8192"
    assert instance.labels[labels.REGION] == "us-west-2"
    assert labels.INSTANCE_GPU_NAME not in instance.labels


async def test_tags_name_cluster_pool_and_claim_and_user_tags_may_change_only_the_name(clock: LoopClock) -> None:
    """AWS-58, TV-97."""
    user = {"Name": "foo", labels.PROVISIONER: "x", "team": "web"}
    cloud = a_cloud(clock, node_class=an_aws_node_class(tags=user))
    await cloud.create(a_small_claim())
    assert cloud.market.instances()[0].tags == {
        "Name": "foo",
        "team": "web",
        labels.PROVISIONER: "default",
        labels.MANAGED_BY: "simulated",
        "kubernetes.io/cluster/simulated": "owned",
        "karpenter.sh/nodeclaim": "one",
    }


async def test_without_user_tags_the_name_is_the_pools(clock: LoopClock) -> None:
    """AWS-58."""
    cloud = a_cloud(clock)
    await cloud.create(a_small_claim())
    assert cloud.market.instances()[0].tags["Name"] == "karpenter.sh/provisioner-name/default"


async def test_other_clusters_machines_are_not_listed(clock: LoopClock) -> None:
    cloud = a_cloud(clock, catalog=a_catalog())
    await cloud.create(a_catalog_claim())
    other = a_cloud(clock, catalog=a_catalog(), cluster_name="another", saved=cloud.market.dump())
    assert len(await cloud.list_instances()) == 1
    assert await other.list_instances() == ()


async def test_idempotence_survives_a_restart(clock: LoopClock) -> None:
    """A crash between the launch and writing it down: the new process asks again."""
    stored: dict[str, Any] = {}
    first = await a_cloud(clock, on_change=stored.update, seed=3).create(a_small_claim())
    again = a_cloud(clock, saved=stored, seed=8)
    assert (await again.create(a_small_claim())).provider_id == first.provider_id
    assert len(again.market.instances()) == 1


async def test_prices_go_on_after_a_restart(clock: LoopClock) -> None:
    before = a_cloud(clock, seed=3)
    await clock.sleep(5 * 3600)
    again = a_cloud(clock, saved=before.market.dump(), seed=8)
    assert await again.instance_types(POOL) == await before.instance_types(POOL)
    assert again.market.price_step == 5


async def test_a_spot_notice_is_passed_on_and_its_offering_believed_short(clock: LoopClock) -> None:
    """INT-5, TV-135."""
    cloud = a_cloud(clock, catalog=a_catalog())
    instance = await cloud.create(a_catalog_claim())
    cloud.market.interrupt(instance.provider_id)
    async with asyncio.timeout(1):
        notice = await anext(cloud.interruptions())
    assert (notice.kind, notice.provider_id) == (InterruptionKind.SPOT_INTERRUPTION, instance.provider_id)
    assert cloud.unavailable.offerings() == {(instance.instance_type, instance.zone, instance.capacity_type)}


async def test_other_notices_leave_offerings_alone(clock: LoopClock) -> None:
    """INT-5, TV-136."""
    cloud = a_cloud(clock, catalog=a_catalog())
    instance = await cloud.create(a_catalog_claim())
    cloud.market.announce(instance.provider_id, InterruptionKind.REBALANCE_RECOMMENDATION)
    async with asyncio.timeout(1):
        notice = await anext(cloud.interruptions())
    assert notice.kind is InterruptionKind.REBALANCE_RECOMMENDATION
    assert cloud.unavailable.offerings() == set()


@pytest.mark.parametrize(
    "fault, error",
    [
        (Fault(FaultKind.ERROR, "create", code="InvalidAMIID.NotFound"), LaunchError),
        (Fault(FaultKind.THROTTLE, "create"), ThrottledError),
        (Fault(FaultKind.UNAUTHORIZED), UnauthorizedError),
    ],
)
async def test_a_fault_on_request_fails_one_launch_without_effect(
    clock: LoopClock, fault: Fault, error: type[CloudError]
) -> None:
    cloud = a_cloud(clock, catalog=a_catalog())
    cloud.market.inject(fault)
    with pytest.raises(error):
        await cloud.create(a_catalog_claim())
    assert await cloud.list_instances() == ()
    assert (await cloud.create(a_catalog_claim())).claim_name == "one"


async def test_a_launch_error_has_the_code_as_its_reason_and_a_throttle_says_when_to_return(clock: LoopClock) -> None:
    cloud = a_cloud(clock, catalog=a_catalog())
    cloud.market.inject(Fault(FaultKind.ERROR, "create", code="InvalidAMIID.NotFound"))
    with pytest.raises(LaunchError) as failure:
        await cloud.create(a_catalog_claim())
    cloud.market.inject(Fault(FaultKind.THROTTLE, "get", seconds=4.0))
    with pytest.raises(ThrottledError) as refusal:
        await cloud.get(ProviderID("aws:///a/i-1"))
    assert (failure.value.reason, refusal.value.retry_after_s) == ("InvalidAMIID.NotFound", 4.0)


async def test_a_slow_call_takes_longer(clock: LoopClock) -> None:
    cloud = a_cloud(clock, catalog=a_catalog())
    cloud.market.inject(Fault(FaultKind.SLOW, "list", seconds=30))
    started = clock.now()
    await cloud.list_instances()
    assert clock.now() - started == 30


async def test_a_lost_reply_leaves_a_machine_that_the_next_call_finds(clock: LoopClock) -> None:
    cloud = a_cloud(clock, catalog=a_catalog())
    cloud.market.inject(Fault(FaultKind.LOST_REPLY, "create"))
    with pytest.raises(LaunchError):
        await cloud.create(a_catalog_claim())
    (left,) = await cloud.list_instances()
    assert (await cloud.create(a_catalog_claim())).provider_id == left.provider_id


async def test_another_type_than_asked_for_is_reported_as_what_it_is(clock: LoopClock) -> None:
    cloud = a_cloud(clock)
    cloud.market.inject(Fault(FaultKind.OTHER_TYPE, instance_type="r5.2xlarge"))
    instance = await cloud.create(a_small_claim())
    assert (instance.instance_type, instance.labels[labels.INSTANCE_TYPE]) == ("r5.2xlarge", "r5.2xlarge")
    assert instance.capacity["cpu"] == 8000


async def test_an_instance_that_was_ended_by_another_is_not_found(clock: LoopClock) -> None:
    cloud = a_cloud(clock, catalog=a_catalog())
    instance = await cloud.create(a_catalog_claim())
    cloud.market.kill(instance.provider_id)
    await clock.sleep(5)
    with pytest.raises(InstanceNotFoundError, match="is not there"):
        await cloud.delete(instance.provider_id)


async def test_a_missing_node_class_is_named(clock: LoopClock) -> None:
    """AWS-3."""
    with pytest.raises(NodeClassNotReadyError, match="AWSNodeTemplate 'missing' is not there; create it"):
        await a_cloud(clock).instance_types(ORPHAN)


async def test_an_invalid_node_class_is_not_ready(clock: LoopClock) -> None:
    def refuse(_: object) -> None:
        raise ManifestError("AWSNodeTemplate default", [FieldError("spec.amiFamily", "is wrong")])

    cloud = a_cloud(clock, find_class=refuse)
    with pytest.raises(NodeClassNotReadyError, match=r"not valid: AWSNodeTemplate default: spec\.amiFamily"):
        await cloud.instance_types(POOL)


INLINE = {
    "subnetSelector": {"karpenter.sh/discovery": "my-cluster"},
    "securityGroupSelector": {"karpenter.sh/discovery": "my-cluster"},
    "amiFamily": "Bottlerocket",
}


async def test_a_pool_with_an_inline_provider_needs_no_node_class_and_never_drifts(clock: LoopClock) -> None:
    """API-30."""
    bare = a_pool("inline", node_class=None)
    pool = replace(bare, template=replace(bare.template, inline_provider=INLINE))
    cloud = a_cloud(clock, pool=pool)
    types = {found.name: found for found in await cloud.instance_types(pool)}
    assert types["m5.large"].volume_limits == {"ebs.csi.aws.com": 25}
    claim = a_small_claim(pool=pool)
    instance = await cloud.create(claim)
    cloud.market.release_images()
    assert await cloud.drift_reason(replace(claim, provider_id=instance.provider_id)) is None


async def test_a_claim_of_nobody_without_a_node_class_is_not_ready(clock: LoopClock) -> None:
    with pytest.raises(NodeClassNotReadyError, match="no node class is named"):
        await a_cloud(clock).create(a_claim("loose"))


async def test_a_catalogue_needs_no_node_class_at_all(clock: LoopClock) -> None:
    """Issue 3, point 8: the node class may be of any group and kind and need not exist."""
    cloud = a_cloud(clock, catalog=a_catalog())
    assert [found.name for found in await cloud.instance_types(ORPHAN)] == ["c.2", "m.2", "m.4"]
    assert (await cloud.create(a_catalog_claim(pool=ORPHAN))).instance_type == "c.2"
    assert cloud.well_known == {"size"}


async def test_an_instance_of_a_catalogue_boots_and_ends_like_any_other(clock: LoopClock) -> None:
    cloud: SimulatedCloud = a_cloud(clock, catalog=a_catalog())
    instance = await cloud.create(a_catalog_claim())
    await clock.sleep(60)
    (running,) = cloud.market.instances()
    assert (running.state(clock.now()), running.node_name.endswith(".simulated.compute.internal")) == (
        InstanceState.RUNNING,
        True,
    )
    assert running.boot.allocatable == instance.allocatable
