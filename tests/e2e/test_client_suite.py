"""The suite of every `KubeClient`, on our HTTP client and a real API server that nobody else writes to."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from karpenter.runtime.identity import uid_of
from karpenter.runtime.kube import CONFIG_MAPS, NODES, PDBS, PODS, KubeClient
from tests.e2e.plane import ControlPlane, connect
from tests.e2e.pods import delete_all
from tests.runtime.test_kube_client_suite import *  # noqa: F403 - the tests, and their fixture `kube`

pytestmark = pytest.mark.real_time

USED = (CONFIG_MAPS, NODES, PDBS, PODS)


@dataclass
class RealServer:
    """What the suite asks of a server."""

    kube: KubeClient
    plane: ControlPlane

    @property
    def quick(self) -> KubeClient:
        """Our client has no limits here."""
        return self.kube

    def cut_watches(self) -> None:
        """Let the API server crash, and come back."""
        self.plane.api_server.kill()
        self.plane.start_api_server()

    def forget_history(self) -> None:
        """Let it come back without the changes that it had in memory; older ones it never serves."""
        self.cut_watches()


@pytest.fixture
async def server(lone_server: ControlPlane) -> AsyncIterator[RealServer]:
    client = connect(lone_server.kubeconfig())
    before = {uid_of(each) for resource in USED for each in (await client.list(resource)).items}
    yield RealServer(client, lone_server)
    for resource in USED:
        created = [each for each in (await client.list(resource)).items if uid_of(each) not in before]
        await delete_all(client, resource, created)
    await client.close()
