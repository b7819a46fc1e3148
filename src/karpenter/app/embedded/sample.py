"""The sample: something to look at for somebody who has applied nothing yet."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from importlib import resources
from typing import Any, Final

import yaml

from karpenter.runtime import kube
from karpenter.runtime.kube import AlreadyExists, KubeClient, RawObject, Resource

_DEPLOYMENTS: Final[Resource[RawObject]] = Resource("apps", "v1", "deployments", "Deployment", dict, namespaced=True)
_RESOURCES: Final = {each.kind: each for each in (kube.AWS_NODE_TEMPLATES, kube.PROVISIONERS, _DEPLOYMENTS)}


def sample_manifests(*, custom_catalog: bool = False) -> Sequence[dict[str, Any]]:
    """Return node template, pool and workload; types of a catalogue of one's own may have no categories to ask for."""
    text = resources.files("karpenter.app.embedded").joinpath("sample.yaml").read_text(encoding="utf-8")
    manifests = list(yaml.safe_load_all(text))
    if custom_catalog:
        spec = manifests[1]["spec"]
        anything = {"key": "node.kubernetes.io/instance-type", "operator": "Exists"}
        spec["requirements"] = [
            anything,
            *(entry for entry in spec["requirements"] if not entry["key"].startswith("karpenter.k8s.aws/")),
        ]
    return manifests


async def apply_sample(client: KubeClient, *, custom_catalog: bool = False) -> None:
    """Create what is not there yet; what an earlier run left, and the user perhaps changed, stays as it is."""
    for manifest in sample_manifests(custom_catalog=custom_catalog):
        with contextlib.suppress(AlreadyExists):
            namespace = manifest["metadata"].get("namespace", "")
            await client.create(_RESOURCES[manifest["kind"]], manifest, namespace=namespace)
