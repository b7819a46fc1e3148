"""The scalar types that travel between packages, so that two strings cannot be swapped unnoticed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple, NewType

UnixSeconds = NewType("UnixSeconds", float)
"""A moment, in seconds since the epoch."""

ProviderID = NewType("ProviderID", str)
"""The cloud's key of a machine, such as `aws:///us-west-2a/i-0123456789abcdef0`."""


class ObjectKey(NamedTuple):
    """Namespace and name of an object; the namespace is empty for cluster-scoped kinds."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class PoolKey(NamedTuple):
    """Kind and name of a pool: a Provisioner and a NodePool may both be called `default`."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


def to_rfc3339(moment: UnixSeconds) -> str:
    """Return a moment as the API writes it: UTC, whole seconds, `2026-11-30T12:00:00Z`."""
    return datetime.fromtimestamp(int(moment), tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def from_rfc3339(text: str) -> UnixSeconds:
    """Return the moment an API timestamp names. Raises ValueError when it is none."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} names no time zone; write it as 2026-11-30T12:00:00Z")
    return UnixSeconds(moment.timestamp())
