"""Taints on nodes, tolerations on pods."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

import msgspec

TaintEffect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute", ""]
NO_SCHEDULE: Final = "NoSchedule"
PREFER_NO_SCHEDULE: Final = "PreferNoSchedule"
NO_EXECUTE: Final = "NoExecute"


class Taint(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A node's mark that keeps pods away unless they tolerate it."""

    key: str
    value: str = ""
    effect: str = ""
    time_added: str | None = None

    def matches(self, other: Taint) -> bool:
        """Return whether both are the same taint: key and effect decide, the value does not."""
        return self.key == other.key and self.effect == other.effect

    def __str__(self) -> str:
        value = f"={self.value}" if self.value else ""
        return f"{self.key}{value}:{self.effect}"


class Toleration(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=True):
    """A pod's permission to run beside a taint."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Return whether this toleration covers the taint (SCH-17)."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return bool(self.key) and self.operator in {"", "Equal"} and self.value == taint.value


def untolerated(
    taints: Iterable[Taint], tolerations: Sequence[Toleration], *, ignore_preferred: bool = False
) -> tuple[Taint, ...]:
    """Return the taints that keep a pod away, in the order given.

    `PreferNoSchedule` counts as a taint like the others (SCH-17) unless `ignore_preferred` says that it was relaxed.
    """
    return tuple(
        taint
        for taint in taints
        if not (ignore_preferred and taint.effect == PREFER_NO_SCHEDULE)
        and not any(toleration.tolerates(taint) for toleration in tolerations)
    )


DISRUPTED: Final = Taint(key="karpenter.sh/disrupted", effect=NO_SCHEDULE)
UNREGISTERED: Final = Taint(key="karpenter.sh/unregistered", effect=NO_EXECUTE)

EPHEMERAL: Final = (
    Taint(key="node.kubernetes.io/not-ready", effect=NO_SCHEDULE),
    Taint(key="node.kubernetes.io/not-ready", effect=NO_EXECUTE),
    Taint(key="node.kubernetes.io/unreachable", effect=NO_SCHEDULE),
    Taint(key="node.cloudprovider.kubernetes.io/uninitialized", effect=NO_SCHEDULE, value="true"),
    UNREGISTERED,
)
"""Taints that go away by themselves while a node comes up (spec v1 S-17)."""


def is_ephemeral(taint: Taint) -> bool:
    """Return whether the taint is one that a booting node loses by itself."""
    return taint.key.startswith("readiness.k8s.io/") or any(taint.matches(known) for known in EPHEMERAL)
