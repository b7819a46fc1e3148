"""`karpenter convert`, as users call it: old manifests in, new ones on standard output, notes on standard error."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from karpenter.app.cli import main
from tests.builders import a_node_template, a_provisioner


def _run(
    folder: Path, capsys: pytest.CaptureFixture[str], *manifests: Any, flags: tuple[str, ...] = ()
) -> tuple[int, str, str]:
    (folder / "all.json").write_text(json.dumps(manifests))
    status = main(["convert", "-f", str(folder), *flags])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_manifests_are_printed_to_be_applied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = _run(tmp_path, capsys, a_provisioner(), a_node_template(), flags=("--role", "nodes"))
    assert status == 0
    assert [manifest["kind"] for manifest in yaml.safe_load_all(out)] == ["EC2NodeClass", "NodePool"]
    assert "changes: Provisioner default: metadata.name: nodes carry karpenter.sh/nodepool" in err


def test_as_json_they_are_a_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = _run(tmp_path, capsys, a_provisioner(), flags=("-o", "json", "--no-adopt"))
    listed = json.loads(out)
    assert (listed["kind"], [item["kind"] for item in listed["items"]]) == ("List", ["NodePool"])
    assert "annotations" not in listed["items"][0]["metadata"]


def test_something_refused_is_status_3_and_the_rest_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, out, err = _run(tmp_path, capsys, a_provisioner(), a_node_template())
    assert status == 3
    assert [manifest["kind"] for manifest in yaml.safe_load_all(out)] == ["NodePool"]
    assert "refused: AWSNodeTemplate default: spec.instanceProfile" in err


def test_workloads_that_use_old_names_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "annotations": {"karpenter.sh/do-not-evict": "true"}},
        "spec": {"nodeSelector": {"karpenter.sh/provisioner-name": "default"}, "containers": []},
    }
    _, _, err = _run(tmp_path, capsys, pod)
    first, second = err.splitlines()
    assert first.startswith(
        "changes: Pod p: metadata.annotations: karpenter.sh/do-not-evict: is karpenter.sh/do-not-disrupt"
    )
    assert second.startswith("changes: Pod p: spec.nodeSelector: karpenter.sh/provisioner-name: nodes carry")


def test_wrong_input_is_status_2_with_every_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = _run(tmp_path, capsys, a_provisioner(weight=0, providerRef=None))
    assert (status, out) == (2, "")
    assert err.count("Provisioner default") == 2


def test_one_profile_is_enough(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, _, err = _run(tmp_path, capsys, a_provisioner(), flags=("--role", "a", "--instance-profile", "b"))
    assert status == 2
    assert "--role: --instance-profile is given as well" in err
