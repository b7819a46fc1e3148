"""Volumes: which nodes can mount what a pod claims, and how many volumes a node can hold.

Source: kube-scheduler's VolumeBinding, VolumeZone and NodeVolumeLimits plugins.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from karpenter.model import core, labels
from karpenter.model.storage import CSINode, PersistentVolume, PersistentVolumeClaim, StorageClass
from karpenter.model.units import ObjectKey
from karpenter.sim.disks import EBS, IN_TREE, NO_PROVISIONER, SELECTED_NODE
from karpenter.sim.scheduler.nodefilters import Rejection, matches_term
from karpenter.sim.scheduler.nodeinfo import NodeInfo
from karpenter.sim.scheduler.podfacts import ClaimRef, PodFacts

_ZONE_LABELS: Final = (labels.ZONE, labels.REGION)

_CONFLICT: Final = Rejection("VolumeBinding", ("node(s) didn't match PersistentVolume's node affinity",))
_NO_VOLUME: Final = Rejection("VolumeBinding", ("node(s) didn't find available persistent volumes to bind",))
_LOST: Final = Rejection(
    "VolumeBinding", ("node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",)
)
_OTHER_ZONE: Final = Rejection("VolumeZone", ("node(s) had no available volume zone",))
_TOO_MANY: Final = Rejection("NodeVolumeLimits", ("node(s) exceed max volume count",), helps_to_remove_pods=True)


class Storage(Protocol):
    """Where claims, volumes and what belongs to them are looked up; None for what does not exist."""

    def claim(self, key: ObjectKey) -> PersistentVolumeClaim | None:
        """Return a claim."""
        ...

    def volume(self, name: str) -> PersistentVolume | None:
        """Return a volume."""
        ...

    def storage_class(self, name: str) -> StorageClass | None:
        """Return a storage class."""
        ...

    def csi_node(self, name: str) -> CSINode | None:
        """Return what a node's volume drivers say."""
        ...


@dataclass(frozen=True, slots=True)
class Mounts:
    """The claims of one pod, resolved."""

    bound: tuple[PersistentVolume | None, ...] = ()
    """Volumes of bound claims; None where the volume does not exist."""
    waiting: tuple[PersistentVolumeClaim, ...] = ()
    """Claims whose volume is made once the pod has a node."""
    attached: frozenset[tuple[str, str]] = frozenset()
    """Driver and handle of each volume that counts against a node's limit."""


def resolve(pod: PodFacts, storage: Storage) -> Mounts | str:
    """Return a pod's claims, or in words why no node will do as things are."""
    bound: list[PersistentVolume | None] = []
    waiting: list[PersistentVolumeClaim] = []
    unbound = False
    for reference in pod.claims:
        claim = storage.claim(reference.key)
        problem = _problem(reference, claim)
        if claim is None or problem is not None:
            return problem or ""
        if claim.spec.volume_name:
            bound.append(storage.volume(claim.spec.volume_name))
        elif _binds_late(claim, storage):
            waiting.append(claim)
        else:
            unbound = True
    if unbound:
        return "pod has unbound immediate PersistentVolumeClaims"
    return Mounts(tuple(bound), tuple(waiting), frozenset(attachments(pod.claims, storage)))


def _problem(reference: ClaimRef, claim: PersistentVolumeClaim | None) -> str | None:
    name = reference.key.name
    if claim is None:
        if reference.is_ephemeral:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        return f'persistentvolumeclaim "{name}" not found'
    if claim.metadata.is_deleting:
        return f'persistentvolumeclaim "{name}" is being deleted'
    if claim.status.phase == "Lost":
        return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.spec.volume_name}"'
    return None


def _class_of(claim: PersistentVolumeClaim, storage: Storage) -> StorageClass | None:
    return storage.storage_class(claim.spec.storage_class_name) if claim.spec.storage_class_name else None


def _binds_late(claim: PersistentVolumeClaim, storage: Storage) -> bool:
    chosen = _class_of(claim, storage)
    return chosen is not None and chosen.volume_binding_mode == "WaitForFirstConsumer"


def attachments(claims: Iterable[ClaimRef], storage: Storage) -> Iterable[tuple[str, str]]:
    """Yield driver and handle of the volumes behind claims, as attach limits count them.

    A claim without a volume counts as one of its class' driver. A claim that does not exist counts nothing.
    """
    for reference in claims:
        claim = storage.claim(reference.key)
        if claim is None:
            continue
        volume = storage.volume(claim.spec.volume_name) if claim.spec.volume_name else None
        if volume is not None:
            yield from _attachment(volume)
            continue
        chosen = _class_of(claim, storage)
        if chosen is not None and chosen.provisioner != NO_PROVISIONER:
            yield IN_TREE.get(chosen.provisioner, chosen.provisioner), str(reference.key)


def _attachment(volume: PersistentVolume) -> Iterable[tuple[str, str]]:
    if volume.spec.csi is not None:
        yield volume.spec.csi.driver, volume.spec.csi.volume_handle
    elif volume.spec.aws_elastic_block_store is not None:
        yield EBS, str(volume.spec.aws_elastic_block_store.get("volumeID", ""))


def rejection_by_volumes(mounts: Mounts, node: NodeInfo, storage: Storage) -> Rejection | None:
    """Return why a node cannot mount a pod's volumes; None when it can."""
    if _exceeds_limit(mounts, node, storage):
        return _TOO_MANY
    for volume in mounts.bound:
        if volume is None:
            return _LOST
        affinity = volume.spec.node_affinity
        required = affinity.required if affinity is not None else None
        if required is not None and not _any_term(required.node_selector_terms, node):
            return _CONFLICT
    if not all(_can_be_made(claim, node, storage) for claim in mounts.waiting):
        return _NO_VOLUME
    if not all(_is_in_zone(volume, node) for volume in mounts.bound if volume is not None):
        return _OTHER_ZONE
    return None


def _any_term(terms: Sequence[core.NodeSelectorTerm], node: NodeInfo) -> bool:
    return any(matches_term(term, node.labels, node.name) for term in terms)


def _can_be_made(claim: PersistentVolumeClaim, node: NodeInfo, storage: Storage) -> bool:
    selected = claim.metadata.annotations.get(SELECTED_NODE)
    if selected is not None and selected != node.name:
        return False
    chosen = _class_of(claim, storage)
    if chosen is None or chosen.provisioner == NO_PROVISIONER:
        return False
    return not chosen.allowed_topologies or any(
        all(node.labels.get(entry.key) in entry.values for entry in topology.match_label_expressions)
        for topology in chosen.allowed_topologies
    )


def _is_in_zone(volume: PersistentVolume, node: NodeInfo) -> bool:
    wanted: Mapping[str, str] = volume.metadata.labels
    # A volume replicated over zones lists them with a double underscore.
    return all(node.labels.get(key) in wanted[key].split("__") for key in _ZONE_LABELS if key in wanted)


def _exceeds_limit(mounts: Mounts, node: NodeInfo, storage: Storage) -> bool:
    if not mounts.attached:
        return False
    csi_node = storage.csi_node(node.name)
    limits = {
        driver.name: driver.allocatable.count
        for driver in (csi_node.spec.drivers if csi_node is not None else ())
        if driver.allocatable is not None and driver.allocatable.count is not None
    }
    here = {found for facts in node.classes for found in attachments(facts.claims, storage)}
    drivers = {driver for driver, _ in mounts.attached - here}
    together = here | mounts.attached
    return any(driver in limits and sum(one == driver for one, _ in together) > limits[driver] for driver in drivers)
