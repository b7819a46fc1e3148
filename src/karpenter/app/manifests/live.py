"""The objects of a cluster, as if somebody had dumped it into a file."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from karpenter.app.errors import BadInputError
from karpenter.app.manifests.kept import NAMES
from karpenter.app.manifests.kinds import KINDS, Kind
from karpenter.app.manifests.load import Input, understood
from karpenter.app.manifests.sources import Document
from karpenter.runtime.kube import CONFIG_MAPS, KubeClient, NotFound, RawObject, Resource

PLACE: Final = "cluster"
_OURS: Final = "karpenter.sh"


async def read_cluster(client: KubeClient, *, namespace: str) -> Input:
    """Return everything of the cluster that commands look at; kinds that it does not serve count as having no objects.

    Of ConfigMaps only the operator's own are read, in the namespace it runs in.

    Raises:
        BadInputError: the cluster knows no pools.
        InputError: an object of the cluster is not valid.
        KubeError: the API server refuses or cannot be reached.
    """
    kinds = tuple(kind for kind in KINDS.values() if kind.name != CONFIG_MAPS.kind)
    listed = await asyncio.gather(*(_list(client, kind) for kind in kinds))
    if not any(found is not None for kind, found in zip(kinds, listed, strict=True) if kind.group == _OURS):
        raise BadInputError("the cluster does not know our kinds, teach it with: karpenter crds | kubectl apply -f -")
    documents = [document for found in listed for document in found or ()]
    kept = [await _kept(client, name, namespace) for name in NAMES]
    return understood([*documents, *(document for document in kept if document is not None)], "compat")


async def _kept(client: KubeClient, name: str, namespace: str) -> Document | None:
    try:
        raw = await client.get(CONFIG_MAPS, name, namespace=namespace)
    except NotFound:
        return None
    stated = {"apiVersion": CONFIG_MAPS.version, "kind": CONFIG_MAPS.kind}
    return Document(PLACE, CONFIG_MAPS.version, CONFIG_MAPS.kind, {**raw, **stated})


async def _list(client: KubeClient, kind: Kind) -> Sequence[Document] | None:
    """Return the objects of a kind; None when the cluster does not serve it."""
    resource: Resource[RawObject] = Resource(
        kind.group, kind.version, _plural(kind.name), kind.name, dict, namespaced=kind.is_namespaced
    )
    try:
        listing = await client.list(resource)
    except NotFound:
        return None
    stated = {"apiVersion": kind.api_version, "kind": kind.name}
    return [Document(PLACE, kind.api_version, kind.name, {**raw, **stated}) for raw in listing.items]


def _plural(kind: str) -> str:
    """Return the resource's name in the API, which for all our kinds is the regular English plural."""
    lower = kind.lower()
    return f"{lower}es" if lower.endswith("s") else f"{lower}s"
