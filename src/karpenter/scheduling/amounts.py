"""Amounts of resources for people: short, with at most two decimals."""

from __future__ import annotations

from typing import Final

from karpenter.model.resources import CPU, EPHEMERAL_STORAGE, MEMORY

_BYTES: Final = frozenset({MEMORY, EPHEMERAL_STORAGE, "storage"})
_SUFFIXES: Final = (("Ti", 2**40), ("Gi", 2**30), ("Mi", 2**20), ("Ki", 2**10))


def shown(resource: str, amount: int) -> str:
    """Return an amount as a reader takes it in at a glance: `5.8` cores, `46.8Gi`, `3`."""
    if resource == CPU:
        return f"{round(amount / 1000, 2):.15g}"
    if resource in _BYTES or resource.startswith("hugepages-"):
        for suffix, factor in _SUFFIXES:
            if abs(amount) >= factor:
                return f"{round(amount / factor, 2):.15g}{suffix}"
    return str(amount)
