"""What asks for capacity: pods, and how they want to be served."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from karpenter.model.core import Pod

Fulfilment = Literal["each", "all-or-nothing", "check-only"]


@dataclass(frozen=True, slots=True)
class Demand:
    """Pods that are placed one by one (`each`), together or not at all, or only where there is room already.

    Gangs, provisioning requests, capacity buffers and static replicas are demands, not special cases.
    """

    pods: tuple[Pod, ...]
    fulfilment: Fulfilment = "each"
    priority: int = 0
    name: str = ""
    """What users know it by; empty for the ordinary pending pods."""

    @classmethod
    def each(cls, pods: Iterable[Pod]) -> Demand:
        """Return the ordinary demand: every pod by itself."""
        return cls(tuple(pods))
