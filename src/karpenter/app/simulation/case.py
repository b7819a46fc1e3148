"""What a what-if is about: the input, as one snapshot of a cluster, priced by a cloud."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from karpenter.app.errors import SettingsError
from karpenter.app.manifests.kept import book_in
from karpenter.app.manifests.load import Input, load
from karpenter.app.settings import Settings
from karpenter.app.simulation.offers import ask_cloud
from karpenter.app.simulation.world import snapshot_of
from karpenter.disruption.book import Book, read_on
from karpenter.disruption.past import Past
from karpenter.model.units import UnixSeconds, from_rfc3339
from karpenter.runtime.clock import WallClock
from karpenter.scheduling.policy import Policy
from karpenter.scheduling.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Case:
    """A cluster to ask about."""

    snapshot: Snapshot
    warnings: tuple[str, ...]
    """One line each: what is odd about the input."""
    book: Book
    """What the operator remembered of consolidation."""


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a cluster is looked at under, beside the settings."""

    catalog: Path | None = None
    """Instance types of one's own; None for those of AWS."""
    seed: int = 0
    strict: bool = False
    now: str | None = None
    """The moment as the user wrote it; None for this one."""


def read_case(paths: Sequence[str], settings: Settings, around: Circumstances) -> Case:
    """Return the cluster that files, folders and `-` describe.

    Raises:
        InputError: something cannot be read or is wrong, a node class that is not there among it.
        ManifestError: the catalogue cannot be read.
        SettingsError: `now` is no moment.
    """
    now = moment(around.now)
    given = load(paths, "strict" if around.strict else "compat", stdin=sys.stdin.buffer)
    return case_of(given, settings, around, now=now)


def case_of(given: Input, settings: Settings, around: Circumstances, *, now: UnixSeconds) -> Case:
    """Return the cluster that an input describes. Raises InputError and ManifestError as `read_case` does."""
    quote = asyncio.run(
        ask_cloud(given.objects, WallClock(), aws=settings.aws, catalog=around.catalog, seed=around.seed)
    )
    snapshot = snapshot_of(given, quote, now=now)
    warnings = (*given.warnings, *_about_pools(snapshot), *_about_nodes(given, snapshot))
    return Case(snapshot, warnings, book_in(given))


def past_of(case: Case, policy: Policy) -> Past:
    """Return what consolidation moved lately: what the operator remembered, and what the cluster shows beside it."""
    return read_on(case.book, case.snapshot, policy).past()


def moment(text: str | None, flag: str = "--now") -> UnixSeconds:
    """Return the moment that a flag names; this one for None. Raises SettingsError."""
    if text is None:
        return WallClock().now()
    try:
        return from_rfc3339(text)
    except ValueError as error:
        raise SettingsError(f"{flag} {text}: write a moment such as 2026-11-30T12:00:00Z") from error


def _about_pools(snapshot: Snapshot) -> list[str]:
    return [f"{view.pool.key}: can launch nothing: {view.unready}" for view in snapshot.pools if view.unready]


def _about_nodes(given: Input, snapshot: Snapshot) -> list[str]:
    known = {view.name for view in snapshot.nodes}
    lost = sorted({pod.spec.node_name for pod in given.pods} - known - {""})
    unpriced = [view.name for view in snapshot.nodes if view.price is None]
    return [
        *(f"Node {name}: is not in the input, the pods on it are not counted" for name in lost),
        *(f"Node {name}: its price is not known, it counts as 0" for name in unpriced),
    ]
