"""Watching: a stream of changes, until the client, the time, or the server ends it."""

from __future__ import annotations

import asyncio
from typing import Final

import msgspec
from aiohttp import web

from karpenter.runtime.kube import Gone, KubeError
from karpenter.runtime.kubememory.history import Follower
from karpenter.runtime.kubememory.records import Record
from karpenter.runtime.kubememory.store import MemoryStore
from karpenter.sim.apiserver.answers import failure
from karpenter.sim.apiserver.formats import Format, Table
from karpenter.sim.apiserver.queries import is_true, version_of, whole_number
from karpenter.sim.apiserver.reading import check_versions, format_of, selection_of
from karpenter.sim.apiserver.targets import Target

_LONGEST_S: Final = 1800
_BOOKMARK_EVERY_S: Final = 60.0
_INITIAL_END: Final = "k8s.io/initial-events-end"


class Watches:
    """The watches that clients have open."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._open: set[Follower] = set()
        self._is_stopped = False

    def stop(self) -> None:
        """End all of them, as if their time was over."""
        self._is_stopped = True
        for follower in self._open:
            follower.stop()

    async def watch(self, request: web.Request, target: Target) -> web.StreamResponse:
        """Stream the changes of the objects that are asked for, one JSON line each.

        Without a resource version, what there is now comes first. Bookmarks come each minute to those who want them.
        """
        wanted = _Wanted(request, target, self._store)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        stream = _Stream(response, wanted.form)
        with self._store.follow(target.resource, revision=wanted.since) as follower:
            self._open.add(follower)
            try:
                await _tell_present(stream, wanted)
                if not self._is_stopped:
                    await _follow(stream, follower, wanted)
            except Gone as error:
                await stream.fail(error)
            finally:
                self._open.discard(follower)
        await response.write_eof()
        return response


class _Wanted:
    """What a watch is about. Raises BadRequest, NotAcceptable."""

    def __init__(self, request: web.Request, target: Target, store: MemoryStore) -> None:
        query = request.query
        check_versions(request, store)
        since = version_of(query)
        self.form = format_of(request, target, store)
        self.selection = selection_of(request, target)
        self.longest_s = min(whole_number(query, "timeoutSeconds") or _LONGEST_S, _LONGEST_S)
        self.has_bookmarks = is_true(query.get("allowWatchBookmarks"))
        self.marks_present = is_true(query.get("sendInitialEvents"))
        """Whether the client wants to know when it has been told everything that is there."""
        tells_present = self.marks_present or ("sendInitialEvents" not in query and not since)
        self.since = store.revision if tells_present or not since else since
        self.present = store.list(target.resource, self.selection) if tells_present else []
        self.store = store


async def _tell_present(stream: _Stream, wanted: _Wanted) -> None:
    for record in wanted.present:
        await stream.tell("ADDED", record)
    if wanted.marks_present:
        await stream.bookmark(wanted.since, ends_initial=True)


async def _follow(stream: _Stream, follower: Follower, wanted: _Wanted) -> None:
    loop = asyncio.get_running_loop()
    ends_at, marks_at = loop.time() + wanted.longest_s, loop.time() + _BOOKMARK_EVERY_S
    while (now := loop.time()) < ends_at:
        changes = await follower.next(within_s=max(0.0, min(marks_at, ends_at) - now))
        if changes is None:
            return
        for change in changes:
            if seen := change.seen_by(wanted.selection):
                await stream.tell(*seen)
        if loop.time() >= marks_at:
            marks_at += _BOOKMARK_EVERY_S
            if wanted.has_bookmarks:
                await stream.bookmark(wanted.store.revision)


class _Stream:
    """The lines of one watch."""

    def __init__(self, response: web.StreamResponse, form: Format) -> None:
        self._response = response
        self._form = form

    async def tell(self, word: str, record: Record) -> None:
        """Write one change."""
        await self._write(word, self._form.one(record))
        if isinstance(self._form, Table):
            self._form.forget_headings()

    async def bookmark(self, revision: int, *, ends_initial: bool = False) -> None:
        """Write how far the watch has come."""
        line = self._form.bookmark(revision)
        if ends_initial:
            tree = msgspec.json.decode(line)
            place = tree["rows"][0]["object"] if isinstance(self._form, Table) else tree
            place["metadata"]["annotations"] = {_INITIAL_END: "true"}
            line = msgspec.json.encode(tree)
        await self._write("BOOKMARK", line)

    async def fail(self, error: KubeError) -> None:
        """Write why the watch cannot go on."""
        await self._write("ERROR", msgspec.json.encode(failure(error)))

    async def _write(self, word: str, data: bytes) -> None:
        await self._response.write(b'{"type":"' + word.encode() + b'","object":' + data + b"}\n")
