"""How cost grows: with pods, with nodes that are there already, in memory, and what a solve does to the event loop."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import msgspec
from rich.table import Table

from benchmarks.inputs import Scenario
from benchmarks.modes import FREE
from benchmarks.races import races
from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.runtime.cpu import run_cpu
from karpenter.scheduling import Demand, Options, Snapshot, solve
from karpenter.scheduling.snapshot import NodeView

FIRST: Final = Options(policy=FREE, rounds=0)
DOUBLED: Final = (
    ("aws-deploy50-5000", "aws-deploy50-10000", "aws-deploy50-20000"),
    ("aws-homogeneous-10000", "aws-homogeneous-20000"),
    ("aws-diverse-10000", "aws-diverse-20000"),
    ("fake400-diverse-10000", "fake400-diverse-20000"),
)
LARGE: Final = "aws-diverse-50000"
NODES, PODS_PER_NODE = 5_000, 20
_LOOK_EVERY_S: Final = 0.005


def table(inputs: Path | None) -> Table:
    """Measure everything."""
    found = Table("what", "measured", "goal", title="Growth, first answers in free mode")
    for row in (*_doubling(inputs), *_nodes(inputs), *_large(inputs)):
        found.add_row(*row)
    return found


def _doubling(inputs: Path | None) -> Iterator[tuple[str, str, str]]:
    for names in DOUBLED:
        before: float | None = None
        for race, _ in races(inputs, names):
            cpu_s = _cpu_s(race)
            ratio = "" if before is None else f", {cpu_s / before:.2f}× for twice the pods"
            yield race.name, f"{cpu_s:.2f} CPU-s{ratio}", "" if before is None else "< 1.5×"
            before = cpu_s


def _nodes(inputs: Path | None) -> Iterator[tuple[str, str, str]]:
    ((race, _),) = races(inputs, ["aws-deploy50-1000"])
    alone = _cpu_s(race)
    more = _cpu_s(replace(race, snapshot=replace(race.snapshot, nodes=_full_nodes(race)))) - alone
    yield f"{NODES} nodes with {NODES * PODS_PER_NODE} pods", f"{more:+.2f} CPU-s", "≤ 0.5 CPU-s"


def _full_nodes(race: Scenario) -> tuple[NodeView, ...]:
    """Return nodes in three zones that have room for no more than a small pod, each with running pods."""
    pool = race.snapshot.pools[0].pool
    views = []
    for at in range(NODES):
        name, zone = f"node-{at}", f"us-east-1{'abc'[at % 3]}"
        pods = tuple(
            _bound(race.pods[(at * PODS_PER_NODE + each) % len(race.pods)], name, each) for each in range(PODS_PER_NODE)
        )
        views.append(
            NodeView(
                name=name,
                labels={labels.HOSTNAME: name, labels.ZONE: zone, labels.NODEPOOL: pool.name},
                taints=(),
                capacity={"cpu": 64_000, "memory": 256 * 2**30, "pods": 110},
                allocatable={"cpu": 64_000, "memory": 256 * 2**30, "pods": 110},
                pods=pods,
                is_initialized=True,
            )
        )
    return tuple(views)


def _bound(pod: Pod, node: str, number: int) -> Pod:
    name = f"{node}-{number}"
    return msgspec.structs.replace(
        pod,
        metadata=msgspec.structs.replace(pod.metadata, name=name, uid=name),
        spec=msgspec.structs.replace(pod.spec, node_name=node),
    )


def _cpu_s(race: Scenario) -> float:
    """Return the least of three measurements: others use the processor too."""
    solve(race.snapshot, Demand.each(race.pods[:1]), FIRST)
    demand, measured = Demand.each(race.pods), []
    for _ in range(3):
        gc.collect()
        begun = time.process_time()
        solve(race.snapshot, demand, FIRST)
        measured.append(time.process_time() - begun)
    return min(measured)


def _large(inputs: Path | None) -> Iterator[tuple[str, str, str]]:
    ((race, _),) = races(inputs, [LARGE])
    gc.collect()
    before = _memory_mib("VmRSS")
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # forget the peak
    lag_s = asyncio.run(_lag(race.snapshot, Demand.each(race.pods)))
    yield f"{race.name}: memory above the pods", f"{_memory_mib('VmHWM') - before:.0f} MiB", "≤ 200 MiB"
    yield f"{race.name}: loop lag while it is solved in a thread", f"{lag_s * 1000:.0f} ms at most", "< 250 ms"


async def _lag(snapshot: Snapshot, demand: Demand) -> float:
    """Return by how much the loop woke up late at worst while a thread solved."""
    solving = asyncio.ensure_future(run_cpu(solve, snapshot, demand, FIRST))
    worst = 0.0
    while not solving.done():
        due = time.monotonic() + _LOOK_EVERY_S
        await asyncio.sleep(_LOOK_EVERY_S)
        worst = max(worst, time.monotonic() - due)
    await solving
    return worst


def _memory_mib(field: str) -> float:
    status = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(float(line.split()[1]) for line in status if line.startswith(field)) / 1024
