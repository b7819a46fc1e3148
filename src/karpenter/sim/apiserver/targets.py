"""What a path is about: `/apis/apps/v1/namespaces/default/deployments/web/scale`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from karpenter.model.units import ObjectKey
from karpenter.runtime.kube import NotFound
from karpenter.runtime.kubememory.resources import ApiResource, Registry

_OF_NAMESPACES: Final = frozenset({"status", "finalize"})


class UnknownPathError(Exception):
    """Nothing at all is served below a path."""


@dataclass(frozen=True, slots=True)
class Target:
    """A kind, and perhaps a namespace, an object, and a part of it."""

    resource: ApiResource
    namespace: str
    """Empty for all namespaces, or a kind without."""
    name: str
    """Empty for all objects."""
    subresource: str

    @property
    def key(self) -> ObjectKey:
        """Return the key of the object."""
        return ObjectKey(self.namespace, self.name)


def find_target(path: str, registry: Registry) -> Target:
    """Return what a path below `/api` or `/apis` is about. Raises NotFound."""
    root, *parts = [part for part in path.split("/") if part]
    group = ""
    if root == "apis" and parts:
        group, *parts = parts
    version, *parts = parts or [""]
    namespace = ""
    if len(parts) > 2 and parts[0] == "namespaces" and not (len(parts) == 3 and parts[2] in _OF_NAMESPACES):
        namespace, *parts = parts[1:]
    if not parts or len(parts) > 3:
        raise NotFound("the server could not find the requested resource")
    plural, name, subresource = [*parts, "", ""][:3]
    if not any((kind.group, kind.version) == (group, version) for kind in registry):
        raise UnknownPathError
    resource = registry.find(group, version, plural)
    if namespace and not resource.namespaced:
        raise NotFound("the server could not find the requested resource")
    return Target(resource, namespace, name, subresource)
