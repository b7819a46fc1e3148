"""`karpenter scenario`: days in virtual time, and what they cost. Issue 6, point 10."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from karpenter.app.cli import main
from tests.app.toys import CATALOG
from tests.builders import a_node_pool

LAST_STATE = """
import hashlib, random, sys
from pathlib import Path
from karpenter.app.embedded.api import EmbeddedApi
from karpenter.app.embedded.cluster import ClusterOptions, EmbeddedCluster
from karpenter.app.scenario import CALM, Play, load_scenario, played
from karpenter.app.settings import Settings
from karpenter.model.catalog import load_catalog
from karpenter.sim.loop import run_simulation

async def play(clock):
    api = EmbeddedApi(clock, draw=random.Random(1))
    options = ClusterOptions(seed=1, rhythm=CALM, catalog=load_catalog(Path(sys.argv[2])))
    cluster = EmbeddedCluster(api, settings=Settings(), options=options)
    await played(cluster, clock, Play(*load_scenario(Path(sys.argv[1])), 4 * 3600.0, 1))
    return [record.data for kind in api.store.registry for record in api.store.list(kind)]

state = run_simulation(play)
print(len(state), hashlib.sha256(b"".join(state)).hexdigest())
"""
"""Prints a digest of every object, with its uid and the number of the write that made it what it is."""
EXAMPLES = Path(__file__).parents[2] / "scenarios"
POOL = a_node_pool("toy", template={"nodeClassRef": {"group": "example.com", "kind": "ToyClass", "name": "absent"}})
EMPTY_SOON = {
    **POOL,
    "spec": {**POOL["spec"], "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "30s"}},
}


class Stage:
    """A scenario file on disk, and `scenario` run on it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._folder = folder
        self._capsys = capsys
        (folder / "catalog.json").write_text(json.dumps(CATALOG))

    def run(self, *flags: str, **fields: Any) -> tuple[int, str, str]:
        file = {"name": "test", "lasts": "2h", "manifests": [EMPTY_SOON], "cloudSpeed": 10.0, **fields}
        (self._folder / "file.yaml").write_text(json.dumps(file))
        status = main(["scenario", str(self._folder / "file.yaml"), "--catalog", self.catalog, *flags])
        captured = self._capsys.readouterr()
        return status, captured.out, captured.err

    @property
    def catalog(self) -> str:
        return str(self._folder / "catalog.json")

    def report(self, *flags: str, **fields: Any) -> dict[str, Any]:
        status, out, err = self.run("-o", "json", *flags, **fields)
        assert (status, err) == (0, "")
        report = json.loads(out)
        assert report.pop("cpuSeconds") > 0
        return report


@pytest.fixture
def stage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Stage:
    return Stage(tmp_path, capsys)


WEB = {"name": "web", "replicas": 3, "cpu": "1500m", "memory": "2Gi", "maxUnavailable": 1}


def test_the_report_has_dollars_waiting_evictions_and_margins(stage: Stage) -> None:
    events = [{"at": "1h", "deleteNodes": 1}]
    report = stage.report(workloads=[WEB], events=events)
    assert (report["name"], report["seed"], report["hours"]) == ("test", 0, 2.0)
    assert report["evictions"]["byReason"] == {"Deleted": report["evictions"]["total"]}
    assert report["evictions"]["total"] > 0
    assert report["budgetMargins"] == {"default/web": 0}
    assert report["budgetsBroken"] == 0
    assert report["pendingSeconds"]["stillWaiting"] == 0
    assert report["pendingSeconds"]["longest"] > 0
    assert 0 < report["dollarHours"] < 2 * 0.4


def test_the_bill_follows_the_fleet(stage: Stage) -> None:
    events = [{"at": "1h", "scale": {"deployment": "web", "replicas": 0}}]
    whole = stage.report(workloads=[WEB])
    half = stage.report(workloads=[WEB], events=events)
    assert half["dollarHours"] == pytest.approx(whole["dollarHours"] / 2, rel=0.05)
    assert half["nodes"]["average"] == pytest.approx(whole["nodes"]["average"] / 2, rel=0.05)


def test_a_seed_fixes_everything_and_another_one_changes_it(stage: Stage) -> None:
    noisy = {**WEB, "autoscaling": {"min": 1, "max": 12, "every": "5m", "noise": 0.5}}
    first = stage.report(workloads=[noisy])
    assert stage.report(workloads=[noisy]) == first
    assert stage.report("--seed", "5", workloads=[noisy])["pendingSeconds"] != first["pendingSeconds"]


def test_spot_notices_replace_and_evict_in_time(stage: Stage) -> None:
    report = stage.report(workloads=[WEB], events=[{"at": "30m", "every": "30m", "spotNotices": 1}])
    assert set(report["evictions"]["byReason"]) == {"Interrupted"}
    assert report["nodes"]["launched"] >= 4
    assert report["budgetsBroken"] == 0


def test_a_manifest_that_the_api_refuses_is_bad_input(stage: Stage) -> None:
    broken = {**POOL, "spec": {**POOL["spec"], "weight": 1000}}
    status, _, err = stage.run(manifests=[broken])
    assert status == 2
    assert "weight" in err


def test_a_kind_that_a_scenario_cannot_apply_is_bad_input(stage: Stage) -> None:
    status, _, err = stage.run(manifests=[{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}}])
    assert status == 2
    assert "kind 'Secret' cannot be applied by a scenario" in err


def test_a_missing_file_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", "nowhere.yaml"]) == 2
    assert "nowhere.yaml: no such file" in capsys.readouterr().err


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_the_examples_play(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scenario", str(path), "--lasts", "30m", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["pendingSeconds"]["stillWaiting"] == 0


@pytest.mark.real_time
def test_another_process_writes_the_same_objects_in_the_same_order(stage: Stage, tmp_path: Path) -> None:
    noisy = {**WEB, "autoscaling": {"min": 2, "max": 24, "every": "5m", "noise": 0.5}}
    file = {"name": "test", "lasts": "4h", "manifests": [EMPTY_SOON], "workloads": [noisy]}
    file["events"] = [{"every": "30m", "spotNotices": 1}, {"every": "1h", "deleteNodes": 1}]
    (tmp_path / "file.yaml").write_text(json.dumps(file))

    def last_state(hash_seed: str) -> str:
        command = [sys.executable, "-c", LAST_STATE, str(tmp_path / "file.yaml"), stage.catalog]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    assert last_state("1") == last_state("2")
