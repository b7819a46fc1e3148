"""Objects that select pods, as far as their selectors go: what default spread constraints spread (S-38)."""

from __future__ import annotations

import msgspec

from karpenter.model.meta import LabelSelector, ObjectMeta


class SetSelection(msgspec.Struct, frozen=True):
    selector: LabelSelector | None = None


class SelectingSet(msgspec.Struct, frozen=True):
    """A ReplicaSet or StatefulSet."""

    metadata: ObjectMeta
    spec: SetSelection = SetSelection()


class PlainSelection(msgspec.Struct, frozen=True):
    selector: dict[str, str] = {}


class ReplicationController(msgspec.Struct, frozen=True):
    metadata: ObjectMeta
    spec: PlainSelection = PlainSelection()
