"""The digest by which static drift of a NodePool's nodes is seen, equal to Karpenter's own bit by bit.

Equal, so that taking over a cluster does not drift its nodes. Source: spec v1 §1.4.3, §1.4.4.
"""

from __future__ import annotations

from typing import Final

from karpenter.model.gohash import Digest, integer, mapping, members, struct, text
from karpenter.model.nodepool import PoolTemplate
from karpenter.model.taints import Taint

HASH_VERSION: Final = "v3"


def nodepool_hash(template: PoolTemplate) -> str:
    """Return the digest of a template as a decimal number. Requirements are not in it, and lists are sets."""
    metadata = struct(
        "ObjectMeta", [("Labels", mapping(template.labels)), ("Annotations", mapping(template.annotations))]
    )
    reference = template.node_class_ref
    spec = struct(
        "NodeClaimTemplateSpec",
        [
            ("Taints", members(_taint(taint) for taint in template.taints)),
            ("StartupTaints", members(_taint(taint) for taint in template.startup_taints)),
            (
                "NodeClassRef",
                None
                if reference is None
                else struct(
                    "NodeClassReference",
                    [
                        ("Kind", text(reference.kind)),
                        ("Name", text(reference.name)),
                        ("Group", text(reference.group)),
                    ],
                ),
            ),
            ("TerminationGracePeriod", _duration("Duration", template.termination_grace_period_s)),
            ("ExpireAfter", _duration("NillableDuration", template.expire_after_s)),
        ],
    )
    has_metadata = bool(template.labels or template.annotations)
    return str(struct("NodeClaimTemplate", [("ObjectMeta", metadata if has_metadata else None), ("Spec", spec)]))


def _taint(taint: Taint) -> int:
    fields = [("Key", text(taint.key)), ("Value", text(taint.value)), ("Effect", text(taint.effect))]
    return struct("Taint", fields)


def _duration(name: str, seconds: float | None) -> Digest:
    """A pointer to a struct of a pointer to nanoseconds: absent when None; zero nanoseconds are a zero field."""
    if seconds is None:
        return None
    return struct(name, [("Duration", integer(round(seconds * 1e9) or None))])
