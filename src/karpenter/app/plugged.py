"""The operator over any installed cloud: what `run --cloud NAME` is made of."""

from __future__ import annotations

from karpenter.app.cloudassembly import CloudAssembly, FindPool
from karpenter.app.nodeclasses import NodeClasses
from karpenter.app.settings import Settings
from karpenter.cloud.provider import CloudProvider
from karpenter.cloud.registry import ProviderContext, ProviderFactory
from karpenter.runtime.clock import Clock
from karpenter.runtime.kube import KubeClient
from karpenter.runtime.metrics import Metrics


class PluggedAssembly(CloudAssembly[CloudProvider]):
    """Our controllers, and the cloud of a plug-in."""

    def __init__(
        self,
        client: KubeClient,
        factory: ProviderFactory,
        *,
        cluster_name: str,
        clock: Clock,
        metrics: Metrics,
        settings: Settings,
    ) -> None:
        def open_cloud(node_classes: NodeClasses, pool: FindPool) -> CloudProvider:
            return factory(
                ProviderContext(
                    kube=client,
                    clock=clock,
                    cluster_name=cluster_name,
                    node_class=node_classes.raw,
                    pool=pool,
                    settings={"aws": settings.aws},
                    metrics=metrics,
                )
            )

        super().__init__(client, open_cloud, clock=clock, metrics=metrics, settings=settings)
