"""Kinds that CustomResourceDefinitions define: read from the definition, served at once, gone with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from karpenter.runtime.kube import RawObject
from karpenter.runtime.kubememory.refusals import Causes
from karpenter.runtime.kubememory.resources import ApiResource, Registry, ResourceKey
from karpenter.runtime.kubememory.schema.structural import StructuralSchema, read_schema

DEFINITIONS: Final = ResourceKey("apiextensions.k8s.io", "customresourcedefinitions")
CLEANUP: Final = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer that keeps a definition until its last object is gone."""


@dataclass(frozen=True, slots=True)
class PrinterColumn:
    """A column that a definition wants printed."""

    name: str
    type: str
    json_path: str
    format: str
    description: str
    priority: int
    """0 is always shown, more only with `-o wide`."""


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where a custom kind keeps its replicas, as dotted paths."""

    spec_replicas: str
    status_replicas: str
    label_selector: str
    """Empty when the kind has none."""


@dataclass(frozen=True, slots=True)
class CustomVersion:
    """One served version of a custom kind."""

    resource: ApiResource
    schema: StructuralSchema
    columns: tuple[PrinterColumn, ...]
    scale: ScalePaths | None
    stored_as: str
    """The apiVersion that objects are stored in."""

    def check(self, tree: RawObject, causes: Causes, *, old: RawObject | None = None) -> None:
        """Note every rule that an object breaks; `old` is what it was before an update."""
        self.schema.check(tree, causes, old=old)
        for path in (self.scale.spec_replicas, self.scale.status_replicas) if self.scale else ():
            count = value_at(tree, path)
            if isinstance(count, int) and count < 0:
                causes.invalid(f".{path}", count, "should be a non-negative integer")


class CustomKinds:
    """The custom kinds served now."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._versions: dict[tuple[str, str, str], CustomVersion] = {}

    def install(self, definition: RawObject) -> None:
        """Serve what a definition says, in place of what it said before."""
        self.uninstall(key_of(definition))
        for version in read_versions(definition):
            resource = version.resource
            self._versions[resource.group, resource.version, resource.plural] = version
            self._registry.add(resource)

    def uninstall(self, kind: ResourceKey) -> None:
        """Stop serving a kind."""
        self._registry.remove(kind)
        for place in [place for place, version in self._versions.items() if version.resource.key == kind]:
            del self._versions[place]

    def find(self, resource: ApiResource) -> CustomVersion | None:
        """Return what is known of a custom kind; None for Kubernetes' own."""
        return self._versions.get((resource.group, resource.version, resource.plural))


def value_at(tree: RawObject, path: str) -> object:
    """Return what is at a dotted path; None when there is nothing."""
    value: object = tree
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def key_of(definition: RawObject) -> ResourceKey:
    """Return the kind that a definition defines."""
    return ResourceKey(definition["spec"]["group"], definition["spec"]["names"]["plural"])


def read_versions(definition: RawObject) -> Iterator[CustomVersion]:
    """Yield the served versions of a valid definition."""
    spec = definition["spec"]
    stored = next(version["name"] for version in spec["versions"] if version.get("storage"))
    for version in spec["versions"]:
        if version.get("served"):
            yield CustomVersion(
                _resource(spec, version),
                read_schema(version.get("schema", {}).get("openAPIV3Schema")),
                tuple(_column(column) for column in version.get("additionalPrinterColumns", ())),
                _scale(version.get("subresources", {}).get("scale")),
                f"{spec['group']}/{stored}",
            )


def _resource(spec: Mapping[str, Any], version: Mapping[str, Any]) -> ApiResource:
    names = spec["names"]
    return ApiResource(
        spec["group"],
        version["name"],
        names["plural"],
        names["kind"],
        namespaced=spec["scope"] == "Namespaced",
        singular=names["singular"],
        short_names=tuple(names.get("shortNames", ())),
        categories=tuple(names.get("categories", ())),
        subresources=frozenset(version.get("subresources", {})),
        counts_generation=True,
        field_labels=tuple(one["jsonPath"].lstrip(".") for one in version.get("selectableFields", ())),
        is_custom=True,
    )


def _column(column: Mapping[str, Any]) -> PrinterColumn:
    return PrinterColumn(
        column["name"],
        column["type"],
        column["jsonPath"],
        column.get("format", ""),
        column.get("description", ""),
        column.get("priority", 0),
    )


def _scale(paths: Mapping[str, Any] | None) -> ScalePaths | None:
    if paths is None:
        return None
    return ScalePaths(
        paths["specReplicasPath"].lstrip("."),
        paths["statusReplicasPath"].lstrip("."),
        paths.get("labelSelectorPath", "").lstrip("."),
    )
