"""Why a machine is no longer what its node class gives. Source: spec v1 A-50, A-51; spec v1alpha5 DEP-31, DEP-32."""

from __future__ import annotations

from dataclasses import dataclass

from karpenter.model import labels
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.nodeclaim import NodeClaim


@dataclass(frozen=True, slots=True)
class MachineParts:
    """What a machine is made of."""

    image_id: str
    subnet_id: str
    security_group_ids: frozenset[str]
    reservation_id: str = ""
    """The capacity reservation that it was launched into; empty for none."""
    placement_group_id: str = ""


@dataclass(frozen=True, slots=True)
class SelectedParts:
    """What a class gives machines of one type now. None tells that it does not say: whatever a machine has will do."""

    image_id: str | None
    subnet_ids: frozenset[str]
    security_group_ids: frozenset[str] | None
    reservation_ids: frozenset[str] = frozenset()
    placement_group_id: str = ""


def is_of_another_class(claim: NodeClaim, node_class: AwsNodeClass | None) -> bool:
    """Return whether the class was edited since the launch, `NodeClassDrift`.

    Where one side has no digest, or another kind of it, nobody can say.
    """
    now, then = (node_class.hash_annotations if node_class else {}), claim.metadata.annotations
    if labels.NODE_TEMPLATE_HASH in now:
        return now[labels.NODE_TEMPLATE_HASH] != then.get(labels.NODE_TEMPLATE_HASH, now[labels.NODE_TEMPLATE_HASH])
    if not now or then.get(labels.NODE_CLASS_HASH_VERSION) != now[labels.NODE_CLASS_HASH_VERSION]:
        return False
    return then.get(labels.NODE_CLASS_HASH) != now[labels.NODE_CLASS_HASH]


def drifted_part(has: MachineParts, now: SelectedParts) -> str | None:
    """Return the reason of the first part that a new machine would have otherwise; None when there is none (A-50)."""
    if now.image_id is not None and has.image_id != now.image_id:
        return "AMIDrift"
    if now.security_group_ids is not None and has.security_group_ids != now.security_group_ids:
        return "SecurityGroupDrift"
    if has.subnet_id not in now.subnet_ids:
        return "SubnetDrift"
    if has.reservation_id and has.reservation_id not in now.reservation_ids:
        return "CapacityReservationDrift"
    if has.placement_group_id != now.placement_group_id:
        return "PlacementGroupDrift"
    return None
