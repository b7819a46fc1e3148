"""JSON bodies, read and written by shapes."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from karpenter.sim.ec2.codec.messages import AwsError, Value
from karpenter.sim.ec2.models import AnyShape

if TYPE_CHECKING:
    from botocore.model import StructureShape


def read_body(body: bytes, shape: StructureShape | None) -> dict[str, Value]:
    """Return the members of a structure. Raises AwsError."""
    try:
        plain = msgspec.json.decode(body or b"{}")
    except msgspec.DecodeError as error:
        raise AwsError("SerializationException", f"the body is not JSON: {error}") from error
    if not isinstance(plain, dict):
        raise AwsError("SerializationException", "the body is not a JSON object")
    return _structure(plain, shape) if shape is not None else {}


def write_body(result: Mapping[str, Value], shape: StructureShape | None) -> bytes:
    """Return the JSON text of a structure."""
    return msgspec.json.encode(_plain(result, shape) if shape is not None else {})


def _structure(plain: Mapping[str, Value], shape: StructureShape) -> dict[str, Value]:
    names = {str(member.serialization.get("name", name)): name for name, member in shape.members.items()}
    found = {}
    for key, value in plain.items():
        if key not in names:
            raise AwsError("ValidationException", f"unknown member {key!r}")
        found[names[key]] = _value(value, shape.members[names[key]])
    return found


def _value(value: Value, shape: AnyShape) -> Value:
    match shape.type_name:
        case "structure":
            return _structure(value, shape)
        case "list":
            return [_value(one, shape.member) for one in value]
        case "map":
            return {key: _value(one, shape.value) for key, one in value.items()}
        case "blob":
            return base64.b64decode(value, validate=True)
        case _:
            return value


def _plain(value: Mapping[str, Value], shape: StructureShape) -> dict[str, Value]:
    members = shape.members
    written = {}
    for name, inner in value.items():
        if inner is not None:
            member = members[name]
            written[str(member.serialization.get("name", name))] = _plain_value(inner, member)
    return written


def _plain_value(value: Value, shape: AnyShape) -> Value:
    match shape.type_name:
        case "structure":
            return _plain(value, shape)
        case "list":
            return [_plain_value(one, shape.member) for one in value]
        case "map":
            return {key: _plain_value(one, shape.value) for key, one in value.items()}
        case "blob":
            return base64.b64encode(value).decode()
        case _:
            return value


def write_error_body(error: AwsError) -> bytes:
    """Return the JSON text of an error."""
    return msgspec.json.encode({"__type": error.code, "message": error.message})
