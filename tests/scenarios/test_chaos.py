"""Whatever happens: no budget broken by us, no node replaced twice at once, nothing leaked, every pod runs in the end.

`make test` runs fifty seeds; `make chaos` as many as CHAOS_SEEDS says. A failure names its seed and what happened.
"""

import os

import pytest

from karpenter.runtime.clock import LoopClock
from tests.scenarios.chaos import Chaos

SEEDS = int(os.environ.get("CHAOS_SEEDS", "50"))


@pytest.mark.parametrize("seed", range(SEEDS))
async def test_the_cluster_is_whole_after_everything_that_may_happen(clock: LoopClock, seed: int) -> None:
    await Chaos(seed, clock).run()
