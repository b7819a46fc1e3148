"""`karpenter demo`: a cluster with Karpenter in one process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Final, Literal

from cyclopts import Parameter

from karpenter import __version__
from karpenter.app.embedded.api import CLUSTER_FILE, EmbeddedApi
from karpenter.app.embedded.kubeconfigs import write_kubeconfig
from karpenter.app.embedded.options import DemoOptions, Running
from karpenter.app.embedded.page import loading_page
from karpenter.app.embedded.web import HOST, StatusServer
from karpenter.app.embedded.words import Whereabouts
from karpenter.app.errors import BadInputError, SettingsError
from karpenter.app.process import run_process
from karpenter.app.settings import read_settings
from karpenter.model.catalog import load_catalog
from karpenter.runtime import logs
from karpenter.runtime.clock import WallClock
from karpenter.sim.apiserver import ApiServer, ApiServerError
from karpenter.sim.startuptaints import StartupTaints

_PORT_FILE: Final = "status-port"


def demo(
    *,
    port: int = 8080,
    cloud: Literal["simulated", "aws-local"] = "simulated",
    cloud_speed: float = 10.0,
    sample: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    startup_taints: StartupTaints = "auto",
    kubeconfig_out: Path | None = None,
    data: Path | None = None,
    catalog: Path | None = None,
    seed: int = 0,
    set_: Annotated[tuple[str, ...], Parameter(name="--set", negative=(), show_default=False)] = (),
    exit_when_settled: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    scenario: Path | None = None,
) -> int:
    """Run a cluster with Karpenter in this process: API server, scheduler, kubelets and cloud, all simulated.

    It prints a kubeconfig and what to type next. Ctrl-C ends it.

    Parameters
    ----------
    port
        Plain HTTP on loopback for the status page, /healthz, /readyz and /metrics; 0 takes any free port.
    cloud
        `simulated`, or `aws-local`: the same market behind AWS's own protocols, used through the AWS SDK.
    cloud_speed
        How many times as fast as a real cloud machines boot and end.
    sample
        Apply a pool and a workload to look at; the pool takes nothing else.
    startup_taints
        Whether startup taints go away by themselves a few seconds after a node is ready, or stay until you remove them.
    kubeconfig_out
        Where to write the kubeconfig; by default into the data folder, or a temporary one.
    data
        A folder that keeps cluster, cloud, port and kubeconfig; with the same folder everything goes on where it was.
    catalog
        Instance types from this file instead of those of AWS.
    seed
        Fixes boot delays, shortages and spot prices of a new cloud.
    set_
        A setting, KEY=VALUE; docs/settings.md lists them. May be given several times.
    exit_when_settled
        End with 0 once no pod waits for a node and no machine is on its way, for 5 seconds; with 1 after 5 minutes.
    scenario
        Play what this file says, in real time; docs/scenarios.md has its form. Seed and settings are those given here.
    """
    if cloud_speed <= 0:
        raise SettingsError(f"--cloud-speed {cloud_speed:g}: it must be more than 0")
    if cloud == "aws-local" and catalog is not None:
        raise SettingsError("--cloud aws-local sells the instance types of AWS: leave --catalog out")
    options = DemoOptions(
        settings=read_settings(set_, os.environ),
        cloud=cloud,
        cloud_speed=cloud_speed,
        seed=seed,
        startup_taints=startup_taints,
        catalog=None if catalog is None else load_catalog(catalog),
        data=data,
        port=port,
        sample=sample,
        kubeconfig_out=kubeconfig_out,
        exit_when_settled=exit_when_settled,
        scenario=scenario,
    )
    return run_process(_demo(options)) or 0


async def _demo(options: DemoOptions) -> int:
    """Answer requests at once; load what works on the cluster meanwhile, and then run it."""
    clock = WallClock()
    with contextlib.ExitStack() as stack:
        level = options.settings.process.log_level
        stack.callback(logs.configure(clock, sys.stderr, level=level, encoding="console"))
        folder = stack.enter_context(_folder(options.data))
        is_restart = (folder / CLUSTER_FILE).exists()
        with contextlib.closing(EmbeddedApi(clock, options.data)) as api:
            status = StatusServer(
                page=lambda: loading_page(version=__version__), is_ready=lambda: False, metrics=api.metrics
            )
            async with _status(status, options, folder) as page, _served(api, folder) as server:
                where = Whereabouts(
                    version=__version__,
                    page=page,
                    kubeconfig=_place_kubeconfig(server, options, folder),
                    is_restart=is_restart,
                    sample=options.sample,
                    startup_taints=options.startup_taints,
                    cloud_speed=options.cloud_speed,
                    data=options.data,
                )
                run = await asyncio.to_thread(_load)
                return await run(api, options, status=status, where=where)


def _load() -> Running:
    """Import scheduler, kubelets, cloud and operator: two thirds of our code."""
    from karpenter.app.embedded.running import run  # noqa: PLC0415 - in a thread, so that kubectl need not wait for it

    return run


@contextlib.contextmanager
def _folder(data: Path | None) -> Iterator[Path]:
    """Yield the folder for what the demo writes: the one given, which stays, or a temporary one."""
    if data is None:
        with TemporaryDirectory(prefix="karpenter-demo-") as temporary:
            yield Path(temporary)
        return
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"--data {data}: {(error.strerror or str(error)).lower()}") from error
    yield data


@contextlib.asynccontextmanager
async def _status(server: StatusServer, options: DemoOptions, folder: Path) -> AsyncIterator[str]:
    """Serve the status page; yield its URL."""
    try:
        port = await _listen(server, options.port, folder / _PORT_FILE)
        yield f"http://{HOST}:{port}/"
    finally:
        await server.stop()


async def _listen(server: StatusServer, port: int, kept: Path) -> int:
    """Listen on the port that was asked for; for 0 on the one an earlier demo found free, if it still is."""
    try:
        bound = await server.start(port or _read_port(kept))
    except SettingsError:
        if port:
            raise
        bound = await server.start(0)
    _write_port(kept, bound)
    return bound


def _read_port(path: Path) -> int:
    return int(path.read_text(encoding="ascii")) if path.exists() else 0


def _write_port(path: Path, port: int) -> None:
    path.write_text(f"{port}\n", encoding="ascii")


@contextlib.asynccontextmanager
async def _served(api: EmbeddedApi, folder: Path) -> AsyncIterator[ApiServer]:
    """Serve the Kubernetes API over TLS, on the port that it had before."""
    server = ApiServer(api.store, data_dir=folder / "apiserver" if api.data else None)
    try:
        await server.start()
    except ApiServerError as error:
        raise BadInputError(str(error)) from error
    try:
        yield server
    finally:
        await server.stop()


def _place_kubeconfig(api: ApiServer, options: DemoOptions, folder: Path) -> Path:
    if options.kubeconfig_out is not None:
        write_kubeconfig(options.kubeconfig_out, api.kubeconfig(), flag="--kubeconfig-out")
        return options.kubeconfig_out.absolute()
    path = folder / "kubeconfig"
    write_kubeconfig(path, api.kubeconfig())
    return path.absolute()
