"""What is around the spec of every object of ours: apiVersion, kind, metadata, status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from karpenter.model.errors import FieldError, ManifestError
from karpenter.model.manifests import from_wire, prune_nulls, subject_of
from karpenter.model.meta import Condition, ObjectMeta
from karpenter.model.nodepool import Origin
from karpenter.model.reading import Reader
from karpenter.model.resources import Resources, format_resources, parse_resources
from karpenter.model.syntax import dns_label_fault

_METADATA: Final = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation", "creationTimestamp",
    "deletionTimestamp", "deletionGracePeriodSeconds", "labels", "annotations", "finalizers", "ownerReferences",
    "managedFields",
)  # fmt: skip
_GENERATED_SUFFIX: Final = 5
"""Characters that the API server appends to `generateName`."""


@dataclass(frozen=True, slots=True)
class Envelope:
    """An object of ours, opened: who it is, and readers for what is in it."""

    subject: str
    metadata: ObjectMeta
    origin: Origin
    root: Reader
    spec: Reader
    status: Mapping[str, object]

    def close(self) -> None:
        """Finish reading. Raises ManifestError with everything found wrong."""
        self.root.finish()
        if self.root.errors:
            raise ManifestError(self.subject, self.root.errors)


def open_envelope(raw: object, *, api_version: str, kind: str, requires_spec: bool = True) -> Envelope:
    """Return the object opened for reading.

    Raises:
        ManifestError: it is no object at all, or of another kind.
    """
    subject = subject_of(raw)
    if not isinstance(raw, Mapping):
        raise ManifestError(kind, (FieldError("", f"expected a {kind} as an object"),))
    root = Reader(raw)
    named = (root.value("apiVersion"), root.value("kind"))
    if named != (api_version, kind):
        raise ManifestError(subject, (FieldError("kind", f"expected {api_version} {kind}, got {named[0]} {named[1]}"),))
    metadata = _read_metadata(root)
    return Envelope(
        subject=subject,
        metadata=metadata,
        origin=Origin(api_version, kind, metadata.name, metadata.uid),
        root=root,
        spec=root.part("spec", required=requires_spec),
        status=_as_mapping(root.value("status")),
    )


def _read_metadata(root: Reader) -> ObjectMeta:
    try:
        metadata = from_wire(ObjectMeta, root.mapping("metadata"))
        _ = metadata.created_at, metadata.deleted_at
    except ManifestError as error:
        root.errors.extend(FieldError(f"metadata.{fault.path}", fault.reason, fault.fix) for fault in error.errors)
        return ObjectMeta()
    except ValueError as error:
        root.fail("metadata", f"has a timestamp that is none: {error}")
        return ObjectMeta()
    inner = root.part("metadata")
    for name in _METADATA:
        inner.value(name)
    if metadata.name:
        inner.check("name", dns_label_fault(metadata.name))
    elif metadata.generate_name:
        inner.check("generateName", dns_label_fault(metadata.generate_name + "x" * _GENERATED_SUFFIX))
    else:
        inner.fail("name", "is required and must not be empty")
    return metadata


def _as_mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def read_conditions(status: Mapping[str, object]) -> tuple[Condition, ...]:
    """Return the conditions of a status. It is for controllers to write, so what cannot be read is left out."""
    listed = status.get("conditions")
    found = []
    for item in listed if isinstance(listed, list) else ():
        try:
            found.append(msgspec.convert(prune_nulls(item), Condition))
        except msgspec.ValidationError:
            continue
    return tuple(found)


def read_status_resources(status: Mapping[str, object], name: str = "resources") -> dict[str, int]:
    """Return a resource list of a status; empty when it is absent or cannot be read."""
    try:
        return parse_resources(msgspec.convert(prune_nulls(_as_mapping(status.get(name))), dict[str, str | int]))
    except ValueError:
        return {}


def encode_conditions(conditions: Sequence[Condition]) -> list[dict[str, object]]:
    """Return conditions in manifest form, sorted by type; fields that are empty are left out."""
    encoded = [msgspec.to_builtins(condition) for condition in sorted(conditions, key=lambda item: item.type)]
    required = {"type", "status", "reason", "message"}
    return [{name: value for name, value in item.items() if name in required or value is not None} for item in encoded]


def encode_status_resources(resources: Resources, previous: Resources) -> dict[str, str | None]:
    """Return a merge patch from one resource list to another: what is gone becomes null."""
    gone: dict[str, str | None] = {name: None for name in previous if name not in resources}
    return {**gone, **format_resources(resources)}
