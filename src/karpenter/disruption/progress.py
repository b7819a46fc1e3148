"""How far a command is, read off the cluster state."""

from __future__ import annotations

from dataclasses import dataclass

from karpenter.disruption.records import CommandRecord, record_on
from karpenter.model.nodeclaim import INITIALIZED, NodeClaim
from karpenter.model.taints import DISRUPTED
from karpenter.state.cluster import ClusterState


@dataclass(frozen=True, slots=True)
class Progress:
    """One command at this moment."""

    record: CommandRecord
    remaining: tuple[NodeClaim, ...]
    """Candidates that are not being deleted yet."""
    nodes: tuple[str, ...]
    """Their nodes."""
    waiting: tuple[str, ...]
    """Replacements and targets that are not initialized yet."""
    broken: str | None = None
    """Why it can never end well, in words; None while it can."""
    is_paused: bool = False
    """Whether people asked to leave one of its pools alone."""


def candidates_under_way(state: ClusterState) -> dict[str, CommandRecord]:
    """Return the commands under way by the name of each candidate's claim; candidates being deleted are not listed."""
    alive = (claim for claim in state.claims.values() if not claim.metadata.is_deleting)
    return {claim.name: record for claim in alive if (record := record_on(claim)) is not None}


def progress_of(record: CommandRecord, state: ClusterState) -> Progress:
    """Return how far a command is."""
    found = [state.claims[name] for name in record.claims if name in state.claims]
    remaining = tuple(claim for claim in found if not claim.metadata.is_deleting)
    nodes = [node for claim in remaining if (node := state.node_of(claim)) is not None]
    return Progress(
        record,
        remaining,
        nodes=tuple(node.metadata.name for node in nodes),
        waiting=tuple(name for name in (*record.replacements, *record.targets) if _is_coming(name, state)),
        broken=_broken(record, remaining, state),
        is_paused=any(state.pauses.stops_disruption(claim.pool) for claim in remaining),
    )


def _broken(record: CommandRecord, remaining: tuple[NodeClaim, ...], state: ClusterState) -> str | None:
    """A crash at the start leaves a command that is not written down, tainted or launched as a whole."""
    for claim in remaining:
        node = state.node_of(claim)
        if record_on(claim) != record:
            return f"nodeclaim {claim.name} knows nothing of it"
        if node is None or not any(taint.matches(DISRUPTED) for taint in node.spec.taints):
            return f"nodeclaim {claim.name} has no tainted node"
    lost = [name for name in record.replacements if name not in state.claims or state.claims[name].metadata.is_deleting]
    return f"replacement {lost[0]} is not there" if lost else None


def _is_coming(name: str, state: ClusterState) -> bool:
    """Return whether a claim, by its own name or its node's, is there and not ready for pods yet."""
    node = state.nodes.get(name)
    claim = state.claims.get(name) or (state.claim_of(node) if node else None)
    return claim is not None and not claim.metadata.is_deleting and not claim.is_true(INITIALIZED)
