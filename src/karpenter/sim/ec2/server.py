"""The endpoint: plain HTTP on loopback, in a thread with a loop of its own.

Requests are read and answers written there; what an operation does happens on the market's loop, which is the one that
started the endpoint.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import socket
import threading
from collections.abc import Mapping
from itertools import count
from typing import Any, Final

from aiohttp import web

from karpenter.runtime import logs
from karpenter.sim.ec2.codec.messages import AwsError, Call, WireAnswer, WireRequest
from karpenter.sim.ec2.codec.wire import protocol, read_call, service_of, write_error, write_result
from karpenter.sim.ec2.desk import Desk

log = logs.get("sim.ec2")

HOST: Final = "127.0.0.1"
_LARGEST_BODY: Final = 8 * 1024 * 1024
_SHUTDOWN_S: Final = 0.5
_ACCEPTED_S: Final = 0.05
"""How long a client that was just accepted may take to become a connection, which the clean-up then closes."""


class Endpoint:
    """Serves one account over HTTP."""

    def __init__(self, desk: Desk) -> None:
        """Take a port at once, so that clients can be made before anything is served."""
        self._desk = desk
        self._socket = socket.create_server((HOST, 0))
        self.port: int = self._socket.getsockname()[1]
        """Where it listens."""
        self._numbers = count(1)
        self._owner: asyncio.AbstractEventLoop | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._thread: threading.Thread | None = None
        self._running: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """What the SDK takes as `endpoint_url`."""
        return f"http://{HOST}:{self.port}"

    async def start(self) -> None:
        """Begin to answer; operations happen on the running loop."""
        self._owner = asyncio.get_running_loop()
        ready: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="sim.ec2", daemon=True)
        self._thread.start()
        await asyncio.wrap_future(ready)
        self._running = asyncio.create_task(self._desk.run(), name="sim.ec2")

    def close(self) -> None:
        """Give the port back, if it was never started."""
        self._socket.close()

    async def stop(self) -> None:
        """Stop listening and drop the calls that wait."""
        if self._thread is None or self._loop is None or self._stopping is None:
            return
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])
        self._loop.call_soon_threadsafe(self._stopping.set)
        await asyncio.to_thread(self._thread.join)
        self._thread = None

    def _run(self, ready: concurrent.futures.Future[None]) -> None:
        with asyncio.Runner() as runner:
            runner.run(self._serve(ready))

    async def _serve(self, ready: concurrent.futures.Future[None]) -> None:
        self._loop, self._stopping = asyncio.get_running_loop(), asyncio.Event()
        app = web.Application(client_max_size=_LARGEST_BODY)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=_SHUTDOWN_S, handle_signals=False
        )
        await runner.setup()
        site = web.SockSite(runner, self._socket)
        await site.start()
        ready.set_result(None)
        await self._stopping.wait()
        await site.stop()
        await asyncio.sleep(_ACCEPTED_S)
        await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.Response:
        wire = WireRequest(
            method=request.method,
            path=request.path,
            query=request.query_string,
            headers=request.headers,
            body=await request.read(),
        )
        answer = await self._answer(wire)
        headers = {"Content-Type": answer.content_type, **answer.headers}
        return web.Response(body=answer.body, status=answer.status, headers=headers)

    async def _answer(self, request: WireRequest) -> WireAnswer:
        request_id = f"00000000-0000-4000-8000-{next(self._numbers):012x}"
        service = service_of(request)
        try:
            call = read_call(request)
            return write_result(call, await self._on_market(call), request_id)
        except AwsError as error:
            return write_error(service, error, request_id)
        except Exception as error:  # a bug of ours; the caller must not wait for it
            log.error("a call to the simulated AWS failed", service=service, error=error)
            failure = AwsError("InternalError", f"the simulated AWS failed: {error!r}", status=500)
            return write_error(service, failure, request_id)

    async def _on_market(self, call: Call) -> Mapping[str, Any]:
        assert self._owner is not None
        answer = self._desk.answer(call, protocol(call.service))
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(answer, self._owner))
