"""Raw objects to wire structs, with every field of the wrong type named, not only the first.

msgspec decodes fast and stops at the first error. Only when it does, the object is walked along its type once more.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import TypeVar, cast

import msgspec
from msgspec import inspect

from karpenter.model.errors import FieldError
from karpenter.model.reading import shown

T = TypeVar("T")


def decode_wire(raw: object, kind: type[T]) -> tuple[T | None, tuple[FieldError, ...]]:
    """Return the struct, or None and everything that is wrong. A null counts as absent, as in Kubernetes."""
    try:
        return msgspec.convert(raw, kind), ()
    except msgspec.ValidationError:
        cleaned = without_nulls(raw)
    try:
        return msgspec.convert(cleaned, kind), ()
    except msgspec.ValidationError as error:
        found = tuple(_mistakes(cleaned, _type_of(cast(Hashable, kind)), ""))
        return None, found or (FieldError("", str(error)),)


def without_nulls(value: object) -> object:
    """Return the value without the mapping entries and list items that are null."""
    if isinstance(value, dict):
        return {key: without_nulls(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, list):
        return [without_nulls(entry) for entry in value if entry is not None]
    return value


@lru_cache
def _type_of(kind: Hashable) -> inspect.Type:
    return inspect.type_info(kind)


def _mistakes(value: object, expected: inspect.Type, path: str) -> Iterator[FieldError]:
    match expected:
        case inspect.StructType() if isinstance(value, dict):
            yield from _struct_mistakes(value, expected, path)
        case inspect.DictType(value_type=entry) if isinstance(value, dict):
            for key, item in value.items():
                if isinstance(key, str):
                    yield from _mistakes(item, entry, _join(path, key))
                else:
                    yield FieldError(path, f"key {key!r} is not a string", "put it in quotes")
        case inspect.ListType(item_type=entry) | inspect.VarTupleType(item_type=entry) if isinstance(value, list):
            for index, item in enumerate(value):
                yield from _mistakes(item, entry, f"{path}[{index}]")
        case inspect.UnionType(types=alternatives):
            yield from _union_mistakes(value, alternatives, path)
        case inspect.AnyType():
            return
        case _ if not _is_scalar_of(value, expected):
            yield FieldError(path, f"expected {_name(expected)}, got {shown(value)}", _advice(value, expected))


def _struct_mistakes(value: dict[str, object], expected: inspect.StructType, path: str) -> Iterator[FieldError]:
    for field in expected.fields:
        if field.encode_name in value:
            yield from _mistakes(value[field.encode_name], field.type, _join(path, field.encode_name))
        elif field.required:
            yield FieldError(_join(path, field.encode_name), "is missing")


def _union_mistakes(value: object, alternatives: tuple[inspect.Type, ...], path: str) -> Iterator[FieldError]:
    """Tell the mistakes of the alternative with the fewest, which is the one that was meant; none when one fits."""
    possible = [kind for kind in alternatives if not isinstance(kind, inspect.NoneType)]
    found = [list(_mistakes(value, kind, path)) for kind in possible]
    if not all(found):
        return
    scalars = [_name(kind) for kind in possible if not isinstance(kind, inspect.StructType | inspect.DictType)]
    if len(scalars) > 1:
        wanted = [name for name in scalars if not (name == "an integer" and "a number" in scalars)]
        yield FieldError(path, f"expected {' or '.join(wanted)}, got {shown(value)}")
    else:
        yield from min(found, key=len)


def _is_scalar_of(value: object, expected: inspect.Type) -> bool:
    match expected:
        case inspect.StrType():
            return isinstance(value, str)
        case inspect.BoolType():
            return isinstance(value, bool)
        case inspect.IntType():
            is_whole = isinstance(value, float) and value.is_integer()
            return (isinstance(value, int) and not isinstance(value, bool)) or is_whole
        case inspect.FloatType():
            return isinstance(value, int | float) and not isinstance(value, bool)
        case inspect.LiteralType(values=words):
            return value in words
        case _:
            return False


def _name(expected: inspect.Type) -> str:
    match expected:
        case inspect.StrType():
            return "a string"
        case inspect.BoolType():
            return "true or false"
        case inspect.IntType():
            return "an integer"
        case inspect.FloatType():
            return "a number"
        case inspect.LiteralType(values=words):
            return f"one of {', '.join(str(word) for word in words if word)}"
        case inspect.ListType() | inspect.VarTupleType():
            return "a list"
        case _:
            return "an object"


def _advice(value: object, expected: inspect.Type) -> str:
    if isinstance(expected, inspect.StrType) and isinstance(value, bool | int | float):
        return f'write "{str(value).lower() if isinstance(value, bool) else value}"'
    return ""


def _join(path: str, key: str) -> str:
    shown = f"[{key}]" if any(mark in key for mark in "./") else key
    return f"{path}{'' if shown.startswith('[') or not path else '.'}{shown}"
