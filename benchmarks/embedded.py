"""The embedded cluster's figures: how soon the demo takes requests, and its API with 5,000 pods.

    python benchmarks/embedded.py

Wall time on whatever machine this is, the best of five where something is repeated, the client's share in it; and the
processor time of the server alone, which a busy machine does not change.
"""

from __future__ import annotations

import asyncio
import base64
import os
import ssl
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

import aiohttp
import yaml
from rich.console import Console
from rich.table import Table

from karpenter.runtime.clock import WallClock
from karpenter.runtime.kubememory import MemoryStore
from karpenter.sim.apiserver import ApiServer

PODS = 5_000
AT_ONCE = 32
TRIES = 5
GIVE_UP_S = 60.0
PATH = "/api/v1/namespaces/default/pods"
WANTED = {
    "demo takes requests": "< 3 s",
    "list of 5,000 pods": "≤ 0.4 s",
    "writes": "≥ 500 a second",
    "memory with 5,000 pods": "≤ 150 MiB",
}


@dataclass(frozen=True)
class Door:
    """How to get in: what a kubeconfig says."""

    url: str
    token: str
    trust: ssl.SSLContext

    @classmethod
    def of(cls, kubeconfig: Path) -> Door:
        """Read a kubeconfig of ours."""
        read = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        cluster = read["clusters"][0]["cluster"]
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        trust = ssl.create_default_context(cadata=authority)
        return cls(cluster["server"], read["users"][0]["user"]["token"], trust)

    def session(self) -> aiohttp.ClientSession:
        """Return a session that may do everything."""
        connector = aiohttp.TCPConnector(ssl=self.trust, limit=AT_ONCE)
        return aiohttp.ClientSession(self.url, headers={"Authorization": f"Bearer {self.token}"}, connector=connector)


def main() -> None:
    """Measure, and print one row each."""
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(Path(sys.argv[2])))
        return
    table = Table(title="Embedded cluster")
    for heading in ("what", "measured", "server's CPU", "wanted"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for name, value, cpu in measured():
        table.add_row(name, value, cpu, WANTED[name])
    Console().print(table)


def measured() -> Iterator[tuple[str, str, str]]:
    """Yield the name of each figure, the figure, and what it cost."""
    wall_s, cpu_s = min(asyncio.run(demo_start()) for _ in range(TRIES))
    yield "demo takes requests", f"{wall_s:.2f} s", f"{cpu_s:.2f} s"
    with TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        with child("serve", str(kubeconfig), program=[sys.executable, __file__]) as server:
            wait_for(kubeconfig.exists)
            wrote, listed = asyncio.run(crowd(Door.of(kubeconfig), server.pid))
            yield "list of 5,000 pods", f"{listed.wall_s:.2f} s", f"{listed.cpu_s:.2f} s"
            each = f"{wrote.cpu_s / PODS * 1000:.1f} ms each"
            yield "writes", f"{PODS / wrote.wall_s:.0f} a second", each
            yield "memory with 5,000 pods", f"{resident_mib(server.pid):.0f} MiB", ""


async def serve(kubeconfig: Path) -> None:
    """Serve an empty API until the process ends; write down how to get in."""
    server = ApiServer(MemoryStore(WallClock()))
    await server.start()
    unfinished = kubeconfig.with_suffix(".new")
    unfinished.write_text(server.kubeconfig(), encoding="utf-8")
    unfinished.rename(kubeconfig)
    await asyncio.Event().wait()


async def demo_start() -> tuple[float, float]:
    """Return the seconds from the command line until a new demo answers a request for its nodes, wall and CPU."""
    with TemporaryDirectory() as folder:
        kubeconfig = Path(folder) / "kubeconfig"
        begun = time.perf_counter()
        with child("demo", "--port", "0", "--kubeconfig-out", str(kubeconfig)) as demo:
            wait_for(lambda: kubeconfig.exists() and kubeconfig.stat().st_size > 0)
            async with Door.of(kubeconfig).session() as session, session.get("/api/v1/nodes") as answer:
                assert answer.status == 200, await answer.text()
                await answer.read()
            return time.perf_counter() - begun, cpu_of(demo.pid)


@dataclass(frozen=True, order=True)
class Cost:
    """What something took."""

    wall_s: float
    cpu_s: float
    """Of the server."""


async def crowd(door: Door, server: int) -> tuple[Cost, Cost]:
    """Create the pods; return what writing them cost, and what the list of all does."""
    async with door.session() as session:
        numbers = iter(range(PODS))

        async def write() -> None:
            for number in numbers:
                async with session.post(PATH, json=a_pod(number)) as answer:
                    assert answer.status == 201, await answer.text()
                    await answer.read()

        async def write_all() -> None:
            await asyncio.gather(*(write() for _ in range(AT_ONCE)))

        async def list_all() -> None:
            async with session.get("/api/v1/pods") as answer:
                await answer.read()

        wrote = await cost_of(write_all, server)
        return wrote, min([await cost_of(list_all, server) for _ in range(TRIES)])


async def cost_of(what: Callable[[], Awaitable[None]], server: int) -> Cost:
    """Do something and return what it took."""
    wall, cpu = time.perf_counter(), cpu_of(server)
    await what()
    return Cost(time.perf_counter() - wall, cpu_of(server) - cpu)


def a_pod(number: int) -> dict[str, Any]:
    """Return a pod as a Deployment would make it."""
    resources = {"requests": {"cpu": "500m", "memory": "1Gi"}, "limits": {"memory": "2Gi"}}
    environment = [{"name": f"SETTING_{key}", "value": "value"} for key in range(5)]
    container = {"name": "main", "image": "example.com/app:1", "resources": resources, "env": environment}
    labels = {"app": f"app-{number % 50}", "pod-template-hash": "7d4b9c6f5"}
    return {"metadata": {"name": f"app-{number}", "labels": labels}, "spec": {"containers": [container]}}


@contextmanager
def child(*arguments: str, program: list[str] | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """Run a command of ours, and end it with the block."""
    command = [*(program or [sys.executable, "-m", "karpenter"]), *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        yield process
        process.terminate()


def wait_for(holds: Callable[[], bool]) -> None:
    """Return once something is so."""
    end = time.perf_counter() + GIVE_UP_S
    while not holds():
        if time.perf_counter() > end:
            sys.exit(f"nothing came within {GIVE_UP_S:.0f} s")
        time.sleep(0.01)


def cpu_of(process: int) -> float:
    """Return how many seconds a process has had a processor."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(process: int) -> float:
    """Return how much memory a process has now."""
    pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    main()
