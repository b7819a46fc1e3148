"""`karpenter demo` as a process: what it prints, serves and leaves, how it ends, and that it survives being killed."""

import asyncio
import contextlib
import json
import re
import signal
import socket
import sqlite3
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from karpenter.app.cli import main
from karpenter.runtime import kube as api
from karpenter.runtime.clock import WallClock
from karpenter.runtime.kubehttp import HttpKubeClient, find_connection
from tests.builders import a_node_template, a_provisioner

pytestmark = pytest.mark.real_time


class Demo:
    """A demo that runs and has printed its greeting."""

    def __init__(self, process: Process, greeting: str) -> None:
        self.process = process
        self.greeting = greeting
        self.page = self._told(r"status +(\S+)")
        self.kubeconfig = Path(self._told(r"kubeconfig +(\S+)"))

    def _told(self, pattern: str) -> str:
        found = re.search(pattern, self.greeting)
        assert found, self.greeting
        return found[1]

    async def end(self, how: signal.Signals) -> tuple[int, str]:
        """Return exit status and standard error after a signal."""
        self.process.send_signal(how)
        _, errors = await self.process.communicate()
        return self.process.returncode, errors.decode()


def _hear_ctrl_c() -> None:
    """Shells that start the tests in the background let them, and all that they start, ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextlib.asynccontextmanager
async def running(*flags: str, speed: int = 100) -> AsyncIterator[Demo]:
    """Start a demo whose machines, at a hundred times the usual speed, are ready within a second."""
    own = ("--port", "0", "--cloud-speed", str(speed))
    command = (sys.executable, "-m", "karpenter", "demo", *own, *flags)
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE, preexec_fn=_hear_ctrl_c)
    try:
        async with asyncio.timeout(90):  # start and test together, on a machine that does much else
            yield Demo(process, (await process.stdout.readuntil(b"Ctrl-C ends it")).decode())
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


@contextlib.asynccontextmanager
async def client_of(demo: Demo) -> AsyncIterator[HttpKubeClient]:
    client = HttpKubeClient(find_connection({}, kubeconfig=demo.kubeconfig), clock=WallClock())
    yield client
    await client.close()


async def until(holds: Callable[[], Any], *, within_s: float = 20.0) -> Any:
    async with asyncio.timeout(within_s):
        while not (found := await holds()):  # noqa: ASYNC110 - it happens in another process
            await asyncio.sleep(0.1)
        return found


def machines_in(folder: Path) -> list[str]:
    """Return the claims that the stored cloud has machines for."""
    with contextlib.closing(sqlite3.connect(folder / "cloud.sqlite")) as db:
        stored = [json.loads(value) for (value,) in db.execute("SELECT value FROM cloud WHERE key != 'market'")]
    return sorted(each["token"] for each in stored)


async def test_with_the_sample_it_settles_and_ends_with_0_and_meanwhile_serves_page_metrics_and_api(
    tmp_path: Path,
) -> None:
    place = ("--kubeconfig-out", str(tmp_path / "kubeconfig"))
    async with running("--sample", "--exit-when-settled", *place) as demo:
        assert demo.kubeconfig == tmp_path / "kubeconfig"
        async with aiohttp.ClientSession() as session, client_of(demo) as client:
            assert await (await session.get(f"{demo.page}readyz")).text() == "ok\n"
            pods = await until(lambda: running_pods(client, 10))
            assert {pod.spec.node_name for pod in pods} == await node_names(client)
            page = await (await session.get(demo.page)).text()
            assert [name for name in await node_names(client) if name not in page] == []
            metrics = await (await session.get(f"{demo.page}metrics")).text()
            assert "karpenter_nodeclaims_created_total" in metrics
            assert "karpenter_event_loop_lag_seconds_count" in metrics
            assert "karpenter_event_loop_lag_seconds_count 0.0" not in metrics
        await demo.process.communicate()
        assert demo.process.returncode == 0


async def running_pods(client: HttpKubeClient, count: int) -> list[Any] | None:
    found = [pod for pod in (await client.list(api.PODS)).items if pod.status.phase == "Running"]
    return found if len(found) == count else None


async def node_names(client: HttpKubeClient) -> set[str]:
    return {node.metadata.name for node in (await client.list(api.NODES)).items}


async def test_killed_in_the_middle_of_a_scale_up_it_goes_on_with_the_same_data(tmp_path: Path) -> None:
    data = ("--data", str(tmp_path))
    async with running("--sample", *data, speed=10) as demo, client_of(demo) as client:
        await until(lambda: claims(client))
        await demo.end(signal.SIGKILL)
    async with running(*data, "--exit-when-settled") as again:
        assert (again.page, again.kubeconfig.read_text()) == (demo.page, demo.kubeconfig.read_text())
        assert "again, with the cluster and the machines it had" in again.greeting
        async with client_of(again) as client:
            assert await until(lambda: running_pods(client, 10))
            uids = sorted(claim["metadata"]["uid"] for claim in await claims(client))
        await again.process.communicate()
        assert again.process.returncode == 0
    assert machines_in(tmp_path) == uids  # one machine a claim: none leaked, none launched twice


async def claims(client: HttpKubeClient) -> list[dict[str, Any]]:
    return list((await client.list(api.NODE_CLAIMS)).items)


@pytest.mark.parametrize("how, status", [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
async def test_it_ends_cleanly_when_it_is_told_to(how: signal.Signals, status: int) -> None:
    async with running() as demo:
        ended, errors = await demo.end(how)
        assert (ended, "Traceback" in errors, demo.kubeconfig.exists()) == (status, False, False)


def test_a_port_that_is_taken_is_told_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["demo", "--port", str(port)]) == 2
    expected = f"karpenter: --port {port}: the port is taken, choose another one, or 0 for any that is free\n"
    assert capsys.readouterr().err == expected


def test_flags_that_cannot_be_are_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["demo", "--cloud-speed", "0"]) == 2
    assert main(["demo", "--data", str(tmp_path / "file")]) == 2
    assert main(["demo", "--startup-taints", "never"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "karpenter: --cloud-speed 0: it must be more than 0",
        f"karpenter: --data {tmp_path / 'file'}: file exists",
        'karpenter: Invalid value "never" for --startup-taints. Choose from: "auto", "manual".',
    ]


async def test_a_scenario_is_played_on_the_wall_clock(tmp_path: Path) -> None:
    sizes = {"requirements": [{"key": "karpenter.k8s.aws/instance-cpu", "operator": "In", "values": ["2", "4"]}]}
    web = {"name": "web", "replicas": 2, "cpu": "500m", "memory": "1Gi"}
    more = {"at": "1s", "scale": {"deployment": "web", "replicas": 5}}
    played = {"name": "small", "lasts": "1h", "workloads": [web], "events": [more]}
    played["manifests"] = [a_provisioner(**sizes), a_node_template()]
    (tmp_path / "small.yaml").write_text(json.dumps(played))
    async with running("--scenario", str(tmp_path / "small.yaml")) as demo:
        async with client_of(demo) as client:
            await until(lambda: running_pods(client, 5), within_s=60)
        ended, told = await demo.end(signal.SIGINT)
        assert (ended, "INFO    scenario  what=scale number=0" in told, "Traceback" in told) == (130, True, False)


def test_a_scenario_that_cannot_be_played_is_refused_before_anything_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bad.yaml").write_text("name: bad\nevents: [{at: soon}]\n")
    assert main(["demo", "--port", "0", "--scenario", str(tmp_path / "bad.yaml")]) == 2
    assert "bad.yaml" in capsys.readouterr().err
