"""Consolidates recorded clusters: CPU time, nodes, price, bound and pods moved.

Mode *free* is price alone (`policy.rails=off`, `policy.nodeFee=0`, `policy.movePrice=0`): decisions are carried out in
memory until none is left. The curves keep the default policy instead, let an hour pass after each decision, and show
what the fleet costs after so many moves. CPU time is that of the decisions; a candidate is judged when it is known
whether its pods fit elsewhere, and what the cheapest machine for the rest would cost.
"""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.console import Group
from rich.table import Table

from benchmarks.clusters import load_cluster
from benchmarks.inputs import Catalogue
from karpenter.disruption.consolidation import consolidation
from karpenter.disruption.consolidation.eligible import eligible
from karpenter.disruption.consolidation.kernel import Fleet
from karpenter.disruption.options import DisruptionOptions
from karpenter.disruption.past import Past, PastMove
from karpenter.disruption.settling import Names, after
from karpenter.disruption.verdict import Verdict
from karpenter.model.units import PoolKey, UnixSeconds
from karpenter.scheduling import Options, Policy
from karpenter.scheduling.snapshot import Snapshot

FREE = DisruptionOptions(solve=Options(Policy(rails=False, node_fee=0.0, move_price=0.0)))
CLUSTERS = ("consol-under-500", "consol-packed-500", "consol-under-2000", "mixed-500", "mixed-2000")
CURVES = ("consol-under-500", "mixed-500")
PEER_MOVES = {"consol-under-500": 2506, "mixed-500": 4585}
"""Pods that the strategy of the Go Karpenter moves on its way to the end, re-created on this kernel."""
PEER_ENDS = {"mixed-500": 69.43}
"""USD per hour at the end of the re-created strategy, where the Go Karpenter itself was not run to the end."""
MOVE_PRICES = (Policy().move_price, 0.002)
HOUR_S = 3600.0
_HEADINGS = ("candidates/s", "Go CPU s", "CPU s", "looks", "start $/h", "Go $/h", "$/h", "bound", "nodes", "moves")


@dataclass(frozen=True, slots=True)
class Step:
    """One decision, carried out."""

    snapshot: Snapshot
    verdict: Verdict
    cpu_s: float
    moved: int
    """Pods moved so far."""

    @property
    def price(self) -> float:
        """USD per hour of the nodes."""
        return sum(view.price or 0.0 for view in self.snapshot.nodes)


def table(folder: Path, names: Sequence[str] = CLUSTERS) -> Table:
    """Return how clusters of an inputs folder end in free mode, beside the Go Karpenter where it was run to the end."""
    found = Table(title="Consolidation to the fixpoint, free mode, against Go Karpenter")
    found.add_column("cluster", no_wrap=True)
    for heading in _HEADINGS:
        found.add_column(heading, justify="right", no_wrap=True)
    for name, snapshot, peer in _clusters(folder, names):
        found.add_row(*_race(name, snapshot, peer_cpu_s=peer.get("roundsCpuSec"), peer_end=peer.get("endPrice")))
    return found


def curves(folder: Path, names: Sequence[str] = CURVES) -> Group:
    """Return what clusters cost after so many moves under the default policy."""
    return Group(
        *(
            _curve(name, snapshot, peer.get("endPrice") or PEER_ENDS.get(name))
            for name, snapshot, peer in _clusters(folder, names)
        )
    )


def _clusters(folder: Path, names: Sequence[str]) -> Iterator[tuple[str, Snapshot, Mapping[str, float]]]:
    baseline = json.loads((folder / "baseline.json").read_text(encoding="utf-8"))
    peers = {run["cluster"]: run for run in baseline["consolidation"]}
    catalogues: dict[str, Catalogue] = {}
    for name in names:
        yield name, load_cluster(folder, name, catalogues), peers.get(name, {})


def steps(snapshot: Snapshot, options: DisruptionOptions, *, hours: bool) -> Iterator[Step]:
    """Decide and carry out until nothing is decided; with `hours` one passes after each decision."""
    names, moved = Names(snapshot), 0
    moves: list[PastMove] = []
    idle = 0
    while True:
        begun = time.process_time()
        verdict = consolidation(snapshot, replace(options, past=Past(tuple(moves))))
        cpu_s = time.process_time() - begun
        for command in verdict.commands:
            snapshot, _ = after(snapshot, command, options, names=names)
            moved += len(command.placements)
            moves.append(PastMove(snapshot.taken_at, _pool(snapshot), len(command.placements)))
        yield Step(snapshot, verdict, cpu_s, moved)
        idle = 0 if verdict.commands else idle + 1
        if idle > hours:
            return
        if hours:
            snapshot = replace(snapshot, taken_at=UnixSeconds(snapshot.taken_at + HOUR_S))


def _pool(snapshot: Snapshot) -> PoolKey:
    return snapshot.pools[0].pool.key


def _race(name: str, snapshot: Snapshot, *, peer_cpu_s: float | None, peer_end: float | None) -> tuple[str, ...]:
    gc.collect()
    gc.freeze()
    start = sum(view.price or 0.0 for view in snapshot.nodes)
    done = list(steps(snapshot, FREE, hours=False))
    rate = _candidates_a_second(snapshot)
    gc.unfreeze()
    outlook = done[-1].verdict.outlook
    bound = outlook.bound if outlook is not None else 0.0
    return (
        name,
        f"{rate:.0f}",
        _shown(peer_cpu_s),
        f"{sum(step.cpu_s for step in done):.2f}",
        str(len(done)),
        f"{start:.1f}",
        _shown(peer_end),
        f"{done[-1].price:.2f}",
        f"{bound:.2f} (+{(done[-1].price / bound - 1) * 100:.1f} %)" if bound else "–",
        str(len(done[-1].snapshot.nodes)),
        str(done[-1].moved),
    )


def _candidates_a_second(snapshot: Snapshot) -> float:
    """Return how many single nodes are judged in a CPU second, the fleet's own reading included."""
    free = eligible(snapshot, FREE.solve.policy).free
    begun = time.process_time()
    fleet = Fleet(snapshot, free, FREE.solve)
    for candidate in free:
        fleet.probe(candidate.name)
    return len(free) / (time.process_time() - begun)


def _curve(name: str, snapshot: Snapshot, peer_end: float | None) -> Table:
    found = Table(title=f"{name}, default rails: USD per hour after so many moves")
    for heading in ("price of a move", "hour", "pods moved", "nodes", "$/h"):
        found.add_column(heading, justify="right")
    start = sum(view.price or 0.0 for view in snapshot.nodes)
    found.add_row("–", "0", "0", str(len(snapshot.nodes)), f"{start:.2f}")
    for move_price in MOVE_PRICES:
        options = DisruptionOptions(solve=Options(Policy(move_price=move_price)))
        moved = [step for step in steps(snapshot, options, hours=True) if step.verdict.commands]
        for hour, step in enumerate(moved, start=1):
            if move_price == Policy().move_price or step is moved[-1]:
                nodes = str(len(step.snapshot.nodes))
                found.add_row(f"{move_price:g}", str(hour), str(step.moved), nodes, f"{step.price:.2f}")
    found.caption = f"Go's strategy: {PEER_MOVES.get(name, '–')} moves, {_shown(peer_end)} $/h"
    return found


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"
