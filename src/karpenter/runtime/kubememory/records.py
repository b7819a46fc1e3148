"""A stored object: its bytes, and the few facts that lists and watches select by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from karpenter.model.units import ObjectKey
from karpenter.runtime.kube import RawObject
from karpenter.runtime.kubememory.resources import ApiResource

Json: TypeAlias = Any
"""A decoded JSON value of any kind."""

_decode = msgspec.json.Decoder(dict).decode
_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, slots=True)
class Record:
    """One version of one object. Bytes are what is kept: reading them anew is cheaper than copying a tree, and safe."""

    key: ObjectKey
    uid: str
    revision: int
    data: bytes
    """The object as JSON, in the version it is stored in."""
    labels: Mapping[str, str]
    fields: Mapping[str, str]
    """Values of the fields that selectors may name; see `ApiResource.field_labels`."""

    def decode(self) -> RawObject:
        """Return a fresh tree that the caller may change."""
        tree: RawObject = _decode(self.data)
        return tree

    def at(self, revision: int) -> Record:
        """Return the same object as of another revision: how a deletion is told."""
        tree = self.decode()
        tree["metadata"]["resourceVersion"] = str(revision)
        return Record(self.key, self.uid, revision, _encode(tree), self.labels, self.fields)


def encode(tree: object) -> bytes:
    """Return a tree as JSON bytes."""
    return _encode(tree)


def copy_tree(tree: RawObject) -> RawObject:
    """Return a JSON tree of its own: no list or map is shared with the original."""
    copied: RawObject = _decode(_encode(tree))
    return copied


def record_of(resource: ApiResource, tree: RawObject, revision: int) -> Record:
    """Return the record of a tree, with `metadata.resourceVersion` set in its bytes; none for revision 0, a dry run."""
    metadata = tree["metadata"]
    if revision:
        metadata["resourceVersion"] = str(revision)
    key = ObjectKey(metadata.get("namespace", ""), metadata["name"])
    return Record(
        key,
        metadata.get("uid", ""),
        revision,
        _encode(tree),
        metadata.get("labels") or {},
        _selectable(resource, tree, key),
    )


def _selectable(resource: ApiResource, tree: RawObject, key: ObjectKey) -> dict[str, str]:
    fields = {label: _text_at(tree, label) for label in resource.field_labels}
    fields["metadata.name"] = key.name
    if resource.namespaced:
        fields["metadata.namespace"] = key.namespace
    return fields


def _text_at(tree: RawObject, label: str) -> str:
    if label == "source":  # an Event's selector says `source` and means the component
        label = "source.component"
    value: object = tree
    for part in label.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    match value:
        case None:
            return _ABSENT.get(label, "")
        case bool():
            return "true" if value else "false"
        case _:
            return str(value)


_ABSENT = {
    "spec.unschedulable": "false",
    "spec.hostNetwork": "false",
    "status.replicas": "0",
    "status.successful": "0",
}
