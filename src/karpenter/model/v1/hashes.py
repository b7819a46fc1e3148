"""The digest by which static drift of a NodePool's nodes is seen, equal to Karpenter's own bit by bit.

Equal, so that taking over a cluster does not drift its nodes. Source: spec v1 §1.4.3, §1.4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Final, TypeAlias

from karpenter.model.nodepool import PoolTemplate
from karpenter.model.taints import Taint

HASH_VERSION: Final = "v3"

_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_MASK: Final = 2**64 - 1

Field: TypeAlias = tuple[str, int | None]
"""Name and hash of a field; None for one whose value is zero or absent, which does not count."""


def nodepool_hash(template: PoolTemplate) -> str:
    """Return the digest of a template as a decimal number. Requirements are not in it, and lists are sets."""
    metadata = _struct(
        "ObjectMeta", [("Labels", _mapping(template.labels)), ("Annotations", _mapping(template.annotations))]
    )
    reference = template.node_class_ref
    spec = _struct(
        "NodeClaimTemplateSpec",
        [
            ("Taints", _set(_taint(taint) for taint in template.taints)),
            ("StartupTaints", _set(_taint(taint) for taint in template.startup_taints)),
            (
                "NodeClassRef",
                None
                if reference is None
                else _struct(
                    "NodeClassReference",
                    [
                        ("Kind", _text(reference.kind)),
                        ("Name", _text(reference.name)),
                        ("Group", _text(reference.group)),
                    ],
                ),
            ),
            ("TerminationGracePeriod", _duration("Duration", template.termination_grace_period_s)),
            ("ExpireAfter", _duration("NillableDuration", template.expire_after_s)),
        ],
    )
    has_metadata = bool(template.labels or template.annotations)
    return str(_struct("NodeClaimTemplate", [("ObjectMeta", metadata if has_metadata else None), ("Spec", spec)]))


def _fnv(data: bytes) -> int:
    return reduce(lambda state, byte: (state * _PRIME & _MASK) ^ byte, data, _OFFSET)


def _final(value: int) -> int:
    return _fnv(value.to_bytes(8, "little"))


def _pair(first: int, second: int) -> int:
    return _fnv(first.to_bytes(8, "little") + second.to_bytes(8, "little"))


def _text(value: str) -> int | None:
    return _fnv(value.encode()) if value else None


def _mapping(value: Mapping[str, str]) -> int | None:
    if not value:
        return None
    entries = (_pair(_fnv(key.encode()), _fnv(text.encode())) for key, text in value.items())
    return _final(reduce(int.__xor__, entries, 0))


def _set(hashes: Iterable[int]) -> int | None:
    listed = list(hashes)
    return reduce(int.__xor__, listed, 0) if listed else None


def _struct(name: str, fields: Iterable[Field]) -> int:
    state = _fnv(name.encode())
    for field, value in fields:
        if value is not None:
            state = _final(state ^ _pair(_fnv(field.encode()), value))
    return state


def _taint(taint: Taint) -> int:
    return _struct("Taint", [("Key", _text(taint.key)), ("Value", _text(taint.value)), ("Effect", _text(taint.effect))])


def _duration(name: str, seconds: float | None) -> int | None:
    """A pointer to a struct of a pointer to nanoseconds: absent when None; zero nanoseconds are a zero field."""
    if seconds is None:
        return None
    nanoseconds = round(seconds * 1e9)
    inner = _fnv(nanoseconds.to_bytes(8, "little", signed=True)) if nanoseconds else None
    return _struct(name, [("Duration", inner)])
