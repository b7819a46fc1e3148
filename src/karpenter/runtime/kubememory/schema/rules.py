"""The rules of a structural schema, told in the words of a real server."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from karpenter.model.units import from_rfc3339
from karpenter.runtime.kubememory.refusals import Causes

JsonSchema: TypeAlias = Mapping[str, Any]

_TYPES: Final[dict[str, Callable[[object], bool]]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
}


def check(value: object, source: JsonSchema, path: str, *, causes: Causes) -> None:
    """Note every rule of a schema that a value breaks."""
    if value is None and source.get("nullable"):
        return
    if not _has_type(value, source):
        wanted = source.get("type", "integer or string")
        actual = _type_name(value)
        causes.wrong_type(path or "<root>", actual, f'{path} in body must be of type {wanted}: "{actual}"')
        return
    if "enum" in source and value not in source["enum"]:
        causes.unsupported(path, value, source["enum"])
    match value:
        case dict():
            _check_object(value, source, path, causes=causes)
        case list():
            _check_list(value, source, path, causes=causes)
        case str():
            _check_string(value, source, path, causes=causes)
        case int() | float() if not isinstance(value, bool):
            _check_number(value, source, path, causes=causes)
    _check_combinations(value, source, path, causes=causes)


def _has_type(value: object, source: JsonSchema) -> bool:
    if source.get("x-kubernetes-int-or-string"):
        return _TYPES["integer"](value) or isinstance(value, str)
    test = _TYPES.get(source.get("type", ""))
    return test is None or test(value)


def _type_name(value: object) -> str:
    if value is None:
        return "null"
    return next((name for name, test in _TYPES.items() if test(value)), "unknown")


def _check_object(value: dict[str, Any], source: JsonSchema, path: str, *, causes: Causes) -> None:
    for name in source.get("required", ()):
        if name not in value:
            causes.required(_join(path, name))
    properties, additional = source.get("properties", {}), source.get("additionalProperties")
    for name, one in value.items():
        if name in properties:
            check(one, properties[name], _join(path, name), causes=causes)
        elif isinstance(additional, dict):
            check(one, additional, _join(path, name), causes=causes)
    _check_size(len(value), source, path, words=("Properties", "properties"), causes=causes)


def _check_list(value: list[Any], source: JsonSchema, path: str, *, causes: Causes) -> None:
    if isinstance(source.get("items"), dict):
        for index, item in enumerate(value):
            check(item, source["items"], f"{path}[{index}]", causes=causes)
    _check_size(len(value), source, path, words=("Items", "items"), causes=causes)
    match source.get("x-kubernetes-list-type"):
        case "set":
            _check_unique(value, path, causes)
        case "map":
            keys = source.get("x-kubernetes-list-map-keys", ())
            _check_unique(
                [{key: item.get(key) for key in keys} for item in value if isinstance(item, dict)], path, causes
            )


def _check_unique(values: Sequence[object], path: str, causes: Causes) -> None:
    for index, value in enumerate(values):
        if value in values[:index]:
            causes.duplicate(f"{path}[{index}]", value)


def _check_size(size: int, source: JsonSchema, path: str, *, words: tuple[str, str], causes: Causes) -> None:
    suffix, noun = words
    most, least = source.get(f"max{suffix}"), source.get(f"min{suffix}")
    if most is not None and size > most:
        causes.too_many(path, size, most)
    if least is not None and size < least:
        causes.invalid(path, size, f"{path} in body should have at least {least} {noun}")


def _check_string(value: str, source: JsonSchema, path: str, *, causes: Causes) -> None:
    longest, shortest = source.get("maxLength"), source.get("minLength")
    if longest is not None and len(value) > longest:
        causes.too_long(path, longest)
    if shortest is not None and len(value) < shortest:
        causes.invalid(path, value, f"{path} in body should be at least {shortest} chars long")
    pattern = source.get("pattern")
    if pattern is not None and not _compiled(pattern).search(value):
        causes.invalid(path, value, f"{path} in body should match '{pattern}'")
    if source.get("format") == "date-time" and not _is_time(value):
        causes.invalid(path, value, f'{path} in body must be of type date-time: "{value}"')


def _check_number(value: int | float, source: JsonSchema, path: str, *, causes: Causes) -> None:
    least, most, step = source.get("minimum"), source.get("maximum"), source.get("multipleOf")
    if least is not None and (value < least or (source.get("exclusiveMinimum") and value == least)):
        equal = "" if source.get("exclusiveMinimum") else " or equal to"
        causes.invalid(path, value, f"{path} in body should be greater than{equal} {least}")
    if most is not None and (value > most or (source.get("exclusiveMaximum") and value == most)):
        equal = "" if source.get("exclusiveMaximum") else " or equal to"
        causes.invalid(path, value, f"{path} in body should be less than{equal} {most}")
    if step and value % step:
        causes.invalid(path, value, f"{path} in body should be a multiple of {step}")


def _check_combinations(value: object, source: JsonSchema, path: str, *, causes: Causes) -> None:
    for inner in source.get("allOf", ()):
        check(value, inner, path, causes=causes)
    if "anyOf" in source and not any(_passes(value, inner, path) for inner in source["anyOf"]):
        causes.invalid(path, value, f"{path} in body must validate at least one schema (anyOf)")
    if "oneOf" in source and sum(_passes(value, inner, path) for inner in source["oneOf"]) != 1:
        causes.invalid(path, value, f"{path} in body must validate one and only one schema (oneOf)")
    if "not" in source and _passes(value, source["not"], path):
        causes.invalid(path, value, f"{path} in body must not validate the schema (not)")


def _passes(value: object, source: JsonSchema, path: str) -> bool:
    causes = Causes()
    check(value, source, path, causes=causes)
    return not causes.found


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _is_time(value: str) -> bool:
    try:
        from_rfc3339(value)
    except ValueError:
        return False
    return True


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
