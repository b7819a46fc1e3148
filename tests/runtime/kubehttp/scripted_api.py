"""An API server on loopback that answers from a script and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

from karpenter.model.units import UnixSeconds

Answer = web.StreamResponse | Callable[[web.Request], Awaitable[web.StreamResponse]]


class SwiftClock:
    """A clock on which waiting takes no time: it notes the wait and is there."""

    def __init__(self) -> None:
        self.time = 1_700_000_000.0
        self.waits: list[float] = []

    def now(self) -> UnixSeconds:
        return UnixSeconds(self.time)

    async def sleep(self, seconds: float) -> None:
        if seconds > 0:
            self.waits.append(round(seconds, 3))
            self.time += seconds
        await asyncio.sleep(0)


@dataclass(frozen=True)
class Asked:
    """One request as it came in."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


class ScriptedApi:
    """Gives the answers in order; once they are used up, every further request is answered 404."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.asked: list[Asked] = []
        self.url = ""

    def will(self, *answers: Answer) -> None:
        self.answers += answers

    async def handle(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        self.asked.append(
            Asked(
                request.method,
                request.rel_url.raw_path,
                dict(request.query),
                dict(request.headers),
                json.loads(text) if text else None,
            )
        )
        if not self.answers:
            return a_status(404, "NotFound", "nothing is scripted")
        answer = self.answers.pop(0)
        return answer if isinstance(answer, web.StreamResponse) else await answer(request)


@asynccontextmanager
async def serving(api: ScriptedApi, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[ScriptedApi]:
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", api.handle)
    server = TestServer(app, scheme="https" if tls else "http", host="127.0.0.1")
    await server.start_server(ssl=tls)
    api.url = str(server.make_url("")).rstrip("/")
    try:
        yield api
    finally:
        await server.close()


def a_reply(body: Any, *, status: int = 200, headers: dict[str, str] | None = None) -> web.Response:
    return web.json_response(body, status=status, headers=headers)


def a_status(
    code: int, reason: str, message: str = "no", *, headers: dict[str, str] | None = None, **details: Any
) -> web.Response:
    body = {
        "kind": "Status",
        "status": "Failure",
        "message": message,
        "reason": reason,
        "code": code,
        "details": details,
    }
    return web.json_response(body, status=code, headers=headers)


def a_pod(name: str, version: int = 1, **more: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "web", "uid": f"uid-{name}", "resourceVersion": str(version)},
        **more,
    }


def a_pod_list(*pods: dict[str, Any], version: int = 7, following: str = "") -> web.Response:
    return a_reply(
        {"kind": "PodList", "metadata": {"resourceVersion": str(version), "continue": following}, "items": pods}
    )


def a_watch(*lines: dict[str, Any] | str, abort: bool = False) -> Answer:
    """Send the lines, a string as it is and without an end; then end the answer, or break the connection."""

    async def answer(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for line in lines:
            await response.write((line if isinstance(line, str) else json.dumps(line) + "\n").encode())
        if abort:
            assert request.transport is not None
            request.transport.abort()
        return response

    return answer


async def hang_up(request: web.Request) -> web.StreamResponse:
    """Read the request and break the connection without an answer."""
    assert request.transport is not None
    request.transport.abort()
    return web.Response()
