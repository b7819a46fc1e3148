"""Reading one JSON object of a manifest field by field, collecting everything that is wrong with it.

Codecs ask a `Reader` for the fields they know. A field of the wrong type, out of range or unknown is noted with its
path and read as absent, so that one pass finds every error. `null` means absent, as it does for the API server.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TypeVar

from karpenter.model.errors import FieldError
from karpenter.model.resources import parse_amount

T = TypeVar("T")
D = TypeVar("D")

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


class Reader:
    """One object of a manifest, and what was found wrong in it so far (shared with the objects inside)."""

    __slots__ = ("_known", "_parts", "_raw", "errors", "path")

    def __init__(self, raw: Mapping[str, object], path: str = "", errors: list[FieldError] | None = None) -> None:
        self._raw = raw
        self.path = path
        self.errors: list[FieldError] = [] if errors is None else errors
        self._known: set[str] = set()
        self._parts: dict[str, Reader] = {}

    def at(self, name: str) -> str:
        """Return the path of a field, `spec.weight`; a name that is no plain word goes in brackets."""
        if not name.partition("[")[0].isidentifier():
            return f"{self.path}[{name}]"
        return f"{self.path}.{name}" if self.path else name

    def fail(self, name: str, reason: str, fix: str = "") -> None:
        """Note that a field (the object itself when the name is empty) is wrong."""
        self._note(FieldError(self.at(name) if name else self.path, reason, fix))

    def _note(self, error: FieldError) -> None:
        if error not in self.errors:  # a field may be read twice
            self.errors.append(error)

    def check(self, name: str, fault: str | None, fix: str = "") -> bool:
        """Note a fault unless it is None; return whether there was none."""
        if fault is not None:
            self.fail(name, fault, fix)
        return fault is None

    def has(self, name: str) -> bool:
        """Return whether the field is there and not null."""
        return self.value(name) is not None

    def value(self, name: str) -> object:
        """Return a field as it is, of whatever type; None when it is absent."""
        self._known.add(name)
        return self._raw.get(name)

    def _typed(self, name: str, kind: type[T], expected: str) -> T | None:
        value = self.value(name)
        if value is None:
            return None
        if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
            return value
        self.fail(name, f"expected {expected}, got {shown(value)}", _quoting(value, kind))
        return None

    def text(self, name: str) -> str | None:
        """Return a string; None when the field is absent or something else."""
        return self._typed(name, str, "a string")

    def string(self, name: str, *, required: bool = False) -> str:
        """Return a string; empty when it is absent. `required` also refuses an empty one."""
        text = self.text(name)
        if required and not text and not (text is None and self.has(name)):
            self.fail(name, "is required and must not be empty")
        return text or ""

    def choice(self, name: str, choices: Collection[str]) -> str | None:
        """Return one of the words of `choices`; None when the field is absent or something else."""
        text = self.text(name)
        if text is None or text in choices:
            return text
        self.fail(name, f"{text!r} is not supported", f"one of {', '.join(choice for choice in choices if choice)}")
        return None

    def integer(self, name: str, *, minimum: int = -INT64_MAX - 1, maximum: int = INT64_MAX) -> int | None:
        """Return an integer within bounds; None when the field is absent or something else."""
        number = self._typed(name, int, "an integer")
        if number is None or minimum <= number <= maximum:
            return number
        if number < minimum == 0:
            self.fail(name, f"{number} must not be negative")
        else:
            self.fail(name, f"{number} is not between {minimum} and {maximum}")
        return None

    def boolean(self, name: str) -> bool | None:
        """Return a boolean; None when the field is absent or something else."""
        return self._typed(name, bool, "true or false")

    def parsed(self, name: str, parse: Callable[[str], T], *, default: D) -> T | D:
        """Return what `parse` makes of a string; its ValueError is the fault."""
        text = self.text(name)
        if text is None:
            return default
        try:
            return parse(text)
        except ValueError as error:
            self.fail(name, str(error))
            return default

    def strings(self, name: str) -> tuple[str, ...]:
        """Return a list of strings; empty when it is absent."""
        listed = self._list(name)
        for index, item in enumerate(listed):
            if not isinstance(item, str):
                reason = f"expected a string, got {shown(item)}"
                self._note(FieldError(f"{self.at(name)}[{index}]", reason, _quoting(item, str)))
        return tuple(item for item in listed if isinstance(item, str))

    def _list(self, name: str) -> Sequence[object]:
        return self._typed(name, list, "a list") or []

    def part(self, name: str, *, required: bool = False) -> Reader:
        """Return the object in a field; an empty one when it is absent."""
        if required and not self.has(name):
            self.fail(name, "is required")
        return self._inside(self.mapping(name), self.at(name))

    def parts(self, name: str) -> list[Reader]:
        """Return the objects of a list; empty when it is absent."""
        found: list[Reader] = []
        for index, item in enumerate(self._list(name)):
            path = f"{self.at(name)}[{index}]"
            if isinstance(item, dict):
                found.append(self._inside(item, path))
            else:
                self._note(FieldError(path, f"expected an object, got {shown(item)}"))
        return found

    def _inside(self, raw: Mapping[str, object], path: str) -> Reader:
        return self._parts.setdefault(path, Reader(raw, path, self.errors))

    def own_keys(self) -> Iterator[str]:
        """Yield the keys of an object whose keys are the user's own, such as labels; one that holds null is a fault."""
        for key, value in self._raw.items():
            self._known.add(key)
            if not isinstance(key, str):
                self.fail("", f"key {shown(key)} is not a string", "put it in quotes")
            elif value is None:
                self.fail(key, "must not be null", "leave the entry out, or give it a value")
            else:
                yield key

    def texts(self, name: str) -> dict[str, str]:
        """Return an object whose values are strings, as a mapping; empty when it is absent."""
        entries = self.part(name)
        return {key: text for key in entries.own_keys() if (text := entries.text(key)) is not None}

    def mapping(self, name: str) -> Mapping[str, object]:
        """Return an object as it is, unread; empty when it is absent."""
        return self._typed(name, dict, "an object") or {}

    def amount(self, name: str, resource: str) -> int | None:
        """Return a quantity in the unit in which a resource is counted; None when it is absent or no quantity."""
        value = self.value(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, str | int):
            fix = _quoting(value, str)
            self.fail(name, f"expected a quantity such as 500m, 2 or 4Gi, got {shown(value)}", fix)
            return None
        try:
            return parse_amount(resource, value)
        except ValueError as error:
            self.fail(name, str(error))
            return None

    def amounts(self, name: str) -> dict[str, int]:
        """Return a resource list as exact integers; empty when it is absent."""
        entries = self.part(name)
        return {key: amount for key in entries.own_keys() if (amount := entries.amount(key, key)) is not None}

    def unread(self) -> dict[str, object]:
        """Return the fields that nobody asked for yet, as they are; after that they count as known."""
        rest = {str(name): value for name, value in self._raw.items() if name not in self._known}
        self._known.update(rest)
        return rest

    def finish(self) -> None:
        """Note every field that nobody asked for, here and in the objects inside (API-9)."""
        for name in self._raw:
            if name not in self._known:
                close = difflib.get_close_matches(str(name), sorted(self._known), n=1, cutoff=0.7)
                self.fail(str(name), "is not a known field", f"did you mean {close[0]!r}?" if close else "")
        for part in self._parts.values():
            part.finish()


def shown(value: object) -> str:
    """Return a JSON value as error messages show it: its type and, when it is short, itself."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the string {value!r}" if len(value) <= 60 else "a long string"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return f"a {type(value).__name__}"


def _quoting(value: object, wanted: type) -> str:
    """The fix for the commonest slip in YAML: a number or boolean where a string is due, or the reverse."""
    if wanted is str and isinstance(value, bool | int | float):
        return f'write "{str(value).lower() if isinstance(value, bool) else value}"'
    if wanted is int and isinstance(value, str) and value.lstrip("-").isdecimal():
        return f"write {value} without quotes"
    return ""
