"""The suite of every `KubeClient`, on our HTTP client and our API server."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from karpenter.runtime.clock import WallClock
from karpenter.runtime.kubehttp import HttpKubeClient, find_connection
from karpenter.runtime.kubememory import MemoryStore
from karpenter.sim.apiserver import ApiServer
from tests.runtime.test_kube_client_suite import *  # noqa: F403 - the tests, and their fixture `kube`
from tests.runtime.test_kube_client_suite import Server

pytestmark = pytest.mark.real_time


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    """What the suite asks of a server, over sockets."""
    store = MemoryStore(WallClock())
    api = ApiServer(store)
    await api.start()
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(api.kubeconfig(), encoding="utf-8")
    kube = HttpKubeClient(find_connection({}, kubeconfig=kubeconfig), clock=WallClock(), qps=10_000, burst=10_000)
    try:
        yield Server(kube, store)
    finally:
        await kube.close()
        await api.stop()
