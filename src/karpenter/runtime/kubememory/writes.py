"""How to write an object, and what a write and a deletion answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from karpenter.runtime.kubememory.gate import FieldValidation
from karpenter.runtime.kubememory.records import Record


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """How to write."""

    dry_run: bool = False
    """Do everything but store it."""
    subresource: str = ""
    """`status`, or `finalize` of a namespace: only that part is written."""
    field_validation: FieldValidation = "Warn"
    written_as: str = ""
    """The subresource that managed fields are noted for when it is another one, as `scale`, which writes the object."""
    field_manager: str = ""
    """Who writes. Empty: nobody in particular, who leaves no trace on objects without managed fields."""
    force: bool = False
    """Take over fields that other managers have; for server-side apply."""


PLAIN_WRITE: Final = WriteOptions()


@dataclass(frozen=True, slots=True)
class Written:
    """What a write answers."""

    record: Record
    warnings: tuple[str, ...] = ()
    created: bool = False


@dataclass(frozen=True, slots=True)
class Deleted:
    """What a deletion answers: the object's last known state, and whether it is gone already."""

    record: Record
    is_gone: bool
