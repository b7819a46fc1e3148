"""What moving a pod has to be worth: more for pods with a volume, and for the only one of their workload. Pure.

Source: issue 6, point 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from karpenter.model.core import Pod
from karpenter.model.pods import is_terminal, is_terminating
from karpenter.scheduling import Policy
from karpenter.scheduling.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Care:
    """Prices of moves."""

    policy: Policy
    _replicas: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, snapshot: Snapshot, policy: Policy) -> Care:
        """Return the prices of moves in a cluster."""
        running = (pod for view in snapshot.nodes for pod in view.pods)
        every = {pod.metadata.key: pod for pod in (*snapshot.pending, *running)}.values()
        counted = (pod for pod in every if not is_terminal(pod) and not is_terminating(pod))
        return cls(policy, Counter(workload for pod in counted if (workload := workload_of(pod)) is not None))

    def price(self, pods: Iterable[Pod]) -> float:
        """Return what moving these pods has to be worth, in USD per hour."""
        policy = self.policy
        if not policy.move_price:
            return 0.0
        return sum(policy.move_price * (policy.careful_move_factor if self.is_careful(pod) else 1.0) for pod in pods)

    def is_careful(self, pod: Pod) -> bool:
        """Return whether the pod has a volume of its own, or is all there is of its workload."""
        return self.is_singleton(pod) or any(
            volume.persistent_volume_claim is not None or volume.ephemeral is not None for volume in pod.spec.volumes
        )

    def is_singleton(self, pod: Pod) -> bool:
        """Return whether nothing of its kind serves while the pod moves; one that nobody owns is alone."""
        workload = workload_of(pod)
        return workload is None or self._replicas[workload] <= 1


def workload_of(pod: Pod) -> str | None:
    """Return the uid of what keeps such pods running; None for a pod that nobody owns."""
    owners = pod.metadata.owner_references
    controlling = [owner for owner in owners if owner.controller] or list(owners)
    return controlling[0].uid if controlling else None
