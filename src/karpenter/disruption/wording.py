"""What the log says of a command: Karpenter's fields, so that searches saved for it find ours. Source: spec v1 §5.5."""

from __future__ import annotations

from typing import Final

from karpenter.disruption.verdict import Command
from karpenter.scheduling.snapshot import NodeView, Snapshot

SHOWN_TYPES: Final = 5


def fields_of(command: Command, snapshot: Snapshot) -> dict[str, object]:
    """Return the fields of `disrupting node(s)`: what goes, what comes for it, how many pods move, what is saved."""
    leaving = [view for view in snapshot.nodes if view.name in command.nodes]
    decision = "replace" if command.replacements else "delete"
    return {
        "command": f"{command.reason}/{decision}: {', '.join(command.nodes)}",
        "reason": command.reason,
        "decision": decision,
        "disrupted_node_count": len(command.nodes),
        "replacement_node_count": len(command.replacements),
        "pod_count": len(command.placements),
        "disrupted_nodes": [_leaving(view) for view in leaving],
        "replacement_nodes": [
            {"capacity-type": plan.capacity_type, "instance-types": list(plan.instance_types[:SHOWN_TYPES])}
            for plan in command.replacements
        ],
        "savings_per_hour": command.savings,
    }


def _leaving(view: NodeView) -> dict[str, object]:
    claim = {"NodeClaim": {"name": view.claim.name}} if view.claim is not None else {}
    return {
        "Node": {"name": view.name},
        **claim,
        "instance-type": view.instance_type,
        "capacity-type": view.capacity_type,
    }
