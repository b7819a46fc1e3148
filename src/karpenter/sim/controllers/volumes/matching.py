"""Which volumes a claim may be bound to.

Source: kubernetes.io/docs/concepts/storage/persistent-volumes, Binding.
"""

from __future__ import annotations

from collections.abc import Iterable

from karpenter.model.quantity import whole
from karpenter.sim.storagekinds import Claim, Volume


def is_meant_for(volume: Volume, claim: Claim) -> bool:
    """Return whether a volume is bound to, or kept for, a claim: to this very one, or to any of its name."""
    reference = volume.spec.claim_ref
    if reference is None or (reference.namespace, reference.name) != claim.metadata.key:
        return False
    return reference.uid in {"", claim.metadata.uid}


def best_match(claim: Claim, volumes: Iterable[Volume], *, binds_late: bool) -> Volume | None:
    """Return the volume to bind a claim to: one that is kept for it, else the smallest that will do; None for none.

    A claim that binds late takes only what is kept for it here: the rest is up to the scheduler, who knows the node.
    """
    fitting = [volume for volume in volumes if _is_large_enough(volume, claim) and _may_be_bound(volume, claim)]
    kept = next((volume for volume in fitting if is_meant_for(volume, claim)), None)
    if kept is not None or binds_late:
        return kept
    free = [volume for volume in fitting if is_free_for(volume, claim)]
    return min(free, key=lambda one: (len(one.spec.access_modes), storage(one), one.metadata.name), default=None)


def is_free_for(volume: Volume, claim: Claim) -> bool:
    """Return whether nobody has a volume and a claim may take it, its node aside."""
    return (
        volume.spec.claim_ref is None
        and volume.status.phase == "Available"
        and _is_large_enough(volume, claim)
        and _may_be_bound(volume, claim)
        and volume.spec.storage_class_name == (claim.spec.storage_class_name or "")
        and (claim.spec.selector is None or claim.spec.selector.matches(volume.metadata.labels))
    )


def _may_be_bound(volume: Volume, claim: Claim) -> bool:
    return (
        not volume.metadata.is_deleting
        and volume.spec.volume_mode == claim.spec.volume_mode
        and set(claim.spec.access_modes) <= set(volume.spec.access_modes)
    )


def mismatch(volume: Volume, claim: Claim) -> str | None:
    """Return in words why a claim cannot have the volume that it asks for by name; None when it can."""
    if volume.metadata.is_deleting:
        return f'the volume is marked for deletion "{volume.metadata.name}"'
    if not _is_large_enough(volume, claim):
        return "requested PV is too small"
    if volume.spec.storage_class_name != (claim.spec.storage_class_name or ""):
        return "storageClassName does not match"
    if volume.spec.volume_mode != claim.spec.volume_mode:
        return "incompatible volumeMode"
    if not set(claim.spec.access_modes) <= set(volume.spec.access_modes):
        return "incompatible accessMode"
    return None


def _is_large_enough(volume: Volume, claim: Claim) -> bool:
    return storage(volume) >= requested(claim)


def storage(volume: Volume) -> int:
    """Return the size of a volume in bytes."""
    return whole(volume.spec.capacity.get("storage", 0))


def requested(claim: Claim) -> int:
    """Return the size that a claim asks for, in bytes."""
    return whole(claim.spec.resources.requests.get("storage", 0))
