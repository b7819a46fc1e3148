"""`karpenter simulate`: where would these pods go, and what would be launched for them?"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import yaml
from cyclopts import Parameter, validators

from karpenter.app.manifests.load import Input, load
from karpenter.app.settings import Settings, read_settings, shown
from karpenter.app.simulation.answer import Answer, Seconds, as_data, with_rejected
from karpenter.app.simulation.offers import ask_cloud
from karpenter.app.simulation.table import print_answer
from karpenter.app.simulation.world import snapshot_of
from karpenter.provisioning.pending import admit
from karpenter.runtime.clock import WallClock
from karpenter.scheduling import solve
from karpenter.scheduling.demand import Demand
from karpenter.scheduling.policy import Options
from karpenter.scheduling.snapshot import Snapshot

PLACED, NOT_ALL_PLACED = 0, 3


def simulate(
    *,
    file: Annotated[
        tuple[str, ...], Parameter(name=["--file", "-f"], required=True, negative=(), allow_leading_hyphen=True)
    ],
    output: Annotated[Literal["table", "json", "yaml"], Parameter(name=["--output", "-o"])] = "table",
    catalog: Annotated[Path | None, Parameter(name="--catalog")] = None,
    seed: int = 0,
    set_: Annotated[tuple[str, ...], Parameter(name="--set", negative=(), show_default=False)] = (),
    strict: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    optimize: Annotated[int, Parameter(validator=validators.Number(gte=0))] = Options().rounds,
    max_nodes: Annotated[int | None, Parameter(validator=validators.Number(gte=0), show_default=False)] = None,
) -> int:
    """Say where pending pods would go and which nodes would be launched for them, offline.

    Exit status: 0 when every pod found a place, 3 when some did not, 2 when the input is wrong.

    Parameters
    ----------
    file
        Manifests or kubectl dumps: a file, a folder, or `-` for standard input. May be given several times.
    output
        How to print the answer.
    catalog
        Instance types from this file instead of those of AWS; node classes are then not needed.
    seed
        Fixes spot prices and shortages.
    set_
        A setting, KEY=VALUE; docs/settings.md lists them. May be given several times.
    strict
        Refuse what Karpenter itself refused, instead of accepting it with a warning.
    optimize
        Rounds of looking for a cheaper plan; 0 takes the first answer. Equal rounds give equal plans.
    max_nodes
        Launch no more new nodes than this, even if pods stay pending.
    """
    settings = read_settings(set_, os.environ)
    answer = answer_for(file, settings, catalog=catalog, seed=seed, strict=strict, rounds=optimize, max_nodes=max_nodes)
    match output:
        case "table":
            print_answer(answer)
        case "json":
            print(json.dumps(as_data(answer), indent=2))
        case "yaml":
            print(yaml.dump(as_data(answer), Dumper=yaml.SafeDumper, sort_keys=False, allow_unicode=True), end="")
    return PLACED if answer.is_all_placed else NOT_ALL_PLACED


def answer_for(
    paths: Sequence[str],
    settings: Settings,
    *,
    catalog: Path | None = None,
    seed: int = 0,
    strict: bool = False,
    rounds: int = Options().rounds,
    max_nodes: int | None = None,
) -> Answer:
    """Return the answer for the input that `paths` name. Raises InputError and ManifestError."""
    started = time.perf_counter()
    given = load(paths, "strict" if strict else "compat", stdin=sys.stdin.buffer)
    clock = WallClock()
    quote = asyncio.run(ask_cloud(given.objects, clock, aws=settings.aws, catalog=catalog, seed=seed))
    snapshot = snapshot_of(given, quote, now=clock.now())
    loaded, cpu = time.perf_counter(), time.process_time()
    accepted, rejected = admit(snapshot.pending)
    options = Options(policy=settings.policy, rounds=rounds, max_nodes=max_nodes)
    solution = solve(snapshot, Demand.each(accepted), options)
    seconds = Seconds(loaded - started, time.perf_counter() - loaded, time.process_time() - cpu)
    return Answer(
        solution=with_rejected(solution, rejected),
        nodes=snapshot.nodes,
        policy=shown(settings, "policy"),
        warnings=(*given.warnings, *_about_pools(snapshot), *_about_nodes(given, snapshot)),
        seconds=seconds,
    )


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
