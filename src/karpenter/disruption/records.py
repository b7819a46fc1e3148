"""A command that is being carried out, as its candidates' claims hold it: what a restart needs to go on. Pure.

Before anything is launched, each claim of a command carries the whole of it in an annotation; the claims launched for
it carry its id. So the cluster says by itself which node is being replaced by what. Source: issue 6, point 6; spec v1
§3.9.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Final

import msgspec

from karpenter.disruption.verdict import Command
from karpenter.model import labels
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import DisruptionReason
from karpenter.model.units import UnixSeconds

SHORTEST_S: Final = 600.0
LONGEST_S: Final = 3600.0
PER_CANDIDATE_S: Final = 0.08


class CommandRecord(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """A command under way."""

    id: str
    reason: DisruptionReason
    claims: tuple[str, ...]
    """The candidates' claims."""
    replacements: tuple[str, ...] = ()
    """Claims launched for it; the names are chosen before they are written."""
    targets: tuple[str, ...] = ()
    """Nodes and claims in flight that were there already and take pods."""
    started_at: float
    savings: float = 0.0
    """USD per hour that it promises."""
    deadline: float | None = None
    """When the candidates are gone whatever stands in the way."""

    def expires_at(self, queued: int) -> UnixSeconds:
        """Return when the command is given up; `queued` is how many candidates all commands have together (D-32)."""
        return UnixSeconds(self.started_at + time_limit_s(queued))


def time_limit_s(queued: int) -> float:
    """Return how long a command may take while so many candidates wait: 80 ms each, 10 min to 1 h (D-32)."""
    return min(max(PER_CANDIDATE_S * queued, SHORTEST_S), LONGEST_S)


def record_of(command: Command, claims: Iterable[NodeClaim], now: UnixSeconds) -> CommandRecord:
    """Return the record of a command that starts now; its id and the names of new claims follow from its candidates."""
    names = tuple(sorted(claim.name for claim in claims))
    digest = hashlib.blake2s(f"{now!r} {names}".encode(), digest_size=4).hexdigest()
    return CommandRecord(
        id=digest,
        reason=command.reason,
        claims=names,
        replacements=tuple(f"{plan.pool.name}-{digest}-{at}" for at, plan in enumerate(command.replacements)),
        targets=command.targets,
        started_at=now,
        savings=command.savings,
        deadline=command.deadline,
    )


def encode_record(record: CommandRecord) -> str:
    """Return the annotation's value."""
    return msgspec.json.encode(record).decode()


def record_on(claim: NodeClaim) -> CommandRecord | None:
    """Return the command that a claim is a candidate of; None when it is none of any that can be read."""
    text = claim.metadata.annotations.get(labels.DISRUPTION_COMMAND)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=CommandRecord)
    except msgspec.DecodeError:
        # Another release's, or someone's own: the clean-up takes it for a command that nobody carries out.
        return None
