"""In which form objects are answered: as they are, as rows of a table, or as their metadata alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from karpenter.model.units import UnixSeconds
from karpenter.runtime.kube import KubeError, RawObject
from karpenter.runtime.kubememory.records import Record
from karpenter.runtime.kubememory.resources import ApiResource
from karpenter.sim.apiserver.printing import Printer

_META_V1: Final = "meta.k8s.io/v1"
_AS: Final = re.compile(r"\bas=([A-Za-z]+)")


class NotAcceptable(KubeError):
    """No form that the client takes is served."""

    status, reason = 406, "NotAcceptable"


@dataclass(frozen=True, slots=True)
class Page:
    """What a list answers beside its items."""

    revision: int
    token: str = ""
    """Where the next page starts; empty on the last."""
    remaining: int | None = None
    """How many objects come after this page; None when nobody counted."""


class Plain:
    """Objects as they are."""

    def __init__(self, resource: ApiResource, present: Callable[[Record], bytes]) -> None:
        self._resource = resource
        self._present = present

    def one(self, record: Record) -> bytes:
        """Return one object."""
        return self._present(record)

    def many(self, records: Iterable[Record], page: Page) -> Iterator[bytes]:
        """Yield the parts of a list: the objects' own bytes, nothing is encoded anew."""
        head = {
            "kind": self._resource.list_kind,
            "apiVersion": self._resource.api_version,
            "metadata": _list_meta(page),
        }
        return _joined(head, "items", (self.one(record) for record in records))

    def bookmark(self, revision: int) -> bytes:
        """Return an object that tells a revision only."""
        return msgspec.json.encode(_marker(self._resource.kind, self._resource.api_version, revision))


class Partial:
    """Metadata alone."""

    def one(self, record: Record) -> bytes:
        """Return one object's metadata."""
        return msgspec.json.encode(_partial(record.decode()))

    def many(self, records: Iterable[Record], page: Page) -> Iterator[bytes]:
        """Yield the parts of a list of metadata."""
        head = {"kind": "PartialObjectMetadataList", "apiVersion": _META_V1, "metadata": _list_meta(page)}
        return _joined(head, "items", (self.one(record) for record in records))

    def bookmark(self, revision: int) -> bytes:
        """Return metadata that tell a revision only."""
        return msgspec.json.encode(_marker("PartialObjectMetadata", _META_V1, revision))


class Table:
    """Rows, as kubectl prints them."""

    def __init__(self, printer: Printer, now: Callable[[], UnixSeconds], *, include: str) -> None:
        self._printer = printer
        self._now = now
        self._include = include or "Metadata"
        self._headings: list[dict[str, Any]] | None = [column.definition() for column in printer.columns]

    def one(self, record: Record) -> bytes:
        """Return a table of one row."""
        return b"".join(self.many([record], Page(record.revision)))

    def many(self, records: Iterable[Record], page: Page) -> Iterator[bytes]:
        """Yield the parts of a table. Within one watch, only the first has headings."""
        now = self._now()
        head = {
            "kind": "Table",
            "apiVersion": _META_V1,
            "metadata": _list_meta(page),
            "columnDefinitions": self._headings,
        }
        return _joined(head, "rows", (msgspec.json.encode(self._row(record.decode(), now)) for record in records))

    def bookmark(self, revision: int) -> bytes:
        """Return a row that tells a revision only."""
        row = {
            "cells": [None] * len(self._printer.columns),
            "object": _marker("PartialObjectMetadata", _META_V1, revision),
        }
        meta = _list_meta(Page(revision))
        return msgspec.json.encode({"kind": "Table", "apiVersion": _META_V1, "metadata": meta, "rows": [row]})

    def forget_headings(self) -> None:
        """Leave the headings out from now on: the first event of a watch has told them."""
        self._headings = None

    def _row(self, tree: RawObject, now: UnixSeconds) -> dict[str, Any]:
        row: dict[str, Any] = {"cells": list(self._printer.cells(tree, now))}
        match self._include:
            case "Object":
                row["object"] = tree
            case "Metadata":
                row["object"] = _partial(tree)
        return row


Format = Plain | Partial | Table


def negotiate(accept: str, *, plain: Callable[[], Plain], table: Callable[[], Table]) -> Format:
    """Return the first form that a client accepts and we have. Raises NotAcceptable."""
    for part in accept.split(",") if accept else ("*/*",):
        media = part.split(";")[0].strip()
        if media not in ("application/json", "*/*", "application/*", ""):
            continue
        match _AS.search(part):
            case None:
                return plain()
            case found if found[1] == "Table":
                return table()
            case found if found[1] in ("PartialObjectMetadata", "PartialObjectMetadataList"):
                return Partial()
    raise NotAcceptable("only the following media types are accepted: application/json")


def _joined(head: dict[str, Any], field: str, items: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the parts of an object with a list in it: only one item at a time is in memory as a tree."""
    yield msgspec.json.encode(head)[:-1] + f',"{field}":['.encode()
    for index, item in enumerate(items):
        yield b"," + item if index else item
    yield b"]}"


def _list_meta(page: Page) -> dict[str, Any]:
    meta: dict[str, Any] = {"resourceVersion": str(page.revision)}
    if page.token:
        meta["continue"] = page.token
        if page.remaining is not None:
            meta["remainingItemCount"] = page.remaining
    return meta


def _partial(tree: RawObject) -> dict[str, Any]:
    return {"kind": "PartialObjectMetadata", "apiVersion": _META_V1, "metadata": tree["metadata"]}


def _marker(kind: str, api_version: str, revision: int) -> dict[str, Any]:
    return {
        "kind": kind,
        "apiVersion": api_version,
        "metadata": {"resourceVersion": str(revision), "creationTimestamp": None},
    }
