"""Pods: defaults, the first status, and how little of a pod can be changed."""

from __future__ import annotations

from typing import Any

from karpenter.runtime.kubememory.strategies.strategy import Strategy


def default_pod_spec(spec: dict[str, Any]) -> None:
    """Fill in a pod's spec, in a Pod or in a workload's template."""
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("schedulerName", "default-scheduler")
    spec.setdefault("securityContext", {})


POD = Strategy(
    default=lambda pod: default_pod_spec(pod.setdefault("spec", {})),
    begin=lambda pod: pod.update(status={"phase": "Pending"}),
)
