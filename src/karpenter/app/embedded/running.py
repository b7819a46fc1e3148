"""The demo's cluster at work: all that need not be there for its API to answer."""

from __future__ import annotations

import asyncio
from contextlib import closing
from pathlib import Path

from karpenter.app.embedded.api import EmbeddedApi
from karpenter.app.embedded.cluster import ClusterOptions, EmbeddedCluster
from karpenter.app.embedded.options import DemoOptions
from karpenter.app.embedded.page import status_page
from karpenter.app.embedded.sample import apply_sample
from karpenter.app.embedded.settled import wait_settled
from karpenter.app.embedded.web import StatusServer
from karpenter.app.embedded.words import Whereabouts, greeting
from karpenter.app.scenario import load_scenario, prepared
from karpenter.runtime.clock import Clock
from karpenter.runtime.controller import run_all
from karpenter.runtime.cpu import LoopLag
from karpenter.sim.scenario.player import Player

SETTLED, NOT_SETTLED = 0, 1


async def run(api: EmbeddedApi, options: DemoOptions, *, status: StatusServer, where: Whereabouts) -> int:
    """Run until it is interrupted, or has settled if that ends it; return the exit status."""
    chosen = ClusterOptions(
        is_aws_local=options.cloud == "aws-local",
        cloud_speed=options.cloud_speed,
        seed=options.seed,
        startup_taints=options.startup_taints,
        catalog=options.catalog,
    )
    with closing(EmbeddedCluster(api, settings=options.settings, options=chosen)) as cluster:
        status.show(
            page=lambda: status_page(cluster.assembly.operator.state.snapshot(api.clock.now()), version=where.version),
            is_ready=lambda: cluster.assembly.is_ready,
        )
        return await _run(cluster, api.clock, options, where=where)


async def _run(cluster: EmbeddedCluster, clock: Clock, options: DemoOptions, *, where: Whereabouts) -> int:
    """Run until it is interrupted, or has settled if that ends it; return the exit status."""
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run_all(cluster, LoopLag(clock, cluster.metrics)), name="cluster")
        await cluster.wait_ready()
        if options.sample:
            await apply_sample(cluster.client, custom_catalog=options.catalog is not None)
        print(greeting(where), flush=True)
        if options.scenario is not None:
            group.create_task(_play(cluster, clock, options.scenario, seed=options.seed), name="scenario")
        if not options.exit_when_settled:
            await running
        settled = await wait_settled(cluster.assembly.operator.state, clock)
        running.cancel()
    return SETTLED if settled else NOT_SETTLED


async def _play(cluster: EmbeddedCluster, clock: Clock, path: Path, *, seed: int) -> None:
    """Let happen what a scenario file says."""
    found, manifests = load_scenario(path)
    player = Player(found, cluster.client, cluster.market, clock=clock, seed=seed)
    await prepared(player, manifests)
    await player.run()
