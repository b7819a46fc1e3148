"""Label and field selectors as they come in a query string."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from karpenter.runtime.kube import BadRequest
from karpenter.runtime.kubememory.records import Record
from karpenter.runtime.kubememory.resources import ApiResource

Test = Callable[[Mapping[str, str]], bool]

_KEY = r"[A-Za-z0-9](?:[A-Za-z0-9._/-]*[A-Za-z0-9])?"
_VALUE = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|"
_EXISTS = re.compile(rf"(!?)\s*({_KEY})")
_EQUALS = re.compile(rf"({_KEY})\s*(==|=|!=)\s*({_VALUE})")
_ORDER = re.compile(rf"({_KEY})\s*([<>])\s*(-?\d+)")
_SET = re.compile(rf"({_KEY})\s+(in|notin)\s*\(([^()]*)\)")
_SPLIT = re.compile(r",(?![^()]*\))")


@dataclass(frozen=True, slots=True)
class Selection:
    """Which objects a list or watch is about: a namespace (empty for all) and tests on labels and fields."""

    namespace: str = ""
    label_tests: tuple[Test, ...] = ()
    field_tests: tuple[Test, ...] = ()

    @property
    def is_narrow(self) -> bool:
        """Whether anything but the namespace is asked about."""
        return bool(self.label_tests or self.field_tests)

    def matches(self, record: Record) -> bool:
        """Return whether an object is meant."""
        return (
            (not self.namespace or record.key.namespace == self.namespace)
            and all(test(record.labels) for test in self.label_tests)
            and all(test(record.fields) for test in self.field_tests)
        )


EVERYTHING = Selection()


def select(
    resource: ApiResource, *, namespace: str = "", label_selector: str = "", field_selector: str = ""
) -> Selection:
    """Return the selection that a request asks for. Raises BadRequest when a selector is unreadable or not served."""
    return Selection(namespace, parse_labels(label_selector), _parse_fields(resource, field_selector))


def parse_labels(text: str) -> tuple[Test, ...]:
    """Return the tests of a label selector: `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`. Raises BadRequest."""
    return tuple(_label_test(part.strip(), text) for part in _SPLIT.split(text)) if text.strip() else ()


def _label_test(part: str, whole: str) -> Test:
    if match := _EXISTS.fullmatch(part):
        absent, key = bool(match[1]), match[2]
        return lambda labels: (key in labels) is not absent
    if match := _EQUALS.fullmatch(part):
        return _membership(match[1], frozenset({match[3]}), wanted=match[2] != "!=")
    if match := _SET.fullmatch(part):
        values = frozenset(value.strip() for value in match[3].split(","))
        return _membership(match[1], values, wanted=match[2] == "in")
    if match := _ORDER.fullmatch(part):
        return _order(match[1], match[2], int(match[3]))
    raise BadRequest(f"unable to parse requirement: {_what_is_missing(part, whole)}")


def _what_is_missing(part: str, whole: str) -> str:
    """Return what a reader of label selectors stumbles over."""
    if re.fullmatch(rf"{_KEY}\s+(in|notin)", part):
        return "found '' expected: '('"
    return f"{part!r} in label selector {whole!r}"


def _membership(key: str, values: frozenset[str], *, wanted: bool) -> Test:
    if wanted:
        return lambda labels: labels.get(key) in values
    return lambda labels: labels.get(key) not in values


def _order(key: str, operator: str, bound: int) -> Test:
    def test(labels: Mapping[str, str]) -> bool:
        try:
            value = int(labels[key])
        except (KeyError, ValueError):
            return False
        return value > bound if operator == ">" else value < bound

    return test


def _parse_fields(resource: ApiResource, text: str) -> tuple[Test, ...]:
    return tuple(_field_test(resource, part, text) for part in text.split(",") if part)


def _field_test(resource: ApiResource, part: str, whole: str) -> Test:
    match = re.fullmatch(r"([^=!]+?)\s*(==|=|!=)\s*(.*)", part.strip())
    if match is None:
        raise BadRequest(f"invalid selector: {whole!r}; can't understand {part!r}")
    label, operator, value = match.groups()
    own = ("metadata.name", "metadata.namespace") if resource.namespaced else ("metadata.name",)
    if label not in own and label not in resource.field_labels:
        if resource.field_labels or resource.is_custom:
            raise BadRequest(f"field label not supported: {label}")
        known = ", ".join(f'"{one}"' for one in own)
        raise BadRequest(f'"{label}" is not a known field selector: only {known}')
    return lambda fields: (fields[label] == value) is (operator != "!=")
