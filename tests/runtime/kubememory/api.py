"""An API in memory with short words for what tests do with it, and a clock that stands still until it is set."""

import random
from collections.abc import Mapping
from typing import Any

from karpenter.model.units import ObjectKey, UnixSeconds
from karpenter.runtime.kubememory.deletion import DeleteOptions
from karpenter.runtime.kubememory.journal import Journal
from karpenter.runtime.kubememory.resources import ApiResource
from karpenter.runtime.kubememory.selectors import select
from karpenter.runtime.kubememory.store import MemoryStore
from karpenter.runtime.kubememory.writes import Deleted, WriteOptions, Written

Raw = dict[str, Any]
NOON = UnixSeconds(1_700_000_000.0)
"""2023-11-14T22:13:20Z."""


class SetClock:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.moment = NOON

    def now(self) -> UnixSeconds:
        return self.moment

    async def sleep(self, seconds: float) -> None:
        raise AssertionError("the store never sleeps")


class Api:
    """A store, spoken to in manifests."""

    def __init__(self, *, journal: Journal | None = None, seed: int = 1) -> None:
        self.clock = SetClock()
        self.store = MemoryStore(self.clock, journal=journal, rng=random.Random(seed))

    def kind(self, plural: str) -> ApiResource:
        return next(kind for kind in self.store.registry if kind.plural == plural)

    def key(self, plural: str, name: str, namespace: str = "default") -> ObjectKey:
        return ObjectKey(namespace if self.kind(plural).namespaced else "", name)

    def create(self, manifest: Mapping[str, Any], *, namespace: str = "default", **options: Any) -> Raw:
        return self.write(manifest, namespace=namespace, **options).record.decode()

    def write(self, manifest: Mapping[str, Any], *, namespace: str = "default", **options: Any) -> Written:
        kind = self.store.registry.by_kind(manifest["apiVersion"], manifest["kind"])
        assert kind is not None, manifest["kind"]
        place = namespace if kind.namespaced else ""
        return self.store.create(kind, manifest, namespace=place, options=WriteOptions(**options))

    def get(self, plural: str, name: str, namespace: str = "default") -> Raw:
        return self.store.get(self.kind(plural), self.key(plural, name, namespace)).decode()

    def names(self, plural: str, **selectors: str) -> list[str]:
        kind = self.kind(plural)
        return [record.key.name for record in self.store.list(kind, select(kind, **selectors))]

    def patch(
        self,
        plural: str,
        name: str,
        patch: Any,
        patch_type: str = "merge",
        *,
        namespace: str = "default",
        **options: Any,
    ) -> Raw:
        return self.patched(plural, name, patch, patch_type, namespace=namespace, **options).record.decode()

    def patched(
        self,
        plural: str,
        name: str,
        patch: Any,
        patch_type: str = "merge",
        *,
        namespace: str = "default",
        **options: Any,
    ) -> Written:
        key = self.key(plural, name, namespace)
        return self.store.patch(self.kind(plural), key, patch, patch_type=patch_type, options=WriteOptions(**options))

    def update(self, manifest: Raw, *, subresource: str = "") -> Raw:
        kind = self.store.registry.by_kind(manifest["apiVersion"], manifest["kind"])
        key = ObjectKey(manifest["metadata"].get("namespace", ""), manifest["metadata"]["name"])
        return self.store.update(kind, key, manifest, options=WriteOptions(subresource=subresource)).record.decode()

    def set_status(self, plural: str, name: str, status: Raw) -> Raw:
        return self.patch(plural, name, {"status": status}, subresource="status")

    def delete(self, plural: str, name: str, namespace: str = "default", **options: Any) -> Deleted:
        return self.store.delete(self.kind(plural), self.key(plural, name, namespace), DeleteOptions(**options))

    def define(self, **changes: Any) -> Raw:
        """Create a definition of widgets; changes are to its one version."""
        return self.create(a_definition(**changes))


def a_config(name: str = "settings", data: Mapping[str, str] | None = None, **metadata: Any) -> Raw:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **metadata}, "data": dict(data or {})}


def a_pod(name: str = "web", *, spec: Mapping[str, Any] | None = None, **metadata: Any) -> Raw:
    container = {"name": "main", "image": "app:1"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, **metadata},
        "spec": {"containers": [container], **(spec or {})},
    }


def a_deployment(name: str = "web", *, template: Mapping[str, Any] | None = None, **spec: Any) -> Raw:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "app:1"}], **(template or {})},
            },
            **spec,
        },
    }


def a_node(name: str = "n1", **spec: Any) -> Raw:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "spec": spec}


def a_definition(**version: Any) -> Raw:
    schema = {
        "type": "object",
        "properties": {
            "spec": {
                "type": "object",
                "properties": {
                    "size": {"type": "integer", "minimum": 1},
                    "color": {"type": "string", "default": "red", "enum": ["red", "blue"]},
                },
            },
            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "widgets", "kind": "Widget", "shortNames": ["w"]},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                    "subresources": {"status": {}},
                    **version,
                }
            ],
        },
    }


def a_widget(name: str = "w1", **spec: Any) -> Raw:
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec}
