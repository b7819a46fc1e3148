"""Pools and claims of every API generation: one way in, one way to write a status back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from karpenter.model import v1, v1alpha5
from karpenter.model.errors import FieldError, ManifestError, ManifestWarning
from karpenter.model.meta import Condition
from karpenter.model.nodepool import NodePool
from karpenter.model.resources import Resources
from karpenter.model.v1 import decode_nodeclaim, encode_nodeclaim
from karpenter.model.v1alpha5 import Mode

__all__ = ["Mode", "decode_nodeclaim", "decode_pool", "encode_nodeclaim", "encode_pool_status"]

_KINDS: Final = ("karpenter.sh/v1alpha5 Provisioner", "karpenter.sh/v1 NodePool")


def decode_pool(raw: object, *, mode: Mode = "compat") -> tuple[NodePool, tuple[ManifestWarning, ...]]:
    """Return the pool that a Provisioner or a NodePool describes, and what its author should know.

    `mode` is about Provisioners only: whether slips of real manifests are taken as they are meant.

    Raises:
        ManifestError: every rule the manifest breaks; or it is neither of the two.
    """
    fields = raw if isinstance(raw, Mapping) else {}
    match f"{fields.get('apiVersion')} {fields.get('kind')}":
        case "karpenter.sh/v1alpha5 Provisioner":
            return v1alpha5.decode_provisioner(raw, mode=mode)
        case "karpenter.sh/v1 NodePool":
            return v1.decode_nodepool(raw)
        case other:
            raise ManifestError("object", (FieldError("kind", f"{other} is no pool", f"one of {', '.join(_KINDS)}"),))


def encode_pool_status(
    pool: NodePool, resources: Resources, conditions: Sequence[Condition] | None = None, *, class_generation: int = 0
) -> dict[str, object]:
    """Return the merge patch of a pool's `status` with the capacity in use; conditions are left alone when None.

    `class_generation` is that of the node class as it was looked at (a NodePool's status names it); 0 leaves it out.
    """
    if pool.origin.kind == v1alpha5.KIND:
        return v1alpha5.encode_provisioner_status(resources, previous=pool.resources, conditions=conditions)
    return v1.encode_nodepool_status(
        resources, previous=pool.resources, conditions=conditions, class_generation=class_generation
    )
