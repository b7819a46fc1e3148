"""What tests of the application share."""

import pytest

from karpenter.app.embedded.api import define_kinds
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.kubememory import MemoryKubeClient, MemoryStore


@pytest.fixture
async def client(clock: LoopClock) -> MemoryKubeClient:
    """An API server that knows our kinds."""
    store = MemoryStore(clock)
    define_kinds(store)
    return MemoryKubeClient(store)
