"""What is to be known of a kind to serve it, and the register of the kinds that are served."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from karpenter.runtime.kube import NotFound


class ResourceKey(NamedTuple):
    """Where objects of a kind are kept, whatever version they are asked for in."""

    group: str
    plural: str

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


@dataclass(frozen=True, slots=True)
class ApiResource:
    """One kind in one version, as discovery lists it."""

    group: str
    """Empty for the core group."""
    version: str
    plural: str
    kind: str
    namespaced: bool = False
    singular: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: frozenset[str] = frozenset()
    """`status`, `scale`, and for pods `eviction` and `binding`."""
    counts_generation: bool = False
    """Whether `metadata.generation` rises when the desired state changes."""
    field_labels: tuple[str, ...] = ()
    """Fields that a field selector may name, besides `metadata.name` and `metadata.namespace`."""
    is_custom: bool = False
    """Whether a CustomResourceDefinition defines it."""

    @property
    def key(self) -> ResourceKey:
        """Return where its objects are kept."""
        return ResourceKey(self.group, self.plural)

    @property
    def api_version(self) -> str:
        """`v1`, `apps/v1` …"""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def list_kind(self) -> str:
        """`PodList` …"""
        return f"{self.kind}List"

    @property
    def has_status(self) -> bool:
        """Whether status is written apart from the rest."""
        return "status" in self.subresources


class Registry:
    """The kinds served now. CustomResourceDefinitions come and go."""

    def __init__(self, resources: Iterable[ApiResource]) -> None:
        self._served = {(resource.group, resource.version, resource.plural): resource for resource in resources}

    def find(self, group: str, version: str, plural: str) -> ApiResource:
        """Return a served kind. Raises NotFound with the words of a real server."""
        resource = self._served.get((group, version, plural))
        if resource is None:
            raise NotFound("the server could not find the requested resource")
        return resource

    def by_kind(self, api_version: str, kind: str) -> ApiResource | None:
        """Return the kind that a manifest names; None when it is not served."""
        return next((one for one in self if one.kind == kind and one.api_version == api_version), None)

    def by_key(self, key: ResourceKey) -> ApiResource | None:
        """Return any served version of a kind; None when there is none."""
        return next((one for one in self if one.key == key), None)

    def add(self, resource: ApiResource) -> None:
        """Serve one more kind, or serve it anew."""
        self._served[resource.group, resource.version, resource.plural] = resource

    def remove(self, key: ResourceKey) -> None:
        """Stop serving every version of a kind."""
        self._served = {place: one for place, one in self._served.items() if one.key != key}

    def __iter__(self) -> Iterator[ApiResource]:
        return iter(tuple(self._served.values()))
