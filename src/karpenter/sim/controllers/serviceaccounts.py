"""Service accounts: each namespace has one called `default`."""

from __future__ import annotations

from typing import Final

from karpenter.model.units import ObjectKey
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.kube import AlreadyExists, WatchEvent
from karpenter.sim.kinds import SERVICE_ACCOUNTS, MetadataOnly, Namespace
from karpenter.sim.standins import Context, Enqueue

_NAME: Final = "default"


class ServiceAccounts:
    """Creates the default service account of each namespace, again if somebody deletes it. Keys are namespaces."""

    name = "sim.serviceaccount"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._informers = context.informers

    def watch(self, enqueue: Enqueue[str]) -> None:
        """Look at a namespace when it is new, and when its account is gone."""

        def namespace_changed(event: WatchEvent[Namespace]) -> None:
            if event.object is not None and event.type != "DELETED":
                enqueue(event.object.metadata.name)

        def account_changed(event: WatchEvent[MetadataOnly]) -> None:
            if event.object is not None and event.type == "DELETED":
                enqueue(event.object.metadata.namespace)

        self._informers.namespaces.subscribe(namespace_changed)
        self._informers.service_accounts.subscribe(account_changed)

    async def reconcile(self, key: str) -> Result:
        """Create the account that one namespace lacks."""
        namespace = self._informers.namespaces.get(ObjectKey("", key))
        if namespace is None or namespace.metadata.is_deleting:
            return DONE
        if self._informers.service_accounts.get(ObjectKey(key, _NAME)) is None:
            try:
                made = await self._kube.create(SERVICE_ACCOUNTS, {"metadata": {"name": _NAME}}, namespace=key)
            except AlreadyExists:
                return DONE  # its news are on their way
            self._informers.service_accounts.fold(made)
        return DONE
