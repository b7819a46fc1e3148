"""Reading a body by its schema: unknown fields are found and dropped, values of a wrong type refused."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from karpenter.model.units import from_rfc3339
from karpenter.runtime.kubememory.schema.quantities import canonical
from karpenter.runtime.kubememory.schema.shapes import Schema

_Path: TypeAlias = "tuple[_Path, str | int] | None"
"""Where we are: the way to the parent and the last step. Written out only when there is something to tell."""


class _Key(str):
    """A step to a value of a map: Go's messages do not name it."""

    __slots__ = ()


class WrongTypeError(ValueError):
    """A value is not of the type that its field has; the message is the one of a real server."""

    def __init__(self, message: str, *, place: str = "", value: object = None, go_type: str = "") -> None:
        super().__init__(message)
        self.place = place
        self.value = value
        self.go_type = go_type
        self.expected = _EXPECTED.get(go_type, "")
        """What a typed value would be; empty for types of their own, such as quantities."""


class BadQuantityError(ValueError):
    """A text is no quantity."""

    def __init__(self) -> None:
        super().__init__("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")


def read(tree: dict[str, Any], schema: Schema, place: str = "") -> list[str]:
    """Bring a tree into the form in which a server keeps it, and return the paths of fields that it dropped.

    Nulls go, quantities are written canonically, fields that the schema does not know are dropped. Raises
    WrongTypeError at the first value that its field cannot hold.
    """
    dropped: list[_Path] = []
    _read_fields(tree, schema, (None, place) if place else None, owner=schema, dropped=dropped)
    return [_written(path) for path in dropped]


def prune(tree: dict[str, Any], schema: Schema) -> list[str]:
    """Drop what a schema does not know from a tree, whatever the types, and return the paths of what was dropped."""
    dropped: list[_Path] = []
    _prune(tree, schema, None, dropped=dropped)
    return [_written(path) for path in dropped]


def _prune(value: object, schema: Schema, path: _Path, *, dropped: list[_Path]) -> None:
    if isinstance(value, dict):
        for name in tuple(value):
            inner = schema.child(name)
            if inner is not None:
                _prune(value[name], inner, (path, name), dropped=dropped)
            elif schema.fields is not None and not schema.keeps_unknown:
                dropped.append((path, name))
                del value[name]
    elif isinstance(value, list) and schema.items is not None:
        for index, item in enumerate(value):
            _prune(item, schema.items, (path, index), dropped=dropped)


def _read_fields(tree: dict[str, Any], schema: Schema, path: _Path, *, owner: Schema, dropped: list[_Path]) -> None:
    if schema.shape == "map":
        _read_map(tree, schema, path, owner=owner, dropped=dropped)
        return
    fields = schema.fields or {}
    for name, value in tuple(tree.items()):
        inner = fields.get(name)
        if inner is None:
            if not schema.keeps_unknown:
                dropped.append((path, name))
                del tree[name]
        elif value is None:
            del tree[name]
        else:
            tree[name] = _read_one(value, inner, (path, name), owner=schema, dropped=dropped)


def _read_map(tree: dict[str, Any], schema: Schema, path: _Path, *, owner: Schema, dropped: list[_Path]) -> None:
    if schema.items is None:
        return
    for name, value in tuple(tree.items()):
        if value is None:
            del tree[name]
        else:
            tree[name] = _read_one(value, schema.items, (path, _Key(name)), owner=owner, dropped=dropped)


def _read_one(value: Any, schema: Schema, path: _Path, *, owner: Schema, dropped: list[_Path]) -> object:  # noqa: ANN401
    read_scalar = _READERS.get(schema.shape)
    if read_scalar is not None:
        try:
            return read_scalar(value)
        except BadQuantityError as error:
            raise WrongTypeError(str(error)) from error
        except (TypeError, ValueError) as error:
            raise _wrong(value, path, owner=owner, go_type=schema.type_name or _GO_TYPES[schema.shape]) from error
    match schema.shape:
        case "list":
            if not isinstance(value, list):
                raise _wrong(value, path, owner=owner, go_type=f"[]{schema.items.type_name if schema.items else ''}")
            items = schema.items
            if items is not None:
                value[:] = [
                    _read_one(item, items, (path, index), owner=owner, dropped=dropped)
                    for index, item in enumerate(value)
                    if item is not None
                ]
        case "object" | "map":
            if not isinstance(value, dict):
                raise _wrong(value, path, owner=owner, go_type=schema.type_name or "map")
            _read_fields(value, schema, path, owner=owner, dropped=dropped)
    return value


def _written(path: _Path) -> str:
    text = ""
    while path is not None:
        path, step = path
        text = f"[{step}]{text}" if isinstance(step, int) else f".{step}{text}"
    return text.removeprefix(".")


def _wrong(value: object, path: _Path, *, owner: Schema, go_type: str) -> WrongTypeError:
    steps, place = [], _written(path)
    while path is not None:
        path, step = path
        steps += [step] if isinstance(step, str) and not isinstance(step, _Key) else []
    where = ".".join(reversed(steps))
    field = f"{owner.type_name or 'value'}.{where}"
    message = f"json: cannot unmarshal {json_type(value)} into Go struct field {field} of type {go_type}"
    return WrongTypeError(message, place=place, value=value, go_type=go_type)


def json_type(value: object) -> str:
    """Return what Go's messages call the type of a value."""
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
    try:
        return canonical(value)
    except ValueError as error:
        raise BadQuantityError from error


def _read_int_or_string(value: object) -> int | str:
    return value if isinstance(value, str) else _read_integer(value)


_READERS: Final[dict[str, Callable[[Any], object]]] = {
    "string": _read_string,
    "integer": _read_integer,
    "number": _read_number,
    "boolean": _read_boolean,
    "bytes": _read_bytes,
    "time": _read_time,
    "quantity": _read_quantity,
    "int-or-string": _read_int_or_string,
}
_EXPECTED: Final = {
    "string": "string",
    "bool": "boolean",
    "int32": "numeric (int or float)",
    "int64": "numeric (int or float)",
}
_GO_TYPES: Final = {
    "string": "string",
    "integer": "int",
    "number": "float64",
    "boolean": "bool",
    "bytes": "[]uint8",
    "time": "time.Time",
    "quantity": "resource.Quantity",
    "int-or-string": "intstr.IntOrString",
}
