"""Rules about other pods hold for moved pods and for those that stay: issue 6, point 2; case PREFER."""

from typing import Any

import pytest

from karpenter.disruption.options import DisruptionOptions
from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.scheduling import Options, Policy
from karpenter.scheduling.snapshot import Snapshot
from tests.builders import a_pod, an_owner
from tests.disruption.consolidation.fleets import a_fleet, a_machine, consolidated, price_of, settled
from tests.scheduling.toys import pods

SELECTOR = {"matchLabels": {"app": "web"}}


def spread(key: str, when: str = "DoNotSchedule") -> dict[str, Any]:
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": SELECTOR}


def web(name: str, **fields: Any) -> Pod:
    return a_pod(name, labels={"app": "web"}, owner=an_owner("ReplicaSet", "web"), **{"cpu": "500m", **fields})


def in_three_zones(**fields: Any) -> Snapshot:
    nodes = [a_machine(f"n-{zone}", "c.8", web(zone, **fields), zone=zone) for zone in ("a", "b", "c")]
    return a_fleet(*nodes, types=["c.1", "c.8"])


def test_pods_that_are_spread_over_zones_stay_spread_while_their_machines_get_smaller() -> None:
    end = settled(in_three_zones(spread=[spread(labels.ZONE)])).snapshot
    assert price_of(end) == pytest.approx(0.12)
    assert {view.zone for view in end.nodes} == {"a", "b", "c"}


def test_pods_that_keep_off_each_other_are_not_brought_together() -> None:
    term = {"labelSelector": SELECTOR, "topologyKey": labels.HOSTNAME}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    end = settled(in_three_zones(affinity=apart)).snapshot
    assert price_of(end) == pytest.approx(0.12)


def test_free_pods_of_three_zones_end_on_the_cheapest_machines() -> None:
    end = settled(in_three_zones()).snapshot
    assert price_of(end) == pytest.approx(0.08)


def test_a_stranger_does_not_unbalance_pods_that_stay() -> None:
    """Two pods state a spread over zones, a third is merely counted by it: its node may not empty zone c."""
    kept = {labels.DO_NOT_DISRUPT: "true"}
    owners = [web(zone, cpu="900m", annotations=kept, spread=[spread(labels.ZONE)]) for zone in ("a", "b")]
    stranger = web("s", cpu="900m", annotations={})
    nodes = [
        a_machine("n-a", "c.4", owners[0], zone="a"),
        a_machine("n-b", "c.4", owners[1], *pods(2, cpu="900m", name="f", annotations=kept), zone="b"),
        a_machine("n-c", "c.2", stranger, zone="c"),
        a_machine("n-d", "c.2", *pods(1, name="g", annotations=kept), zone="c"),
    ]
    fleet = a_fleet(*nodes, types=["c.2"])
    end = settled(fleet).snapshot
    where = {pod.metadata.name: view.zone for view in end.nodes for pod in view.pods}
    assert where["s"] == "c"


PREFERRING = {"spread": [spread(labels.HOSTNAME, "ScheduleAnyway")]}


def two_halves(policy: str) -> tuple[Snapshot, DisruptionOptions]:
    """Case PREFER (a): eight pods that would rather be apart, four on each of two nodes."""
    nodes = [
        a_machine(name, "c.4", *(web(f"{name}{at}", memory="512Mi", **PREFERRING) for at in range(4)))
        for name in ("a", "b")
    ]
    options = Options(Policy(rails=False, move_price=0.0, node_fee=0.0, preferences=policy))  # type: ignore[arg-type]
    return a_fleet(*nodes), DisruptionOptions(solve=options)


def test_prefer_a_ignored_preferences_let_one_of_two_nodes_go() -> None:
    (command,) = consolidated(*two_halves("Ignore")).commands
    assert (len(command.nodes), command.replacements) == (1, ())


def test_prefer_a_respected_preferences_keep_both_and_the_reason_names_them_and_their_price() -> None:
    verdict = consolidated(*two_halves("Respect"))
    assert verdict.commands == ()
    for blocked in verdict.blocked:
        assert blocked.code == "Preference"
        assert "kept 0.16 $/h" in blocked.message
        assert labels.HOSTNAME in blocked.message
