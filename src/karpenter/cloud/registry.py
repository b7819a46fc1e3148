"""Cloud providers as plug-ins: packages announce them as entry points of the group `karpenter.cloud_providers`.

    [project.entry-points."karpenter.cloud_providers"]
    nimbus = "karpenter_nimbus:make_provider"

The value is a `ProviderFactory`. The name is what `--cloud` takes.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from typing import Final, TypeAlias

from karpenter.cloud.provider import CloudProvider
from karpenter.model.errors import KarpenterError
from karpenter.model.nodepool import NodeClassRef, NodePool
from karpenter.model.units import PoolKey
from karpenter.runtime.clock import Clock
from karpenter.runtime.kube import KubeClient, RawObject
from karpenter.runtime.metrics import Metrics

GROUP: Final = "karpenter.cloud_providers"


class UnknownProviderError(KarpenterError):
    """There is no usable provider of that name."""


@dataclass(frozen=True, slots=True)
class ProviderContext:
    """What a provider is made from."""

    kube: KubeClient
    clock: Clock
    cluster_name: str
    """Marks our machines among others of the account."""
    node_class: Callable[[NodeClassRef], RawObject | None]
    """Looks a node class up as it is now; None when it does not exist. Decoding it is the provider's business."""
    pool: Callable[[PoolKey], NodePool | None]
    """Looks a pool up as it is now."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """The program's settings by part (`aws`, `market` …), each a frozen value; a provider reads the parts it knows."""
    metrics: Metrics | None = None
    """Where a provider may count what it does; None where nobody looks."""


ProviderFactory: TypeAlias = Callable[[ProviderContext], CloudProvider]


def provider_names() -> tuple[str, ...]:
    """Return the names of all installed providers, sorted."""
    return tuple(sorted(_installed()))


def provider_factory(name: str) -> ProviderFactory:
    """Return the factory of a provider.

    Raises:
        UnknownProviderError: none of that name is installed, or its package cannot be imported; says which there are.
    """
    installed = _installed()
    if name not in installed:
        near = difflib.get_close_matches(name, installed, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}? " if near else ""
        known = ", ".join(sorted(installed)) or "none"
        raise UnknownProviderError(f"there is no cloud provider {name!r}; {hint}installed: {known}")
    try:
        factory: ProviderFactory = installed[name].load()
    except (ImportError, AttributeError) as error:
        raise UnknownProviderError(
            f"cloud provider {name!r} ({installed[name].value}) cannot be loaded: {error}"
        ) from error
    return factory


def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}
