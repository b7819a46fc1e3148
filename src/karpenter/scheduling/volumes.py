"""Volumes: where a pod's claims let it run, what they attach to its node, and why some can never be mounted.

Source: spec v1alpha5 SCH-50 … SCH-55, spec v1 S-6, S-40 … S-43; cases VOL-COUNT.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from karpenter.model import labels
from karpenter.model.core import NodeSelectorTerm, PersistentVolumeClaimSpec, Pod
from karpenter.model.requirements import Requirement, Requirements
from karpenter.model.storage import PersistentVolume, StorageClass
from karpenter.model.units import ObjectKey
from karpenter.scheduling.snapshot import Volumes

Attachment: TypeAlias = tuple[str, str]
"""CSI driver, and a name that is the same for all pods that use the volume."""
Alternatives: TypeAlias = tuple[Requirements, ...]
"""Node requirements of which one must hold."""

_NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
_SELECTED_NODE: Final = "volume.kubernetes.io/selected-node"
"""Annotation on a claim: where the scheduler already asked for its volume."""
_IN_TREE: Final = {"kubernetes.io/aws-ebs": "ebs.csi.aws.com"}
"""Drivers that took over from what was once built in (SCH-54)."""
_EBS: Final = "ebs.csi.aws.com"
_ANYWHERE: Final[Alternatives] = (Requirements(),)


@dataclass(frozen=True, slots=True)
class Mounts:
    """What the volumes of a pod ask of its node."""

    alternatives: Alternatives = _ANYWHERE
    attached: tuple[Attachment, ...] = ()
    """Volumes that count against a node's limit, sorted."""
    fault: str | None = None
    """Why no node could mount them as things are, in words; None when one could."""


NO_MOUNTS: Final = Mounts()


@dataclass(frozen=True, slots=True)
class _Claim:
    """A claim of a pod, or what an ephemeral volume's claim will be made from."""

    key: ObjectKey
    spec: PersistentVolumeClaimSpec | None
    """None when there is no such claim."""
    selected_node: str | None = None


@dataclass(slots=True)
class Storage:
    """Answers about volumes for the pods of one solve."""

    volumes: Volumes
    hosts: frozenset[str]
    """Hostnames of the nodes that stay."""
    _places: dict[str, Alternatives] = field(default_factory=dict)
    _default: list[StorageClass] = field(default_factory=list)

    def __post_init__(self) -> None:
        marked = (
            chosen
            for chosen in self.volumes.classes.values()
            if chosen.metadata.annotations.get(labels.IS_DEFAULT_STORAGE_CLASS) == "true"
        )
        by_name = sorted(marked, key=lambda chosen: chosen.metadata.name)
        self._default = sorted(by_name, key=lambda chosen: chosen.metadata.creation_timestamp or "", reverse=True)

    def mounts(self, pod: Pod) -> Mounts:
        """Return what the pod's volumes ask of its node."""
        if not pod.spec.volumes:
            return NO_MOUNTS
        claims = [self._claim(pod, key, template) for key, template in _claims_of(pod)]
        if not claims:
            return NO_MOUNTS
        faults = [fault for claim in claims if (fault := self._fault(claim)) is not None]
        if faults:
            return Mounts(fault=faults[0])
        reached: Alternatives = _ANYWHERE
        try:
            for claim in claims:
                reached = _both(reached, self._alternatives(claim))
        except ValueError as error:
            return Mounts(fault=str(error))
        if not reached:
            return Mounts(fault=self._torn(claims))
        attached = {found for claim in claims if (found := self._attachment(claim)) is not None}
        return Mounts(reached, tuple(sorted(attached)))

    def attachments(self, pod: Pod) -> Iterator[Attachment]:
        """Yield the volumes of a pod that count against its node's limit; claims that do not exist count nothing."""
        for key, template in _claims_of(pod):
            found = self._attachment(self._claim(pod, key, template))
            if found is not None:
                yield found

    def _claim(self, pod: Pod, key: ObjectKey, template: PersistentVolumeClaimSpec | None) -> _Claim:
        known = self.volumes.claims.get(key)
        if known is None:
            return _Claim(key, template)
        return _Claim(key, known.spec, known.metadata.annotations.get(_SELECTED_NODE))

    def _class(self, spec: PersistentVolumeClaimSpec) -> StorageClass | None:
        if spec.storage_class_name is None:
            return self._default[0] if self._default else None
        return self.volumes.classes.get(spec.storage_class_name)

    def _fault(self, claim: _Claim) -> str | None:
        """Return why nothing can mount a claim, however many nodes there are (S-6)."""
        name = claim.key.name
        if claim.spec is None:
            return f"persistentvolumeclaim {name!r} not found"
        known = self.volumes.claims.get(claim.key)
        if known is not None and known.metadata.is_deleting:
            return f"persistentvolumeclaim {name!r} is being deleted"
        if known is not None and known.status.phase == "Lost":
            return f"persistentvolumeclaim {name!r} has lost its volume {claim.spec.volume_name!r}"
        if claim.spec.volume_name:
            gone = claim.spec.volume_name not in self.volumes.volumes
            return f"persistentvolumeclaim {name!r} is bound to {claim.spec.volume_name!r}, not found" if gone else None
        return self._fault_of_class(name, claim.spec)

    def _fault_of_class(self, name: str, spec: PersistentVolumeClaimSpec) -> str | None:
        chosen = self._class(spec)
        if chosen is not None and chosen.volume_binding_mode == "WaitForFirstConsumer":
            if chosen.provisioner == _NO_PROVISIONER and not self._idle(chosen):
                return (
                    f"persistentvolumeclaim {name!r} waits for a volume of class {chosen.metadata.name!r}: none is free"
                )
            return None
        if chosen is not None:
            return (
                f"persistentvolumeclaim {name!r} is not bound yet, and its storage class {chosen.metadata.name!r} "
                "binds at once; WaitForFirstConsumer would let the pod's node decide"
            )
        if spec.storage_class_name:
            return f"persistentvolumeclaim {name!r} asks for storage class {spec.storage_class_name!r}, not found"
        why = "asks for none" if spec.storage_class_name == "" else "names none, and none is the default"
        return f"persistentvolumeclaim {name!r} is not bound and has no storage class: it {why}"

    def _idle(self, chosen: StorageClass) -> list[PersistentVolume]:
        """Return the volumes of a class that no claim is bound to: what a class without provisioner has to offer."""
        taken = {claim.spec.volume_name for claim in self.volumes.claims.values()}
        return [
            volume
            for name, volume in sorted(self.volumes.volumes.items())
            if volume.spec.storage_class_name == chosen.metadata.name and name not in taken
        ]

    def _alternatives(self, claim: _Claim) -> Alternatives:
        assert claim.spec is not None
        if claim.spec.volume_name:
            return self._place(self.volumes.volumes[claim.spec.volume_name])
        chosen = self._class(claim.spec)
        assert chosen is not None
        if chosen.provisioner == _NO_PROVISIONER:
            return tuple(dict.fromkeys(term for volume in self._idle(chosen) for term in self._place(volume)))
        places = tuple(
            Requirements(Requirement.of(entry.key, "In", entry.values) for entry in topology.match_label_expressions)
            for topology in chosen.allowed_topologies
        )
        if claim.selected_node in self.hosts:
            host = Requirement.of(labels.HOSTNAME, "In", (claim.selected_node,))
            return tuple(place.intersect((host,)) for place in places or _ANYWHERE)
        return places or _ANYWHERE

    def _place(self, volume: PersistentVolume) -> Alternatives:
        """Return where a volume can be reached from: its node affinity, and the zone labels of old ones."""
        name = volume.metadata.name
        found = self._places.get(name)
        if found is None:
            stated = Requirements(
                Requirement.of(key, "In", volume.metadata.labels[key].split("__"))
                for key in (labels.ZONE, labels.REGION)
                if key in volume.metadata.labels
            )
            affinity = volume.spec.node_affinity
            terms = affinity.required.node_selector_terms if affinity and affinity.required else ()
            try:
                read = [self._read(volume, term) for term in terms if term.match_expressions or term.match_fields]
            except ValueError as error:
                raise ValueError(f"node affinity of persistentvolume {name!r} cannot be read: {error}") from error
            found = self._places[name] = _both((stated,), tuple(read) if terms else _ANYWHERE)
        return found

    def _read(self, volume: PersistentVolume, term: NodeSelectorTerm) -> Requirements:
        entries = [Requirement.of(entry.key, entry.operator, entry.values) for entry in term.match_expressions]
        entries += [Requirement.of(labels.HOSTNAME, entry.operator, entry.values) for entry in term.match_fields]
        read = Requirements(entries)
        is_on_disk = volume.spec.local is not None or volume.spec.host_path is not None
        if is_on_disk and labels.HOSTNAME in read and not any(map(read[labels.HOSTNAME].allows, self.hosts)):
            # The node with the disk is gone; so is what was on it, and the pod may start anew elsewhere (S-41).
            return read.without(labels.HOSTNAME)
        return read

    def _attachment(self, claim: _Claim) -> Attachment | None:
        """Return what a claim attaches to its pod's node; None for what has no driver or does not exist."""
        if claim.spec is None:
            return None
        if claim.spec.volume_name:
            volume = self.volumes.volumes.get(claim.spec.volume_name)
            return None if volume is None else _attachment_of(volume)
        chosen = self._class(claim.spec)
        if chosen is None or chosen.provisioner == _NO_PROVISIONER:
            return None
        return _IN_TREE.get(chosen.provisioner, chosen.provisioner), str(claim.key)

    def _torn(self, claims: Sequence[_Claim]) -> str:
        places = {claim.key.name: self._alternatives(claim) for claim in claims}
        shown = (
            f"{name} ({' or '.join(', '.join(map(str, place.values())) for place in alternatives)})"
            for name, alternatives in places.items()
            if alternatives != _ANYWHERE
        )
        return f"its volumes cannot be reached from one node: {'; '.join(shown)}"


def _claims_of(pod: Pod) -> Iterator[tuple[ObjectKey, PersistentVolumeClaimSpec | None]]:
    """Yield the claims of a pod; for those of ephemeral volumes also what they will be made from (SCH-50)."""
    namespace = pod.metadata.namespace
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            yield ObjectKey(namespace, volume.persistent_volume_claim.claim_name), None
        elif volume.ephemeral is not None and volume.ephemeral.volume_claim_template is not None:
            key = ObjectKey(namespace, f"{pod.metadata.name}-{volume.name}")
            yield key, volume.ephemeral.volume_claim_template.spec


def _attachment_of(volume: PersistentVolume) -> Attachment | None:
    if volume.spec.csi is not None:
        return volume.spec.csi.driver, volume.spec.csi.volume_handle or volume.metadata.name
    if volume.spec.aws_elastic_block_store is not None:
        return _EBS, str(volume.spec.aws_elastic_block_store.get("volumeID", volume.metadata.name))
    return None


def _both(some: Iterable[Requirements], others: Alternatives) -> Alternatives:
    """Return the ways to meet one of each: combinations that contradict themselves fall away."""
    pairs = ((one, other) for one in some for other in others)
    return tuple(dict.fromkeys(one.intersect(other) for one, other in pairs if not one.conflicts(other)))
