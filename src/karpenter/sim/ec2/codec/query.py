"""Reading form-encoded parameters: `Filter.1.Value.2=m5.large` is the second value of the first filter."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import parse_qsl

from karpenter.sim.ec2.codec.messages import AwsError, Value
from karpenter.sim.ec2.models import AnyShape

if TYPE_CHECKING:
    from botocore.model import ListShape, MapShape, StructureShape

Tree: TypeAlias = "dict[str, Tree | str]"

_ENVELOPE = ("Action", "Version")


def parse_form(body: bytes) -> dict[str, str]:
    """Return the fields of a form-encoded body."""
    return dict(parse_qsl(body.decode(), keep_blank_values=True))


def read_params(form: dict[str, str], shape: StructureShape, *, is_ec2: bool) -> dict[str, Value]:
    """Return the parameters of a call.

    Raises:
        AwsError: there is a parameter that the operation does not have, or one with a value of another kind.
    """
    tree: Tree = {}
    for key, value in form.items():
        if key in _ENVELOPE:
            continue
        *parents, last = key.split(".")
        branch = tree
        for parent in parents:
            found = branch.setdefault(parent, {})
            if isinstance(found, str):
                raise _unknown(key)
            branch = found
        branch[last] = value
    return _Reader(is_ec2=is_ec2).structure(tree, shape, "")


class _Reader:
    def __init__(self, *, is_ec2: bool) -> None:
        self._is_ec2 = is_ec2

    def structure(self, tree: Tree, shape: StructureShape, path: str) -> dict[str, Value]:
        names = {self._name(member, name): name for name, member in shape.members.items()}
        found = {}
        for key, value in tree.items():
            if key not in names:
                raise _unknown(f"{path}{key}")
            name = names[key]
            found[name] = self._value(value, shape.members[name], f"{path}{key}")
        return found

    def _name(self, shape: AnyShape, name: str) -> str:
        given = shape.serialization
        if self._is_ec2:
            query_name: str | None = given.get("queryName")
            if query_name is not None:
                return query_name
            location = str(given.get("name", name))
            return location[:1].upper() + location[1:]
        if shape.type_name == "list" and given.get("flattened"):
            return str(shape.member.serialization.get("name", given.get("name", name)))
        return str(given.get("name", name))

    def _value(self, value: Tree | str, shape: AnyShape, path: str) -> Value:
        match shape.type_name:
            case "structure":
                return self.structure(_branch(value, path), shape, f"{path}.")
            case "list":
                return self._list(value, shape, path)
            case "map":
                return self._map(_branch(value, path), shape, path)
            case kind:
                return scalar(_leaf(value, path), kind, path)

    def _list(self, value: Tree | str, shape: ListShape, path: str) -> list[Value]:
        if value == "":
            return []  # how an empty list is sent
        items = _branch(value, path)
        if not self._is_ec2 and not shape.serialization.get("flattened"):
            items = _branch(items.get(str(shape.member.serialization.get("name", "member")), {}), path)
        numbered = sorted(items, key=_index)
        return [self._value(items[number], shape.member, f"{path}.{number}") for number in numbered]

    def _map(self, value: Tree, shape: MapShape, path: str) -> dict[str, Value]:
        entries = value if shape.serialization.get("flattened") else _branch(value.get("entry", {}), path)
        key_name = str(shape.key.serialization.get("name", "key"))
        value_name = str(shape.value.serialization.get("name", "value"))
        found = {}
        for number in sorted(entries, key=_index):
            entry = _branch(entries[number], path)
            found[_leaf(entry[key_name], path)] = self._value(entry[value_name], shape.value, path)
        return found


def scalar(text: str, kind: str, path: str) -> Value:
    """Return the value that a text stands for. Raises AwsError."""
    try:
        match kind:
            case "integer" | "long":
                return int(text)
            case "float" | "double":
                return float(text)
            case "boolean":
                return {"true": True, "false": False}[text.lower()]
            case "timestamp":
                return _seconds(text)
            case "blob":
                return base64.b64decode(text, validate=True)
            case _:
                return text
    except (KeyError, ValueError) as error:
        raise AwsError("InvalidParameterValue", f"Value ({text}) for parameter {path} is not a {kind}") from error


def _seconds(text: str) -> float:
    moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _index(number: str) -> int:
    if not number.isdecimal():
        raise AwsError("MalformedQueryString", f"{number!r} stands where the number of a list entry belongs")
    return int(number)


def _branch(value: Tree | str, path: str) -> Tree:
    if isinstance(value, str):
        raise AwsError("InvalidParameterValue", f"Value ({value}) for parameter {path} is invalid")
    return value


def _leaf(value: Tree | str, path: str) -> str:
    if not isinstance(value, str):
        raise _unknown(f"{path}.{next(iter(value))}")
    return value


def _unknown(key: str) -> AwsError:
    return AwsError("UnknownParameter", f"The parameter {key} is not recognized")
