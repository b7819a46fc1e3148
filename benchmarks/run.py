"""`make bench`: races the solver on fixed inputs and prints CPU ratio, nodes, price, bound and validity.

Recorded inputs and the results of the Go Karpenter are read from `--inputs` (or $KARPENTER_BENCH, or ../shared/bench);
where there are none, the same mixes are generated and there is nothing to compare with. CPU time is that of grouping
and solving, pods read beforehand; mode *free* is price alone (`policy.rails=off`, `policy.nodeFee=0`), mode *rails* the
default policy.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from rich.console import Console
from rich.table import Table

from benchmarks.inputs import Catalogue, Scenario, load_scenario
from benchmarks.peers import peer_solution
from benchmarks.workloads import scenario
from karpenter.scheduling import Demand, Options, Policy, Solution, solve
from tests.scheduling.verifier import breaches

FREE = Policy(rails=False, node_fee=0.0)
MODES = {"free": FREE, "rails": Policy()}
RACES = (
    "aws-deploy50-1000",
    "aws-deploy50-10000",
    "aws-deploy50-50000",
    "aws-homogeneous-10000",
    "aws-homogeneous-50000",
    "aws-zonalspread-10000",
    "aws-diverse-1000",
    "aws-diverse-10000",
    "fake400-diverse-1000",
    "fake400-diverse-10000",
    "fake400-diverse-20000",
    "fake400-preference-5000",
    "kwok144-diverse-5000",
)
GENERATED = (("deploy50", 10_000), ("homogeneous", 10_000), ("zonalspread", 10_000), ("diverse", 1_000))


@dataclass(frozen=True, slots=True)
class Peer:
    """What the Go Karpenter needed for the same input, with one worker."""

    cpu_s: float | None
    price: float | None
    nodes: int | None
    bound: float | None
    plan: Solution | None = None


def main() -> None:
    """Run the races that the command line names, all of them by default."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="scenarios; all by default")
    parser.add_argument("--inputs", type=Path, default=_default_inputs(), help="folder of recorded inputs")
    parser.add_argument("--rounds", type=int, nargs="*", default=None, help="efforts to race; first answer and default")
    parser.add_argument("--no-judge", action="store_true", help="do not verify the plans, ours and the peer's")
    arguments = parser.parse_args()
    recorded = arguments.inputs is not None and (arguments.inputs / "baseline.json").exists()
    races = _recorded(arguments.inputs, arguments.names or RACES) if recorded else _generated()
    console = Console(width=160)
    table = _table()
    for race, peer in races:
        for mode, rounds in _efforts(arguments.rounds):
            options = Options(policy=MODES[mode], rounds=rounds)
            row = _race(race, peer, options=options, judge=not arguments.no_judge)
            table.add_row(row[0], mode, *row[1:])
            console.print(f"{race.name}: done with {rounds} rounds, {mode}", style="dim", highlight=False)
    console.print(table)


def _efforts(named: list[int] | None) -> list[tuple[str, int]]:
    """Return modes with rounds: the first answer and the default effort in free mode, the latter with rails too."""
    rounds = named or sorted({0, Options().rounds})
    return [*(("free", each) for each in rounds), ("rails", rounds[-1])]


def _default_inputs() -> Path | None:
    named = os.environ.get("KARPENTER_BENCH")
    return Path(named) if named else Path(__file__).parent.parent.parent / "shared" / "bench"


def _recorded(folder: Path, names: tuple[str, ...] | list[str]) -> Iterator[tuple[Scenario, Peer]]:
    catalogues: dict[str, Catalogue] = {}
    baseline = json.loads((folder / "baseline.json").read_text(encoding="utf-8"))
    runs = {run["scenario"]: run for run in baseline["runs"] if run["workers"] == 1}
    for name in names:
        race = load_scenario(folder, name, catalogues)
        yield race, _peer(runs.get(name, {}), peer_solution(folder, race))


def _peer(run: Mapping[str, float], plan: Solution | None) -> Peer:
    nodes = run.get("nodes")
    finished = not run.get("timedOut")
    return Peer(
        cpu_s=run.get("solveCpuSec") if finished else None,
        price=run.get("totalPricePerHour") if finished else None,
        nodes=int(nodes) if nodes is not None and finished else None,
        bound=run.get("lpLowerBoundPrice"),
        plan=plan,
    )


def _generated() -> Iterator[tuple[Scenario, Peer]]:
    for mix, count in GENERATED:
        yield scenario(mix, count), Peer(None, None, None, None)


def _race(race: Scenario, peer: Peer, *, options: Options, judge: bool) -> tuple[str, ...]:
    demand = Demand.each(race.pods)
    gc.collect()
    gc.freeze()
    begun = time.process_time()
    solution = solve(race.snapshot, demand, options)
    cpu_s = time.process_time() - begun
    gc.unfreeze()
    return (
        race.name,
        str(options.rounds),
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
    return (
        f"{left}, {len(breaches(race.snapshot, Demand.each(race.pods), plan, options)) or 'no'} breaches"
        if judge
        else left
    )


def _shown(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _table() -> Table:
    table = Table(title="Solver against Go Karpenter with one worker")
    for heading in (
        "input",
        "mode",
        "rounds",
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
    ):
        table.add_column(
            heading,
            justify="left" if heading in {"input", "mode", "bound", "Go plan", "plan"} else "right",
            no_wrap=True,
        )
    return table


if __name__ == "__main__":
    main()
