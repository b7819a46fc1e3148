"""The status page tells what there is, and the port answers health, readiness and metrics."""

import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest

from karpenter.app.embedded.page import status_page
from karpenter.app.embedded.web import StatusServer
from karpenter.app.errors import SettingsError
from karpenter.runtime.clock import LoopClock
from karpenter.runtime.metrics import Metrics
from tests.builders import a_node, a_node_view, a_pod, a_pool, a_pool_view, a_snapshot


def test_the_page_of_an_empty_cluster_says_what_to_do() -> None:
    page = status_page(a_snapshot(), version="1.2.3")
    assert "Karpenter 1.2.3" in page
    assert "none yet: apply a Provisioner or a NodePool" in page


def test_the_page_shows_nodes_pools_and_waiting_pods() -> None:
    pool = a_pool("web", limits={"cpu": "100"})
    node = a_node_view("n1", pool=pool, price=0.2, pods=[a_pod("a"), a_pod("b")], node=a_node("n1"))
    page = status_page(
        a_snapshot(nodes=[node], pools=[a_pool_view(pool, usage={"cpu": "4", "nodes": 1})], pending=[a_pod("late")]),
        version="1",
    )
    cells = page.replace("</td>", "|").replace("<tr>", "\n").replace('<td class="number">', "").replace("<td>", "")
    assert "\nn1|Provisioner web|m.4|a|on-demand|0.2000|2|ready|" in cells
    assert "\nProvisioner web|0|1|4 of 100|0 GiB|ready|" in cells
    assert "\ndefault/late|" in cells


def test_names_cannot_smuggle_markup_into_the_page() -> None:
    page = status_page(a_snapshot(nodes=[a_node_view("<script>")]), version="1")
    assert "<script>" not in page


@pytest.mark.real_time
class TestServer:
    @pytest.fixture
    async def ready(self) -> dict[str, bool]:
        return {"now": False}

    @pytest.fixture
    async def url(self, clock: LoopClock, ready: dict[str, bool]) -> AsyncIterator[str]:
        server = StatusServer(page=lambda: "<p>hello</p>", is_ready=lambda: ready["now"], metrics=Metrics(clock))
        port = await server.start(0)
        yield f"http://127.0.0.1:{port}"
        await server.stop()

    async def test_pages_health_and_metrics_are_served(self, url: str) -> None:
        async with aiohttp.ClientSession(url) as session:
            page, health, metrics = [await session.get(path) for path in ("/", "/healthz", "/metrics")]
            assert (page.content_type, await page.text()) == ("text/html", "<p>hello</p>")
            assert (health.status, await health.text()) == (200, "ok\n")
            assert "karpenter_nodes_created_total" in await metrics.text()

    async def test_it_is_ready_once_the_cluster_has_been_read(self, url: str, ready: dict[str, bool]) -> None:
        async with aiohttp.ClientSession(url) as session:
            before = (await session.get("/readyz")).status
            ready["now"] = True
            assert (before, (await session.get("/readyz")).status) == (503, 200)

    async def test_a_port_that_is_taken_is_told_with_what_to_do(self, clock: LoopClock) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            server = StatusServer(page=str, is_ready=bool, metrics=Metrics(clock))
            with pytest.raises(SettingsError) as raised:
                await server.start(port)
            assert await server.start(0) != port
            await server.stop()
        assert str(raised.value) == f"--port {port}: the port is taken, choose another one, or 0 for any that is free"
