"""What tests of the HTTP client share."""

from collections.abc import Callable

import pytest

from karpenter.runtime.kubehttp import Connection, HttpKubeClient
from karpenter.runtime.kubehttp.connection import User
from karpenter.runtime.metrics import Metrics
from tests.runtime.kubehttp.scripted_api import ScriptedApi, SwiftClock, serving

MakeClient = Callable[..., HttpKubeClient]


@pytest.fixture
def swift() -> SwiftClock:
    return SwiftClock()


@pytest.fixture
async def api():
    async with serving(ScriptedApi()) as api:
        yield api


@pytest.fixture
def metrics(swift) -> Metrics:
    return Metrics(swift)


@pytest.fixture
async def make_client(api, swift, metrics):
    """Make clients of `api`; they are closed at the end."""
    made: list[HttpKubeClient] = []

    def make(user: User | None = None, **options) -> HttpKubeClient:
        mine = Connection(server=api.url, origin="a test", user=user or User())
        connection = options.pop("connection", mine)
        made.append(HttpKubeClient(connection, clock=swift, metrics=metrics, **options))
        return made[-1]

    yield make
    for client in made:
        await client.close()


@pytest.fixture
def client(make_client) -> HttpKubeClient:
    return make_client()
