"""The sample is valid, keeps to itself, and is planned for on any catalogue."""

import json
from pathlib import Path

import pytest

from karpenter.app.cli import main
from karpenter.app.embedded.sample import sample_manifests
from tests.app.toys import CATALOG


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "catalog.json").write_text(json.dumps(CATALOG))
    return tmp_path


@pytest.mark.parametrize("custom_catalog", [False, True])
def test_the_sample_breaks_no_rule_and_its_pods_find_nodes(
    folder: Path, capsys: pytest.CaptureFixture[str], custom_catalog: bool
) -> None:
    (folder / "sample.json").write_text(json.dumps(sample_manifests(custom_catalog=custom_catalog)))
    toy = ("--catalog", str(folder / "catalog.json")) if custom_catalog else ()
    assert main(["simulate", "-f", str(folder / "sample.json"), "-o", "json", "--strict", *toy]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["placements"]) == 10
    # Cheap machines are often of an older generation, which is told and breaks no rule.
    assert [each for each in answer["warnings"] if "older generations" not in each] == []


def test_the_samples_pool_takes_nothing_but_what_tolerates_its_taint() -> None:
    _, pool, workload = sample_manifests()
    pod = workload["spec"]["template"]["spec"]
    assert [taint["key"] for taint in pool["spec"]["taints"]] == ["example.com/sample"]
    assert [toleration["key"] for toleration in pod["tolerations"]] == ["example.com/sample"]
    assert pod["nodeSelector"] == {"karpenter.sh/provisioner-name": "sample"}
