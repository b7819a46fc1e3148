"""`make bench`: races the solver on fixed inputs and prints CPU ratio, nodes, price, bound and validity, mode by mode.

Recorded inputs and the results of the Go Karpenter are read from `--inputs` (or $KARPENTER_BENCH, or ../shared/bench);
where there are none, the same mixes are generated and there is nothing to compare with. CPU time is that of grouping
and solving, pods and catalogue read beforehand. Modes: *first* and *free* are price alone (`policy.rails=off`,
`policy.nodeFee=0`) without and with the default effort, *rails* is the default policy; see `modes.py` for the others.
`ARGS=growth` measures how cost grows instead, see `growth.py`; `ARGS=binding` what plans come to once a default
scheduler binds their pods, see `binding.py`, which is also printed after all races.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from rich.console import Console, RenderableType
from rich.table import Table

from benchmarks import binding, consolidation, growth, noise
from benchmarks.inputs import Scenario
from benchmarks.modes import MODES
from benchmarks.races import Peer, default_inputs, races
from karpenter.scheduling import Demand, Options, Solution, solve
from tests.scheduling.verifier import breaches

_LEFT = {"input", "mode", "bound", "Go plan", "plan"}
_HEADINGS = (
    "input",
    "mode",
    "Go CPU s",
    "CPU s",
    "ratio",
    "Go nodes",
    "nodes",
    "Go $/h",
    "$/h",
    "bound",
    "Go plan",
    "plan",
)
_OTHERS: Mapping[str, Callable[[Path], RenderableType]] = {
    "growth": growth.table,
    "binding": binding.table,
    "consolidation": consolidation.table,
    "churn": consolidation.curves,
    "noise": noise.table,
}


def main() -> None:
    """Run the races that the command line names, all of them by default."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "names", nargs="*", help="scenarios, all by default; or `growth`, `binding`, `consolidation`, `churn`, `noise`"
    )
    parser.add_argument("--inputs", type=Path, default=default_inputs(), help="folder of recorded inputs")
    parser.add_argument("--modes", help=f"comma-separated, all by default: {', '.join(mode.name for mode in MODES)}")
    parser.add_argument("--no-judge", action="store_true", help="do not verify the plans, ours and the peer's")
    arguments = parser.parse_args()
    console = Console(width=170)
    if len(arguments.names) == 1 and arguments.names[0] in _OTHERS:
        console.print(_OTHERS[arguments.names[0]](arguments.inputs))
        return
    wanted = arguments.modes.split(",") if arguments.modes else [mode.name for mode in MODES]
    table = Table(title="Solver against Go Karpenter with one worker")
    for heading in _HEADINGS:
        table.add_column(heading, justify="left" if heading in _LEFT else "right", no_wrap=True)
    for race, peer in races(arguments.inputs, arguments.names):
        for mode in MODES:
            prepared = mode.prepare(race, peer) if mode.name in wanted else None
            if prepared is not None:
                known = peer if mode.is_comparable else Peer()
                table.add_row(race.name, mode.name, *_row(*prepared, peer=known, judge=not arguments.no_judge))
                console.print(f"{race.name}, {mode.name}: done", style="dim", highlight=False)
    console.print(table)
    if not arguments.names:
        console.print(binding.table(arguments.inputs))


def _row(race: Scenario, options: Options, *, peer: Peer, judge: bool) -> tuple[str, ...]:
    solution, cpu_s = timed(race, options)
    return (
        _shown(peer.cpu_s, 1),
        f"{cpu_s:.3f}",
        f"{peer.cpu_s / cpu_s:.0f}×" if peer.cpu_s else "–",
        _shown(peer.nodes, 0),
        str(len(solution.new_claims)),
        _shown(peer.price, 1),
        f"{solution.price:.1f}",
        _bound(solution, peer),
        _validity(race, peer.plan, options=options, judge=judge),
        _validity(race, solution, options=options, judge=judge),
    )


def timed(race: Scenario, options: Options) -> tuple[Solution, float]:
    """Return the solution and the CPU seconds that it took, the catalogue's tables made beforehand."""
    solve(race.snapshot, Demand.each(race.pods[:1]), options)
    demand = Demand.each(race.pods)
    gc.collect()
    gc.freeze()
    begun = time.process_time()
    solution = solve(race.snapshot, demand, options)
    cpu_s = time.process_time() - begun
    gc.unfreeze()
    return solution, cpu_s


def _bound(solution: Solution, peer: Peer) -> str:
    known = [bound for bound in (solution.lower_bound, peer.bound) if bound]
    if not known:
        return "–"
    best = max(known)
    return f"{best:.1f} (+{(solution.price / best - 1) * 100:.1f} %)"


def _validity(race: Scenario, plan: Solution | None, *, options: Options, judge: bool) -> str:
    """Say how many pods a plan leaves and how many rules it breaks in the strict, finished-state sense."""
    if plan is None:
        return "–"
    left = f"{len(race.pods) - len(plan.placements)} left"
    if not judge:
        return left
    return f"{left}, {len(breaches(race.snapshot, Demand.each(race.pods), plan, options)) or 'no'} breaches"


def _shown(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


if __name__ == "__main__":
    main()
