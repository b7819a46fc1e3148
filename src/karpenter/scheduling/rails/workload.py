"""The workload share: how many of one workload's replicas may be lost with one machine. Off unless a policy sets it.

It is kept like a spread over hosts that pods state with `ScheduleAnyway`: given up when a pod would find no place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from karpenter.model.core import Pod, TopologySpreadConstraint
from karpenter.model.labels import HOSTNAME
from karpenter.model.meta import LabelSelector
from karpenter.scheduling.policy import Policy
from karpenter.scheduling.snapshot import Snapshot

Workload: TypeAlias = tuple[str, str, str]
"""Namespace, kind and name of a controller."""


@dataclass(frozen=True, slots=True)
class WorkloadShares:
    """How many replicas each workload has, and which share of them one node may hold."""

    share: float
    replicas: Counter[Workload]

    @classmethod
    def of(cls, share: float, pods: Iterable[Pod]) -> WorkloadShares:
        """Return the shares for these pods, running and waiting."""
        return cls(share, Counter(workload for pod in pods if (workload := _workload(pod)) is not None))

    def constraint(self, pod: Pod, selector: LabelSelector) -> TopologySpreadConstraint | None:
        """Return what keeps the pods of this one's workload (`selector`) apart; None when there is no other."""
        workload = _workload(pod)
        replicas = self.replicas[workload] if workload is not None else 0
        most = max(1, int(self.share * replicas))
        if replicas <= most:
            return None
        return TopologySpreadConstraint(
            max_skew=most, topology_key=HOSTNAME, when_unsatisfiable="ScheduleAnyway", label_selector=selector
        )


def workload_shares(policy: Policy, snapshot: Snapshot, pods: Iterable[Pod]) -> WorkloadShares | None:
    """Return the rail for waiting pods and those that run; None when the policy has none."""
    if policy.workload_share is None or not policy.rails:
        return None
    running = chain.from_iterable(view.pods for view in snapshot.nodes if not view.is_deleting)
    return WorkloadShares.of(policy.workload_share, chain(running, pods))


def _workload(pod: Pod) -> Workload | None:
    controller = pod.metadata.controller()
    return None if controller is None else (pod.metadata.namespace, controller.kind, controller.name)
