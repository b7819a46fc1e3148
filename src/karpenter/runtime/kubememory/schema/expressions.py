"""Rules of custom kinds that a schema states in CEL: `x-kubernetes-validations`.

Checked after everything else in a schema, as the real API server does: not at all while something is missing, too
large or of the wrong type, and not where an update leaves a value as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from karpenter.runtime.kubememory.refusals import Causes

if TYPE_CHECKING:
    from cel import Program

JsonSchema: TypeAlias = Mapping[str, Any]

KEY: Final = "x-kubernetes-validations"
ABSENT: Final = object()
"""The old value of what is new."""
_BLOCKING: Final = frozenset(
    {"FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid", "FieldValueNotSupported"}
)
_NOT_CHECKED: Final = (
    "some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation"
)


def check_expressions(new: object, old: object, source: JsonSchema, *, causes: Causes) -> None:
    """Note every expression of a schema that an object breaks; `old` is `ABSENT` for one that is created."""
    if any(cause.reason in _BLOCKING for cause in causes.found):
        causes.invalid("<nil>", None, _NOT_CHECKED)
        return
    _check(new, old, source, path="", causes=causes)


def _check(new: object, old: object, source: JsonSchema, *, path: str, causes: Causes) -> None:
    if old is not ABSENT and new == old:
        return
    for rule in source.get(KEY, ()):
        _judge(rule, new, old, path=path, causes=causes)
    for name, value, before, inner in _inside(new, old, source):
        _check(value, before, inner, path=f"{path}{name}" if path else name.lstrip("."), causes=causes)


def _inside(new: object, old: object, source: JsonSchema) -> Iterator[tuple[str, object, object, JsonSchema]]:
    """Yield path step, value, old value and schema of what is in a value."""
    if isinstance(new, dict):
        properties, additional = source.get("properties", {}), source.get("additionalProperties")
        for name, value in new.items():
            inner = properties.get(name, additional)
            if isinstance(inner, dict):
                before = old.get(name, ABSENT) if isinstance(old, dict) else ABSENT
                yield (f".{name}" if name in properties else f"[{name}]"), value, before, inner
    elif isinstance(new, list) and isinstance(source.get("items"), dict):
        # Items of a list without keys have no past of their own.
        for index, item in enumerate(new):
            yield f"[{index}]", item, ABSENT, source["items"]


def _judge(rule: Mapping[str, Any], new: object, old: object, *, path: str, causes: Causes) -> None:
    program = compiled(rule["rule"])
    is_transition = "oldSelf" in program.variables()
    if is_transition and old is ABSENT:
        return
    variables = {"self": new, **({"oldSelf": old} if is_transition else {})}
    where = path + rule.get("fieldPath", "") if path else rule.get("fieldPath", "").lstrip(".")
    try:
        holds = program.execute(variables)
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        causes.broken(where, f"rule evaluation error: {error}")
        return
    if holds is not True:
        text = rule.get("message") or f"failed rule: {rule['rule'].strip()}"
        causes.broken(where, text, reason=rule.get("reason", "FieldValueInvalid"))


@lru_cache(maxsize=1024)
def compiled(expression: str) -> Program:
    """Return the program of an expression. Raises ValueError when it is none."""
    from cel import compile as program_of  # noqa: PLC0415 - half a second, for clusters that have such rules only

    return program_of(expression)


def has_expressions(source: JsonSchema) -> bool:
    """Return whether a schema, or any inside it, states rules."""
    inner = [*source.get("properties", {}).values(), source.get("items"), source.get("additionalProperties")]
    return KEY in source or any(isinstance(one, dict) and has_expressions(one) for one in inner)
