"""`karpenter run` against a real control plane: its scheduler binds the pods, its controllers own them."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from karpenter.app.embedded.sample import sample_manifests
from tests.e2e.plane import ControlPlane

WITHIN_S = 60.0


def until(holds: Callable[[], bool], *, within_s: float = WITHIN_S) -> None:
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.5)


@pytest.fixture
def kinds(plane: ControlPlane) -> None:
    command = [sys.executable, "-m", "karpenter", "crds"]
    definitions = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    plane.kubectl("apply", "--filename=-", stdin=definitions)


@pytest.fixture
def running(plane: ControlPlane, kinds: None, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    ports = ("--set", "metrics.port=0", "--set", "health.port=0")
    command = [sys.executable, "-m", "karpenter", "run", "--kubeconfig", str(plane.kubeconfig()), *ports]
    with (tmp_path / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        yield process
        process.terminate()
        assert process.wait(20) == 0, (tmp_path / "log").read_text()


def names(plane: ControlPlane, kind: str, *flags: str) -> list[str]:
    return plane.kubectl("get", kind, "--output=name", *flags).split()


def test_pods_run_on_simulated_machines_and_those_go_when_the_pool_does(
    plane: ControlPlane, namespace: str, running: subprocess.Popen[bytes]
) -> None:
    template, pool, workload = sample_manifests()
    workload["metadata"]["namespace"] = namespace
    plane.apply(template, pool, workload)
    in_namespace = f"--namespace={namespace}"
    until(lambda: len(names(plane, "pods", in_namespace, "--field-selector=status.phase=Running")) == 10)
    ours = "--selector=karpenter.sh/provisioner-name=sample"
    nodes = plane.kubectl("get", "nodes", ours, "--output=yaml")
    assert len(names(plane, "nodeclaims")) == len(yaml.safe_load(nodes)["items"]) > 0
    plane.kubectl("delete", "deployment", "sample", in_namespace)
    plane.kubectl("delete", "provisioner", "sample", "--wait=false")
    until(lambda: names(plane, "nodeclaims") == names(plane, "nodes", ours) == names(plane, "provisioners") == [])
    plane.kubectl("delete", "awsnodetemplate", "sample")
