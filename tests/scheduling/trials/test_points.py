"""Points of many copies at once, against the embedded scheduler's, copy by copy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from karpenter.model.resources import CPU, MEMORY, format_resources
from karpenter.scheduling.trials import points
from karpenter.scheduling.trials.ground import UNSTATED
from karpenter.sim.scheduler.nodeinfo import ClusterCache
from karpenter.sim.scheduler.podfacts import FactsBook
from karpenter.sim.scheduler.scores import resource_score
from tests.builders import a_node, a_pod

MIB = 2**20
amounts = st.tuples(st.sampled_from((0, 100, 250, 1000, 1500)), st.sampled_from((0, 128 * MIB, 512 * MIB, 4096 * MIB)))


@given(
    st.sampled_from(((2000, 4096 * MIB), (8000, 16384 * MIB), (3920, 30000 * MIB))),
    amounts,
    st.lists(amounts, max_size=3),
)
def test_each_copy_gets_the_points_of_the_embedded_scheduler(
    size: tuple[int, int], asked: tuple[int, int], before: list[tuple[int, int]]
) -> None:
    book, cache = FactsBook(), ClusterCache()
    cpu, memory = size
    cache.set_node(a_node("n", cpu=f"{cpu}m", memory=str(memory)))
    pods = [_pod(str(at), each) for at, each in enumerate([*before, asked, asked, asked])]
    expected = []
    for at, pod in enumerate(pods):
        node = cache.node("n")
        assert node is not None
        if at >= len(before):
            expected.append(resource_score(book.of(pod), node))
        cache.set_pod(pod.metadata.uid, book.of(pod), "n", priority=0, is_terminating=False)
    requested = np.array([before or [(0, 0)]], dtype=np.float64).sum(axis=1)
    scored = np.array([[_scored(each) for each in before] or [(0, 0)]], dtype=np.float64).sum(axis=1)
    found = points.of_resources(
        np.array([size], dtype=np.float64),
        requested,
        scored,
        asks=np.array(asked, dtype=np.float64),
        counts=np.array(_scored(asked), dtype=np.float64),
        copies=3,
    )
    assert found.tolist() == [expected]


def _pod(name: str, asked: tuple[int, int]):
    requests = format_resources({key: amount for key, amount in zip((CPU, MEMORY), asked, strict=True) if amount})
    return a_pod(name, cpu=requests.get(CPU), memory=requests.get(MEMORY))


def _scored(asked: tuple[int, int]) -> tuple[float, float]:
    return tuple(amount or usual for amount, usual in zip(asked, UNSTATED.tolist(), strict=True))
