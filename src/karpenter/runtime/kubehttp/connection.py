"""What it takes to talk to one cluster as one user: plain data, read from a kubeconfig or from the pod we run in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from karpenter.runtime.kube import KubeError


class ConnectionSettingsError(KubeError):
    """The settings of a connection cannot be used. Names the file, the field and what to do."""

    reason = "ConnectionSettings"


@dataclass(frozen=True, slots=True)
class Tls:
    """Whom to believe that it is the server."""

    authorities: bytes = b""
    """PEM certificates; empty for those that the system trusts."""
    insecure: bool = False
    """Believe anybody."""
    server_name: str = ""
    """The name that the certificate must have; empty for the host in the URL."""


@dataclass(frozen=True, slots=True)
class ExecPlugin:
    """A program that prints credentials (client.authentication.k8s.io)."""

    command: str
    arguments: tuple[str, ...]
    api_version: str
    environment: Mapping[str, str] = field(hash=False)
    """All of it, ours included."""
    install_hint: str = ""
    cluster_info: Mapping[str, object] | None = field(default=None, hash=False)
    """What the plugin is told of the cluster; None when it did not ask."""


@dataclass(frozen=True, slots=True)
class User:
    """Who we are, by any of these; what is empty is not used."""

    token: str = field(default="", repr=False)
    token_file: Path | None = None
    """Read again every minute, since tokens of pods expire. It wins over `token`."""
    certificate: bytes = field(default=b"", repr=False)
    key: bytes = field(default=b"", repr=False)
    """PEM, both."""
    username: str = ""
    password: str = field(default="", repr=False)
    plugin: ExecPlugin | None = None
    impersonation: tuple[tuple[str, str], ...] = ()
    """Headers that ask the server to treat us as someone else."""


@dataclass(frozen=True, slots=True)
class Connection:
    """One cluster and one user."""

    server: str
    """`https://host:port`, perhaps with a path, without a slash at the end."""
    origin: str
    """Where these settings come from, for people: `context dev of /home/me/.kube/config`."""
    tls: Tls = Tls()
    user: User = User()
    proxy: str = ""
    """URL of an HTTP proxy; empty for none."""
    namespace: str = "default"
