"""Requests on their way: credentials, TLS, limits, retries. Answers are bytes or a `KubeError`."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import random
import socket
import ssl
from collections.abc import AsyncIterator, Iterator
from typing import Final

import aiohttp
from aiohttp import hdrs

from karpenter import __version__
from karpenter.runtime import logs
from karpenter.runtime.backoff import Backoff
from karpenter.runtime.clock import Clock
from karpenter.runtime.kube import KubeError, TooManyRequests, Unavailable
from karpenter.runtime.kubehttp.connection import Connection
from karpenter.runtime.kubehttp.credentials import Credential, credentials_of
from karpenter.runtime.kubehttp.failures import NotSent, error_from_answer
from karpenter.runtime.kubehttp.requests import Request
from karpenter.runtime.kubehttp.tls import tls_context
from karpenter.runtime.metrics import Metrics
from karpenter.runtime.ratelimit import TokenBucket

ATTEMPTS: Final = 5
REQUEST_TIMEOUT_S: Final = 60.0
CONNECT_TIMEOUT_S: Final = 10.0
LONGEST_WAIT_S: Final = 30.0
"""A server that asks for a longer wait is not waited for here: the caller decides."""
MOST_CONNECTIONS: Final = 128

log = logs.get("runtime.kubehttp")


class Transport:
    """Sends requests over one connection's settings. Sockets are opened with the first request."""

    def __init__(
        self,
        connection: Connection,
        *,
        clock: Clock,
        metrics: Metrics,
        source: random.Random,
        bucket: TokenBucket,
    ) -> None:
        self._connection = connection
        self._clock = clock
        self._source = source
        self._bucket = bucket
        self._requests = metrics.client_go_request_total
        self._durations = metrics.client_go_request_duration_seconds
        self._credentials = credentials_of(connection.user, clock)
        self._session: aiohttp.ClientSession | None = None
        self._tls: tuple[bytes, ssl.SSLContext] | None = None

    async def send(self, request: Request) -> bytes:
        """Return the body of the answer. Raises KubeError, after retries where they are safe."""
        backoff = Backoff(self._source, base_s=0.2, cap_s=5.0)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return await self._attempt(request)
            except KubeError as error:
                if attempt == ATTEMPTS or not _may_repeat(request, error):
                    raise
                wait_s = backoff.next_s(at_least_s=error.retry_after_s or 0.0)
                log.debug("request failed, trying again", path=request.path, error=error, retry_in_s=wait_s)
                await self._clock.sleep(wait_s)
        raise AssertionError("the last attempt returns or raises")

    @contextlib.asynccontextmanager
    async def stream(self, request: Request, *, timeout_s: float) -> AsyncIterator[aiohttp.StreamReader]:
        """Give the body of the answer while it arrives, for at most `timeout_s`. Raises KubeError when that is a no."""
        limits = aiohttp.ClientTimeout(total=timeout_s, sock_connect=CONNECT_TIMEOUT_S)
        response = await self._open(request, limits)
        try:
            yield response.content
        finally:
            response.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._credentials.close()
        if self._session is not None:
            await self._session.close()

    async def _attempt(self, request: Request) -> bytes:
        limits = aiohttp.ClientTimeout(total=REQUEST_TIMEOUT_S, sock_connect=CONNECT_TIMEOUT_S)
        response = await self._open(request, limits)
        async with response:
            with self._translated():
                return await response.read()

    async def _open(self, request: Request, limits: aiohttp.ClientTimeout) -> aiohttp.ClientResponse:
        """Return an answer that says yes; once more with another credential when the first one is refused."""
        await self._clock.sleep(self._bucket.reserve_s())
        with self._translated():
            credential = await self._credentials.current()
            response = await self._send(request, credential, limits)
            if response.status == 401 and self._credentials.reject(credential):
                response.release()
                response = await self._send(request, await self._credentials.current(), limits)
            if response.status < 300:
                return response
            async with response:
                body = await response.read()
        raise error_from_answer(response.status, body, retry_after=response.headers.get(hdrs.RETRY_AFTER, ""))

    async def _send(
        self, request: Request, credential: Credential, limits: aiohttp.ClientTimeout
    ) -> aiohttp.ClientResponse:
        loop, code = asyncio.get_running_loop(), "<error>"
        started = loop.time()
        try:
            response = await self._opened_session().request(
                request.method,
                f"{self._connection.server}{request.path}",
                params=request.parameters,
                data=request.body,
                headers=self._headers(request, credential),
                timeout=limits,
                ssl=self._tls_for(credential),
                server_hostname=self._connection.tls.server_name or None,
                proxy=self._connection.proxy or None,
                allow_redirects=False,  # a redirect would carry the credential elsewhere
            )
            code = str(response.status)
            return response
        finally:
            self._requests.labels(code, request.method).inc()
            kind = request.resource
            self._durations.labels(request.verb, kind.group, kind.version, kind.kind, request.subresource).observe(
                loop.time() - started
            )

    def _headers(self, request: Request, credential: Credential) -> list[tuple[str, str]]:
        headers = [(hdrs.ACCEPT, "application/json"), *self._connection.user.impersonation]
        if request.body is not None:
            headers.append((hdrs.CONTENT_TYPE, request.content_type))
        user = self._connection.user
        if credential.token:
            headers.append((hdrs.AUTHORIZATION, f"Bearer {credential.token}"))
        elif user.username:
            pair = base64.b64encode(f"{user.username}:{user.password}".encode()).decode()
            headers.append((hdrs.AUTHORIZATION, f"Basic {pair}"))
        return headers

    def _opened_session(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(limit=MOST_CONNECTIONS, socket_factory=_socket)
            self._session = aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={hdrs.USER_AGENT: f"karpenter/{__version__}"},
            )
        return self._session

    def _tls_for(self, credential: Credential) -> ssl.SSLContext | bool:
        if not self._connection.server.startswith("https:"):
            return True
        if self._tls is None or self._tls[0] != credential.certificate:
            self._tls = credential.certificate, tls_context(self._connection, credential)
        return self._tls[1]

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn what aiohttp raises into what callers know."""
        server = self._connection.server
        try:
            yield
        except (aiohttp.ClientConnectorCertificateError, aiohttp.ClientConnectorSSLError) as error:
            raise KubeError(f"{server}: no trusted connection: {error}; check certificate-authority") from error
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            raise NotSent(f"{server} cannot be reached: {error}") from error
        except TimeoutError as error:
            raise Unavailable(f"{server} did not answer in time") from error
        except (aiohttp.ClientError, OSError) as error:
            raise Unavailable(f"connection to {server} failed: {str(error) or type(error).__name__}") from error


def _may_repeat(request: Request, error: KubeError) -> bool:
    if error.retry_after_s is not None and error.retry_after_s > LONGEST_WAIT_S:
        return False
    match error:
        case NotSent():
            return True
        case TooManyRequests():
            return request.waits_when_told
        case Unavailable():  # a server that says when to come back has not begun with the request
            return request.idempotent or error.retry_after_s is not None
        case _:
            return False


def _socket(address: tuple[int, int, int, str, tuple[object, ...]]) -> socket.socket:
    """Return a socket that notices within a minute that the other side is gone, even while nothing is said on it."""
    made = socket.socket(*address[:3])
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):  # the names differ between systems
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return made
