"""Bodies in protobuf, as some of kubectl's commands send them: read by the field numbers of the table of types.

Only reading: answers are JSON, which every client takes.
"""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

import msgspec

from karpenter.runtime.kube import BadRequest
from karpenter.runtime.kubememory.records import Json
from karpenter.runtime.kubememory.schema.builtin import type_name
from karpenter.runtime.kubememory.schema.table import FieldRow, read_table

CONTENT_TYPE: Final = "application/vnd.kubernetes.protobuf"
_MAGIC: Final = b"k8s\0"
_INTEGERS: Final = ("int32", "int64")

Value = int | bytes
Message = dict[int, list[Value]]


def decode_body(data: bytes) -> dict[str, Any]:
    """Return the object in a protobuf body as JSON would have it. Raises BadRequest."""
    if not data.startswith(_MAGIC):
        raise BadRequest("the body of the request is not Kubernetes protobuf")
    try:
        envelope = _read(data[len(_MAGIC) :])
        head = _read(_last(envelope, 1))
        api_version, kind = _text(head, 1), _text(head, 2)
        name = type_name(api_version.rpartition("/")[0], kind)
        if name not in read_table():
            raise BadRequest(f"{kind} of {api_version} is not known in protobuf here: send it as JSON or YAML")
        return {"apiVersion": api_version, "kind": kind} | _object(_last(envelope, 2), name)
    except (IndexError, ValueError, struct.error) as error:
        raise BadRequest(f"the body of the request cannot be read as protobuf: {error}") from error


def _object(data: bytes, name: str) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    fields = _fields(name)
    for number, values in _read(data).items():
        row = fields.get(number)
        if row is None:
            continue  # newer than the table, and therefore not a field that we know what to do with
        if row.is_inline:
            tree |= _object(_bytes(values[-1]), row.type)
        elif row.container == "[]":
            tree[row.name] = [one for value in values for one in _items(value, row)]
        elif row.container == "{}":
            tree[row.name] = dict(_entry(_bytes(value), row) for value in values)
        else:
            value = _one(values[-1], row.type)
            # Go writes the zero of every field that cannot be absent; in JSON it leaves them out.
            if row.is_pointer or value not in ("", 0, False, {}, None):
                tree[row.name] = value
    return tree


@cache
def _fields(name: str) -> dict[int, FieldRow]:
    return {row.number: row for row in read_table()[name].fields}


def _items(value: Value, row: FieldRow) -> Iterator[Json]:
    if isinstance(value, bytes) and row.type in _INTEGERS:  # packed
        position = 0
        while position < len(value):
            number, position = _varint(value, position)
            yield _signed(number)
    else:
        yield _one(value, row.type)


def _entry(data: bytes, row: FieldRow) -> tuple[str, Json]:
    entry = _read(data)
    return _text(entry, 1), _one(entry[2][-1] if 2 in entry else b"", row.type)


def _one(value: Value, kind: str) -> Json:
    match kind:
        case "string":
            return _bytes(value).decode()
        case "bytes":
            return base64.b64encode(_bytes(value)).decode()
        case "bool":
            return bool(value)
        case "int32" | "int64":
            return _signed(_integer(value))
        case "double":
            return struct.unpack("<d", _bytes(value))[0]
        case "quantity":
            return _text(_read(_bytes(value)), 1)
        case "int-or-string":
            return _int_or_string(_read(_bytes(value)))
        case "time":
            return _time(_read(_bytes(value)))
        case "any":
            raw = _read(_bytes(value)).get(1)
            return msgspec.json.decode(_bytes(raw[-1])) if raw else None
        case _:
            return _object(_bytes(value), kind)


def _int_or_string(message: Message) -> int | str:
    is_string = bool(message.get(1, [0])[-1])
    return _text(message, 3) if is_string else _signed(_integer(message.get(2, [0])[-1]))


def _time(message: Message) -> str | None:
    if not message:
        return None
    seconds = _signed(_integer(message.get(1, [0])[-1]))
    return datetime.fromtimestamp(seconds, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _read(data: bytes) -> Message:
    """Return the values of a message by field number. Raises ValueError."""
    found: Message = {}
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        value, position = _value(data, position, wire_type=key & 7)
        found.setdefault(key >> 3, []).append(value)
    return found


def _value(data: bytes, position: int, *, wire_type: int) -> tuple[Value, int]:
    match wire_type:
        case 0:
            return _varint(data, position)
        case 1:
            size = 8
        case 2:  # text, bytes, messages, packed numbers: the length comes first
            size, position = _varint(data, position)
        case 5:
            size = 4
        case _:
            raise ValueError(f"unknown wire type {wire_type}")
    end = position + size
    if end > len(data):
        raise ValueError("it ends in the middle of a field")
    return data[position:end], end


def _varint(data: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position
        shift += 7


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number


def _bytes(value: Value) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a number where text or a message belongs")
    return value


def _integer(value: Value) -> int:
    if not isinstance(value, int):
        raise ValueError("text or a message where a number belongs")
    return value


def _last(message: Message, number: int) -> bytes:
    return _bytes(message[number][-1]) if number in message else b""


def _text(message: Message, number: int) -> str:
    return _last(message, number).decode()
