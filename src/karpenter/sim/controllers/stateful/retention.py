"""Who owns the claims of a StatefulSet's pods, so that they go with the pod, with the set, or with nobody.

Source: kubernetes.io/docs/concepts/workloads/controllers/statefulset, PersistentVolumeClaim retention.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from karpenter.model.core import Pod
from karpenter.model.meta import ObjectMeta, OwnerReference
from karpenter.runtime import kube as api
from karpenter.runtime.kube import RawObject
from karpenter.sim.controllers.stateful.identity import ordinal_of, ordinals
from karpenter.sim.controllers.templates import controlled_by
from karpenter.sim.kinds import STATEFUL_SETS, StatefulSet

_KEPT = ("Retain", "Retain")


@dataclass(frozen=True, slots=True)
class Owner:
    """One who may come to own a claim."""

    api_version: str
    kind: str
    metadata: ObjectMeta

    def is_meant_by(self, reference: OwnerReference) -> bool:
        """Return whether a reference names this object or a namesake of it."""
        named = (reference.api_version, reference.kind, reference.name)
        return named == (self.api_version, self.kind, self.metadata.name)

    def is_stale_in(self, claim: ObjectMeta) -> bool:
        """Return whether a claim belongs to a namesake of this object that is gone by now."""
        return any(self.is_meant_by(one) and one.uid != self.metadata.uid for one in claim.owner_references)


def set_owner(stateful_set: StatefulSet) -> Owner:
    """Return a set as an owner."""
    return Owner(STATEFUL_SETS.api_version, STATEFUL_SETS.kind, stateful_set.metadata)


def pod_owner(pod: Pod) -> Owner:
    """Return a pod as an owner."""
    return Owner(api.PODS.api_version, api.PODS.kind, pod.metadata)


def blocks_pod(stateful_set: StatefulSet, claims: Iterable[ObjectMeta], name: str) -> bool:
    """Return whether one of these claims goes with an earlier pod of this name: the new pod has to wait for that."""
    if stateful_set.spec.persistent_volume_claim_retention_policy.when_scaled == "Retain":
        return False
    unborn = Owner(api.PODS.api_version, api.PODS.kind, ObjectMeta(name=name))
    return any(unborn.is_stale_in(claim) for claim in claims)


def new_owners(stateful_set: StatefulSet, pod: Pod, claim: ObjectMeta) -> list[RawObject] | None:
    """Return all owners that a pod's claim should have from now on; None when it has the right ones.

    A claim that belongs to a namesake of pod or set is left to the garbage collector, one with another controller to
    that.
    """
    mine = set_owner(stateful_set), pod_owner(pod)
    if any(owner.is_stale_in(claim) for owner in mine):
        return None
    others = [one for one in claim.owner_references if not any(owner.is_meant_by(one) for owner in mine)]
    wanted = (
        [] if _policy(stateful_set) != _KEPT and any(one.controller for one in others) else _wanted(stateful_set, pod)
    )
    present = [one for one in claim.owner_references if one not in others]
    if {(one.uid, bool(one.controller)) for one in present} == {(one["uid"], True) for one in wanted}:
        return None
    return [*(_reference(one) for one in others), *wanted]


def _policy(stateful_set: StatefulSet) -> tuple[str, str]:
    policy = stateful_set.spec.persistent_volume_claim_retention_policy
    return policy.when_scaled, policy.when_deleted


def _wanted(stateful_set: StatefulSet, pod: Pod) -> list[RawObject]:
    when_scaled, when_deleted = _policy(stateful_set)
    is_scaled_away = ordinal_of(stateful_set, pod) not in ordinals(stateful_set)
    if when_scaled == "Delete" and is_scaled_away:
        return [controlled_by(api.PODS, pod.metadata)]
    return [controlled_by(STATEFUL_SETS, stateful_set.metadata)] if when_deleted == "Delete" else []


def _reference(owner: OwnerReference) -> RawObject:
    found = {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
        "controller": owner.controller,
        "blockOwnerDeletion": owner.block_owner_deletion,
    }
    return {key: value for key, value in found.items() if value is not None}
