"""Getting and listing: one object, or pages of many."""

from __future__ import annotations

import base64
import binascii
from bisect import bisect_right
from functools import partial
from typing import Final

import msgspec
from aiohttp import web

from karpenter.model.units import ObjectKey
from karpenter.runtime.kube import BadRequest, Gone
from karpenter.runtime.kubememory.records import Record
from karpenter.runtime.kubememory.refusals import Causes
from karpenter.runtime.kubememory.selectors import Selection, select
from karpenter.runtime.kubememory.store import MemoryStore
from karpenter.sim.apiserver.answers import answer_bytes, answer_parts
from karpenter.sim.apiserver.formats import Format, Page, Plain, Table, negotiate
from karpenter.sim.apiserver.printing import printer_of
from karpenter.sim.apiserver.queries import TooLargeVersion, is_true, options_kind, version_of, whole_number
from karpenter.sim.apiserver.targets import Target

_TOO_OLD: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter."
)


class _Token(msgspec.Struct):
    """Where a list stopped: the revision that all its pages show, and the last object told."""

    revision: int
    namespace: str
    name: str


def format_of(request: web.Request, target: Target, store: MemoryStore) -> Format:
    """Return the form in which a client wants its answer. Raises NotAcceptable."""
    resource, include = target.resource, request.query.get("includeObject", "")
    return negotiate(
        request.headers.get("Accept", ""),
        plain=lambda: Plain(resource, partial(store.present, resource)),
        table=lambda: Table(printer_of(resource, store.custom(resource)), store.now, include=include),
    )


def selection_of(request: web.Request, target: Target) -> Selection:
    """Return what a list or watch is about. Raises BadRequest."""
    query = request.query
    return select(
        target.resource,
        namespace=target.namespace,
        label_selector=query.get("labelSelector", ""),
        field_selector=query.get("fieldSelector", ""),
    )


def get(request: web.Request, target: Target, store: MemoryStore) -> web.Response:
    """Answer with one object."""
    return answer_bytes(format_of(request, target, store).one(store.get(target.resource, target.key)))


def check_versions(request: web.Request, store: MemoryStore) -> None:
    """Raise Invalid, or that the revision does not exist yet, when a list or watch asks for what cannot be."""
    query, causes = request.query, Causes()
    match, given = query.get("resourceVersionMatch", ""), query.get("resourceVersion", "")
    is_watch, initial = is_true(query.get("watch")), "sendInitialEvents" in query
    if match not in ("", "Exact", "NotOlderThan"):
        causes.unsupported("resourceVersionMatch", match, ("Exact", "NotOlderThan", ""))
    elif initial and match != "NotOlderThan":
        causes.forbidden(
            "resourceVersionMatch", "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
        )
    elif match and is_watch and not initial:
        causes.forbidden(
            "resourceVersionMatch", "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        )
    elif match and not given and not initial:
        causes.forbidden("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided")
    causes.raise_for(options_kind("ListOptions"), "")
    if (revision := version_of(query)) and revision > store.revision and not is_watch:
        raise TooLargeVersion(revision, store.revision)


def list_objects(request: web.Request, target: Target, store: MemoryStore) -> web.Response:
    """Answer with all objects that are asked for, or one page of them: all pages are of one revision."""
    check_versions(request, store)
    form, selection = format_of(request, target, store), selection_of(request, target)
    limit, token = whole_number(request.query, "limit"), request.query.get("continue", "")
    if token:
        start = _read_token(token)
        try:
            records = store.list(target.resource, selection, revision=start.revision)
        except Gone as error:
            raise Gone(_TOO_OLD) from error
        revision = start.revision
        after = ObjectKey(start.namespace, start.name)
        records = records[bisect_right(records, after, key=lambda record: record.key) :]
    else:
        revision = _exact_revision(request) or store.revision
        records = store.list(target.resource, selection, revision=revision)
    shown, page = _cut(records, limit, revision, tells_rest=not selection.is_narrow)
    return answer_parts(form.many(shown, page))


def _exact_revision(request: web.Request) -> int | None:
    if request.query.get("resourceVersionMatch") != "Exact":
        return None  # the newest is never older than what was asked for
    return version_of(request.query)


def _cut(records: list[Record], limit: int | None, revision: int, *, tells_rest: bool) -> tuple[list[Record], Page]:
    if not limit or len(records) <= limit:
        return records, Page(revision)
    last = records[limit - 1].key
    token = base64.urlsafe_b64encode(msgspec.json.encode(_Token(revision, last.namespace, last.name))).decode()
    return records[:limit], Page(revision, token.rstrip("="), len(records) - limit if tells_rest else None)


def _read_token(text: str) -> _Token:
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return msgspec.json.decode(data, type=_Token)
    except (binascii.Error, ValueError, msgspec.DecodeError) as error:
        raise BadRequest(
            "invalid continue token: continue key is not valid: start the list again without it"
        ) from error
