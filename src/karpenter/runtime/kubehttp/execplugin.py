"""Credential plugins: programs that print an ExecCredential, such as `aws eks get-token`.

Source: kubernetes.io, Authenticating, client-go credential plugins (v1 and v1beta1).
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Final

import msgspec

from karpenter.model.units import UnixSeconds, from_rfc3339
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.kube import Unauthorized
from karpenter.runtime.kubehttp.connection import ExecPlugin

PLUGIN_TIMEOUT_S: Final = 60.0
_LONGEST_TEXT: Final = 500

log = logs.get("runtime.kubehttp.execplugin")


@dataclass(frozen=True, slots=True)
class PluginCredentials:
    """What a plugin printed: a token, a client certificate with its key, or both."""

    token: str
    certificate: bytes
    key: bytes
    expires_at: UnixSeconds | None
    """None when it holds until the server refuses it."""


class _Status(msgspec.Struct, frozen=True, rename="camel"):
    token: str | None = None
    client_certificate_data: str | None = None
    client_key_data: str | None = None
    expiration_timestamp: str | None = None


class _ExecCredential(msgspec.Struct, frozen=True, rename="camel"):
    api_version: str
    kind: str
    status: _Status | None = None


class PluginRunner:
    """Runs the plugin when its last answer is no longer good; who asks meanwhile waits for the same run."""

    def __init__(self, plugin: ExecPlugin, clock: Clock) -> None:
        self._plugin = plugin
        self._clock = clock
        self._printed: PluginCredentials | None = None
        self._running: asyncio.Task[PluginCredentials] | None = None

    async def current(self) -> PluginCredentials:
        """Return credentials that have not expired. Raises Unauthorized when the plugin gives none."""
        printed = self._printed
        if printed is not None and (printed.expires_at is None or self._clock.now() < printed.expires_at):
            return printed
        if self._running is None:
            self._running = asyncio.create_task(self._run(), name=f"credential plugin {self._plugin.command}")
            self._running.add_done_callback(self._finished)
        # Shielded: a caller that gives up must not take the answer away from the others.
        return await asyncio.shield(self._running)

    def forget(self, printed: PluginCredentials) -> None:
        """Run the plugin next time, unless it has printed something newer already."""
        if self._printed is printed:
            self._printed = None

    async def close(self) -> None:
        """End a run that nobody waits for any more."""
        running = self._running
        if running is not None:
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError, Unauthorized):
                await running

    def _finished(self, task: asyncio.Task[PluginCredentials]) -> None:
        self._running = None
        if not task.cancelled() and task.exception() is None:
            self._printed = task.result()

    async def _run(self) -> PluginCredentials:
        plugin = self._plugin
        request = {
            "apiVersion": plugin.api_version,
            "kind": "ExecCredential",
            "spec": {"interactive": False, **({"cluster": plugin.cluster_info} if plugin.cluster_info else {})},
        }
        environment = {**plugin.environment, "KUBERNETES_EXEC_INFO": msgspec.json.encode(request).decode()}
        try:
            process = await asyncio.create_subprocess_exec(
                plugin.command,
                *plugin.arguments,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise self._error(f"cannot be started: {error.strerror}", hint=plugin.install_hint) from error
        try:
            async with asyncio.timeout(PLUGIN_TIMEOUT_S):
                output, complaints = await process.communicate()
        except TimeoutError as error:
            raise self._error(f"did not answer within {PLUGIN_TIMEOUT_S:g} s") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            raise self._error(f"ended with code {process.returncode}", hint=complaints.decode(errors="replace"))
        log.debug("asked credential plugin", command=plugin.command)
        return self._parse(output)

    def _parse(self, output: bytes) -> PluginCredentials:
        try:
            printed = msgspec.json.decode(output, type=_ExecCredential)
            status = printed.status or _Status()
            expires = status.expiration_timestamp
            expires_at = from_rfc3339(expires) if expires else None
        except (msgspec.MsgspecError, ValueError) as error:
            raise self._error(f"printed no ExecCredential: {error}") from error
        if printed.api_version != self._plugin.api_version or printed.kind != "ExecCredential":
            found = f"{printed.api_version} {printed.kind}"
            raise self._error(f"printed {found}, not {self._plugin.api_version} ExecCredential as the kubeconfig says")
        certificate, key = status.client_certificate_data or "", status.client_key_data or ""
        if bool(certificate) != bool(key):
            raise self._error("printed only one of clientCertificateData and clientKeyData")
        if not status.token and not certificate:
            raise self._error("printed neither a token nor a client certificate")
        return PluginCredentials(status.token or "", certificate.encode(), key.encode(), expires_at)

    def _error(self, text: str, *, hint: str = "") -> Unauthorized:
        hint = " ".join(hint.split())[:_LONGEST_TEXT]
        return Unauthorized(f"credential plugin {self._plugin.command!r} {text}" + (f" ({hint})" if hint else ""))
