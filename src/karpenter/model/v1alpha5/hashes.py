"""The digest by which static drift of a Provisioner's nodes is seen (DEP-33, DEP-35)."""

from __future__ import annotations

import hashlib
from dataclasses import asdict

import msgspec

from karpenter.model.nodepool import NodePool


def provisioner_hash(pool: NodePool) -> str:
    """Return a stable digest of labels, annotations, taints, startup taints and kubelet settings.

    Nothing else counts, nor do the order of taints, the spelling of quantities and the difference between absent and
    empty. A node whose claim carries another digest was built from another template.
    """
    template = pool.template
    kubelet = asdict(pool.kubelet) if pool.kubelet else {}
    hashed = {
        "labels": dict(template.labels),
        "annotations": dict(template.annotations),
        "taints": sorted(str(taint) for taint in template.taints),
        "startupTaints": sorted(str(taint) for taint in template.startup_taints),
        "kubelet": {name: value for name, value in kubelet.items() if value not in (None, {}, ())},
    }
    given = {name: value for name, value in hashed.items() if value}
    return hashlib.sha256(msgspec.json.encode(given, order="deterministic")).hexdigest()[:16]
