"""The peer's recorded plans are judged by the same verifier as ours."""

import gzip
import json
from pathlib import Path

from benchmarks.inputs import Scenario
from benchmarks.peers import peer_solution
from karpenter.model import labels
from karpenter.scheduling import Demand, PoolView
from tests.builders import a_pod, a_snapshot
from tests.scheduling.toys import FREE, on_demand, toys
from tests.scheduling.verifier import breaches

APART = {
    "maxSkew": 1,
    "topologyKey": labels.ZONE,
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {"matchLabels": {"app": "web"}},
}


def verdict(folder: Path, zones: dict[str, list[str]]) -> list[str]:
    """Record that the peer put these pods on one c.2 in each zone, and judge that."""
    named = [name for names in zones.values() for name in names]
    pods = tuple(a_pod(name, cpu="500m", labels={"app": "web"}, spread=[APART]) for name in named)
    race = Scenario("toy", pods, a_snapshot(pools=[PoolView(on_demand(), toys())]))
    machine = {"nodePool": "default", "instanceType": "c.2", "capacityType": "on-demand", "price": 0.08}
    recorded = [{**machine, "zone": zone, "pods": names} for zone, names in zones.items()]
    (folder / "peer-solutions").mkdir()
    (folder / "peer-solutions" / "toy.w1.json.gz").write_bytes(gzip.compress(json.dumps(recorded).encode()))
    solution = peer_solution(folder, race)
    assert solution is not None
    return breaches(race.snapshot, Demand.each(pods), solution, FREE)


def test_a_recorded_plan_that_keeps_every_rule_has_no_breach(tmp_path: Path) -> None:
    assert verdict(tmp_path, {"a": ["one"], "b": ["two"], "c": ["three"]}) == []


def test_the_owners_of_a_spread_that_a_recorded_plan_breaks_are_found(tmp_path: Path) -> None:
    found = verdict(tmp_path, {"a": ["one", "two", "three"], "b": ["four"]})
    assert [breach.partition(" ")[0] for breach in found] == ["default/one", "default/two", "default/three"]


def test_a_scenario_without_a_record_has_no_plan(tmp_path: Path) -> None:
    assert peer_solution(tmp_path, Scenario("toy", (), a_snapshot())) is None
