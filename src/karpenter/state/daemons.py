"""What each DaemonSet will put on a new node. Pure.

Source: spec v1alpha5 SCH-3, spec v1 S-22: a live pod knows the defaults that admission added, but its node affinity
pins it to its node, so that part comes from the template.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from karpenter.model.core import DaemonSet, Pod
from karpenter.model.meta import ObjectMeta, OwnerReference


def daemon_pods(daemon_sets: Iterable[DaemonSet], pods: Iterable[Pod]) -> tuple[Pod, ...]:
    """Return one unbound pod per DaemonSet, sorted by namespace and name."""
    newest = _newest_by_owner(pods)
    ordered = sorted(daemon_sets, key=lambda daemon_set: daemon_set.metadata.key)
    return tuple(_daemon_pod(daemon_set, newest.get(daemon_set.metadata.uid)) for daemon_set in ordered)


def _newest_by_owner(pods: Iterable[Pod]) -> dict[str, Pod]:
    newest: dict[str, Pod] = {}
    for pod in pods:
        owner = next((owner for owner in pod.metadata.owner_references if owner.kind == "DaemonSet"), None)
        if owner is None:
            continue
        present = newest.get(owner.uid)
        if present is None or _age_key(pod) > _age_key(present):
            newest[owner.uid] = pod
    return newest


def _age_key(pod: Pod) -> tuple[str, str]:
    return pod.metadata.creation_timestamp or "", pod.metadata.name


def _daemon_pod(daemon_set: DaemonSet, live: Pod | None) -> Pod:
    template = daemon_set.spec.template
    spec = live.spec if live else template.spec
    owner = OwnerReference("apps/v1", "DaemonSet", daemon_set.metadata.name, daemon_set.metadata.uid, controller=True)
    return Pod(
        metadata=ObjectMeta(
            name=daemon_set.metadata.name,
            namespace=daemon_set.metadata.namespace,
            labels=template.metadata.labels,
            annotations=template.metadata.annotations,
            owner_references=(owner,),
        ),
        spec=msgspec.structs.replace(spec, node_name="", affinity=template.spec.affinity),
    )
