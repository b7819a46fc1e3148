"""Which node class machines of a pool or claim are built by, and whether it may be used now."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.aws.nodetemplate import inline_node_class
from karpenter.model.errors import KarpenterError, ManifestError
from karpenter.model.meta import find_condition
from karpenter.model.nodepool import KubeletConfiguration, NodeClassRef, NodePool

FindNodeClass = Callable[[NodeClassRef], AwsNodeClass | None]
"""Looks a node class up as it is now; None when it does not exist. Raises ManifestError when it is not valid."""


class UnusableClassError(KarpenterError):
    """There is no node class, or none that can be used; `reason` is that of the pool's condition (spec v1 §1.4.2)."""

    def __init__(self, message: str, *, reason: str = "NodeClassNotReady") -> None:
        self.reason = reason
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class ClassChoice:
    """How a pool wants its machines: by which class, and with which kubelet settings of its own."""

    node_class: AwsNodeClass
    kubelet: KubeletConfiguration | None
    is_inline: bool = False
    """Whether the class is a Provisioner's inline `provider`, whose nodes never drift (API-30)."""


def class_for(pool: NodePool | None, reference: NodeClassRef | None, find: FindNodeClass) -> ClassChoice:
    """Return the class for a pool; `reference` is the pool's, or that of a claim of it. Raises UnusableClassError."""
    kubelet = pool.kubelet if pool else None
    if reference is None:
        inline = inline_node_class(pool) if pool else None
        if inline is None:
            raise UnusableClassError("no node class is named, and there is no inline provider")
        return ClassChoice(inline, kubelet, is_inline=True)
    try:
        node_class = find(reference)
    except ManifestError as error:
        raise UnusableClassError(f"{reference.kind} {reference.name!r} is not valid: {error}") from error
    if node_class is None:
        raise UnusableClassError(
            f"{reference.kind} {reference.name!r} is not there; create it", reason="NodeClassNotFound"
        )
    if node_class.metadata.is_deleting:
        raise UnusableClassError(f"{reference.kind} {reference.name!r} is being deleted", reason="NodeClassTerminating")
    ready = find_condition(node_class.conditions, "Ready")
    if ready is not None and ready.status == "False":  # ours, or of somebody who keeps the class out of use
        raise UnusableClassError(f"{reference.kind} {reference.name!r} is not ready: {ready.message}")
    return ClassChoice(node_class, kubelet)
