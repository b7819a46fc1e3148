"""Pods made from a workload's template, and the hash by which revisions of a template are told apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from karpenter.model.meta import ObjectMeta
from karpenter.runtime.kube import RawObject, Resource

POD_TEMPLATE_HASH: Final = "pod-template-hash"
_ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"
"""Without vowels and look-alikes: a hash never spells a word."""

_encode = msgspec.json.Encoder(order="deterministic").encode


def template_hash(template: Mapping[str, Any], collisions: int | None = None) -> str:
    """Return a short name for a template: equal templates have equal names; `collisions` makes another one."""
    text = _encode(template) + (str(collisions).encode() if collisions is not None else b"")
    return "".join(_ALPHABET[ord(digit) % len(_ALPHABET)] for digit in str(_fnv1a(text)))


def _fnv1a(data: bytes) -> int:
    number = 0x811C9DC5
    for byte in data:
        number = (number ^ byte) * 0x01000193 & 0xFFFFFFFF
    return number


def same_template(first: RawObject, second: RawObject) -> bool:
    """Return whether two templates are equal, the hash label that controllers add left out."""
    return _without_hash(first) == _without_hash(second)


def _without_hash(template: RawObject) -> RawObject:
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != POD_TEMPLATE_HASH}
    # Servers write an empty timestamp into templates; it says nothing.
    rest = {key: value for key, value in metadata.items() if key not in ("labels", "creationTimestamp")}
    return {**template, "metadata": rest | ({"labels": labels} if labels else {})}


def with_labels(template: RawObject, labels: Mapping[str, str]) -> RawObject:
    """Return a template with labels added to its pods."""
    metadata = template.get("metadata") or {}
    return {**template, "metadata": {**metadata, "labels": {**(metadata.get("labels") or {}), **labels}}}


def controlled_by(resource: Resource[Any], owner: ObjectMeta) -> RawObject:
    """Return the reference of an object to the controller it belongs to."""
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def pod_from(template: RawObject, owner: RawObject, *, namespace: str, generate_name: str) -> RawObject:
    """Return the manifest of a new pod of a workload."""
    given = template.get("metadata") or {}
    kept = {key: given[key] for key in ("labels", "annotations", "finalizers") if given.get(key)}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**kept, "namespace": namespace, "generateName": generate_name, "ownerReferences": [owner]},
        "spec": template.get("spec") or {},
    }


def template_labels(template: RawObject) -> dict[str, str]:
    """Return the labels that pods of a template get."""
    labels: dict[str, str] = (template.get("metadata") or {}).get("labels") or {}
    return labels


def status_manifest(status: msgspec.Struct, *, always: tuple[str, ...]) -> RawObject:
    """Return a status as a merge patch: what is zero or empty is taken away, save the fields that are always there."""
    found: RawObject = msgspec.to_builtins(status)
    return {key: value if key in always else value or None for key, value in found.items()}
