"""A day of autoscalers that cannot make up their minds: what our consolidation moves and costs, and what Go's would.

`ARGS=noise` plays `scenarios/hpa-noise.yaml` in virtual time, several seeds each: with our defaults, our rails off,
and with consolidation as in `gostrategy.py`. Provisioning, emptiness, validation and drain are ours in all of them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from rich.table import Table

from benchmarks.gostrategy import go_strategy
from karpenter.app.embedded.api import EmbeddedApi
from karpenter.app.embedded.cluster import ClusterOptions, EmbeddedCluster
from karpenter.app.scenario import CALM, Play, load_scenario, played
from karpenter.app.settings import read_settings
from karpenter.disruption import controller
from karpenter.disruption.consolidation import consolidation
from karpenter.disruption.decide import METHODS, Method
from karpenter.runtime.clock import Clock
from karpenter.sim.loop import run_simulation

FILE = Path(__file__).parent.parent / "scenarios" / "hpa-noise.yaml"
SEEDS = (1, 2, 3)
LASTS_S = 24 * 3600.0
STRATEGIES: tuple[tuple[str, Method, Sequence[str]], ...] = (
    ("default rails", consolidation, ()),
    ("rails off", consolidation, ("policy.rails=off", "policy.movePrice=0")),
    ("Go's strategy", go_strategy, ()),
)
"""Name, method of consolidation, settings."""
_COLUMNS: tuple[tuple[str, Callable[[Any], float]], ...] = (
    ("$·h", lambda report: report["dollarHours"]),
    ("evictions", lambda report: report["evictions"]["total"]),
    ("moves", lambda report: report["moves"]),
    ("launched", lambda report: report["nodes"]["launched"]),
    ("pods waited", lambda report: report["pendingSeconds"]["pods"]),
    ("p95 s", lambda report: report["pendingSeconds"]["p95"]),
)


def table(_: Path) -> Table:
    """Return what each strategy comes to, seed by seed; nothing recorded is needed."""
    found = Table(title="24 h of HPA noise: consolidation by strategy")
    found.add_column("strategy")
    found.add_column("seed", justify="right")
    for heading, _read in _COLUMNS:
        found.add_column(heading, justify="right")
    for seed in SEEDS:
        for name, method, settings in STRATEGIES:
            report = play(method, settings, seed=seed)
            found.add_row(name, str(seed), *(f"{read(report):g}" for _, read in _COLUMNS))
    return found


def play(method: Method, settings: Sequence[str] = (), *, seed: int, lasts_s: float = LASTS_S) -> dict[str, Any]:
    """Return the report of one day with one way to consolidate."""
    scenario, manifests = load_scenario(FILE)
    options = ClusterOptions(price_hours=scenario.price_hours, seed=seed, rhythm=CALM)

    async def run(clock: Clock) -> dict[str, Any]:
        api = EmbeddedApi(clock, draw=random.Random(seed))
        cluster = EmbeddedCluster(api, settings=read_settings(settings, {}), options=options)
        return await played(cluster, clock, Play(scenario, manifests, lasts_s, seed))

    methods = tuple(method if one is consolidation else one for one in METHODS)
    with patch.object(controller, "METHODS", methods):
        return run_simulation(run)
