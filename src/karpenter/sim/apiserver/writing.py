"""Creating, replacing, patching and deleting, of objects and of their subresources."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from karpenter.model.units import ObjectKey
from karpenter.runtime.kube import BadRequest, MethodNotAllowed, NotFound
from karpenter.runtime.kubememory.deletion import DeleteOptions
from karpenter.runtime.kubememory.pods import bind, evict
from karpenter.runtime.kubememory.refusals import Causes
from karpenter.runtime.kubememory.scale import patch_scale, read_scale, write_scale
from karpenter.runtime.kubememory.store import MemoryStore
from karpenter.runtime.kubememory.writes import Deleted, Written
from karpenter.sim.apiserver.answers import answer, answer_bytes, answer_parts, done, success
from karpenter.sim.apiserver.formats import Format, Page
from karpenter.sim.apiserver.queries import delete_options, options_kind, read_object, read_patch, write_options
from karpenter.sim.apiserver.reading import format_of, get, selection_of
from karpenter.sim.apiserver.targets import Target

Handler = Callable[[web.Request, Target, MemoryStore], Awaitable[web.Response]]


async def create(request: web.Request, target: Target, store: MemoryStore) -> web.Response:
    """Answer a POST to a collection."""
    body = await read_object(request)
    options = write_options(request)
    written = store.create(target.resource, body, namespace=target.namespace, options=options)
    return _written(format_of(request, target, store), written, status=201)


async def replace(request: web.Request, target: Target, store: MemoryStore) -> web.Response:
    """Answer a PUT of an object, its status or its finalizers."""
    body = await read_object(request)
    options = write_options(request, subresource=target.subresource)
    return _written(format_of(request, target, store), store.update(target.resource, target.key, body, options=options))


async def patch(request: web.Request, target: Target, store: MemoryStore) -> web.Response:
    """Answer a PATCH of an object or its status, of any of the four kinds."""
    patch_type, body = await read_patch(request)
    options = write_options(request, subresource=target.subresource)
    if patch_type == "apply" and not request.query.get("fieldManager"):
        causes = Causes()
        causes.required("fieldManager", "is required for apply patch")
        causes.raise_for(options_kind("PatchOptions"), "")
    written = store.patch(target.resource, target.key, body, patch_type=patch_type, options=options)
    return _written(format_of(request, target, store), written, status=201 if written.created else 200)


def _written(form: Format, written: Written, *, status: int = 200) -> web.Response:
    return answer_bytes(form.one(written.record), status=status, warnings=written.warnings)


async def delete(request: web.Request, target: Target, store: MemoryStore) -> web.Response:
    """Answer a DELETE of an object: with the object while something keeps it, else that it is gone."""
    deleted = store.delete(target.resource, target.key, await delete_options(request))
    return _deleted(format_of(request, target, store), target, deleted)


def _deleted(form: Format, target: Target, deleted: Deleted) -> web.Response:
    if deleted.is_gone and target.resource.key != ("", "pods"):
        return answer(success(target.resource, target.name, uid=deleted.record.uid))
    return answer_bytes(form.one(deleted.record))


async def delete_all(request: web.Request, target: Target, store: MemoryStore) -> web.Response:
    """Answer a DELETE of a collection with the objects that it is about."""
    options = await delete_options(request)
    records = store.list(target.resource, selection_of(request, target))
    deleted = [store.delete(target.resource, record.key, options).record for record in records]
    return answer_parts(format_of(request, target, store).many(deleted, Page(store.revision)))


async def _get_scale(_: web.Request, target: Target, store: MemoryStore) -> web.Response:
    return answer(read_scale(store, target.resource, target.key))


async def _put_scale(request: web.Request, target: Target, store: MemoryStore) -> web.Response:
    scale = await read_object(request)
    return answer(write_scale(store, target.resource, target.key, scale=scale, options=write_options(request)))


async def _patch_scale(request: web.Request, target: Target, store: MemoryStore) -> web.Response:
    patch_type, body = await read_patch(request)
    options = write_options(request)
    return answer(patch_scale(store, target.resource, target.key, patch=body, patch_type=patch_type, options=options))


async def _bind(request: web.Request, target: Target, store: MemoryStore) -> web.Response:
    body = await read_object(request)
    node = (body.get("target") or {}).get("name", "")
    uid = (body.get("metadata") or {}).get("uid", "")
    bind(store, target.key, node, uid=uid, dry_run=write_options(request).dry_run)
    return answer(done(201), status=201)


async def _evict(request: web.Request, target: Target, store: MemoryStore) -> web.Response:
    body = await read_object(request)
    name = (body.get("metadata") or {}).get("name", target.name)
    if name != target.name:
        raise BadRequest("name in URL does not match name in Eviction object")
    wanted, written = body.get("deleteOptions") or {}, write_options(request)
    preconditions = wanted.get("preconditions") or {}
    options = DeleteOptions(
        grace_period_s=wanted.get("gracePeriodSeconds"),
        uid=preconditions.get("uid") or "",
        resource_version=preconditions.get("resourceVersion") or "",
        dry_run=written.dry_run or "All" in (wanted.get("dryRun") or ()),
    )
    evict(store, ObjectKey(target.namespace, target.name), options)
    return answer(done(201), status=201)


async def _get(request: web.Request, target: Target, store: MemoryStore) -> web.Response:
    return get(request, target, store)


async def _no_containers(_: web.Request, target: Target, store: MemoryStore) -> web.Response:
    store.get(target.resource, target.key)
    raise BadRequest(
        f'pod "{target.name}" has no {target.subresource}: this cluster is simulated, pods are objects without '
        "containers behind them"
    )


_SUBRESOURCES: Final[dict[tuple[str, str], Handler]] = {
    ("GET", "status"): _get,
    ("PUT", "status"): replace,
    ("PATCH", "status"): patch,
    ("PUT", "finalize"): replace,
    ("GET", "scale"): _get_scale,
    ("PUT", "scale"): _put_scale,
    ("PATCH", "scale"): _patch_scale,
    ("POST", "binding"): _bind,
    ("POST", "eviction"): _evict,
    ("GET", "log"): _no_containers,
}
_NEEDS_CONTAINERS: Final = frozenset({"exec", "attach", "portforward", "proxy"})


async def subresource(request: web.Request, target: Target, store: MemoryStore) -> web.Response:
    """Answer a request for a part of an object."""
    if target.subresource in _NEEDS_CONTAINERS and target.resource.key == ("", "pods"):
        return await _no_containers(request, target, store)
    if target.subresource not in target.resource.subresources:
        raise NotFound("the server could not find the requested resource")
    handler = _SUBRESOURCES.get((request.method, target.subresource))
    if handler is None:
        raise MethodNotAllowed("the server does not allow this method on the requested resource")
    return await handler(request, target, store)
