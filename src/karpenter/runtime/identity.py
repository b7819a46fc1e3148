"""Who an object is and which version of it this is, whether it was decoded to a wire struct or stayed raw JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, cast

from karpenter.model.meta import ObjectMeta
from karpenter.model.units import ObjectKey


class _HasMetadata(Protocol):
    @property
    def metadata(self) -> ObjectMeta: ...


def key_of(obj: object) -> ObjectKey:
    """Return the namespace and name of an object."""
    if isinstance(obj, dict):
        metadata = _metadata(obj)
        return ObjectKey(metadata.get("namespace") or "", metadata.get("name") or "")
    return cast(_HasMetadata, obj).metadata.key


def uid_of(obj: object) -> str:
    """Return the object's uid; empty for one that no server has stored."""
    if isinstance(obj, dict):
        return _metadata(obj).get("uid") or ""
    return cast(_HasMetadata, obj).metadata.uid


def version_of(obj: object) -> str:
    """Return the object's resource version; empty for one that no server has stored."""
    if isinstance(obj, dict):
        return _metadata(obj).get("resourceVersion") or ""
    return cast(_HasMetadata, obj).metadata.resource_version


def is_older(version: str, than: str) -> bool:
    """Return whether a resource version is certainly earlier than another.

    API servers count upwards and promise that versions of one resource compare as numbers. Of versions that are no
    numbers nothing is known, so none is older.
    """
    return version.isdecimal() and than.isdecimal() and int(version) < int(than)


def _metadata(obj: dict[Any, Any]) -> Mapping[str, Any]:
    return obj.get("metadata") or {}
