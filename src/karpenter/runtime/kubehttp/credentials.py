"""Who we say we are, right now: tokens that expire, files that are rewritten, plugins that are asked again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, Protocol

from karpenter.runtime.clock import Clock
from karpenter.runtime.kube import Unauthorized
from karpenter.runtime.kubehttp.connection import User
from karpenter.runtime.kubehttp.execplugin import PluginCredentials, PluginRunner

TOKEN_FILE_READ_EVERY_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class Credential:
    """What a request is sent with."""

    token: str = field(default="", repr=False)
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)


class CredentialSource(Protocol):
    """Where the credential comes from."""

    async def current(self) -> Credential:
        """Return what to send now. Raises Unauthorized when there is nothing."""
        ...

    def reject(self, credential: Credential) -> bool:
        """Note that the server refused it; return whether asking again may bring another one."""
        ...

    async def close(self) -> None:
        """Stop what runs."""
        ...


def credentials_of(user: User, clock: Clock) -> CredentialSource:
    """Return the source that a user's settings ask for."""
    if user.plugin is not None and not (user.token or user.token_file):
        return PluginCredential(PluginRunner(user.plugin, clock), user)
    if user.token_file is not None:
        return FileCredential(user, clock)
    return FixedCredential(Credential(user.token, user.certificate, user.key))


class FixedCredential:
    """Always the same."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    async def current(self) -> Credential:
        """Return it."""
        return self._credential

    def reject(self, credential: Credential) -> bool:
        """There is no other."""
        return False

    async def close(self) -> None:
        """Nothing runs."""


class FileCredential:
    """A token in a file that someone else renews, as kubelet does for pods. Read every minute, and when refused."""

    def __init__(self, user: User, clock: Clock) -> None:
        assert user.token_file is not None
        self._path = user.token_file
        self._user = user
        self._clock = clock
        self._credential: Credential | None = None
        self._read_at = 0.0

    async def current(self) -> Credential:
        """Return the file's token as it was at most a minute ago."""
        now = self._clock.now()
        if self._credential is None or now - self._read_at >= TOKEN_FILE_READ_EVERY_S:
            self._credential = Credential(self._read(), self._user.certificate, self._user.key)
            self._read_at = now
        return self._credential

    def reject(self, credential: Credential) -> bool:
        """Read the file again; it may have been renewed a moment ago."""
        self._credential = None
        try:
            return self._read() != credential.token
        except Unauthorized:
            return False

    async def close(self) -> None:
        """Nothing runs."""

    def _read(self) -> str:
        try:
            token = self._path.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise Unauthorized(f"token file {self._path} cannot be read: {error.strerror}") from error
        if not token:
            raise Unauthorized(f"token file {self._path} is empty")
        return token


class PluginCredential:
    """What a plugin printed, until it expires or the server refuses it."""

    def __init__(self, runner: PluginRunner, user: User) -> None:
        self._runner = runner
        self._user = user
        self._printed: PluginCredentials | None = None
        self._credential = Credential()

    async def current(self) -> Credential:
        """Return what the plugin says, asking it only when its last answer has expired."""
        printed = await self._runner.current()
        if printed is not self._printed:
            self._printed = printed
            self._credential = Credential(
                printed.token, printed.certificate or self._user.certificate, printed.key or self._user.key
            )
        return self._credential

    def reject(self, credential: Credential) -> bool:
        """Ask the plugin next time, unless it has been asked since."""
        if credential is self._credential and self._printed is not None:
            self._runner.forget(self._printed)
        return True

    async def close(self) -> None:
        """End a plugin that is running."""
        await self._runner.close()
