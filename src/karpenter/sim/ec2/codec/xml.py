"""Writing XML answers of the EC2 query and query protocols."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from botocore.model import ListShape, MapShape, OperationModel, StructureShape

from karpenter.sim.ec2.codec.messages import AwsError, Value
from karpenter.sim.ec2.models import AnyShape


def write_ec2(model: OperationModel, result: Mapping[str, Value], request_id: str) -> bytes:
    """Return the answer of an EC2 operation."""
    namespace = f"http://ec2.amazonaws.com/doc/{model.service_model.api_version}/"
    out = [_head(f"{model.name}Response", namespace), f"<requestId>{request_id}</requestId>"]
    if model.output_shape is not None:
        _Writer(out.append).structure(result, model.output_shape)
    out.append(f"</{model.name}Response>")
    return "".join(out).encode()


def write_query(model: OperationModel, result: Mapping[str, Value], request_id: str) -> bytes:
    """Return the answer of a query operation."""
    out = [_head(f"{model.name}Response", str(model.service_model.metadata.get("xmlNamespace", "")))]
    shape = model.output_shape
    if shape is not None:
        wrapper = str(shape.serialization["resultWrapper"])
        out.append(f"<{wrapper}>")
        _Writer(out.append).structure(result, shape)
        out.append(f"</{wrapper}>")
    out.append(f"<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata></{model.name}Response>")
    return "".join(out).encode()


def write_ec2_error(error: AwsError, request_id: str) -> bytes:
    """Return an error of EC2."""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><Response><Errors><Error><Code>{escape(error.code)}</Code>'
        f"<Message>{escape(error.message)}</Message></Error></Errors><RequestID>{request_id}</RequestID></Response>"
    ).encode()


def write_query_error(error: AwsError, request_id: str) -> bytes:
    """Return an error of a query service."""
    fault = "Receiver" if error.status >= 500 else "Sender"
    return (
        f"<ErrorResponse><Error><Type>{fault}</Type><Code>{escape(error.code)}</Code>"
        f"<Message>{escape(error.message)}</Message></Error><RequestId>{request_id}</RequestId></ErrorResponse>"
    ).encode()


def _head(name: str, namespace: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?><{name} xmlns="{namespace}">'


class _Writer:
    def __init__(self, put: Callable[[str], None]) -> None:
        self._put = put

    def structure(self, value: Mapping[str, Value], shape: StructureShape) -> None:
        members = shape.members
        for name, inner in value.items():
            if inner is not None:
                member = members[name]
                self._member(inner, member, str(member.serialization.get("name", name)))

    def _member(self, value: Value, shape: AnyShape, tag: str) -> None:
        kind = shape.type_name
        if kind == "list":
            self._list(value, shape, tag)
        elif kind == "structure":
            self._put(f"<{tag}>")
            self.structure(value, shape)
            self._put(f"</{tag}>")
        elif kind == "map":
            self._map(value, shape, tag)
        else:
            self._put(f"<{tag}>{_text(value, kind)}</{tag}>")

    def _list(self, values: Value, shape: ListShape, tag: str) -> None:
        member = shape.member
        if shape.serialization.get("flattened"):
            for value in values:
                self._member(value, member, str(member.serialization.get("name", tag)))
            return
        inner = str(member.serialization.get("name", "member"))
        self._put(f"<{tag}>")
        for value in values:
            self._member(value, member, inner)
        self._put(f"</{tag}>")

    def _map(self, values: Mapping[str, Value], shape: MapShape, tag: str) -> None:
        key_tag = str(shape.key.serialization.get("name", "key"))
        value_tag = str(shape.value.serialization.get("name", "value"))
        self._put(f"<{tag}>")
        for key, value in values.items():
            self._put(f"<entry><{key_tag}>{escape(key)}</{key_tag}>")
            self._member(value, shape.value, value_tag)
            self._put("</entry>")
        self._put(f"</{tag}>")


def _text(value: Value, kind: str) -> str:
    if kind == "boolean":
        return "true" if value else "false"
    if kind == "timestamp":
        return _iso(value)
    if kind == "blob":
        return base64.b64encode(value).decode()
    return escape(value) if isinstance(value, str) else str(value)


def _iso(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
