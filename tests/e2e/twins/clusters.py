"""The two clusters that scenarios are played on, as kubectl and a plain HTTP client see them."""

import asyncio
import json
import shlex
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from karpenter.runtime.clock import WallClock
from karpenter.runtime.kubememory import MemoryKubeClient, MemoryStore
from karpenter.sim.apiserver import ApiServer
from karpenter.sim.cluster import SimulatedCluster
from tests.e2e.nodes import a_kwok_node
from tests.e2e.plane import ControlPlane
from tests.e2e.twins.transcript import Transcript, plain
from tests.sim.machines import ScriptedMachines, machine

NODES = ("node-a", "node-b")
ROOM = {"cpu": "4", "memory": "16Gi", "pods": "110"}
PATIENCE_S = 60.0


@dataclass
class Place:
    """Where one of the clusters is."""

    url: str
    token: str
    trust: ssl.SSLContext
    kubeconfig: Path
    kubectl: Path
    home: Path


class Cluster:
    """One of the two clusters as a scenario meets it: in a namespace of the scenario's own, with all steps noted."""

    def __init__(self, place: Place, namespace: str) -> None:
        self._place = place
        self.namespace = namespace
        self.transcript = Transcript()

    def kubectl(
        self,
        line: str,
        stdin: Any = None,
        *,
        differs: str = "",
        env: Mapping[str, str] | None = None,
        in_order: bool = True,
    ) -> str:
        """Run kubectl as a user would type it and note what it prints and how it ends; return what it printed.

        `stdin` is a manifest, or several. Without `in_order` the lines are noted sorted.
        """
        done = self.quietly(line, stdin, env=env)
        told = self._told(done)
        told = told if in_order else "\n".join(sorted(told.splitlines()))
        self.transcript.add(f"kubectl {line}", told, differs=differs)
        return done.stdout

    def holds(self, line: str, *, differs: str = "", only: Callable[[Any], Any] | None = None) -> Any:
        """Note the whole object that the API holds, owners of fields included (or what `only` takes of it)."""
        done = self.quietly(f"get {line} --output=json --show-managed-fields")
        if done.returncode:
            self.transcript.add(f"the API holds {line}", self._told(done), differs=differs)
            return None
        tree = json.loads(done.stdout)
        self.transcript.add_tree(f"the API holds {line}", tree, differs=differs, only=only)
        return tree

    def until(self, line: str, text: str, *, within_s: float = PATIENCE_S) -> None:
        """Repeat a kubectl command until it prints a text. What it prints meanwhile is nobody's business."""
        deadline = time.monotonic() + within_s
        while text not in (said := self._told(self.quietly(line))):
            assert time.monotonic() < deadline, f"kubectl {line} never said {text!r}, but: {said}"
            time.sleep(0.2)

    def quietly(
        self, line: str, stdin: Any = None, *, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl without noting it."""
        documents = stdin if isinstance(stdin, list) else [stdin]
        text = stdin if isinstance(stdin, str) else "" if stdin is None else yaml.safe_dump_all(documents)
        environment = {
            "HOME": str(self._place.home),
            "PATH": f"{self._place.kubectl.parent}:/usr/bin:/bin",  # `diff` is a program of the system
            "KUBECONFIG": str(self._place.kubeconfig),
            **(env or {}),
        }
        return subprocess.run(
            [self._place.kubectl, f"--namespace={self.namespace}", *shlex.split(line)],
            input=text,
            env=environment,
            cwd=self._place.home,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def http(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        differs: str = "",
        content_type: str = "application/json",
        only: Callable[[Any], Any] | None = None,
    ) -> Any:
        """Send a request and note code and body; `NS` in the path is the namespace. Return the body."""
        code, headers, answer = self.request(method, path, body, content_type=content_type)
        tree: Any = {"code": code, "body": only(answer) if only and code < 300 else answer}
        if wait := headers.get("Retry-After"):
            tree["retry after"] = wait
        if warnings := headers.get_all("Warning"):
            tree["warnings"] = warnings
        self.transcript.add_tree(f"{method} {path}", tree, differs=differs)
        return answer

    def request(self, method: str, path: str, body: Any = None, *, content_type: str = "application/json") -> Any:
        """Send a request without noting it; return code, headers and body."""
        given = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        asked = urllib.request.Request(
            self._place.url + path.replace("NS", self.namespace),
            data=given,
            method=method,
            headers={"Authorization": f"Bearer {self._place.token}", "Content-Type": content_type},
        )
        try:
            with urllib.request.urlopen(asked, timeout=30, context=self._place.trust) as answer:
                return answer.status, answer.headers, _parsed(answer.read())
        except urllib.error.HTTPError as refusal:
            return refusal.code, refusal.headers, _parsed(refusal.read())

    def _told(self, done: subprocess.CompletedProcess[str]) -> str:
        told = plain("\n".join(part for part in (done.stdout, done.stderr) if part.strip()))
        return told if done.returncode == 0 else f"{told}\n(status {done.returncode})"


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data.decode()


@contextmanager
def embedded_place(kubectl: Path, home: Path) -> Iterator[Place]:
    """Run the embedded cluster in a thread of its own, with two machines."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="embedded cluster")
    thread.start()
    try:
        clock = WallClock()
        store = MemoryStore(clock)
        server = ApiServer(store)
        machines = ScriptedMachines(*(machine(name, resources=ROOM) for name in NODES))
        cluster = SimulatedCluster(MemoryKubeClient(store), clock, machines, speed=100.0)
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(30)
        running = asyncio.run_coroutine_threadsafe(cluster.run(), loop)
        asyncio.run_coroutine_threadsafe(cluster.wait_ready(), loop).result(30)
        kubeconfig = home / "kubeconfig"
        kubeconfig.write_text(server.kubeconfig(), encoding="utf-8")
        yield _place_of(kubeconfig, kubectl, home)
        running.cancel()
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(30)
    finally:
        asyncio.run_coroutine_threadsafe(_everything_ended(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _everything_ended() -> None:
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.wait(left, timeout=20) if left else None


@contextmanager
def real_place(programs: Path, home: Path) -> Iterator[Place]:
    """Run a control plane that is nobody else's, with two nodes."""
    with ControlPlane.running(programs, home) as plane:
        plane.apply(
            *(
                a_kwok_node(name, allocatable=ROOM, labels={"topology.kubernetes.io/zone": "us-west-2a"})
                for name in NODES
            )
        )
        yield _place_of(plane.kubeconfig(), programs / "kubectl", home)


def _place_of(kubeconfig: Path, kubectl: Path, home: Path) -> Place:
    read = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
    # Both authorities live for the test only: who they vouch for is another test's business.
    trust = ssl._create_unverified_context()
    return Place(
        url=read["clusters"][0]["cluster"]["server"],
        token=read["users"][0]["user"]["token"],
        trust=trust,
        kubeconfig=kubeconfig,
        kubectl=kubectl,
        home=home,
    )
