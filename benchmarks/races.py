"""What is raced: inputs, recorded or generated, with what the Go Karpenter made of them."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.inputs import Catalogue, Scenario, load_scenario
from benchmarks.peers import peer_solution
from benchmarks.workloads import scenario
from karpenter.scheduling import Solution

RACES = (
    "aws-deploy50-1000",
    "aws-deploy50-10000",
    "aws-deploy50-50000",
    "aws-homogeneous-10000",
    "aws-homogeneous-50000",
    "aws-zonalspread-10000",
    "aws-diverse-1000",
    "aws-diverse-10000",
    "aws-diverse-50000",
    "fake400-diverse-1000",
    "fake400-diverse-10000",
    "fake400-diverse-20000",
    "fake400-diverse-50000",
    "fake400-preference-5000",
    "kwok144-diverse-5000",
)
GENERATED = (("deploy50", 10_000), ("homogeneous", 10_000), ("zonalspread", 10_000), ("diverse", 1_000))


@dataclass(frozen=True, slots=True)
class Peer:
    """What the Go Karpenter needed for the same input, with one worker."""

    cpu_s: float | None = None
    price: float | None = None
    nodes: int | None = None
    bound: float | None = None
    plan: Solution | None = None


def default_inputs() -> Path | None:
    """Return the folder of recorded inputs."""
    named = os.environ.get("KARPENTER_BENCH")
    return Path(named) if named else Path(__file__).parent.parent.parent / "shared" / "bench"


def races(folder: Path | None, names: Sequence[str]) -> Iterator[tuple[Scenario, Peer]]:
    """Yield the named inputs, all by default; where nothing is recorded the same mixes are generated."""
    if folder is None or not (folder / "baseline.json").exists():
        for mix, count in GENERATED:
            yield scenario(mix, count), Peer()
        return
    catalogues: dict[str, Catalogue] = {}
    baseline = json.loads((folder / "baseline.json").read_text(encoding="utf-8"))
    runs = {run["scenario"]: run for run in baseline["runs"] if run["workers"] == 1}
    for name in names or RACES:
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
