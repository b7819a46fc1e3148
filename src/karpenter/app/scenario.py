"""`karpenter scenario`: days of a cluster's life in virtual time, and what they cost."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import yaml
from cyclopts import Parameter
from rich.console import Console

from karpenter.app.embedded.api import EmbeddedApi
from karpenter.app.embedded.cluster import ClusterOptions, EmbeddedCluster
from karpenter.app.errors import BadInputError, SettingsError
from karpenter.app.manifests.sources import STDIN, read_documents
from karpenter.app.manifests.yamltext import ManifestLoader
from karpenter.app.settings import read_settings
from karpenter.app.simulation.columns import table
from karpenter.model.catalog import load_catalog
from karpenter.runtime import logs
from karpenter.runtime.clock import Clock
from karpenter.runtime.kube import KubeError
from karpenter.runtime.metrics import Metrics
from karpenter.sim.kubelet import NodeRhythm
from karpenter.sim.loop import run_simulation
from karpenter.sim.scenario.file import ScenarioFile, read_scenario, seconds_of
from karpenter.sim.scenario.ledger import Ledger
from karpenter.sim.scenario.player import Player, UnknownKind
from karpenter.sim.scenario.report import report_of

CALM: Final = NodeRhythm(lease_renew_s=1200.0, lease_duration_s=3000, status_s=3600.0, monitor_s=300.0)
"""How often kubelets beat in virtual time, where nobody watches them die."""


def scenario(
    file: Path,
    /,
    *,
    output: Annotated[Literal["table", "json", "yaml"], Parameter(name=["--output", "-o"])] = "table",
    lasts: Annotated[str | None, Parameter(show_default=False)] = None,
    seed: Annotated[int | None, Parameter(show_default=False)] = None,
    catalog: Annotated[Path | None, Parameter(name="--catalog")] = None,
    set_: Annotated[tuple[str, ...], Parameter(name="--set", negative=(), show_default=False)] = (),
) -> int:
    """Play days of a cluster's life in virtual time, and say what they cost.

    Workloads scale, clouds interrupt and run short, images are released: as the file says, and with the same seed the
    same every time. The report has dollars, waiting pods, evictions, moves, and how close budgets came to being broken.

    Parameters
    ----------
    file
        What happens; docs/scenarios.md has the form.
    output
        How to print the report.
    lasts
        Play for this long instead, such as 3d or 12h.
    seed
        Fixes noise, prices, boot delays and which machines are hit; instead of the file's.
    catalog
        Instance types from this file instead of those of AWS.
    set_
        A setting of the operator, KEY=VALUE; over those of the file. May be given several times.
    """
    found, manifests = load_scenario(file)
    lasts_s = found.lasts_s if lasts is None else _span(lasts)
    settings = read_settings((*(f"{key}={value}" for key, value in found.settings.items()), *set_), os.environ)
    options = ClusterOptions(
        cloud_speed=found.cloud_speed,
        price_hours=found.price_hours,
        seed=found.seed if seed is None else seed,
        catalog=None if catalog is None else load_catalog(catalog),
        rhythm=CALM,
    )

    async def play(clock: Clock) -> dict[str, Any]:
        with contextlib.ExitStack() as stack:
            stack.callback(logs.configure(clock, sys.stderr, level="error"))
            api = EmbeddedApi(clock, draw=random.Random(options.seed))
            cluster = EmbeddedCluster(api, settings=settings, options=options)
            return await played(cluster, clock, Play(found, manifests, lasts_s, options.seed))

    cpu = time.process_time()
    report = {"name": found.name, "seed": options.seed, **run_simulation(play)}
    report["cpuSeconds"] = round(time.process_time() - cpu, 1)
    _print(report, output)
    return 0


def load_scenario(path: Path) -> tuple[ScenarioFile, Sequence[Mapping[str, Any]]]:
    """Return a scenario and the manifests it starts with. Raises BadInputError and ManifestError."""
    try:
        raw = yaml.load(path.read_text(encoding="utf-8"), Loader=ManifestLoader)  # noqa: S506 - a safe loader
    except OSError as error:
        raise BadInputError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadInputError(f"{path}: {' '.join(str(error).split())}") from error
    found = read_scenario(raw, subject=str(path))
    included = [str(path.parent / name) for name in found.include if name != STDIN]
    documents, problems = read_documents(included, stdin=contextlib.nullcontext())  # type: ignore[arg-type]
    if problems:
        raise BadInputError("\n".join(str(problem) for problem in problems))
    return found, (*(document.raw for document in documents), *found.manifests)


@dataclass(frozen=True, slots=True)
class Play:
    """One scenario, ready to be played."""

    scenario: ScenarioFile
    manifests: Sequence[Mapping[str, Any]]
    """What it starts with, beside its workloads."""
    lasts_s: float
    seed: int


async def played(cluster: EmbeddedCluster, clock: Clock, play: Play) -> dict[str, Any]:
    """Play a scenario on a cluster that does not run yet; return the report. Raises BadInputError."""
    market = cluster.market
    player = Player(play.scenario, cluster.client, market, clock=clock, seed=play.seed)
    running = asyncio.create_task(cluster.run(), name="cluster")
    tasks = [running]
    try:
        await cluster.wait_ready()
        ledger = Ledger(cluster.client, market, clock=clock, metrics=Metrics(clock))
        tasks.append(asyncio.create_task(ledger.run(), name="ledger"))
        await prepared(player, play.manifests)
        started = clock.now()
        tasks.append(asyncio.create_task(player.run(), name="player"))
        await _for(play.lasts_s, clock, *tasks)
        return report_of(ledger.account, now=clock.now(), lasted_s=clock.now() - started)
    finally:
        await _end(tasks)
        cluster.close()


async def prepared(player: Player, manifests: Sequence[Mapping[str, Any]]) -> None:
    """Create what a scenario starts with. Raises BadInputError."""
    try:
        await player.prepare(manifests)
    except (UnknownKind, KubeError) as error:
        raise BadInputError(f"the scenario's manifests: {error}") from error


async def _for(seconds: float, clock: Clock, *tasks: asyncio.Task[None]) -> None:
    """Let tasks run for so long; what one of them fails with is raised at once."""
    timer = asyncio.create_task(clock.sleep(seconds))
    waiting: set[asyncio.Task[None]] = {timer, *tasks}
    while not timer.done():
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()


async def _end(tasks: Sequence[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _span(text: str) -> float:
    try:
        return seconds_of(text)
    except ValueError as error:
        raise SettingsError(f"--lasts {text}: write a span such as 3d or 12h") from error


def _print(report: Mapping[str, Any], output: str) -> None:
    if output == "json":
        print(json.dumps(report, indent=2))
    elif output == "yaml":
        print(yaml.dump(dict(report), Dumper=yaml.SafeDumper, sort_keys=False, allow_unicode=True), end="")
    else:
        made = table(str(report["name"]), "WHAT", "HOW MUCH", right=("HOW MUCH",))
        for name, value in _flat(report):
            made.add_row(name, str(value))
        Console(highlight=False).print(made)


def _flat(report: Mapping[str, Any], prefix: str = "") -> Sequence[tuple[str, object]]:
    rows: list[tuple[str, object]] = []
    for key, value in report.items():
        if isinstance(value, Mapping):
            rows.extend(_flat(value, f"{prefix}{key} "))
        elif key != "name":
            rows.append((f"{prefix}{key}", value))
    return rows
