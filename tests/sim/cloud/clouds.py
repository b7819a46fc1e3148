"""Builders of simulated clouds for tests: one pool `default`, one node class `default`."""

from dataclasses import replace
from typing import Any

from karpenter.cloud.conformance import Harness
from karpenter.model import labels
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.catalog import Catalog
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import KubeletConfiguration, NodePool
from karpenter.runtime.clock import LoopClock
from karpenter.sim.cloud import SimulatedCloud, open_cloud
from karpenter.sim.cloud.provider import FindNodeClass
from karpenter.sim.market.state import MarketSettings
from tests.awsbuilders import NODE_CLASS_REF, an_aws_node_class
from tests.builders import a_claim, a_pool, an_instance_type

POOL = a_pool()
ORPHAN = replace(
    a_pool("orphan"), template=replace(POOL.template, node_class_ref=replace(NODE_CLASS_REF, name="missing"))
)


def a_cloud(
    clock: LoopClock,
    *,
    node_class: AwsNodeClass | None = None,
    kubelet: KubeletConfiguration | None = None,
    pool: NodePool | None = None,
    saved: Any = None,
    on_change: Any = None,
    catalog: Any = None,
    find_class: FindNodeClass | None = None,
    cluster_name: str = "simulated",
    **settings: Any,
) -> SimulatedCloud:
    """Return a cloud ten times as fast as the real one; `settings` are the market's."""
    found = node_class or an_aws_node_class()
    pools = {one.key: one for one in (pool or replace(POOL, kubelet=kubelet), ORPHAN)}
    return open_cloud(
        clock,
        node_class=find_class or (lambda reference: found if reference.name == found.name else None),
        cluster_name=cluster_name,
        pool=pools.get,
        settings=MarketSettings(**settings),
        saved=saved,
        on_change=on_change,
        catalog=catalog,
    )


def a_small_claim(
    name: str = "one",
    *,
    types: tuple[str, ...] = ("m5.large", "m5.xlarge", "c5.xlarge"),
    zones: tuple[str, ...] = ("us-west-2a", "us-west-2b"),
    kinds: tuple[str, ...] = ("spot", "on-demand"),
    cpu: str = "1",
    pool: NodePool = POOL,
    **fields: Any,
) -> NodeClaim:
    """Return a claim for one of a few small types."""
    requirements = {labels.INSTANCE_TYPE: types, labels.ZONE: zones, labels.CAPACITY_TYPE: kinds}
    return a_claim(name, pool=pool, requirements=requirements, requests={"cpu": cpu, "memory": "1Gi"}, **fields)


def a_harness(cloud: SimulatedCloud, clock: LoopClock, **fields: Any) -> Harness:
    """Return what the conformance suite needs of a simulated cloud."""
    usual: dict[str, Any] = {
        "provider": cloud,
        "pool": POOL,
        "claim": a_small_claim,
        "wait": clock.sleep,
        "sell_out": cloud.market.exhaust,
        "orphan": ORPHAN,
    }
    return Harness(**(usual | fields))


def a_catalog() -> Catalog:
    """Return a catalogue of one's own: three types in two zones, spot at 30 % of the price."""
    types = (
        an_instance_type("c.2", cpu="2", memory="4Gi", price=0.08, zones=("a", "b")),
        an_instance_type("m.2", cpu="2", memory="8Gi", price=0.10, zones=("a", "b")),
        an_instance_type("m.4", cpu="4", memory="16Gi", price=0.20, zones=("a", "b")),
    )
    return Catalog("three", types, frozenset({"size"}))


def a_catalog_claim(name: str = "one", **fields: Any) -> NodeClaim:
    """Return a claim for a small type of `a_catalog`."""
    return a_small_claim(name, **{"types": ("c.2", "m.2"), "zones": ("a", "b"), **fields})
