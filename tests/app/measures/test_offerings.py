"""What is on offer, as gauges (spec v1 §5.3, `cloudprovider_instance_type_*`)."""

from dataclasses import replace

from karpenter.app.measures.offerings import Offerings
from karpenter.app.measures.settings import Offered
from karpenter.model.instancetype import InstanceType
from karpenter.model.units import PoolKey
from karpenter.runtime.clock import Clock
from karpenter.runtime.metrics import Metrics
from tests.scheduling.toys import toys

POOL = PoolKey("NodePool", "default")


def _published(clock: Clock, shown: Offered, *rounds: tuple[InstanceType, ...]) -> Metrics:
    metrics = Metrics(clock)
    offerings = Offerings(metrics, shown)
    for types in rounds:
        offerings.publish({POOL: {each.name: each for each in types}}, lambda: {"m.4"})
    return metrics


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"karpenter_cloudprovider_{name}", labels)


async def test_types_have_shape_price_and_availability(clock: Clock) -> None:
    metrics = _published(clock, "all", toys())
    place = {"instance_type": "m.4", "capacity_type": "spot", "zone": "a"}
    assert value(metrics, "instance_type_cpu_cores", instance_type="m.4") == 4
    assert value(metrics, "instance_type_memory_bytes", instance_type="m.4") == 16 * 2**30
    assert value(metrics, "instance_type_offering_price_estimate", **place) == 0.06
    assert value(metrics, "instance_type_offering_available", **place) == 1


async def test_a_refused_offering_shows_as_unavailable(clock: Clock) -> None:
    (kind,) = toys("m.4")
    refused = replace(kind, offerings=tuple(replace(offer, available=offer.zone != "a") for offer in kind.offerings))
    metrics = _published(clock, "all", (kind,), (refused,))
    place = {"instance_type": "m.4", "capacity_type": "spot"}
    assert value(metrics, "instance_type_offering_available", **place, zone="a") == 0
    assert value(metrics, "instance_type_offering_available", **place, zone="b") == 1


async def test_by_default_only_types_that_nodes_are_made_of_are_shown(clock: Clock) -> None:
    metrics = _published(clock, "used", toys())
    assert value(metrics, "instance_type_cpu_cores", instance_type="m.4") == 4
    assert value(metrics, "instance_type_cpu_cores", instance_type="m.8") is None


async def test_nothing_is_shown_when_it_is_switched_off(clock: Clock) -> None:
    assert value(_published(clock, "off", toys()), "instance_type_cpu_cores", instance_type="m.4") is None
