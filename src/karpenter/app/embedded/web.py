"""Plain HTTP on loopback: the status page, health and metrics. No token: nothing here changes anything."""

from __future__ import annotations

import errno
from collections.abc import Callable

from aiohttp import web

from karpenter.app.errors import SettingsError
from karpenter.runtime.instruments import CONTENT_TYPE
from karpenter.runtime.metrics import Metrics

HOST = "127.0.0.1"


class StatusServer:
    """Serves `/`, `/healthz`, `/readyz` and `/metrics`."""

    def __init__(self, *, page: Callable[[], str], is_ready: Callable[[], bool], metrics: Metrics) -> None:
        self._page = page
        self._is_ready = is_ready
        self._metrics = metrics
        app = web.Application()
        app.router.add_get("/", self._answer_page)
        app.router.add_get("/healthz", self._answer_health)
        app.router.add_get("/readyz", self._answer_readiness)
        app.router.add_get("/metrics", self._answer_metrics)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)

    async def start(self, port: int, *, flag: str = "--port") -> int:
        """Listen, on one port more when called again, and return the port; 0 takes any free one.

        Raises:
            SettingsError: the port cannot be had; names the `flag` that asked for it.
        """
        if self._runner.server is None:
            await self._runner.setup()
        try:
            await web.TCPSite(self._runner, HOST, port).start()
        except OSError as error:
            raise _port_error(f"{flag} {port}", error) from error
        bound: int = self._runner.addresses[-1][1]
        return bound

    def show(self, *, page: Callable[[], str], is_ready: Callable[[], bool]) -> None:
        """From now on tell this instead."""
        self._page = page
        self._is_ready = is_ready

    async def stop(self) -> None:
        """Stop listening; also after a `start` that failed."""
        await self._runner.cleanup()

    async def _answer_page(self, _: web.Request) -> web.Response:
        return web.Response(text=self._page(), content_type="text/html")

    async def _answer_health(self, _: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def _answer_readiness(self, _: web.Request) -> web.Response:
        if self._is_ready():
            return web.Response(text="ok\n")
        return web.Response(text="the cluster has not been read yet\n", status=503)

    async def _answer_metrics(self, _: web.Request) -> web.Response:
        return web.Response(body=self._metrics.render(), headers={"Content-Type": CONTENT_TYPE})


def _port_error(asked: str, error: OSError) -> SettingsError:
    why = {
        errno.EADDRINUSE: "is taken",
        errno.EACCES: "may not be used without further rights",
    }.get(error.errno or 0, f"cannot be used ({error.strerror or error})")
    return SettingsError(f"{asked}: the port {why}, choose another one, or 0 for any that is free")
