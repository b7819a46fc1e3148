"""What nodes and pods use, as metrics.k8s.io tells `kubectl top`: pods that run use just what they request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from aiohttp import web

from karpenter.model.core import Pod
from karpenter.model.pods import pod_requests
from karpenter.model.resources import CPU, MEMORY, Resources, format_resources, parse_resources, total
from karpenter.model.units import to_rfc3339
from karpenter.runtime.kube import MethodNotAllowed
from karpenter.runtime.kubememory import MemoryStore
from karpenter.runtime.kubememory.records import Record
from karpenter.runtime.kubememory.refusals import not_found
from karpenter.runtime.kubememory.resources import ApiResource, Registry
from karpenter.runtime.kubememory.selectors import select
from karpenter.sim.apiserver.answers import answer
from karpenter.sim.apiserver.targets import Target, find_target

GROUP: Final = "metrics.k8s.io"
_VERSION: Final = "v1beta1"
KINDS: Final = (
    ApiResource(GROUP, _VERSION, "nodes", "NodeMetrics"),
    ApiResource(GROUP, _VERSION, "pods", "PodMetrics", namespaced=True),
)
"""What is told and not kept."""
_REGISTRY: Final = Registry(KINDS)
_WINDOW: Final = "10s"
_decode: Final = msgspec.json.Decoder(Pod).decode


def is_usage(path: str) -> bool:
    """Return whether a path is that of a usage, or of a list of them."""
    return path.startswith(f"/apis/{GROUP}/{_VERSION}/")


def usage_target(path: str) -> Target:
    """Return what a path is about. Raises NotFound."""
    return find_target(path, _REGISTRY)


def tell_usage(request: web.Request, target: Target, store: MemoryStore) -> web.Response:
    """Answer with the usage of a node or pod, or of all that are selected. Raises NotFound, MethodNotAllowed."""
    if request.method != "GET":
        raise MethodNotAllowed("the server does not allow this method on the requested resource")
    kind = store.registry.find("", "v1", target.resource.plural)
    wanted = select(kind, namespace=target.namespace, label_selector=request.query.get("labelSelector", ""))
    records = [one for one in store.list(kind, wanted) if target.name in ("", one.key.name)]
    tell = _of_pods if kind.plural == "pods" else _of_nodes
    found = list(tell(records, target.resource, store))
    if not target.name:
        head = {"kind": target.resource.list_kind, "apiVersion": target.resource.api_version, "metadata": {}}
        return answer(head | {"items": found})
    if not found:
        raise not_found(kind, target.name)
    return answer(found[0])


def _of_pods(records: Iterable[Record], kind: ApiResource, store: MemoryStore) -> Iterable[dict[str, Any]]:
    for record in records:
        pod = _decode(record.data)
        if pod.status.phase != "Running":
            continue
        containers = [
            {"name": one.name, "usage": _usage(parse_resources(one.resources.requests))} for one in pod.spec.containers
        ]
        yield _head(record, kind, store) | {"containers": containers}


def _of_nodes(records: Iterable[Record], kind: ApiResource, store: MemoryStore) -> Iterable[dict[str, Any]]:
    on: dict[str, list[Resources]] = {}
    for record in store.list(store.registry.find("", "v1", "pods")):
        pod = _decode(record.data)
        if pod.status.phase == "Running":
            on.setdefault(pod.spec.node_name, []).append(pod_requests(pod))
    for record in records:
        yield _head(record, kind, store) | {"usage": _usage(total(on.get(record.key.name, ())))}


def _head(record: Record, kind: ApiResource, store: MemoryStore) -> dict[str, Any]:
    now = to_rfc3339(store.now())
    metadata = {"name": record.key.name, "namespace": record.key.namespace, "labels": record.labels}
    told = {key: value for key, value in metadata.items() if value} | {"creationTimestamp": now}
    return {
        "kind": kind.kind,
        "apiVersion": kind.api_version,
        "metadata": told,
        "timestamp": now,
        "window": _WINDOW,
    }


def _usage(amounts: Resources) -> dict[str, str]:
    return format_resources({name: amounts.get(name, 0) for name in (CPU, MEMORY)})
