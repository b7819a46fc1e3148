"""What a drain waits for, in words for the node's owner. Pure. Source: spec v1alpha5 LIF-33, case PDB-BLOCK."""

from __future__ import annotations

from typing import Final

from karpenter.lifecycle.drain import DrainStep
from karpenter.model.pdbs import Pdbs, refusing_since
from karpenter.model.protection import protection
from karpenter.model.units import UnixSeconds, to_rfc3339

_SHOWN: Final = 5


def waiting_words(step: DrainStep, pdbs: Pdbs, now: UnixSeconds) -> str:
    """Return which pods hold the node, and the budgets and annotations that hold them, since when."""
    if not step.waiting:
        return "draining"
    named = [str(pod.metadata.key) for pod in step.waiting[:_SHOWN]]
    more = f" and {len(step.waiting) - len(named)} more" if len(step.waiting) > len(named) else ""
    count = f"{len(step.waiting)} pods are" if len(step.waiting) > 1 else "1 pod is"
    holding = dict.fromkeys((*_budgets(step, pdbs), *_wishes(step, now)))
    return "; ".join((f"{count} waiting to be evicted: {', '.join(named)}{more}", *holding))


def _budgets(step: DrainStep, pdbs: Pdbs) -> list[str]:
    refusing = [pdbs.refusing(pod) for pod in step.waiting if not pod.metadata.is_deleting]
    told = []
    for over in refusing:
        if len(over) > 1:
            told.append(f"budgets {' and '.join(str(pdb.metadata.key) for pdb in over)} cover the same pod")
        for pdb in over[:1] if len(over) == 1 else ():
            since = refusing_since(pdb)
            told.append(f"budget {pdb.metadata.key} allows none{f' since {to_rfc3339(since)}' if since else ''}")
    return told


def _wishes(step: DrainStep, now: UnixSeconds) -> list[str]:
    found = [(pod, protection(pod, now)) for pod in step.waiting if not pod.metadata.is_deleting]
    return [f"{pod.metadata.key} says {wish.annotation}" for pod, wish in found if wish is not None]
