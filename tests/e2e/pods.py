"""Pods for the real API server: as manifests, created many at a time, and waited for until the scheduler has judged."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import msgspec

from karpenter.model import core
from karpenter.model.meta import find_condition
from karpenter.model.units import ObjectKey
from karpenter.runtime.identity import key_of
from karpenter.runtime.kube import CONFIG_MAPS, NODES, PODS, KubeClient, NotFound, Resource

T = TypeVar("T")
AT_ONCE = 32
"""Requests under way at a time: what the API server on two cores answers fastest."""
DEADLINE_S = 120.0
POLL_S = 0.2
SELECTORS = frozenset({"labelSelector", "namespaceSelector", "matchLabels"})
"""Where an empty object means everything, and leaving it out means nothing."""


def pod_manifest(pod: core.Pod, namespace: str) -> dict[str, Any]:
    """Return what a user would have written to get this pod: no status, no node, nothing that the server sets.

    Owners are left out too: the garbage collector deletes pods whose owner it does not find.
    """
    spec = without_empties(msgspec.to_builtins(pod.spec))
    for assigned in ("nodeName", "priority"):
        spec.pop(assigned, None)
    metadata: dict[str, Any] = {"name": pod.metadata.name, "namespace": namespace}
    for field in ("labels", "annotations"):
        if given := getattr(pod.metadata, field):
            metadata[field] = dict(given)
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def without_empties(value: Any) -> Any:
    """Return the value without empty fields, which the server would take for a choice."""
    if isinstance(value, Mapping):
        cleaned = {key: without_empties(each) for key, each in value.items()}
        return {key: each for key, each in cleaned.items() if says_something(key, each)}
    if isinstance(value, list | tuple):
        return [without_empties(each) for each in value]
    return value


def says_something(key: str, value: Any) -> bool:
    return value not in ("", None, [], {}) or (value == {} and key in SELECTORS)


def config_maps(namespace: str, names: Iterable[str]) -> list[dict[str, Any]]:
    """Return empty config maps, the cheapest objects there are."""
    return [{"kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}} for name in names]


async def create_all(kube: KubeClient, manifests: Iterable[Mapping[str, Any]]) -> None:
    """Create pods, nodes and config maps, many at a time."""
    kinds: dict[str, Resource[Any]] = {resource.kind: resource for resource in (PODS, NODES, CONFIG_MAPS)}

    async def create(manifest: Mapping[str, Any]) -> None:
        namespace = manifest["metadata"].get("namespace", "")
        await kube.create(kinds[manifest["kind"]], manifest, namespace=namespace)

    await many_at_a_time(create(manifest) for manifest in manifests)


async def delete_all(kube: KubeClient, resource: Resource[T], objects: Iterable[T]) -> None:
    """Delete objects of one kind without grace, many at a time; those that are gone already are.

    The pods of a deleted node stay for a minute, until the pod garbage collector finds them.
    """

    async def delete(key: ObjectKey) -> None:
        with suppress(NotFound):
            await kube.delete(resource, key.name, namespace=key.namespace, grace_period_s=0)

    await many_at_a_time(delete(key_of(each)) for each in objects)


async def many_at_a_time(calls: Iterable[Coroutine[Any, Any, Any]]) -> None:
    """Await all calls, `AT_ONCE` at a time."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def wait_for(call: Coroutine[Any, Any, Any]) -> None:
        async with gate:
            await call

    async with asyncio.TaskGroup() as tasks:
        for call in calls:
            tasks.create_task(wait_for(call))


async def until(condition: Callable[[], Awaitable[T | None]], what: str, *, deadline_s: float = DEADLINE_S) -> T:
    """Wait until `condition` returns something true and return that. Raises AssertionError naming `what`."""
    end = time.monotonic() + deadline_s
    while not (found := await condition()):
        assert time.monotonic() < end, f"not within {deadline_s:.0f} s: {what}"
        await asyncio.sleep(POLL_S)
    return found


async def nodes_ready(kube: KubeClient, names: Sequence[str]) -> None:
    """Wait until all these nodes are Ready and free of the taints that a new node carries."""

    async def all_ready() -> bool:
        ready = {node.metadata.name for node in (await kube.list(NODES)).items if is_ready(node)}
        return ready.issuperset(names)

    await until(all_ready, f"nodes Ready: {', '.join(names)}")


def is_ready(node: core.Node) -> bool:
    ready = find_condition(node.status.conditions, "Ready")
    booting = any(taint.key.startswith("node.kubernetes.io/") for taint in node.spec.taints)
    return ready is not None and ready.is_true and not booting


async def judged(kube: KubeClient, namespace: str, *, quiet_s: float = 2.0) -> dict[ObjectKey, str]:
    """Wait until the scheduler has judged all pods of a namespace; return the node of each, empty for unschedulable.

    A pod may be found unschedulable and placed later, when others are: only what stays so for `quiet_s` counts.
    """
    seen: dict[ObjectKey, str | None] = {}
    since = time.monotonic()

    async def settled() -> dict[ObjectKey, str] | None:
        nonlocal seen, since
        verdicts = {pod.metadata.key: verdict(pod) for pod in (await kube.list(PODS, namespace=namespace)).items}
        if verdicts != seen:
            seen, since = verdicts, time.monotonic()
        decided = {key: node for key, node in verdicts.items() if node is not None}
        if not verdicts or len(decided) < len(verdicts):
            return None
        return decided if all(decided.values()) or time.monotonic() - since >= quiet_s else None

    return await until(settled, f"every pod of {namespace} bound or found unschedulable")


def verdict(pod: core.Pod) -> str | None:
    """Return the pod's node, `""` if no node can take it, None while the scheduler has not said."""
    if pod.spec.node_name:
        return pod.spec.node_name
    scheduled = find_condition(pod.status.conditions, "PodScheduled")
    return "" if scheduled is not None and scheduled.reason == "Unschedulable" else None
