"""Scenario files: what they may say, and how mistakes are told. Issue 6, point 10."""

import itertools
import random
from typing import Any

import pytest

from karpenter.model.errors import ManifestError
from karpenter.model.units import UnixSeconds
from karpenter.sim.scenario.file import Autoscaling, deed_of, read_scenario, seconds_of
from karpenter.sim.scenario.objects import budget_of, deployment_of
from karpenter.sim.scenario.replicas import wanted_replicas

WEB = {"name": "web", "replicas": 3}


def a_file(**fields: Any) -> dict[str, Any]:
    return {"name": "test", "lasts": "1d", "workloads": [WEB], **fields}


def mistakes(**fields: Any) -> list[str]:
    with pytest.raises(ManifestError) as refused:
        read_scenario(a_file(**fields), subject="file.yaml")
    return [str(error) for error in refused.value.errors]


@pytest.mark.parametrize("text,seconds", [("2d3h", 183600), ("90m", 5400), ("1.5d", 129600), ("30s", 30), ("0", 0)])
def test_spans_are_those_of_go_and_days(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


def test_a_whole_file_is_read() -> None:
    events = [{"every": "12h", "spotNotices": 1}, {"at": "2d", "scale": {"deployment": "web", "replicas": 9}}]
    found = read_scenario(a_file(events=events, seed=7), subject="file.yaml")
    assert (found.lasts_s, found.seed, [deed_of(event) for event in found.events]) == (
        86400,
        7,
        ["spot_notices", "scale"],
    )


def test_an_unknown_key_is_named_with_its_place() -> None:
    (mistake,) = mistakes(workloads=[{**WEB, "cpus": "2"}])
    assert "cpus" in mistake
    assert "workloads" in mistake


def test_every_mistake_of_the_events_is_told_at_once() -> None:
    events = [
        {"at": "1h"},
        {"at": "1h", "spotNotices": 1, "releaseImages": True},
        {"spotNotices": 1},
        {"at": "soon", "spotNotices": 1},
        {"at": "1h", "scale": {"deployment": "nobody", "replicas": 1}},
    ]
    found = mistakes(events=events)
    assert [mistake.partition(":")[0] for mistake in found] == [
        "$.events[0]",
        "$.events[1]",
        "$.events[2]",
        "$.events[3].at",
        "$.events[4].scale.deployment",
    ]
    assert "spotNotices" in found[0]


def test_nothing_lasts_no_time() -> None:
    assert mistakes(lasts="0s") == ["$.lasts: '0s' must be more than 0"]


def test_a_workload_becomes_a_deployment_and_its_budget() -> None:
    workload = read_scenario(
        a_file(workloads=[{**WEB, "cpu": "2", "maxUnavailable": "10%", "pod": {"priorityClassName": "high"}}]),
        subject="file.yaml",
    ).workloads[0]
    pod = deployment_of(workload)["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["requests"] == {"cpu": "2", "memory": "512Mi"}
    assert pod["priorityClassName"] == "high"
    budget = budget_of(workload)
    assert budget is not None
    assert budget["spec"] == {"maxUnavailable": "10%", "selector": {"matchLabels": {"app": "web"}}}


def replicas(scaling: Autoscaling, seed: int = 0, hours: int = 24) -> list[int]:
    steps = wanted_replicas(scaling, 20, start=UnixSeconds(0.0), dice=random.Random(seed))
    return [wanted for _, wanted in itertools.islice(steps, hours)]


def test_an_autoscaler_follows_the_day_between_its_bounds() -> None:
    scaling = Autoscaling(min=12, max=28, every="1h", noise=0.0, daily=0.5, peak="14h")
    wanted = replicas(scaling)
    assert (max(wanted), wanted[13], min(wanted), wanted[1]) == (28, 28, 12, 12)


def test_noise_is_the_same_for_a_seed_and_different_for_another() -> None:
    scaling = Autoscaling(min=1, max=99, every="1h", noise=0.2)
    assert replicas(scaling) == replicas(scaling)
    assert replicas(scaling) != replicas(scaling, seed=1)
    assert len(set(replicas(scaling))) > 3
