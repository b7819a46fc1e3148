"""The examples of the repository are valid, and show what the README says they show."""

import json
from pathlib import Path

import pytest

from karpenter.app.cli import main

EXAMPLES = Path(__file__).parents[3] / "examples"


def test_the_examples_find_cheap_nodes_for_all_pods_but_the_one_that_wants_a_gpu(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["simulate", "-f", str(EXAMPLES), "-o", "json", "--strict"]) == 3
    answer = json.loads(capsys.readouterr().out)
    assert len(answer["placements"]) == 43
    (about_generations,) = answer["warnings"]
    assert "older generations" in about_generations
    assert len({node["instanceType"] for node in answer["newNodes"]}) > 1
    (stuck,) = answer["unschedulable"]
    assert stuck["pod"] == "default/train-0"
    assert "nvidia.com/gpu" in stuck["reasons"][0]["message"]
