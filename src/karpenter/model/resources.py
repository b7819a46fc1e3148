"""Amounts of resources: mappings from resource name to an exact integer.

CPU counts thousandths of a core, everything else base units (bytes, devices, pods). Absent means zero. Values are never
changed in place: each function returns a new dict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from karpenter.model.quantity import format_bytes, format_millis, millis, whole

Resources: TypeAlias = Mapping[str, int]
"""Resource name to amount; `cpu` in thousandths of a core, all others in base units."""

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
PODS: Final = "pods"
NODES: Final = "nodes"
"""Only in limits and in the status of a pool: the number of nodes."""

_BYTES: Final = frozenset({MEMORY, EPHEMERAL_STORAGE, "storage"})


def parse_amount(resource: str, text: str | int | float) -> int:
    """Return one amount in the unit its resource is counted in. Raises ValueError for what is no quantity."""
    return millis(text) if resource == CPU else whole(text)


def parse_resources(raw: Mapping[str, str | int | float]) -> dict[str, int]:
    """Return a manifest's resource list as exact integers. Raises ValueError naming the resource."""
    parsed: dict[str, int] = {}
    for name, text in raw.items():
        try:
            parsed[name] = parse_amount(name, text)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from error
    return parsed


def format_amount(resource: str, amount: int) -> str:
    """Return one amount as a manifest shows it: `1500m`, `2Gi`, `3`."""
    if resource == CPU:
        return format_millis(amount)
    if resource in _BYTES or resource.startswith("hugepages-"):
        return format_bytes(amount)
    return str(amount)


def format_resources(resources: Resources) -> dict[str, str]:
    """Return a resource list in manifest form, sorted by name."""
    return {name: format_amount(name, resources[name]) for name in sorted(resources)}


def add(*terms: Resources) -> dict[str, int]:
    """Return the sum of all terms."""
    total: dict[str, int] = {}
    for term in terms:
        for name, amount in term.items():
            total[name] = total.get(name, 0) + amount
    return total


def total(terms: Iterable[Resources]) -> dict[str, int]:
    """Return the sum over an iterable of resource lists."""
    return add(*terms)


def subtract(minuend: Resources, subtrahend: Resources) -> dict[str, int]:
    """Return `minuend - subtrahend`; amounts may become negative, names of both sides are kept."""
    difference = dict(minuend)
    for name, amount in subtrahend.items():
        difference[name] = difference.get(name, 0) - amount
    return difference


def maximum(*terms: Resources) -> dict[str, int]:
    """Return the largest amount of each resource over all terms."""
    largest: dict[str, int] = {}
    for term in terms:
        for name, amount in term.items():
            largest[name] = max(largest.get(name, 0), amount)
    return largest


def fits(request: Resources, available: Resources) -> bool:
    """Return whether `available` covers `request`; false as soon as any available amount is negative (SCH-11)."""
    return all(amount >= 0 for amount in available.values()) and not shortages(request, available)


def shortages(request: Resources, available: Resources) -> dict[str, int]:
    """Return how much of each resource is missing; empty when the request fits."""
    missing = {name: amount - available.get(name, 0) for name, amount in request.items()}
    return {name: amount for name, amount in missing.items() if amount > 0}
