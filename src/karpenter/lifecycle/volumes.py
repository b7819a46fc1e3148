"""Which volume attachments still hold a drained node. Pure. Source: spec v1 T-10."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from karpenter.model.core import Pod
from karpenter.model.storage import PersistentVolumeClaim, VolumeAttachment
from karpenter.model.units import ObjectKey


def blocking_attachments(
    attachments: Iterable[VolumeAttachment],
    node_name: str,
    pods: Iterable[Pod],
    *,
    claims: Mapping[ObjectKey, PersistentVolumeClaim],
) -> tuple[str, ...]:
    """Return the volumes attached to the node that pods being moved wait for, sorted.

    Volumes of pods that stay (those the drain does not evict) never detach and do not count: `pods` are the pods still
    on the node, all of them such once the drain is done.
    """
    kept = {volume for pod in pods for volume in _volumes_of(pod, claims)}
    here = (attachment.spec.source for attachment in attachments if attachment.spec.node_name == node_name)
    attached = {source.persistent_volume_name for source in here if source.persistent_volume_name}
    return tuple(sorted(attached - kept))


def _volumes_of(pod: Pod, claims: Mapping[ObjectKey, PersistentVolumeClaim]) -> Iterable[str]:
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            name = volume.persistent_volume_claim.claim_name
        elif volume.ephemeral is not None:
            name = f"{pod.metadata.name}-{volume.name}"
        else:
            continue
        claim = claims.get(ObjectKey(pod.metadata.namespace, name))
        if claim is not None and claim.spec.volume_name:
            yield claim.spec.volume_name
