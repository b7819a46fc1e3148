"""The way Karpenter digests Go values, rebuilt byte for byte, so that taking over a cluster drifts none of its nodes.

Lists are sets, maps have no order, and what is zero or absent does not count. Source: spec v1 §1.4.4.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Final, TypeAlias

_OFFSET: Final = 0xCBF29CE484222325
_PRIME: Final = 0x100000001B3
_MASK: Final = 2**64 - 1

Digest: TypeAlias = int | None
"""None for a value that is zero or absent, which does not count."""


def fnv(data: bytes) -> int:
    """Return FNV-1 of bytes, 64 bits wide."""
    return reduce(lambda state, byte: (state * _PRIME & _MASK) ^ byte, data, _OFFSET)


def text(value: str) -> Digest:
    """Digest a string; the empty one is zero."""
    return fnv(value.encode()) if value else None


def pointed_text(value: str | None) -> Digest:
    """Digest a string behind a pointer: the empty one counts."""
    return None if value is None else fnv(value.encode())


def switch(value: bool | None) -> Digest:
    """Digest a boolean behind a pointer: False counts, None does not."""
    return None if value is None else fnv(bytes([value]))


def integer(value: int | None) -> Digest:
    """Digest a 64-bit integer behind a pointer: 0 counts."""
    return None if value is None else fnv(value.to_bytes(8, "little", signed=True))


def mapping(value: Mapping[str, str]) -> Digest:
    """Digest a map of strings; the empty one is zero."""
    if not value:
        return None
    entries = (_pair(fnv(key.encode()), fnv(each.encode())) for key, each in value.items())
    return _final(reduce(int.__xor__, entries, 0))


def members(digests: Iterable[int]) -> Digest:
    """Digest a list as a set: equal members cancel out. The empty one is zero."""
    listed = list(digests)
    return reduce(int.__xor__, listed, 0) if listed else None


def struct(name: str, fields: Iterable[tuple[str, Digest]]) -> int:
    """Digest a struct by the name of its type and its fields in their order."""
    state = fnv(name.encode())
    for field, digest in fields:
        if digest is not None:
            state = _final(state ^ _pair(fnv(field.encode()), digest))
    return state


def _final(value: int) -> int:
    return fnv(value.to_bytes(8, "little"))


def _pair(first: int, second: int) -> int:
    return fnv(first.to_bytes(8, "little") + second.to_bytes(8, "little"))
