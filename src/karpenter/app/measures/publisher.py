"""Writes all gauges of the cluster's state when somebody reads the metrics."""

from __future__ import annotations

import platform
from collections.abc import Callable

from karpenter import __version__
from karpenter.app.measures.conditions import Conditions
from karpenter.app.measures.nodes import NodeLoad, publish_nodes, publish_utilization
from karpenter.app.measures.offerings import Offerings
from karpenter.app.measures.pods import publish_pods
from karpenter.app.measures.podtimes import PodTimes
from karpenter.app.measures.pools import publish_pools
from karpenter.app.measures.settings import MetricsSettings
from karpenter.model import labels
from karpenter.model.pods import is_terminal
from karpenter.model.units import UnixSeconds
from karpenter.runtime.clock import Clock
from karpenter.runtime.metrics import Metrics
from karpenter.state.cluster import ClusterState


class Measures:
    """The gauges of one operator."""

    def __init__(
        self,
        state: ClusterState,
        metrics: Metrics,
        *,
        clock: Clock,
        settings: MetricsSettings,
        is_synced: Callable[[], bool],
    ) -> None:
        self.pod_times = PodTimes(metrics, clock)
        self.conditions = Conditions(metrics, clock)
        self._state = state
        self._metrics = metrics
        self._clock = clock
        self._settings = settings
        self._is_synced = is_synced
        self._unsynced_since: UnixSeconds | None = clock.now()
        self._offerings = Offerings(metrics, settings.offerings)
        metrics.build_info.labels(__version__, f"python {platform.python_version()}", platform.machine(), "").set(1)
        metrics.before_render.append(self.publish)

    def publish(self) -> None:
        """Set every gauge to what is true now."""
        now = self._clock.now()
        self._publish_sync(now)
        snapshot = self._state.snapshot(now)
        loads = self._loads()
        self._offerings.publish({key: self._state.instance_types(key) for key in self._state.pools}, self._used_types)
        publish_utilization(loads, self._metrics)
        publish_pools(snapshot.pools, snapshot.nodes, self._metrics, now=now)
        self.conditions.publish(now, per_object=self._settings.per_object_conditions)
        if self._settings.per_node:
            publish_nodes(loads, self._metrics, now)
        if self._settings.per_pod:
            publish_pods(self._state.pods.values(), self._state.nodes, self._metrics, now=now)
            self.pod_times.publish(now)

    def _loads(self) -> list[NodeLoad]:
        state = self._state
        return [
            NodeLoad(
                node,
                tuple(pod for pod in state.pods_on(name) if not is_terminal(pod)),
                is_managed=state.claim_of(node) is not None,
            )
            for name, node in state.nodes.items()
        ]

    def _used_types(self) -> set[str]:
        return {node.metadata.labels.get(labels.INSTANCE_TYPE, "") for node in self._state.nodes.values()}

    def _publish_sync(self, now: UnixSeconds) -> None:
        is_synced = self._is_synced()
        if is_synced:
            self._unsynced_since = None
        elif self._unsynced_since is None:
            self._unsynced_since = now
        metrics = self._metrics
        metrics.cluster_state_synced.set(is_synced)
        metrics.cluster_state_node_count.set(len(self._state.nodes))
        since = self._unsynced_since
        metrics.cluster_state_unsynced_time_seconds.set(0.0 if since is None else now - since)
