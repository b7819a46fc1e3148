"""The pause switch: issue 6, point 8."""

from karpenter.model.pause import NOTHING, Pauses, read_pauses
from karpenter.model.units import PoolKey

BATCH = PoolKey("Provisioner", "batch")
WEB = PoolKey("NodePool", "web")


def test_nothing_is_paused_by_an_empty_map() -> None:
    assert read_pauses({}) == NOTHING
    assert not NOTHING.stops_disruption(WEB)


def test_a_pause_of_the_cluster_holds_for_all_pools_and_for_nodes_of_none() -> None:
    pauses = read_pauses({"cluster": "disruption"})
    assert pauses == Pauses(cluster="disruption")
    assert [pauses.of(pool) for pool in (BATCH, WEB, None)] == ["disruption"] * 3
    assert not pauses.stops_everything(WEB)


def test_the_stronger_of_cluster_and_pool_counts() -> None:
    pauses = read_pauses({"cluster": "disruption", "pool.batch": "everything"})
    assert (pauses.of(BATCH), pauses.of(WEB)) == ("everything", "disruption")
    assert pauses.stops_everything(BATCH)


def test_a_value_that_nobody_knows_pauses_everything() -> None:
    assert read_pauses({"pool.batch": "a little"}).of(BATCH) == "everything"
