"""Reading a body by its schema: unknown fields are found and dropped, values of a wrong type refused."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any

from karpenter.model.units import from_rfc3339
from karpenter.runtime.kubememory.schema.quantities import canonical
from karpenter.runtime.kubememory.schema.shapes import Schema


class WrongTypeError(ValueError):
    """A value is not of the type that its field has; the message is the one of a real server."""


def prune(value: object, schema: Schema, path: str = "") -> list[str]:
    """Drop what a schema does not know from a tree, and return the paths of what was dropped."""
    dropped: list[str] = []
    _prune(value, schema, path, dropped=dropped)
    return dropped


def _prune(value: object, schema: Schema, path: str, *, dropped: list[str]) -> None:
    if isinstance(value, dict):
        for name in tuple(value):
            inner = schema.child(name)
            if inner is not None:
                _prune(value[name], inner, f"{path}.{name}" if path else name, dropped=dropped)
            elif schema.fields is not None and not schema.keeps_unknown:
                dropped.append(f"{path}.{name}" if path else name)
                del value[name]
    elif isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(value):
            _prune(item, schema.items, f"{path}[{index}]", dropped=dropped)


def coerce(value: object, schema: Schema, path: str = "") -> None:
    """Bring a tree of a built-in kind into the form in which a server keeps it: no nulls, canonical quantities.

    Raises WrongTypeError at the first value that its field cannot hold.
    """
    if isinstance(value, dict):
        for name, one in tuple(value.items()):
            if one is None:
                del value[name]
            elif (inner := schema.child(name)) is not None:
                value[name] = _coerce_one(one, inner, path=f"{path}.{name}" if path else name, owner=schema)
    elif isinstance(value, list) and schema.items is not None:
        value[:] = [_coerce_one(item, schema.items, path=path, owner=schema) for item in value if item is not None]


def _coerce_one(value: object, schema: Schema, *, path: str, owner: Schema) -> object:
    match schema.shape:
        case "any":
            return value
        case "object" | "map":
            expected: type = dict
        case "list":
            expected = list
        case shape:
            return _scalar(value, _READERS[shape], path=path, owner=owner, go_type=_GO_TYPES[shape])
    if not isinstance(value, expected):
        raise _wrong(value, path=path, owner=owner, go_type=schema.type_name or ("[]" if expected is list else "map"))
    coerce(value, schema, path)
    return value


def _scalar(value: object, read: Callable[[Any], object], *, path: str, owner: Schema, go_type: str) -> object:
    try:
        return read(value)
    except (TypeError, ValueError) as error:
        raise _wrong(value, path=path, owner=owner, go_type=go_type) from error


def _wrong(value: object, *, path: str, owner: Schema, go_type: str) -> WrongTypeError:
    return WrongTypeError(
        f"json: cannot unmarshal {_json_type(value)} into Go struct field {owner.type_name or 'value'}.{path} "
        f"of type {go_type}"
    )


def _json_type(value: object) -> str:
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int():
            return "number"
        case float():
            return f"number {value}"
        case list():
            return "array"
        case _:
            return "object"


def _read_string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _read_integer(value: object) -> int:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError
    return value


def _read_number(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError
    return value


def _read_boolean(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _read_bytes(value: object) -> str:
    try:
        base64.b64decode(_read_string(value), validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
    return _read_string(value)


def _read_time(value: object) -> str:
    from_rfc3339(_read_string(value))
    return _read_string(value)


def _read_quantity(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise TypeError
    return canonical(value)


def _read_int_or_string(value: object) -> int | str:
    return value if isinstance(value, str) else _read_integer(value)


_READERS: dict[str, Callable[[Any], object]] = {
    "string": _read_string,
    "integer": _read_integer,
    "number": _read_number,
    "boolean": _read_boolean,
    "bytes": _read_bytes,
    "time": _read_time,
    "quantity": _read_quantity,
    "int-or-string": _read_int_or_string,
}
_GO_TYPES = {
    "string": "string",
    "integer": "int",
    "number": "float64",
    "boolean": "bool",
    "bytes": "[]uint8",
    "time": "time.Time",
    "quantity": "resource.Quantity",
    "int-or-string": "intstr.IntOrString",
}
