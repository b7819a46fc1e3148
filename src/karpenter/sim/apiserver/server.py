"""The API server: one TLS port that the stock kubectl can talk to."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Final

import yaml
from aiohttp import web

from karpenter.model.errors import KarpenterError
from karpenter.runtime import logs
from karpenter.runtime.kube import KubeError, MethodNotAllowed
from karpenter.runtime.kubememory import MemoryStore
from karpenter.sim.apiserver import writing
from karpenter.sim.apiserver.access import Access
from karpenter.sim.apiserver.answers import answer, refusal
from karpenter.sim.apiserver.certificates import load_identity
from karpenter.sim.apiserver.discovery import discover
from karpenter.sim.apiserver.openapi import describe, describe_nothing
from karpenter.sim.apiserver.queries import attempt_of, is_true, read_object
from karpenter.sim.apiserver.reading import get, list_objects
from karpenter.sim.apiserver.reviews import is_review, review
from karpenter.sim.apiserver.targets import Target, UnknownPathError, find_target
from karpenter.sim.apiserver.usage import GROUP as METRICS
from karpenter.sim.apiserver.usage import is_usage, tell_usage, usage_target
from karpenter.sim.apiserver.users import Tokens
from karpenter.sim.apiserver.watching import Watches

log = logs.get("apiserver")

_VERSION: Final = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.3+pykarpenter",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-11-30T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "simulated",
}
_OPEN: Final = ("/healthz", "/livez", "/readyz", "/version")
_LARGEST_BODY: Final = 3 * 1024 * 1024
_SHUTDOWN_S: Final = 2.0


class ApiServerError(KarpenterError):
    """The server cannot listen; the message says where and what to do."""


class ApiServer:
    """Serves a store over HTTPS with a certificate authority and a token of its own.

    With a data folder, these and the port stay the same over restarts, so that a kubeconfig keeps working.
    """

    def __init__(
        self, store: MemoryStore, *, host: str = "127.0.0.1", port: int = 0, data_dir: Path | None = None
    ) -> None:
        self._store = store
        self._host = host
        self._wanted_port = port
        self._folder = data_dir
        self._identity = load_identity(data_dir, host=host, now=store.now())
        self._tokens = Tokens(store, self._identity.token)
        self._access = Access(store)
        self._watches = Watches(store)
        self._runner: web.AppRunner | None = None
        self.port = 0
        """Where it listens; 0 before it was started."""

    @property
    def url(self) -> str:
        """Where clients find it."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"https://{host}:{self.port}"

    async def start(self) -> None:
        """Listen. Raises ApiServerError when the port is taken."""
        app = web.Application(client_max_size=_LARGEST_BODY)
        app.router.add_route("*", "/{path:.*}", self._answer)
        # Without cancellation, a watch whose client has gone would be noticed only at its next event.
        self._runner = web.AppRunner(
            app, handler_cancellation=True, access_log=None, shutdown_timeout=_SHUTDOWN_S, handle_signals=False
        )
        await self._runner.setup()
        wanted = self._wanted_port or self._kept_port()
        try:
            site = web.TCPSite(self._runner, self._host, wanted, ssl_context=self._identity.tls())
            await site.start()
        except OSError as error:
            await self._runner.cleanup()
            raise ApiServerError(
                f"cannot listen on {self._host}:{wanted} ({error.strerror}); stop what uses it or choose another port"
            ) from error
        self.port = self._listening_port()
        if self._folder is not None:
            (self._folder / "port").write_text(f"{self.port}\n", encoding="ascii")

    async def stop(self) -> None:
        """End all watches, finish what is being answered, and close the port."""
        self._watches.stop()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def kubeconfig(self) -> str:
        """Return a kubeconfig for this server, with everything in it."""
        name = "pykarpenter"
        authority = base64.b64encode(self._identity.authority).decode()
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": name, "cluster": {"server": self.url, "certificate-authority-data": authority}}],
            "users": [{"name": name, "user": {"token": self._identity.token}}],
            "contexts": [{"name": name, "context": {"cluster": name, "user": name, "namespace": "default"}}],
            "current-context": name,
        }
        return yaml.safe_dump(config, sort_keys=False)

    def _kept_port(self) -> int:
        path = self._folder / "port" if self._folder is not None else None
        return int(path.read_text(encoding="ascii")) if path is not None and path.exists() else 0

    def _listening_port(self) -> int:
        assert self._runner is not None
        port: int = self._runner.addresses[0][1]
        return port

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        try:
            return await self._route(request)
        except KubeError as error:
            return refusal(error)
        except UnknownPathError:
            return web.Response(text="404 page not found\n", status=404)
        except ConnectionResetError:
            raise  # the client went away in the middle of a watch; there is nobody to answer
        except Exception as error:  # a bug in one request must not end the server; the client is told
            log.error("request failed", error=error, method=request.method, path=request.path)
            return refusal(KubeError(f"Internal error occurred: {error}"))

    async def _route(self, request: web.Request) -> web.StreamResponse:
        path = request.path
        if path == "/version":
            return answer(_VERSION)
        if path.startswith(_OPEN):
            return web.Response(text="ok")
        user = self._tokens.user_of(request.headers.get("Authorization", ""))
        if path == "/openapi/v2":
            return describe_nothing(request)
        if path.startswith("/openapi/v3"):
            return describe(request, self._store)
        if is_review(path) and request.method == "POST":
            return await review(request, user, self._access)
        if path.startswith(("/api/", "/apis/")) or path in ("/api", "/apis"):
            if request.method == "GET" and (found := discover(request, self._store.registry)):
                return found
            target = usage_target(path) if is_usage(path) else find_target(path, self._store.registry)
            self._access.check(user, attempt_of(request, target))
            if target.subresource == "token" and request.method == "POST":
                return answer(self._tokens.issue(target.key, await read_object(request)), status=201)
            return await self._dispatch(request, target)
        if path == "/":
            return answer({"paths": ["/api", "/apis", "/healthz", "/openapi/v3", "/version"]})
        raise UnknownPathError

    async def _dispatch(self, request: web.Request, target: Target) -> web.StreamResponse:
        store = self._store
        if target.resource.group == METRICS:
            return tell_usage(request, target, store)
        if target.subresource:
            return await writing.subresource(request, target, store)
        match request.method, bool(target.name):
            case "GET", _ if is_true(request.query.get("watch")):
                return await self._watches.watch(request, target)
            case "GET", True:
                return get(request, target, store)
            case "GET", False:
                return list_objects(request, target, store)
            case "POST", False:
                return await writing.create(request, target, store)
            case "PUT", True:
                return await writing.replace(request, target, store)
            case "PATCH", True:
                return await writing.patch(request, target, store)
            case "DELETE", True:
                return await writing.delete(request, target, store)
            case "DELETE", False:
                return await writing.delete_all(request, target, store)
        raise MethodNotAllowed("the server does not allow this method on the requested resource")
