"""What a node class's status says, in the same words on every cloud: conditions, and what its selectors found.

Source: spec v1 §1.8, C-15; spec v1alpha5 §1.8.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from karpenter.model.errors import ManifestError
from karpenter.model.meta import Condition, find_condition

READY: Final = "Ready"
VALIDATED: Final = "ValidationSucceeded"
SUBNETS: Final = "SubnetsReady"
SECURITY_GROUPS: Final = "SecurityGroupsReady"
IMAGES: Final = "AMIsReady"
PROFILE: Final = "InstanceProfileReady"
RESERVATIONS: Final = "CapacityReservationsReady"
PLACEMENT_GROUP: Final = "PlacementGroupReady"

_NOTHING_FOUND: Final = {
    SUBNETS: "SubnetsNotFound",
    SECURITY_GROUPS: "SecurityGroupsNotFound",
    IMAGES: "AMINotFound",
    PLACEMENT_GROUP: "PlacementGroupNotFound",
}
_SELECTED: Final = {
    SUBNETS: "subnets",
    SECURITY_GROUPS: "security groups",
    IMAGES: "images of family {family}",
    PLACEMENT_GROUP: "placement group",
}
_LOOK_AGAIN_S: Final = 60.0
_NOT_READY: Final = "DependenciesNotReady"

Selected = Literal["SubnetsReady", "SecurityGroupsReady", "AMIsReady", "PlacementGroupReady"]


@dataclass(frozen=True, slots=True)
class ClassReport:
    """What looking at a node class brought to light."""

    conditions: tuple[Condition, ...]
    """One for each thing looked at, without `Ready`; a `False` one says what to do. `Unknown` tells that nobody could
    be asked."""
    found: Mapping[str, object] = field(default_factory=dict)
    """Further fields of the status, as they are written: `subnets`, `amis` … None takes a field away."""
    look_again_s: float = _LOOK_AGAIN_S
    """The account changes without telling anybody."""


def is_there(kind: str) -> Condition:
    """Return the condition of something that is as it should be."""
    return Condition(kind, "True")


def selects_nothing(kind: Selected, name: str, hint: str, *, family: str = "") -> Condition:
    """Return the condition of a class whose selector finds nothing; the hint says what there is, or what to check."""
    what = _SELECTED[kind].format(family=family)
    return Condition(kind, "False", _NOTHING_FOUND[kind], f"node class {name!r} selects no {what}; {hint}")


def problems(conditions: Iterable[Condition]) -> str:
    """Return what stands against the use of a class, in one line; empty when nothing does."""
    return _joined(condition for condition in conditions if condition.status == "False")


def _joined(conditions: Iterable[Condition]) -> str:
    """Return each message once: bad credentials stand against everything in the same words."""
    return "; ".join(dict.fromkeys(condition.message for condition in conditions))


def rolled_up(report: Sequence[Condition], before: Iterable[Condition]) -> tuple[Condition, ...]:
    """Return all conditions to write: those of a report, whether the class is valid, and `Ready`.

    What could not be found out stays as it was in `before`. A report that does not judge the class itself leaves it
    valid unless something that it needs is missing.
    """
    known = [_kept(one, before) for one in report]
    needed = [one for one in known if one.type != VALIDATED]
    valid = find_condition(known, VALIDATED) or Condition(VALIDATED, "True")
    if valid.status == "False" and valid.reason != _NOT_READY:
        pass  # wrong by itself, whatever the account has
    elif any(one.status == "False" for one in needed):
        valid = Condition(VALIDATED, "False", _NOT_READY, "what it selects is not there")
    elif any(one.status == "Unknown" for one in needed):
        valid = Condition(VALIDATED, "Unknown", _NOT_READY, "what it selects is not known yet")
    return (*needed, valid, _ready([*needed, valid]))


def _kept(one: Condition, before: Iterable[Condition]) -> Condition:
    """An account that cannot be asked has not lost what it had: machines may go on being launched."""
    present = find_condition(before, one.type) if one.status == "Unknown" else None
    return one if present is None or present.status == "Unknown" or present.reason == _NOT_READY else present


def _ready(parts: Sequence[Condition]) -> Condition:
    if any(one.status == "False" for one in parts):
        failing = [one for one in parts if one.status == "False"]
        # Validity that fails for want of something says nothing that the thing itself does not say better.
        told = [one for one in failing if one.reason != _NOT_READY] or failing
        return Condition(READY, "False", "UnhealthyDependents", _joined(told))
    unknown = [one for one in parts if one.status == "Unknown"]
    if unknown:
        return Condition(READY, "Unknown", unknown[0].reason, unknown[0].message)
    return Condition(READY, "True")


def refused(error: ManifestError) -> tuple[Condition, ...]:
    """Return the conditions of a class that breaks a rule which the server does not know."""
    path = error.errors[0].path if error.errors else ""
    if path.startswith("spec.kubelet"):
        reason = "InvalidKubeletConfiguration"
    elif path.startswith("spec.tags"):
        reason = "TagValidationFailed"
    else:
        reason = "InvalidNodeClass"
    message = str(error)
    return (Condition(VALIDATED, "False", reason, message), Condition(READY, "False", "UnhealthyDependents", message))
