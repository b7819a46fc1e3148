"""The volume driver as a cluster has it installed: its CSIDriver, and the default storage class `gp3`."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any, Final

from karpenter.model import labels
from karpenter.runtime.kube import AlreadyExists, NotFound, RawObject, Resource
from karpenter.sim.disks import EBS
from karpenter.sim.kinds import MetadataOnly
from karpenter.sim.standins import Context
from karpenter.sim.storagekinds import STORAGE_CLASSES

_DRIVERS: Final = Resource("storage.k8s.io", "v1", "csidrivers", "CSIDriver", MetadataOnly)
DEFAULT_CLASS: Final[RawObject] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "StorageClass",
    "metadata": {"name": "gp3", "annotations": {labels.IS_DEFAULT_STORAGE_CLASS: "true"}},
    "provisioner": EBS,
    "parameters": {"type": "gp3"},
    "reclaimPolicy": "Delete",
    "volumeBindingMode": "WaitForFirstConsumer",
    "allowVolumeExpansion": True,
}
_DRIVER: Final[RawObject] = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIDriver",
    "metadata": {"name": EBS},
    "spec": {"attachRequired": True, "podInfoOnMount": False, "volumeLifecycleModes": ["Persistent"]},
}


class StorageAddon:
    """Installs the driver in a cluster that never had it; what users made of its class since stays as it is."""

    name = "sim.ebs.addon"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self.is_installed = asyncio.Event()

    async def run(self) -> None:
        """Install, once."""
        try:
            await self._kube.get(_DRIVERS, EBS)
        except NotFound:
            # The driver last: as long as it is missing, an interrupted installation is taken up again.
            await self._ensure(STORAGE_CLASSES, DEFAULT_CLASS)
            await self._ensure(_DRIVERS, _DRIVER)
        self.is_installed.set()

    async def _ensure(self, resource: Resource[Any], body: RawObject) -> None:
        with contextlib.suppress(AlreadyExists):
            await self._kube.create(resource, body)
