"""What is around the spec of every object of ours: apiVersion, kind, metadata, status."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import msgspec

from karpenter.model.errors import FieldError, ManifestError
from karpenter.model.meta import Condition, ObjectMeta, OwnerReference
from karpenter.model.nodepool import Origin
from karpenter.model.reading import Reader
from karpenter.model.resources import Resources, format_resources, parse_resources
from karpenter.model.syntax import dns_label_fault
from karpenter.model.units import from_rfc3339

_UNREAD_METADATA: Final = ("selfLink", "managedFields")
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

    def close(self, *, allow_unknown: bool = False) -> None:
        """Finish reading. Raises ManifestError with everything found wrong, fields nobody knows included."""
        if not allow_unknown:
            self.root.finish()
        if self.root.errors:
            raise ManifestError(self.subject, self.root.errors)


def subject_of(raw: Mapping[str, object], kind: str) -> str:
    """Return what users call the object: `Provisioner default`, or just the kind when it has no name."""
    metadata = _as_mapping(raw.get("metadata"))
    name = metadata.get("name") or metadata.get("generateName")
    return f"{kind} {name}" if isinstance(name, str) else kind


def open_envelope(raw: object, *, api_version: str, kind: str) -> Envelope:
    """Return the object opened for reading.

    Raises:
        ManifestError: it is no object at all, or of another kind.
    """
    if not isinstance(raw, Mapping):
        raise ManifestError(kind, (FieldError("", f"expected a {kind} as an object"),))
    subject = subject_of(raw, kind)
    root = Reader(raw)
    named = (root.value("apiVersion"), root.value("kind"))
    if named != (api_version, kind):
        raise ManifestError(subject, (FieldError("kind", f"expected {api_version} {kind}, got {named[0]} {named[1]}"),))
    metadata = _read_metadata(root.part("metadata", required=True))
    return Envelope(
        subject=subject,
        metadata=metadata,
        origin=Origin(api_version, kind, metadata.name, metadata.uid),
        root=root,
        spec=root.part("spec", required=True),
        status=_as_mapping(root.value("status")),
    )


def _read_metadata(reader: Reader) -> ObjectMeta:
    for name in _UNREAD_METADATA:
        reader.value(name)
    metadata = ObjectMeta(
        name=reader.string("name"),
        generate_name=reader.string("generateName"),
        namespace=reader.string("namespace"),
        uid=reader.string("uid"),
        resource_version=reader.string("resourceVersion"),
        generation=reader.integer("generation") or 0,
        creation_timestamp=_read_timestamp(reader, "creationTimestamp"),
        deletion_timestamp=_read_timestamp(reader, "deletionTimestamp"),
        deletion_grace_period_seconds=reader.integer("deletionGracePeriodSeconds"),
        labels=reader.texts("labels"),
        annotations=reader.texts("annotations"),
        finalizers=reader.strings("finalizers"),
        owner_references=tuple(_read_owner(part) for part in reader.parts("ownerReferences")),
    )
    if metadata.name:
        reader.check("name", dns_label_fault(metadata.name))
    elif metadata.generate_name:
        reader.check("generateName", dns_label_fault(metadata.generate_name + "x" * _GENERATED_SUFFIX))
    else:
        reader.string("name", required=True)
    return metadata


def _read_timestamp(reader: Reader, name: str) -> str | None:
    text = reader.text(name)
    if text is not None:
        reader.parsed(name, from_rfc3339, default=None)
    return text


def _read_owner(part: Reader) -> OwnerReference:
    return OwnerReference(
        api_version=part.string("apiVersion", required=True),
        kind=part.string("kind", required=True),
        name=part.string("name", required=True),
        uid=part.string("uid"),
        controller=part.boolean("controller"),
        block_owner_deletion=part.boolean("blockOwnerDeletion"),
    )


def _as_mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def read_conditions(status: Mapping[str, object]) -> tuple[Condition, ...]:
    """Return the conditions of a status. It is for controllers to write, so what cannot be read is left out."""
    listed = status.get("conditions")
    found = []
    for item in listed if isinstance(listed, list) else ():
        given = {name: value for name, value in _as_mapping(item).items() if value is not None}
        try:
            condition = msgspec.convert(given, Condition)
            _ = condition.since
        except (msgspec.ValidationError, ValueError):
            continue
        found.append(condition)
    return tuple(found)


def read_status_resources(status: Mapping[str, object], name: str = "resources") -> dict[str, int]:
    """Return a resource list of a status; empty when it is absent or cannot be read."""
    try:
        return parse_resources(msgspec.convert(_as_mapping(status.get(name)), dict[str, str | int]))
    except (msgspec.ValidationError, ValueError):
        return {}


def encode_status_resources(resources: Resources, previous: Resources) -> dict[str, str | None]:
    """Return a merge patch from one resource list to another: what is gone becomes null."""
    gone: dict[str, str | None] = {name: None for name in previous if name not in resources}
    return {**gone, **format_resources(resources)}
