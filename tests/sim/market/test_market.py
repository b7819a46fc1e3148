"""The market engine: launches, ends, shortages, notices, and a restart in between."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from karpenter.cloud.unavailable import OfferingKey
from karpenter.model.instance import InterruptionKind
from karpenter.runtime.clock import LoopClock
from karpenter.sim.loop import SIMULATION_START
from karpenter.sim.market.account import make_account
from karpenter.sim.market.faults import Fault, FaultKind
from karpenter.sim.market.instances import Blueprint, InstanceState, MarketInstance
from karpenter.sim.market.launching import LaunchRequest, LaunchResult
from karpenter.sim.market.market import Market
from karpenter.sim.market.prices import CatalogPrices
from karpenter.sim.market.state import MarketSettings, SavedMarketError, read_state
from karpenter.sim.market.watch import InstanceChange
from tests.sim.cloud.clouds import a_catalog

ACCOUNT = make_account("here", ["a", "b"])
SPOT = OfferingKey("c.2", "a", "spot")
"""The cheapest of the catalogue."""
DEAR = OfferingKey("m.4", "a", "spot")


def a_market(clock: LoopClock, **given: Any) -> Market:
    fields = {name: given.pop(name) for name in ("state", "on_change") if name in given}
    return Market(ACCOUNT, CatalogPrices(a_catalog()), clock, settings=MarketSettings(**given), **fields)


def buy(market: Market, token: str = "one", *options: OfferingKey) -> LaunchResult:
    subnets = {subnet.zone: subnet.id for subnet in reversed(ACCOUNT.subnets)}
    return market.launch(
        LaunchRequest(
            token=token,
            options=options or (SPOT,),
            blueprint=lambda key: Blueprint(subnet_id=subnets[key.zone]),
            tags={"team": "web"},
        )
    )


def bought(market: Market, token: str = "one", *options: OfferingKey) -> MarketInstance:
    instance = buy(market, token, *options).instance
    assert instance is not None
    return instance


async def test_an_instance_boots_runs_and_ends_as_time_passes(clock: LoopClock) -> None:
    market = a_market(clock, speed=1.0)
    instance = bought(market)
    assert instance.state(clock.now()) is InstanceState.PENDING
    await clock.sleep(instance.booted_at - clock.now())
    assert instance.state(clock.now()) is InstanceState.RUNNING
    market.terminate(instance.provider_id)
    (ending,) = market.instances()
    assert ending.state(clock.now()) is InstanceState.TERMINATING
    await clock.sleep(30)
    assert market.instances() == ()
    gone = market.find(instance.id)
    assert gone is not None
    assert gone.state(clock.now()) is InstanceState.GONE


async def test_ids_addresses_and_names_look_like_the_real_ones_and_are_unique(clock: LoopClock) -> None:
    market = a_market(clock)
    instances = [bought(market, f"claim-{number}") for number in range(50)]
    first = instances[0]
    assert len(first.id) == 19
    assert first.id.startswith("i-0")
    assert first.provider_id == f"aws:///a/{first.id}"
    assert first.node_name == f"ip-{first.private_ip.replace('.', '-')}.here.compute.internal"
    assert len({instance.id for instance in instances}) == len({instance.private_ip for instance in instances}) == 50


async def test_an_address_in_use_is_not_given_twice(clock: LoopClock) -> None:
    """A small subnet that has wrapped around."""
    market = a_market(clock)
    public = next(subnet for subnet in ACCOUNT.subnets if subnet.size == 251)
    addresses = set()
    for number in range(public.size):
        result = market.launch(
            LaunchRequest(str(number), (SPOT._replace(zone="a"),), lambda _: Blueprint(subnet_id=public.id))
        )
        assert result.instance is not None
        addresses.add(result.instance.private_ip)
    assert len(addresses) == 251
    assert market.free_addresses(public.id) == 0


async def test_delays_to_ready_follow_the_percentiles_divided_by_speed(clock: LoopClock) -> None:
    """Issue: ready p50 45 s, p90 79 s."""
    market = a_market(clock, speed=10.0)
    delays = sorted(
        one.ready_at - one.launched_at for one in (bought(market, f"claim-{number}") for number in range(1000))
    )
    assert delays[500] == pytest.approx(4.5, rel=0.05)
    assert delays[900] == pytest.approx(7.9, rel=0.05)


async def test_the_seed_fixes_delays_and_ids_and_another_seed_changes_them(clock: LoopClock) -> None:
    def delays(seed: int) -> list[tuple[str, float]]:
        market = a_market(clock, seed=seed)
        # Claims have random names and uids: the how-manieth launch it is decides, not for whom.
        instances = [bought(market, f"claim-{seed}-{id(market)}-{number}") for number in range(5)]
        return [(instance.id, instance.ready_at - instance.launched_at) for instance in instances]

    assert delays(1) == delays(1)
    assert delays(1) != delays(2)


async def test_the_cheapest_option_wins_with_ties_by_type_and_zone(clock: LoopClock) -> None:
    market = a_market(clock)
    options = (DEAR, SPOT._replace(zone="b"), SPOT, OfferingKey("c.2", "a", "on-demand"))
    assert bought(market, "one", *options).offering == SPOT


async def test_a_spot_pool_that_runs_dry_counts_as_dearer(clock: LoopClock) -> None:
    """Price-capacity-optimized: 0.024 with one left is worth 0.0456, more than 0.03."""
    market = a_market(clock)
    market.limit(1, instance_type="c.2")
    assert bought(market, "one", SPOT, OfferingKey("m.2", "a", "spot")).offering.instance_type == "m.2"


async def test_on_demand_is_bought_at_the_lowest_price_however_little_is_left(clock: LoopClock) -> None:
    market = a_market(clock)
    market.limit(1, instance_type="c.2")
    options = (OfferingKey("c.2", "a", "on-demand"), OfferingKey("m.2", "a", "on-demand"))
    assert bought(market, "one", *options).offering.instance_type == "c.2"


async def test_a_sold_out_option_is_refused_and_the_next_is_launched(clock: LoopClock) -> None:
    market = a_market(clock)
    market.exhaust("c.*", capacity_type="spot")
    result = buy(market, "one", SPOT, DEAR)
    assert result.refused == (SPOT,)
    assert result.instance is not None
    assert result.instance.offering == DEAR


async def test_when_all_is_sold_out_everything_is_refused(clock: LoopClock) -> None:
    market = a_market(clock)
    market.exhaust()
    assert buy(market, "one", DEAR, SPOT) == LaunchResult(None, (SPOT, DEAR))
    assert market.instances() == ()


async def test_a_shortage_ends_at_its_time_or_with_replenishment(clock: LoopClock) -> None:
    market = a_market(clock)
    market.exhaust(zone="a", until=clock.now() + 60)  # type: ignore[arg-type]
    market.exhaust(zone="b")
    in_b = SPOT._replace(zone="b")
    assert buy(market, "one", SPOT, in_b).instance is None
    await clock.sleep(60)
    assert bought(market, "one", SPOT, in_b).offering == SPOT
    market.replenish()
    assert bought(market, "two", in_b).offering == in_b


async def test_limited_stock_is_shared_by_all_matching_offerings_and_returns_with_the_instance(
    clock: LoopClock,
) -> None:
    market = a_market(clock)
    market.limit(2, instance_type="*.2")
    first = bought(market, "one", SPOT)
    bought(market, "two", OfferingKey("m.2", "b", "on-demand"))
    assert buy(market, "three", SPOT).refused == (SPOT,)
    market.terminate(first.id)
    await clock.sleep(10)
    assert bought(market, "three", SPOT).offering == SPOT


async def test_chance_sells_out_the_share_it_was_told_to(clock: LoopClock) -> None:
    market = a_market(clock, shortage_share=0.3)
    refused = 0
    for window in range(300):
        await clock.sleep(600)
        refused += len(buy(market, str(window), SPOT).refused)
    assert 60 < refused < 120


async def test_a_token_gives_the_same_instance_while_it_lives(clock: LoopClock) -> None:
    market = a_market(clock)
    first = bought(market)
    assert bought(market) == first
    market.exhaust()
    assert bought(market) == first
    market.replenish()
    market.terminate(first.id)
    assert bought(market).id != first.id


async def test_an_interrupted_spot_instance_ends_at_the_deadline(clock: LoopClock) -> None:
    """Two minutes' notice, whatever the market's speed."""
    market = a_market(clock, speed=10.0)
    instance = bought(market)
    await clock.sleep(60)
    notice = market.interrupt(instance.id)
    assert (notice.kind, notice.provider_id) == (InterruptionKind.SPOT_INTERRUPTION, instance.provider_id)
    assert notice.deadline == SIMULATION_START + 180
    states = []
    for seconds in (119, 1, 3):
        await clock.sleep(seconds)
        found = market.find(instance.id)
        assert found is not None
        states.append(found.state(clock.now()))
    assert states == [InstanceState.RUNNING, InstanceState.TERMINATING, InstanceState.GONE]


async def test_only_spot_instances_that_exist_are_interrupted(clock: LoopClock) -> None:
    market = a_market(clock)
    instance = bought(market, "one", OfferingKey("c.2", "a", "on-demand"))
    with pytest.raises(ValueError, match="only spot instances"):
        market.interrupt(instance.id)
    with pytest.raises(KeyError, match="there is no instance 'i-1'"):
        market.interrupt("i-1")


async def test_termination_before_the_deadline_comes_first(clock: LoopClock) -> None:
    market = a_market(clock)
    instance = bought(market)
    market.interrupt(instance.id)
    await clock.sleep(10)
    market.terminate(instance.id)
    await clock.sleep(3)
    assert market.instances() == ()


async def collect(stream: AsyncIterator[Any], into: list[Any]) -> None:
    async for item in stream:
        into.append(item)  # noqa: PERF401 - the reader never ends; what came so far is what matters


async def test_notices_are_delivered_in_order_once_each(clock: LoopClock) -> None:
    market = a_market(clock)
    one, two = bought(market, "one"), bought(market, "two")
    market.announce(one.id, InterruptionKind.REBALANCE_RECOMMENDATION)
    got: list[Any] = []
    reader = asyncio.create_task(collect(market.notices(), got))
    await clock.sleep(1)
    market.interrupt(one.id)
    market.kill(two.id)
    await clock.sleep(1)
    reader.cancel()
    assert [(notice.kind, notice.provider_id) for notice in got] == [
        (InterruptionKind.REBALANCE_RECOMMENDATION, one.provider_id),
        (InterruptionKind.SPOT_INTERRUPTION, one.provider_id),
        (InterruptionKind.TERMINATING, two.provider_id),
    ]


async def test_a_notice_that_nobody_reads_is_dropped_after_five_minutes(clock: LoopClock) -> None:
    """INT-9."""
    market = a_market(clock)
    instance = bought(market)
    market.announce(instance.id, InterruptionKind.SCHEDULED_CHANGE)
    await clock.sleep(301)
    got: list[Any] = []
    reader = asyncio.create_task(collect(market.notices(), got))
    await clock.sleep(1)
    reader.cancel()
    assert got == []


def told(changes: list[InstanceChange]) -> list[tuple[str, InstanceState]]:
    return [(change.instance.token, change.state) for change in changes]


async def test_changes_tell_what_is_and_then_what_happens_when_it_happens(clock: LoopClock) -> None:
    market = a_market(clock, speed=1.0)
    first = bought(market, "first")
    got: list[InstanceChange] = []
    at: list[float] = []

    async def read() -> None:
        async for change in market.changes():
            got.append(change)
            at.append(clock.now())

    reader = asyncio.create_task(read())
    await clock.sleep(200)
    second = bought(market, "second")
    await clock.sleep(200)
    market.terminate(second.id)
    await clock.sleep(200)
    reader.cancel()
    assert told(got) == [
        ("first", InstanceState.PENDING),
        ("first", InstanceState.RUNNING),
        ("second", InstanceState.PENDING),
        ("second", InstanceState.RUNNING),
        ("second", InstanceState.TERMINATING),
        ("second", InstanceState.GONE),
    ]
    assert at == pytest.approx(
        [
            first.launched_at,
            first.booted_at,
            second.launched_at,
            second.booted_at,
            SIMULATION_START + 400,
            SIMULATION_START + 430,
        ]
    )


async def test_an_instance_that_ends_while_it_boots_never_runs(clock: LoopClock) -> None:
    market = a_market(clock, speed=1.0)
    got: list[InstanceChange] = []
    reader = asyncio.create_task(collect(market.changes(), got))
    instance = bought(market)
    assert instance.booted_at > clock.now() + 1
    await clock.sleep(1)
    market.terminate(instance.id)
    await clock.sleep(300)
    reader.cancel()
    assert told(got) == [
        ("one", InstanceState.PENDING),
        ("one", InstanceState.TERMINATING),
        ("one", InstanceState.GONE),
    ]


async def test_every_reader_of_changes_is_told(clock: LoopClock) -> None:
    market = a_market(clock)
    got: list[list[InstanceChange]] = [[], []]
    readers = [asyncio.create_task(collect(market.changes(), mine)) for mine in got]
    await clock.sleep(1)
    bought(market)
    await clock.sleep(60)
    for reader in readers:
        reader.cancel()
    assert told(got[0]) == told(got[1]) == [("one", InstanceState.PENDING), ("one", InstanceState.RUNNING)]


async def test_a_launch_may_bring_another_type_on_request(clock: LoopClock) -> None:
    market = a_market(clock)
    market.inject(Fault(FaultKind.OTHER_TYPE, instance_type="m.4"))
    assert bought(market, "one").offering == DEAR
    assert bought(market, "two").offering == SPOT


async def test_faults_count_down_per_operation(clock: LoopClock) -> None:
    market = a_market(clock)
    market.inject(Fault(FaultKind.ERROR, "create", times=2))
    market.inject(Fault(FaultKind.SLOW, "*"))
    assert [fault.kind for fault in market.take_faults("create")] == [FaultKind.ERROR, FaultKind.SLOW]
    assert [fault.kind for fault in market.take_faults("delete")] == []
    assert [fault.kind for fault in market.take_faults("create")] == [FaultKind.ERROR]
    assert market.take_faults("create") == ()


async def test_a_market_goes_on_after_a_restart_where_it_was(clock: LoopClock) -> None:
    """What was stored change by change equals a full dump, goes through JSON, and loses nothing."""
    stored: dict[str, Any] = {}

    def store(changed: Any) -> None:
        for key, value in json.loads(json.dumps(changed)).items():
            if value is None:
                stored.pop(key, None)
            else:
                stored[key] = value

    market = a_market(clock, seed=5, on_change=store)
    first, second = bought(market, "one"), bought(market, "two")
    market.exhaust("m.4")
    market.limit(3, zone="b")
    market.inject(Fault(FaultKind.THROTTLE, "get", times=2))
    market.interrupt(second.id)
    market.release_images()
    market.terminate(first.id)
    assert stored == json.loads(json.dumps(market.dump()))

    again = a_market(clock, seed=99, state=read_state(stored))
    assert again.dump() == market.dump()
    assert again.instances() == market.instances()
    assert again.running("two") == market.running("two")
    assert bought(again, "three").id == bought(market, "three").id
    assert buy(again, "four", DEAR).refused == (DEAR,)


async def test_instances_long_gone_are_forgotten_also_in_the_store(clock: LoopClock) -> None:
    stored: dict[str, Any] = {}
    market = a_market(clock, on_change=stored.update)
    instance = bought(market)
    market.terminate(instance.id)
    await clock.sleep(3700)
    bought(market, "two")
    assert market.find(instance.id) is None
    assert stored[instance.id] is None


async def test_a_saved_market_of_another_format_or_damaged_is_refused(clock: LoopClock) -> None:
    dump = a_market(clock).dump()
    with pytest.raises(SavedMarketError, match="has format 7, this version reads 1"):
        read_state(dump | {"market": dump["market"] | {"format": 7}})
    with pytest.raises(SavedMarketError, match="cannot be read"):
        read_state(dump | {"i-1": {"id": 3}})
