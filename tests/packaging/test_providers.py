"""The cloud provider of docs/providers.md, as its reader would make it: installed, tested, run."""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from karpenter.app.embedded.api import EmbeddedApi
from karpenter.app.embedded.kubeconfigs import write_kubeconfig
from karpenter.runtime import kube
from karpenter.runtime.clock import WallClock
from karpenter.sim.apiserver import ApiServer

ROOT = Path(__file__).parents[2]
NIMBUS = ROOT / "docs" / "nimbus"

POOL = {
    "apiVersion": "karpenter.sh/v1",
    "kind": "NodePool",
    "metadata": {"name": "default"},
    "spec": {
        "template": {
            "spec": {
                "requirements": [],
                "nodeClassRef": {"group": "nimbus.example.com", "kind": "NimbusNodeClass", "name": "any"},
            }
        }
    },
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {"containers": [{"name": "web", "image": "web", "resources": {"requests": {"cpu": "3"}}}]},
    "status": {
        "phase": "Pending",
        "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
    },
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Install the package into a folder of its own; return the environment that has it on its path."""
    target = tmp_path_factory.mktemp("site")
    options = ("--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
    run(sys.executable, "-m", "pip", "install", *options, "--target", str(target), str(NIMBUS))
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(target), str(ROOT / "src")])}


def run(*command: str, env: dict[str, str] | None = None, cwd: Path = ROOT) -> str:
    done = subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_package_of_about_150_lines_passes_the_suite_of_all_providers(installed: dict[str, str]) -> None:
    options = ("-q", "--rootdir", str(NIMBUS), "-c", str(NIMBUS / "pyproject.toml"), "-p", "no:cacheprovider")
    out = run(sys.executable, "-m", "pytest", *options, str(NIMBUS / "test_nimbus.py"), env=installed, cwd=NIMBUS)
    assert " passed" in out


def test_an_unknown_cloud_names_those_that_are_installed(installed: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "karpenter", "run", "--cloud", "nimbos"],
        env=installed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "did you mean 'nimbus'?" in done.stderr


@contextlib.asynccontextmanager
async def a_cluster(folder: Path) -> AsyncIterator[tuple[kube.KubeClient, Path]]:
    """Yield an API server in which nothing runs, and its kubeconfig."""
    with contextlib.closing(EmbeddedApi(WallClock(), None)) as api:
        server = ApiServer(api.store)
        await server.start()
        try:
            path = folder / "kubeconfig"
            write_kubeconfig(path, server.kubeconfig())
            yield api.client, path
        finally:
            await server.stop()


@pytest.mark.real_time
async def test_run_launches_the_servers_of_an_installed_cloud(installed: dict[str, str], tmp_path: Path) -> None:
    async with a_cluster(tmp_path) as (client, kubeconfig):
        await client.create(kube.NODE_POOLS, POOL)
        await client.create(kube.PODS, POD, namespace="default")
        await client.patch(kube.PODS, "web", {"status": POD["status"]}, namespace="default", subresource="status")
        options = ("--kubeconfig", str(kubeconfig), "--set", "metrics.port=0", "--set", "health.port=0")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "karpenter", "run", "--cloud", "nimbus", *options), env=installed
        )
        try:
            async with asyncio.timeout(50):
                found = await launched(client)
        finally:
            process.terminate()
            await process.wait()
    assert found["status"]["providerID"].startswith("nimbus:///")
    assert found["metadata"]["labels"]["node.kubernetes.io/instance-type"] == "medium"


async def launched(client: kube.KubeClient) -> kube.RawObject:
    """Return the first claim that has a machine."""
    while True:
        listed = await client.list(kube.NODE_CLAIMS)
        for claim in listed.items:
            if claim.get("status", {}).get("providerID"):
                return claim
        await asyncio.sleep(0.2)
