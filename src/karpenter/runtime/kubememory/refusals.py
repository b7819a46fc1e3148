"""How a request is refused: the words and details of a real API server, which kubectl prints and clients read."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from karpenter.runtime.kube import AlreadyExists, Conflict, Forbidden, Invalid, NotFound
from karpenter.runtime.kubememory.resources import ApiResource


def details(resource: ApiResource, name: str, **more: object) -> dict[str, Any]:
    """Return the details of a Status about one object."""
    told = {"name": name, "group": resource.group, "kind": resource.plural} | more
    return {key: value for key, value in told.items() if value}


def not_found(resource: ApiResource, name: str) -> NotFound:
    """There is no such object."""
    return NotFound(f'{resource.key} "{name}" not found', details=details(resource, name))


def already_exists(resource: ApiResource, name: str) -> AlreadyExists:
    """The name is taken."""
    return AlreadyExists(f'{resource.key} "{name}" already exists', details=details(resource, name))


def conflict(resource: ApiResource, name: str, why: str = "") -> Conflict:
    """The object is not, or no longer, the one that the caller read."""
    reason = why or "the object has been modified; please apply your changes to the latest version and try again"
    return Conflict(
        f'Operation cannot be fulfilled on {resource.key} "{name}": {reason}', details=details(resource, name)
    )


def forbidden(resource: ApiResource, name: str, why: str) -> Forbidden:
    """A rule of the cluster, rather than of the kind, stands against it."""
    return Forbidden(f'{resource.key} "{name}" is forbidden: {why}', details=details(resource, name))


@dataclass(frozen=True, slots=True)
class Cause:
    """One thing wrong with one field."""

    reason: str
    field: str
    message: str


_RULE_WORDS: Final = {
    "FieldValueForbidden": "Forbidden",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
}


class Causes:
    """Collects what is wrong with an object, so that all of it is told at once."""

    def __init__(self) -> None:
        self.found: list[Cause] = []

    def required(self, field: str, detail: str = "") -> None:
        """Note that a field must be given."""
        self._add("FieldValueRequired", field, "Required value" + (f": {detail}" if detail else ""))

    def invalid(self, field: str, value: object, detail: str) -> None:
        """Note that a value cannot be."""
        self._add("FieldValueInvalid", field, f"Invalid value: {_shown(value)}: {detail}")

    def broken(self, field: str, detail: str, *, reason: str = "FieldValueInvalid") -> None:
        """Note a rule that the kind's author wrote, in the author's words; without the value, which may be large."""
        self._add(reason, field or "<nil>", f"{_RULE_WORDS.get(reason, 'Invalid value')}: {detail}")

    def wrong_type(self, field: str, value: object, detail: str) -> None:
        """Note that a value is of another type than the schema says."""
        self._add("FieldValueTypeInvalid", field, f"Invalid value: {_shown(value)}: {detail}")

    def unsupported(self, field: str, value: object, supported: Iterable[object]) -> None:
        """Note that a value is none of a closed set."""
        known = ", ".join(_shown(one) for one in supported)
        self._add("FieldValueNotSupported", field, f"Unsupported value: {_shown(value)}: supported values: {known}")

    def duplicate(self, field: str, value: object) -> None:
        """Note that a value occurs twice where it must not."""
        self._add("FieldValueDuplicate", field, f"Duplicate value: {_shown(value)}")

    def forbidden(self, field: str, detail: str) -> None:
        """Note that a field may not be set or changed."""
        self._add("FieldValueForbidden", field, f"Forbidden: {detail}")

    def not_found(self, field: str, value: object) -> None:
        """Note a name that refers to nothing."""
        self._add("FieldValueNotFound", field, f"Not found: {_shown(value)}")

    def too_long(self, field: str, longest: int) -> None:
        """Note a text with too many characters."""
        self._add("FieldValueTooLong", field, f"Too long: may not be more than {longest} bytes")

    def too_many(self, field: str, count: int, most: int) -> None:
        """Note a list or map with too many entries."""
        self._add("FieldValueTooMany", field, f"Too many: {count}: must have at most {most} items")

    def _add(self, reason: str, field: str, message: str) -> None:
        cause = Cause(reason, field, message)
        if cause not in self.found:
            self.found.append(cause)

    def raise_for(self, resource: ApiResource, name: str) -> None:
        """Raise Invalid with everything found; nothing when nothing was found."""
        if self.found:
            raise invalid(resource, name, self.found)


def invalid(resource: ApiResource, name: str, causes: Iterable[Cause]) -> Invalid:
    """The object breaks rules; all of them are listed."""
    found = list(causes)
    texts = [f"{cause.field}: {cause.message}" for cause in found]
    kind = f"{resource.kind}.{resource.group}" if resource.group else resource.kind
    return Invalid(
        f'{kind} "{name}" is invalid: ' + (texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"),
        details=details(resource, name, kind=resource.kind)
        | {"causes": [{"reason": one.reason, "message": one.message, "field": one.field} for one in found]},
    )


def _shown(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, default=str)
