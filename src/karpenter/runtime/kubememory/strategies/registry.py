"""Which strategy a kind has."""

from __future__ import annotations

from typing import Final

from karpenter.runtime.kubememory.resources import ApiResource, ResourceKey
from karpenter.runtime.kubememory.strategies.definitions import DEFINITION
from karpenter.runtime.kubememory.strategies.pods import POD
from karpenter.runtime.kubememory.strategies.strategy import Strategy

_PLAIN: Final = Strategy()
_STRATEGIES: Final[dict[ResourceKey, Strategy]] = {
    ResourceKey("", "pods"): POD,
    ResourceKey("", "nodes"): Strategy(brings_status=True),
    ResourceKey("apiextensions.k8s.io", "customresourcedefinitions"): DEFINITION,
    ResourceKey("", "namespaces"): Strategy(
        default=lambda namespace: namespace.setdefault("spec", {}).setdefault("finalizers", ["kubernetes"]),
        begin=lambda namespace: namespace.update(status={"phase": "Active"}),
    ),
}


def strategy_of(resource: ApiResource) -> Strategy:
    """Return what is known of a kind; nothing special for most."""
    return _STRATEGIES.get(resource.key, _PLAIN)
