"""Object metadata, conditions and label selectors, as every Kubernetes object has them.

Structs here and in `core` have the API's field names on the wire (camelCase) and keep only what we read. They are never
written back whole: writers send patches of the fields they own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from karpenter.model.units import ObjectKey, UnixSeconds, from_rfc3339, to_rfc3339


class OwnerReference(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Who an object belongs to; the owner's deletion cascades."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Name, identity, labels and life of an object."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()

    @property
    def key(self) -> ObjectKey:
        """Namespace and name."""
        return ObjectKey(self.namespace, self.name)

    @property
    def created_at(self) -> UnixSeconds | None:
        """When the object was created; None for one that no server has stored."""
        return from_rfc3339(self.creation_timestamp) if self.creation_timestamp else None

    @property
    def deleted_at(self) -> UnixSeconds | None:
        """The deletion timestamp (deadline of the grace period); None while the object is not being deleted."""
        return from_rfc3339(self.deletion_timestamp) if self.deletion_timestamp else None

    @property
    def is_deleting(self) -> bool:
        """Whether deletion was requested and finalizers or a grace period keep the object."""
        return self.deletion_timestamp is not None

    def controller(self) -> OwnerReference | None:
        """Return the owner that controls the object; None when nobody does."""
        return next((owner for owner in self.owner_references if owner.controller), None)

    def controller_key(self, kind: str) -> ObjectKey | None:
        """Return namespace and name of the controller if it is of this kind; None otherwise."""
        owner = self.controller()
        return ObjectKey(self.namespace, owner.name) if owner is not None and owner.kind == kind else None

    def is_owned_by(self, kind: str) -> bool:
        """Return whether any owner is of this kind."""
        return any(owner.kind == kind for owner in self.owner_references)


ConditionStatus = Literal["True", "False", "Unknown"]


class Condition(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One observed fact about an object."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None
    observed_generation: int | None = None

    @property
    def is_true(self) -> bool:
        """Whether the condition holds."""
        return self.status == "True"

    @property
    def since(self) -> UnixSeconds | None:
        """When the status last changed; None when nobody wrote it down."""
        return from_rfc3339(self.last_transition_time) if self.last_transition_time else None


def find_condition(conditions: Iterable[Condition], kind: str) -> Condition | None:
    """Return the condition of this type; None when it was never set."""
    return next((condition for condition in conditions if condition.type == kind), None)


def changed_condition(conditions: Iterable[Condition], wanted: Condition, now: UnixSeconds) -> Condition | None:
    """Return `wanted` with its transition time, or None when the conditions already say the same.

    The time moves only when the status changes. A missing reason becomes the type, which the API demands.
    """
    present = find_condition(conditions, wanted.type)
    reason = wanted.reason or wanted.type
    if present and (present.status, present.reason, present.message) == (wanted.status, reason, wanted.message):
        return None
    same = present is not None and present.status == wanted.status
    since = present.last_transition_time if present is not None and same else to_rfc3339(now)
    return msgspec.structs.replace(wanted, reason=reason, last_transition_time=since)


def merged_conditions(conditions: Iterable[Condition], changed: Iterable[Condition]) -> list[dict[str, object]]:
    """Return the whole list for a status patch: the present conditions with the changed ones in their place."""
    by_type = {condition.type: condition for condition in (*conditions, *changed)}
    raw: list[dict[str, object]] = [msgspec.to_builtins(condition) for condition in by_type.values()]
    return [{key: value for key, value in entry.items() if value is not None} for entry in raw]


class SelectorExpression(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One expression of a label selector or node selector term."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether labels meet the expression, by the rules of label selectors (NotIn is met by absence)."""
        match self.operator:
            case "In":
                return labels.get(self.key) in self.values
            case "NotIn":
                return self.key not in labels or labels[self.key] not in self.values
            case "Exists":
                return self.key in labels
            case "DoesNotExist":
                return self.key not in labels
            case _:
                return False


class LabelSelector(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A query over labels: all entries must hold. Empty matches everything; an absent selector matches nothing."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[SelectorExpression, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether an object with these labels is selected."""
        return all(labels.get(key) == value for key, value in self.match_labels.items()) and all(
            expression.matches(labels) for expression in self.match_expressions
        )
