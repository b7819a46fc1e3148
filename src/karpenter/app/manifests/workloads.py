"""The pods that workload controllers would create. Pure.

A workload that owns pods already is left alone: those are its pods. A dump may lack the ReplicaSet between a Deployment
and its pods; they are then recognised by name and selector.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec

from karpenter.app.manifests.objects import Objects
from karpenter.model.core import ClaimVolume, Pod, Volume, Workload
from karpenter.model.meta import ObjectMeta, OwnerReference, find_condition
from karpenter.model.storage import PersistentVolumeClaim
from karpenter.model.units import ObjectKey

_API_VERSIONS: Final = {"Job": "batch/v1"}


class Owner(NamedTuple):
    """A workload by kind, namespace and name: manifests have no uid yet."""

    kind: str
    key: ObjectKey


@dataclass(frozen=True, slots=True)
class Expansion:
    """Pods that the input implies, and the volume claims that come with them."""

    pods: tuple[Pod, ...]
    claims: tuple[PersistentVolumeClaim, ...]


def expand(objects: Objects) -> Expansion:
    """Return the pods of every workload that owns none in the input, in the order of the input."""
    workloads = {Owner(kind, workload.metadata.key): workload for kind, workload in objects.workloads()}
    present = objects.of(Pod)
    owners = _owners(workloads, present)
    taken = {pod.metadata.key for pod in present}
    pods: list[Pod] = []
    for owner, workload in workloads.items():
        if owner not in owners and not _is_managed(workload, workloads):
            fresh = tuple(_pods_of(owner, workload, taken))
            taken.update(pod.metadata.key for pod in fresh)
            pods.extend(fresh)
    known = {claim.metadata.key for claim in objects.of(PersistentVolumeClaim)}
    claims = {claim.metadata.key: claim for claim in _claims(workloads, pods) if claim.metadata.key not in known}
    return Expansion(tuple(pods), tuple(claims.values()))


def _owners(workloads: dict[Owner, Workload], pods: Iterable[Pod]) -> set[Owner]:
    """Return every workload that has pods, at whatever remove."""
    found: set[Owner] = set()
    for pod in pods:
        for reference in pod.metadata.owner_references:
            owner = Owner(reference.kind, ObjectKey(pod.metadata.namespace, reference.name))
            found.add(owner)
            if owner in workloads:
                found.update(_references(owner, workloads[owner]))
            elif owner.kind == "ReplicaSet":
                found.update(_absent_set_owner(owner.key, pod, workloads))
    return found


def _references(owner: Owner, workload: Workload) -> Iterator[Owner]:
    for reference in workload.metadata.owner_references:
        yield Owner(reference.kind, ObjectKey(owner.key.namespace, reference.name))


def _absent_set_owner(replica_set: ObjectKey, pod: Pod, workloads: dict[Owner, Workload]) -> Iterator[Owner]:
    """A ReplicaSet of a Deployment is called like it, plus a hash."""
    owner = Owner("Deployment", ObjectKey(replica_set.namespace, replica_set.name.rpartition("-")[0]))
    deployment = workloads.get(owner)
    if deployment is not None and deployment.spec.selector and deployment.spec.selector.matches(pod.metadata.labels):
        yield owner


def _is_managed(workload: Workload, workloads: dict[Owner, Workload]) -> bool:
    """Whether another workload of the input creates this one's pods, as a Deployment does for its ReplicaSets."""
    key = workload.metadata.key
    return any(
        Owner(reference.kind, ObjectKey(key.namespace, reference.name)) in workloads
        for reference in workload.metadata.owner_references
    )


def _pods_of(owner: Owner, workload: Workload, taken: set[ObjectKey]) -> Iterator[Pod]:
    namespace, name = owner.key
    template = workload.spec.template
    first = workload.spec.ordinals.start if owner.kind == "StatefulSet" else 0
    for index in range(first, first + _size(owner.kind, workload)):
        key = ObjectKey(namespace, f"{name}-{index}")
        if key in taken:  # a Deployment and a StatefulSet may share a name
            key = ObjectKey(namespace, f"{name}-{owner.kind.lower()}-{index}")
        yield Pod(
            metadata=ObjectMeta(
                name=key.name,
                namespace=namespace,
                uid=f"{owner.kind}/{namespace}/{key.name}",
                labels=template.metadata.labels,
                annotations=template.metadata.annotations,
                owner_references=(_reference(owner, workload),),
            ),
            spec=msgspec.structs.replace(
                template.spec, volumes=(*template.spec.volumes, *_template_volumes(workload, key.name))
            ),
        )


def _size(kind: str, workload: Workload) -> int:
    spec, status = workload.spec, workload.status
    if workload.metadata.is_deleting:
        return 0
    if kind != "Job":
        return 1 if spec.replicas is None else spec.replicas
    ended = any(_holds(workload, condition) for condition in ("Complete", "Failed"))
    if ended or spec.suspend:
        return 0
    at_once = 1 if spec.parallelism is None else spec.parallelism
    return at_once if spec.completions is None else max(0, min(at_once, spec.completions - status.succeeded))


def _holds(workload: Workload, kind: str) -> bool:
    condition = find_condition(workload.status.conditions, kind)
    return condition is not None and condition.is_true


def _reference(owner: Owner, workload: Workload) -> OwnerReference:
    version = _API_VERSIONS.get(owner.kind, "apps/v1")
    return OwnerReference(version, owner.kind, owner.key.name, workload.metadata.uid, controller=True)


def _template_volumes(workload: Workload, pod_name: str) -> tuple[Volume, ...]:
    return tuple(
        Volume(
            name=template.metadata.name,
            persistent_volume_claim=ClaimVolume(claim_name=f"{template.metadata.name}-{pod_name}"),
        )
        for template in workload.spec.volume_claim_templates
    )


def _claims(workloads: dict[Owner, Workload], pods: Iterable[Pod]) -> Iterator[PersistentVolumeClaim]:
    for pod in pods:
        reference = pod.metadata.owner_references[0]
        workload = workloads[Owner(reference.kind, ObjectKey(pod.metadata.namespace, reference.name))]
        for template in workload.spec.volume_claim_templates:
            yield PersistentVolumeClaim(
                metadata=ObjectMeta(
                    name=f"{template.metadata.name}-{pod.metadata.name}",
                    namespace=pod.metadata.namespace,
                    labels=template.metadata.labels,
                ),
                spec=template.spec,
            )
