"""Which pods a ReplicaSet gives up first when it has too many."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Final

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.units import UnixSeconds
from karpenter.sim.controllers.podstate import ready_since

_PHASES: Final = {"Pending": 0, "Unknown": 1, "Running": 2}


def choose_victims(active: Sequence[Pod], related: Sequence[Pod], number: int, *, now: UnixSeconds) -> list[Pod]:
    """Return the pods to delete, the one that is missed least first.

    In this order: without a node; pending, then unknown; not ready; of lower deletion cost; with more `related` pods
    (active ones of the same Deployment, these included) on its node; ready for less time; restarted more often;
    younger. Ages count by orders of magnitude: about equally old pods are told apart by uid, as good as chance.

    Source: kubernetes.io/docs/concepts/workloads/controllers/replicaset, Scaling a ReplicaSet.
    """
    if number >= len(active):
        return list(active)
    crowd = Counter(pod.spec.node_name for pod in related)
    return sorted(active, key=lambda pod: _rank(pod, crowd[pod.spec.node_name], now))[:number]


def _rank(pod: Pod, neighbours: int, now: UnixSeconds) -> tuple[object, ...]:
    since = ready_since(pod)
    created = pod.metadata.created_at or now
    return (
        bool(pod.spec.node_name),
        _PHASES.get(pod.status.phase, 0),
        since is not None,
        deletion_cost(pod),
        -neighbours,
        _magnitude(now - since) if since is not None else 0,
        -max((status.restart_count for status in pod.status.container_statuses), default=0),
        _magnitude(now - created),
        pod.metadata.uid,
    )


def deletion_cost(pod: Pod) -> int:
    """Return what the pod's annotation says losing it costs; 0 when it says nothing that is a number."""
    try:
        return int(pod.metadata.annotations.get(labels.POD_DELETION_COST, "0"))
    except ValueError:
        return 0


def _magnitude(age_s: float) -> int:
    return int(math.log2(age_s * 1e9)) if age_s > 0 else 0
