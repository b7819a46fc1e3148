"""Requirements: which values of a label are allowed, and the algebra over them.

A requirement is a set of strings, given either by its members or by what it leaves out, with integer bounds beside it.
Source: spec v1alpha5 §1.5 (API-20 … API-29).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

from karpenter.model.labels import WELL_KNOWN, canonical

Operator: TypeAlias = Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"]
OPERATORS: Final[tuple[str, ...]] = get_args(Operator)


@dataclass(frozen=True, slots=True)
class Requirement:
    """The allowed values of one label key. Build it with `Requirement.of`; the fields are the normal form."""

    key: str
    complement: bool
    """True: every value but `values` is allowed. False: only `values` are."""
    values: frozenset[str]
    gt: int | None = None
    """Exclusive lower bound; None means unbounded. Concrete sets carry no bounds."""
    lt: int | None = None
    """Exclusive upper bound; None means unbounded."""
    min_values: int | None = None
    """How many distinct values the chosen instance types must offer; None means any number."""
    must_exist: bool = False
    """The label must be there although the values alone would allow its absence: `Exists` and `NotIn` together."""

    @classmethod
    def of(cls, key: str, operator: str, values: Iterable[str] = (), *, min_values: int | None = None) -> Requirement:
        """Return the requirement a manifest entry states; the key's old aliases are rewritten.

        Raises:
            ValueError: the operator is unknown, or a bound is not one integer.
        """
        key = canonical(key)
        given = frozenset(values)
        match operator:
            case "In":
                return cls(key, complement=False, values=given, min_values=min_values)
            case "NotIn":
                return cls(key, complement=True, values=given, min_values=min_values)
            case "Exists":
                return cls(key, complement=True, values=frozenset(), min_values=min_values)
            case "DoesNotExist":
                return cls(key, complement=False, values=frozenset(), min_values=min_values)
            case "Gt" | "Gte" | "Lt" | "Lte":
                if len(given) != 1:
                    raise ValueError(f"operator {operator} needs exactly one value")
                text = next(iter(given))
                bound = _integer(text)
                if bound is None:
                    raise ValueError(f"operator {operator} needs an integer, got {text!r}")
                if operator.startswith("G"):
                    gt = bound if operator == "Gt" else bound - 1
                    return cls(key, complement=True, values=frozenset(), gt=gt, min_values=min_values)
                lt = bound if operator == "Lt" else bound + 1
                return cls(key, complement=True, values=frozenset(), lt=lt, min_values=min_values)
            case _:
                raise ValueError(f"operator {operator!r} is not one of {', '.join(OPERATORS)}")

    @property
    def operator(self) -> Literal["In", "NotIn", "Exists", "DoesNotExist"]:
        """The operator this set would be written with, bounds apart (API-23)."""
        if self.complement:
            return "NotIn" if self.values else "Exists"
        return "In" if self.values else "DoesNotExist"

    def allows(self, value: str) -> bool:
        """Return whether the label may have this value (API-21)."""
        return (value in self.values) != self.complement and self._within_bounds(value)

    def _within_bounds(self, value: str) -> bool:
        if self.gt is None and self.lt is None:
            return True
        number = _integer(value)
        if number is None:
            return False
        return (self.gt is None or number > self.gt) and (self.lt is None or number < self.lt)

    def intersect(self, other: Requirement) -> Requirement:
        """Return the requirement that allows exactly what both allow, absence of the label included (API-22)."""
        joint = self._joint(other)
        if joint.allows_absence and not (self.allows_absence and other.allows_absence):
            return replace(joint, must_exist=True)
        return joint

    def _joint(self, other: Requirement) -> Requirement:
        gt = _stricter(max, self.gt, other.gt)
        lt = _stricter(min, self.lt, other.lt)
        min_values = _stricter(max, self.min_values, other.min_values)
        if gt is not None and lt is not None and gt >= lt:
            return Requirement(self.key, complement=False, values=frozenset(), min_values=min_values)
        bounded = Requirement(self.key, complement=True, values=frozenset(), gt=gt, lt=lt)
        match self.complement, other.complement:
            case True, True:
                values = self.values | other.values
            case True, False:
                values = other.values - self.values
            case False, True:
                values = self.values - other.values
            case _:
                values = self.values & other.values
        kept = frozenset(value for value in values if bounded._within_bounds(value))
        if self.complement and other.complement:
            return Requirement(self.key, complement=True, values=kept, gt=gt, lt=lt, min_values=min_values)
        return Requirement(self.key, complement=False, values=kept, min_values=min_values)

    def overlaps(self, other: Requirement) -> bool:
        """Return whether both can be met by one label, or by none: NotIn and DoesNotExist agree on absence (API-26)."""
        if self.intersect(other).operator != "DoesNotExist":
            return True
        return self.allows_absence and other.allows_absence

    @property
    def allows_absence(self) -> bool:
        """Whether an object without the label meets the requirement: true for NotIn and DoesNotExist."""
        return self.complement == bool(self.values) and not self.must_exist

    def entries(self) -> tuple[tuple[Operator, tuple[str, ...]], ...]:
        """Return operators and sorted values that say the same together; most need one, bounds and exclusions more.

        API-24 would keep only one of them and lose the others.
        """
        written: list[tuple[Operator, tuple[str, ...]]] = []
        if self.gt is not None:
            written.append(("Gt", (str(self.gt),)))
        if self.lt is not None:
            written.append(("Lt", (str(self.lt),)))
        if self.must_exist and not written:
            written.append(("Exists", ()))
        if self.values or not written or not self.complement:
            written.append((self.operator, tuple(sorted(self.values))))
        return tuple(written)

    def __str__(self) -> str:
        shown = (f"{operator} [{', '.join(values)}]" if values else operator for operator, values in self.entries())
        return f"{self.key} {' and '.join(shown)}"


def _integer(text: str) -> int | None:
    """Read an integer as Go does: ASCII digits after at most one sign, nothing that Python would forgive."""
    digits = text[1:] if text[:1] in {"-", "+"} else text
    return int(text) if digits.isascii() and digits.isdecimal() else None


def _stricter(pick: Callable[[int, int], int], first: int | None, second: int | None) -> int | None:
    if first is None or second is None:
        return second if first is None else first
    return pick(first, second)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Why two requirement sets cannot both hold: the key, what each side says, and a spelling hint."""

    key: str
    ours: Requirement | None
    """What the node side says; None when it does not define the label at all."""
    theirs: Requirement
    suggestion: str | None = None
    """A known key that is spelled almost the same; None when there is none."""

    def __str__(self) -> str:
        if self.ours is None:
            hint = f" (did you mean {self.suggestion!r}?)" if self.suggestion else ""
            return f"label {self.key!r} has no known values{hint}"
        return f"{self.theirs} conflicts with {self.ours}"


class Requirements(Mapping[str, Requirement]):
    """An immutable set of requirements, one a key: adding to a key intersects (API-25). Iterates sorted by key."""

    __slots__ = ("_by_key", "_hash")

    def __init__(self, requirements: Iterable[Requirement] = ()) -> None:
        by_key: dict[str, Requirement] = {}
        for requirement in requirements:
            present = by_key.get(requirement.key)
            by_key[requirement.key] = requirement if present is None else present.intersect(requirement)
        self._by_key = dict(sorted(by_key.items()))
        self._hash: int | None = None

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> Requirements:
        """Return labels as single-value `In` requirements; aliased keys are rewritten."""
        return cls(Requirement.of(key, "In", (value,)) for key, value in labels.items())

    def __getitem__(self, key: str) -> Requirement:
        return self._by_key[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_key)

    def __len__(self) -> int:
        return len(self._by_key)

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(tuple(self._by_key.values()))
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Requirements) and self._by_key == other._by_key

    def __repr__(self) -> str:
        return f"Requirements({', '.join(str(requirement) for requirement in self._by_key.values())})"

    def allowed(self, key: str) -> Requirement:
        """Return the requirement on a key; a key nobody mentions may have any value (Exists)."""
        return self._by_key.get(key) or Requirement(key, complement=True, values=frozenset())

    def intersect(self, *others: Iterable[Requirement] | Requirements) -> Requirements:
        """Return the set that both sides meet, key by key."""
        combined = list(self._by_key.values())
        for other in others:
            combined.extend(other.values() if isinstance(other, Requirements) else other)
        return Requirements(combined)

    def without(self, *keys: str) -> Requirements:
        """Return the set with these keys left out."""
        return Requirements(requirement for key, requirement in self._by_key.items() if key not in keys)

    def conflicts(self, other: Requirements) -> tuple[Conflict, ...]:
        """Return the keys that both sides define and that no label can satisfy together (API-26)."""
        shared = (key for key in other if key in self._by_key)
        return tuple(
            Conflict(key, self._by_key[key], other[key]) for key in shared if not self._by_key[key].overlaps(other[key])
        )

    def incompatibilities(
        self, incoming: Requirements, *, well_known: frozenset[str] = WELL_KNOWN
    ) -> tuple[Conflict, ...]:
        """Return why `incoming` (a pod) cannot be met by this side (a node template); empty when it can (API-27).

        A key that is not well known must be defined by this side, unless the pod is content with its absence. A missing
        well-known key means any value. For real nodes pass an empty `well_known`: an absent label has no value.
        """
        undefined = [
            Conflict(key, None, incoming[key], _similar(key, (*self._by_key, *well_known)))
            for key in self._undefined(incoming, well_known)
        ]
        return (*undefined, *self.conflicts(incoming))

    def _undefined(self, incoming: Requirements, well_known: frozenset[str]) -> Iterator[str]:
        for key, requirement in incoming.items():
            if key not in self._by_key and key not in well_known and not requirement.allows_absence:
                yield key

    def compatible(self, incoming: Requirements, *, well_known: frozenset[str] = WELL_KNOWN) -> bool:
        """Return whether nothing speaks against `incoming` on this side; see `incompatibilities`."""
        # Not through `incompatibilities`, which looks for spelling mistakes and is slow.
        return not any(self._undefined(incoming, well_known)) and not self.conflicts(incoming)

    def allows(self, labels: Mapping[str, str]) -> bool:
        """Return whether an object with these labels meets every requirement; absence counts as absence."""
        return self.unmet(labels) is None

    def unmet(self, labels: Mapping[str, str]) -> Requirement | None:
        """Return the first requirement that an object with these labels does not meet; None when it meets all."""
        for key, requirement in self._by_key.items():
            if not (requirement.allows(labels[key]) if key in labels else requirement.allows_absence):
                return requirement
        return None


def _similar(key: str, known: Sequence[str]) -> str | None:
    matches = difflib.get_close_matches(key, sorted(set(known)), n=1, cutoff=0.8)
    return matches[0] if matches else None
