"""Node classes whose machines do not become nodes: issue 6, point 8."""

import random
from dataclasses import replace

import pytest

from karpenter.lifecycle.breakers import Breakers
from karpenter.model.nodepool import NodeClassRef
from karpenter.runtime.backoff import Backoff
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kubememory import MemoryKubeClient, MemoryStore
from karpenter.state.cluster import ClusterState
from karpenter.state.memory import Memory
from tests.builders import a_claim

BROKEN = NodeClassRef("karpenter.k8s.aws", "AWSNodeTemplate", "broken")
OTHER = NodeClassRef("karpenter.k8s.aws", "AWSNodeTemplate", "other")


class Board:
    """Breakers over an empty cluster."""

    def __init__(self, clock: LoopClock) -> None:
        backoff = Backoff(random.Random(0), base_s=1, cap_s=1)
        self.memory = Memory(MemoryKubeClient(MemoryStore(clock)), clock=clock, namespace="x", backoff=backoff)
        self.state = ClusterState()
        self.breakers = Breakers(self.memory, self.state, clock=clock)

    def fail(self, times: int) -> None:
        for _ in range(times):
            self.breakers.failed(BROKEN)


@pytest.fixture
async def board(clock: LoopClock) -> Board:
    return Board(clock)


async def test_four_failures_in_a_row_stop_nothing_the_fifth_does_and_only_for_its_class(board: Board) -> None:
    board.fail(4)
    assert board.breakers.refusal(BROKEN) is None
    board.fail(1)
    found = board.breakers.refusal(BROKEN)
    assert found is not None
    assert found.startswith("5 machines of AWSNodeTemplate broken in a row did not become nodes; the next one is tried")
    assert board.breakers.refusal(OTHER) is None


async def test_one_that_registers_starts_the_count_anew(board: Board) -> None:
    board.fail(4)
    board.breakers.succeeded(BROKEN)
    board.fail(4)
    assert board.breakers.problem(BROKEN) is None


@pytest.mark.parametrize("failures,wait_s", [(5, 60), (6, 120), (9, 960), (10, 1800), (40, 1800)])
async def test_the_wait_doubles_from_a_minute_to_half_an_hour(
    board: Board, clock: LoopClock, failures: int, wait_s: float
) -> None:
    board.fail(failures)
    await clock.sleep(wait_s - 1)
    assert board.breakers.problem(BROKEN) is not None
    await clock.sleep(1)
    assert board.breakers.problem(BROKEN) is None


async def test_after_the_wait_one_machine_at_a_time_is_tried(board: Board, clock: LoopClock) -> None:
    board.fail(5)
    await clock.sleep(60)
    assert board.breakers.refusal(BROKEN) is None
    assert board.breakers.refusal(BROKEN) is not None, "the trial was just asked for"
    await clock.sleep(6)
    board.state.set_claim(replace(a_claim("trial", conditions=("Launched",)), node_class_ref=BROKEN))
    assert board.breakers.refusal(BROKEN) is not None, "the trial has not registered yet"


async def test_what_failed_is_known_to_whoever_reads_the_same_memory(board: Board, clock: LoopClock) -> None:
    board.fail(5)
    assert Breakers(board.memory, ClusterState(), clock=clock).problem(BROKEN) is not None
