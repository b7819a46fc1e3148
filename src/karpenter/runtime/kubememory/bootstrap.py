"""What every cluster has before anyone uses it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from karpenter.runtime.kube import AlreadyExists

if TYPE_CHECKING:
    from karpenter.runtime.kubememory.store import MemoryStore

_NAMESPACES: Final = ("default", "kube-node-lease", "kube-public", "kube-system")
_PRIORITIES: Final = {
    "system-cluster-critical": (
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary.",
    ),
    "system-node-critical": (
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
}


def bootstrap(store: MemoryStore) -> None:
    """Create what is missing of the first namespaces, their service accounts, and the two system priority classes."""
    for name in _NAMESPACES:
        _ensure(store, ("", "namespaces"), {"metadata": {"name": name}})
        _ensure(store, ("", "serviceaccounts"), {"metadata": {"name": "default"}}, namespace=name)
    for name, (value, description) in _PRIORITIES.items():
        body = {"metadata": {"name": name}, "value": value, "description": description}
        _ensure(store, ("scheduling.k8s.io", "priorityclasses"), body)


def _ensure(store: MemoryStore, kind: tuple[str, str], body: dict[str, Any], *, namespace: str = "") -> None:
    group, plural = kind
    try:
        store.create(store.registry.find(group, "v1", plural), body, namespace=namespace)
    except AlreadyExists:
        return
