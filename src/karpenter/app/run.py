"""`karpenter run`: the controllers against an API server."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

from cyclopts import Parameter

from karpenter import __version__
from karpenter.app.assembly import Assembly, CloudSettings
from karpenter.app.cloudassembly import CloudAssembly
from karpenter.app.embedded.page import status_page
from karpenter.app.embedded.web import StatusServer
from karpenter.app.errors import BadInputError, SettingsError
from karpenter.app.logoutput import logged_to
from karpenter.app.plugged import PluggedAssembly
from karpenter.app.process import run_process
from karpenter.app.settings import Settings, read_settings
from karpenter.cloud.registry import ProviderFactory, provider_factory
from karpenter.model.catalog import load_catalog
from karpenter.runtime import kube, logs
from karpenter.runtime.clock import Clock, WallClock
from karpenter.runtime.controller import Runnable, run_all
from karpenter.runtime.cpu import LoopLag
from karpenter.runtime.kube import KubeClient, NotFound
from karpenter.runtime.kubehttp import HttpKubeClient, find_connection
from karpenter.runtime.kubehttp.connection import ConnectionSettingsError
from karpenter.runtime.lease import LeaderElection
from karpenter.runtime.metrics import Metrics
from karpenter.sim.controllers.cloudnodes import CloudNodeLifecycle, CloudNodes
from karpenter.sim.informers import SharedInformers
from karpenter.sim.kubelet import Kubelets, NodeRhythm, Pace
from karpenter.sim.kubelet.frommarket import MarketMachines
from karpenter.sim.market.market import Market
from karpenter.sim.market.state import MarketSettings
from karpenter.sim.standins import Context, Recorders, StandIn

log = logs.get("run")

_SIMULATED: Final = "simulated"
_UNNAMED: Final = "default"
"""What a cluster is called that nobody names."""
_Make: TypeAlias = Callable[[KubeClient, Clock, Metrics], tuple[CloudAssembly[Any], Sequence[Runnable]]]
"""Makes the operator, and what runs beside it."""

_NEEDED = (kube.PROVISIONERS, kube.NODE_POOLS, kube.NODE_CLAIMS, kube.AWS_NODE_TEMPLATES, kube.EC2_NODE_CLASSES)


def run(
    *,
    cloud: str = _SIMULATED,
    cluster_name: str = "",
    kubeconfig: Path | None = None,
    seed: int = 0,
    cloud_speed: float = 10.0,
    catalog: Path | None = None,
    set_: Annotated[tuple[str, ...], Parameter(name="--set", negative=(), show_default=False)] = (),
) -> None:
    """Run the controllers against an API server; with the simulated cloud, its nodes join that cluster.

    The cluster has to know our kinds: karpenter crds | kubectl apply -f -

    Parameters
    ----------
    cloud
        Where machines are launched: `simulated`, or what an installed package offers; docs/providers.md.
    cluster_name
        Marks this cluster's machines among others of the account; without it CLUSTER_NAME.
    kubeconfig
        How to reach the API server; without it KUBECONFIG, the pod's service account or ~/.kube/config.
    seed
        Fixes boot delays, shortages and spot prices of the simulated cloud.
    cloud_speed
        How many times as fast as a real cloud machines of the simulated one boot and end.
    catalog
        Instance types of the simulated cloud from this file instead of those of AWS.
    set_
        A setting, KEY=VALUE; docs/settings.md lists them. May be given several times.
    """
    settings = read_settings(set_, os.environ)
    if cloud == _SIMULATED:
        chosen = CloudSettings(
            market=MarketSettings(seed=seed, speed=cloud_speed),
            catalog=None if catalog is None else load_catalog(catalog),
        )
        make: _Make = partial(_simulated, settings=settings, cloud=chosen)
    else:
        factory = provider_factory(cloud)
        name = cluster_name or os.environ.get("CLUSTER_NAME") or _UNNAMED
        make = partial(_plugged, settings=settings, factory=factory, cluster_name=name)
    run_process(_run(settings, make, kubeconfig))


def _simulated(
    client: KubeClient, clock: Clock, metrics: Metrics, *, settings: Settings, cloud: CloudSettings
) -> tuple[Assembly, Sequence[Runnable]]:
    """Return the operator over the simulated cloud, and what makes nodes of its machines."""
    assembly = Assembly(client, clock=clock, metrics=metrics, settings=settings, cloud=cloud)
    return assembly, (_SimulatedNodes(client, clock, assembly.cloud.market, metrics=metrics),)


def _plugged(
    client: KubeClient,
    clock: Clock,
    metrics: Metrics,
    *,
    settings: Settings,
    factory: ProviderFactory,
    cluster_name: str,
) -> tuple[PluggedAssembly, Sequence[Runnable]]:
    """Return the operator over an installed cloud, whose nodes join by themselves."""
    assembly = PluggedAssembly(
        client, factory, cluster_name=cluster_name, clock=clock, metrics=metrics, settings=settings
    )
    return assembly, ()


async def _run(settings: Settings, make: _Make, kubeconfig: Path | None) -> None:
    clock = WallClock()
    process = settings.process
    with logged_to(process.log_output, clock, level=process.log_level):
        for feature in settings.absent:
            log.warning("feature gate has no effect, the feature is not there yet", gate=feature)
        await _serve(settings, make, kubeconfig, clock=clock)


async def _serve(settings: Settings, make: _Make, kubeconfig: Path | None, *, clock: Clock) -> None:
    metrics = Metrics(clock)
    process = settings.process
    try:
        connection = find_connection(os.environ, kubeconfig=kubeconfig)
    except ConnectionSettingsError as error:
        raise SettingsError(str(error)) from error
    client = HttpKubeClient(
        connection, clock=clock, metrics=metrics, qps=process.kube_client_qps, burst=process.kube_client_burst
    )
    try:
        await _check_kinds(client)
        assembly, companions = make(client, clock, metrics)
        server = StatusServer(
            page=lambda: status_page(assembly.operator.state.snapshot(clock.now()), version=__version__),
            is_ready=lambda: assembly.is_ready,
            metrics=metrics,
        )
        try:
            await server.start(settings.metrics.port, flag="--set metrics.port")
            await server.start(process.health_probe_port, flag="--set health.port")
            await _work(
                client, clock, (assembly, *companions, LoopLag(clock, metrics)), metrics=metrics, settings=settings
            )
        finally:
            await server.stop()
    finally:
        await client.close()


async def _check_kinds(client: KubeClient) -> None:
    """Raise BadInputError when the cluster does not serve our kinds: every watch would fail for ever."""
    for resource in _NEEDED:
        try:
            await client.list(resource)
        except NotFound as error:
            raise BadInputError(
                f"the cluster does not know {resource.plural}.{resource.group}, "
                "teach it with: karpenter crds | kubectl apply -f -"
            ) from error


class _SimulatedNodes:
    """The kubelets of simulated machines, and their cloud's side of the nodes."""

    name = "simulated nodes"

    def __init__(self, client: KubeClient, clock: Clock, market: Market, *, metrics: Metrics) -> None:
        informers = SharedInformers(client, clock, metrics=metrics)
        context = Context(client, clock, informers, Recorders(client, clock, metrics), metrics)
        machines = MarketMachines(market, clock)
        pace = Pace(speed=market.settings.speed, seed=market.settings.seed)
        kubelets = Kubelets(context, machines, pace=pace, rhythm=NodeRhythm())
        cloud_nodes = StandIn(CloudNodes(context), context)
        lifecycle = CloudNodeLifecycle(context, machines)
        self._parts = (informers, context.events, kubelets, cloud_nodes, lifecycle)

    async def run(self) -> None:
        """Run until cancelled."""
        await run_all(*self._parts)


async def _work(
    client: KubeClient, clock: Clock, parts: Sequence[Runnable], *, metrics: Metrics, settings: Settings
) -> None:
    """Run the parts while we lead."""
    process = settings.process

    async def work() -> None:
        await run_all(*parts)

    if process.disable_leader_election:
        await work()
        return
    election = LeaderElection(
        client,
        clock,
        name=process.leader_election_name,
        namespace=process.leader_election_namespace,
        identity=f"{socket.gethostname()}_{os.getpid()}",
        metrics=metrics,
    )
    await election.lead(work)
