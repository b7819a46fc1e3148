"""A written cluster brought up on the real control plane, and read back as the solver sees it."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import msgspec

from karpenter.model import labels
from karpenter.model.core import Node, Pod
from karpenter.model.pods import is_terminal
from karpenter.model.resources import parse_resources
from karpenter.model.storage import PersistentVolume, PersistentVolumeClaim
from karpenter.runtime.kube import (
    DAEMON_SETS,
    NAMESPACES,
    NODES,
    PODS,
    PVCS,
    PVS,
    KubeClient,
    NotFound,
    RawObject,
    Resource,
)
from karpenter.scheduling import ClaimPlan, NodeView, PoolView, Snapshot, Volumes
from tests.builders import a_snapshot, pool_usage
from tests.e2e.nodes import node_of_plan, node_of_view
from tests.e2e.pods import create_all, delete_all, nodes_ready, pod_manifest, until, without_empties
from tests.scheduling.mixtures import GROUP, Mixture

SERVICE_ACCOUNTS: Resource[RawObject] = Resource("", "v1", "serviceaccounts", "ServiceAccount", dict, namespaced=True)
DAEMON = {"app": "daemon"}


class RealCluster:
    """The real counterpart of a mixture: a namespace of its own, and nodes that only its pods ask for."""

    def __init__(self, kube: KubeClient, mixture: Mixture, group: str) -> None:
        self.kube = kube
        self.mixture = mixture
        self.group = group
        self._pools: Mapping[str, PoolView] = {view.pool.metadata.name: view for view in mixture.snapshot.pools}
        self._launched = 0

    async def begin(self) -> None:
        """Make what is there before the new pods come: nodes with their pods, volumes, a DaemonSet."""
        snapshot = self.mixture.snapshot
        await self.kube.create(NAMESPACES, {"metadata": {"name": self.group}})
        await until(self._has_account, f"service account of {self.group}")
        for volume in snapshot.volumes.volumes.values():
            await self.kube.create(PVS, volume_manifest(volume, self._claim_of(volume)))
        for claim in snapshot.volumes.claims.values():
            await self.kube.create(PVCS, claim_manifest(claim), namespace=self.group)
        if snapshot.volumes.claims:
            await until(self._claims_bound, f"claims of {self.group} bound")
        nodes = [node_of_view(view) for view in snapshot.nodes]
        await self._start(nodes)
        await create_all(
            self.kube,
            [on_node(pod_manifest(pod, self.group), view.name) for view in snapshot.nodes for pod in view.pods],
        )
        for daemon in snapshot.daemons:
            await self.kube.create(DAEMON_SETS, daemon_set(daemon, self.group), namespace=self.group)

    async def end(self) -> None:
        """Delete all that was made, and wait for nothing."""
        with suppress(NotFound):  # it did not even begin
            await self.kube.delete(NAMESPACES, self.group)
        await delete_all(self.kube, PODS, await self._pods())
        await delete_all(self.kube, NODES, await self._nodes())
        names = self.mixture.snapshot.volumes.volumes
        await delete_all(
            self.kube, PVS, [each for each in (await self.kube.list(PVS)).items if each.metadata.name in names]
        )

    async def pending(self, planned: Iterable[str]) -> tuple[Pod, ...]:
        """Return the pods among `planned` that have no node."""
        names = set(planned)
        return tuple(pod for pod in await self._pods() if pod.metadata.name in names and not pod.spec.node_name)

    async def snapshot(self) -> Snapshot:
        """Return the cluster as it is now: every node initialized, its pods on it."""
        bound: dict[str, list[Pod]] = {}
        for pod in await self._pods():
            if pod.spec.node_name and not is_terminal(pod):
                bound.setdefault(pod.spec.node_name, []).append(pod)
        views = [self._view(node, bound.get(node.metadata.name, ())) for node in await self._nodes()]
        pools = [
            PoolView(one.pool, one.instance_types, usage=pool_usage(one.pool.key, views))
            for one in self._pools.values()
        ]
        claims = (await self.kube.list(PVCS, namespace=self.group)).items
        volumes = (await self.kube.list(PVS)).items
        return a_snapshot(
            nodes=views,
            pools=pools,
            daemons=self.mixture.snapshot.daemons,
            volumes=Volumes(
                {each.metadata.key: each for each in claims},
                {each.metadata.name: each for each in volumes},
                self.mixture.snapshot.volumes.classes,
            ),
            namespaces={self.group: await self.kube.get(NAMESPACES, self.group)},
        )

    def names_for(self, plans: Iterable[ClaimPlan]) -> dict[str, str]:
        """Return the nodes that the next wave will have, by plan; names differ from wave to wave."""
        self._launched += 1
        return {plan.name: f"{plan.name}-{self._launched}" for plan in plans}

    async def launch(self, plans: Iterable[ClaimPlan], names: Mapping[str, str]) -> None:
        """Bring up what is planned under these names, all at once, and wait until it is Ready."""
        manifests = []
        for plan in plans:
            view = self._pools[plan.pool.name]
            offered = {each.name: each for each in view.instance_types}
            planned = replace(plan, name=names[plan.name])
            manifests.append(node_of_plan(planned, view.pool, offered[plan.instance_type]))
        await self._start(manifests)

    async def nodes(self) -> dict[str, Node]:
        """Return its nodes by name."""
        return {node.metadata.name: node for node in await self._nodes()}

    async def pods(self) -> tuple[Pod, ...]:
        """Return its pods, those of the DaemonSet among them."""
        return await self._pods()

    async def _start(self, manifests: list[dict[str, Any]]) -> None:
        if manifests:
            await create_all(self.kube, manifests)
            await nodes_ready(self.kube, [each["metadata"]["name"] for each in manifests])

    async def _pods(self) -> tuple[Pod, ...]:
        return (await self.kube.list(PODS, namespace=self.group)).items

    async def _nodes(self) -> tuple[Node, ...]:
        return (await self.kube.list(NODES, label_selector=f"{GROUP}={self.group}")).items

    async def _has_account(self) -> bool:
        try:
            await self.kube.get(SERVICE_ACCOUNTS, "default", namespace=self.group)
        except NotFound:
            return False
        return True

    async def _claims_bound(self) -> bool:
        return all(claim.status.phase == "Bound" for claim in (await self.kube.list(PVCS, namespace=self.group)).items)

    def _claim_of(self, volume: PersistentVolume) -> PersistentVolumeClaim:
        claims = self.mixture.snapshot.volumes.claims.values()
        return next(claim for claim in claims if claim.spec.volume_name == volume.metadata.name)

    def _view(self, node: Node, pods: Iterable[Pod]) -> NodeView:
        given = node.metadata.labels
        name = given.get(labels.PROVISIONER) or given.get(labels.NODEPOOL)
        pool = self._pools[name].pool if name else None
        return NodeView(
            name=node.metadata.name,
            labels=given,
            taints=node.spec.taints,
            capacity=parse_resources(node.status.capacity),
            allocatable=parse_resources(node.status.allocatable),
            pods=tuple(pods),
            is_managed=pool is not None,
            pool=pool.key if pool else None,
            instance_type=given.get(labels.INSTANCE_TYPE),
            zone=given.get(labels.ZONE),
            capacity_type=given.get(labels.CAPACITY_TYPE),
            node=node,
        )


def on_node(manifest: dict[str, Any], node: str) -> dict[str, Any]:
    """Return the pod bound to a node from the start."""
    return {**manifest, "spec": {**manifest["spec"], "nodeName": node}}


def volume_manifest(volume: PersistentVolume, claim: PersistentVolumeClaim) -> dict[str, Any]:
    """Return a volume that waits for its claim."""
    return {
        "metadata": {"name": volume.metadata.name},
        "spec": {
            **without_empties(msgspec.to_builtins(volume.spec)),
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "claimRef": {"namespace": claim.metadata.namespace, "name": claim.metadata.name},
        },
    }


def claim_manifest(claim: PersistentVolumeClaim) -> dict[str, Any]:
    """Return a claim for its volume."""
    return {
        "metadata": {"name": claim.metadata.name, "namespace": claim.metadata.namespace},
        "spec": {
            **without_empties(msgspec.to_builtins(claim.spec)),
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


def daemon_set(daemon: Pod, namespace: str) -> dict[str, Any]:
    """Return a DaemonSet whose pods are like this one."""
    spec = pod_manifest(daemon, namespace)["spec"]
    return {
        "metadata": {"name": daemon.metadata.name, "namespace": namespace},
        "spec": {"selector": {"matchLabels": DAEMON}, "template": {"metadata": {"labels": DAEMON}, "spec": spec}},
    }
