"""Reading the parts of a pool that constrain its machines: labels, taints, requirements.

Both API generations have them, with slightly different rules. Source: spec v1alpha5 §1.4, §1.5; spec v1 §1.4.1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from karpenter.model import labels
from karpenter.model.reading import Reader
from karpenter.model.requirements import Requirement
from karpenter.model.syntax import label_value_fault, qualified_name_fault
from karpenter.model.taints import NO_EXECUTE, NO_SCHEDULE, PREFER_NO_SCHEDULE, Taint

EFFECTS: Final = (NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE)
_ONE_NUMBER: Final = frozenset({"Gt", "Lt", "Gte", "Lte"})


@dataclass(frozen=True, slots=True)
class Rules:
    """What one API generation allows."""

    operators: tuple[str, ...]
    is_restricted: Callable[[str], bool]
    """Whether a label key, aliases rewritten, is not the user's to set or require."""
    effects: Collection[str] = EFFECTS
    has_min_values: bool = False
    needs_enough_values: bool = True
    """Whether a list must hold as many values as its `minValues` asks for."""


def read_labels(reader: Reader, name: str, rules: Rules) -> dict[str, str]:
    """Return a pool's template labels (API-11); aliases are not rewritten, and old keys fail by their domain."""
    found: dict[str, str] = {}
    entries = reader.part(name)
    for key in entries.own_keys():
        value = entries.text(key)
        sound = entries.check(key, qualified_name_fault(key)) and entries.check(key, _restriction(key, rules))
        if value is not None and entries.check(key, label_value_fault(value)) and sound:
            found[key] = value
    return found


def read_annotations(reader: Reader, name: str) -> dict[str, str]:
    """Return annotations for nodes; a key that no node could carry is a fault."""
    entries = reader.part(name)
    return {
        key: text
        for key in entries.own_keys()
        if (text := entries.text(key)) is not None and entries.check(key, qualified_name_fault(key.lower()))
    }


def _restriction(key: str, rules: Rules) -> str | None:
    if not rules.is_restricted(key):
        return None
    return f"{key!r} is restricted: Karpenter, the kubelet or the cloud sets it"


def read_taints(reader: Reader, rules: Rules) -> tuple[tuple[Taint, ...], tuple[Taint, ...]]:
    """Return `taints` and `startupTaints`; a pair of key and effect may occur only once in both lists together."""
    seen: set[tuple[str, str]] = set()
    return (
        tuple(_read_taint(part, rules, seen) for part in reader.parts("taints")),
        tuple(_read_taint(part, rules, seen) for part in reader.parts("startupTaints")),
    )


def _read_taint(part: Reader, rules: Rules, seen: set[tuple[str, str]]) -> Taint:
    key = part.string("key", required=True)
    if key:
        part.check("key", qualified_name_fault(key))
    value = part.string("value")
    if value:
        part.check("value", qualified_name_fault(value))
    effect = part.choice("effect", rules.effects) or ""
    if not part.has("effect"):
        part.fail("effect", "is required", f"one of {', '.join(EFFECTS)}")
    part.string("timeAdded")  # belongs to taints of nodes; says nothing about nodes to come
    if key and (key, effect) in seen:
        part.fail("", f"duplicate taint {key}:{effect}", "one key and effect once in taints and startupTaints together")
    seen.add((key, effect))
    return Taint(key=key, value=value, effect=effect)


def read_requirements(reader: Reader, name: str, rules: Rules) -> tuple[Requirement, ...]:
    """Return the sound entries of a list of requirements (API-14 to 18), old keys rewritten."""
    entries = (_read_requirement(part, rules) for part in reader.parts(name))
    return tuple(requirement for requirement in entries if requirement is not None)


def _read_requirement(part: Reader, rules: Rules) -> Requirement | None:
    before = len(part.errors)
    key = labels.canonical(part.string("key", required=True))
    if key and part.check("key", qualified_name_fault(key)):
        part.check("key", _restriction(key, rules))
    operator = part.choice("operator", rules.operators)
    if not part.has("operator"):
        part.fail("operator", "is required", f"one of {', '.join(rules.operators)}")
    values = part.strings("values")
    for index, value in enumerate(values):
        part.check(f"values[{index}]", label_value_fault(value))
    min_values = part.integer("minValues", minimum=1, maximum=50) if rules.has_min_values else None
    if len(part.errors) > before or operator is None:
        return None
    needed = min_values if rules.needs_enough_values else None
    if not part.check("values", _count_fault(operator, values, needed)):
        return None
    return Requirement.of(key, operator, values, min_values=min_values)


def _count_fault(operator: str, values: tuple[str, ...], needed: int | None) -> str | None:
    """API-17: how many values an operator takes, and which; spec v1 §1.4.1: enough of them for `minValues`."""
    if operator == "In" and not values:
        return "operator In needs at least one value"
    if operator == "In" and needed is not None and len(set(values)) < needed:
        return f"{len(set(values))} values are too few for minValues {needed}"
    if operator in _ONE_NUMBER and not (len(values) == 1 and values[0].isascii() and values[0].isdecimal()):
        return f"operator {operator} needs exactly one value, a whole number of 0 or more, got {list(values)}"
    return None
