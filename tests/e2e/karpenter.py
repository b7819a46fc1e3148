"""`karpenter run` as a process against the real control plane, and what is asked of the cluster meanwhile."""

import json
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.e2e.plane import ControlPlane
from tests.e2e.programs import LOOPBACK

WITHIN_S = 90.0

Raw = dict[str, Any]


def until(holds: Callable[[], Any], what: str = "it", *, within_s: float = WITHIN_S) -> Any:
    """Wait until something true is returned, and return it."""
    deadline = time.monotonic() + within_s
    while not (found := holds()):
        assert time.monotonic() < deadline, f"{what} did not come true in time"
        time.sleep(0.5)
    return found


class Karpenter:
    """The process, and the cluster as kubectl sees it."""

    def __init__(self, plane: ControlPlane, metrics_port: int, log: Path) -> None:
        self.plane = plane
        self.log = log
        self._metrics_port = metrics_port

    @classmethod
    @contextmanager
    def running(cls, plane: ControlPlane, home: Path, *settings: str) -> Iterator["Karpenter"]:
        """Teach the cluster our kinds and run the controllers until the end, which has to be a clean one."""
        command = [sys.executable, "-m", "karpenter"]
        definitions = subprocess.run([*command, "crds"], capture_output=True, text=True, check=True).stdout
        plane.kubectl("apply", "--filename=-", stdin=definitions)
        with socket.create_server((LOOPBACK, 0)) as free:
            port = free.getsockname()[1]
        given = [f"metrics.port={port}", "health.port=0", *settings]
        flags = [part for one in given for part in ("--set", one)]
        log = home / "karpenter.log"
        with (
            log.open("wb") as out,
            subprocess.Popen(
                [*command, "run", f"--kubeconfig={plane.kubeconfig()}", *flags], stdout=out, stderr=out
            ) as process,
        ):
            yield cls(plane, port, log)
            process.terminate()
            assert process.wait(30) == 0, log.read_text()

    def objects(self, kind: str, *flags: str) -> list[Raw]:
        """Return objects of a kind."""
        return json.loads(self.plane.kubectl("get", kind, "--output=json", *flags))["items"]

    def nodes(self, pool: str) -> list[Raw]:
        """Return the nodes of a pool, whichever generation it is of."""
        keys = ("karpenter.sh/provisioner-name", "karpenter.sh/nodepool")
        return [node for node in self.objects("nodes") if pool in map(node["metadata"]["labels"].get, keys)]

    def running_pods(self, namespace: str) -> list[Raw]:
        """Return the pods that run."""
        return self.objects("pods", f"--namespace={namespace}", "--field-selector=status.phase=Running")

    def metrics(self) -> str:
        """Return what the process tells Prometheus."""
        with urllib.request.urlopen(f"http://{LOOPBACK}:{self._metrics_port}/metrics", timeout=10) as answer:
            return answer.read().decode()

    def metric(self, name: str, **labels: str) -> float:
        """Return the sum of a metric's samples that have these labels. Raises AssertionError when there is none."""
        lines = [line for line in self.metrics().splitlines() if re.match(rf"{name}[{{ ]", line)]
        found = [line for line in lines if all(f'{key}="{value}"' in line for key, value in labels.items())]
        assert found, f"{name} with {labels} is not among the metrics"
        return sum(float(line.rsplit(" ", 1)[1]) for line in found)

    def give_back(self, kind: str, pool: str) -> None:
        """Delete a pool, and wait until all it had is gone."""
        self.plane.kubectl("delete", kind, pool, "--wait=false", "--ignore-not-found")
        until(lambda: not self.nodes(pool) and not self.objects("nodeclaims"), f"all nodes of {pool} gone")
