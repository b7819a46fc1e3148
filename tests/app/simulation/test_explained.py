"""`karpenter simulate --explain NAME`."""

import json
from pathlib import Path
from typing import Any

import pytest

from karpenter.app.cli import main
from tests.app.simulation.test_simulate import POOL, Desk, a_deployment, a_node

CONTAINERS = {"containers": [{"name": "c"}]}
HOSTNAME = "kubernetes.io/hostname"
APART = {
    "podAntiAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 1,
                "podAffinityTerm": {"topologyKey": HOSTNAME, "labelSelector": {"matchLabels": {"app": "web"}}},
            }
        ]
    }
}


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capsys)


def told(desk: Desk, name: str, *manifests: Any, status: int = 0) -> Any:
    return desk.answer(POOL, *manifests, flags=("--explain", name), status=status)["explanation"]


def printed(desk: Desk, name: str, *manifests: Any) -> list[str]:
    _, out, _ = desk.run(POOL, *manifests, flags=("--catalog", str(desk.folder / "catalog.json"), "--explain", name))
    return [" ".join(line.split()) for line in out.splitlines()]


def test_the_explanation_has_the_documented_form(desk: Desk) -> None:
    found = told(desk, "web-0", a_deployment(cpu="3", memory="6Gi"))
    assert found["place"] == {
        "name": "toy-1",
        "new": True,
        "pool": {"kind": "NodePool", "name": "toy"},
        "instanceType": "medium",
        "zone": "a",
        "capacityType": "spot",
        "pricePerHour": 0.05,
        "types": 1,
        "pods": {"Deployment shop/web": 1},
        "requests": {"cpu": "3", "memory": "6Gi", "pods": "1"},
    }
    assert set(found) == {
        "kind",
        "name",
        "place",
        "why",
        "bindings",
        "otherNodes",
        "alternatives",
        "left",
        "reasons",
        "refusal",
        "preferences",
    }
    assert {
        "dimension": "capacity type",
        "name": "on-demand",
        "offering": {
            "pool": {"kind": "NodePool", "name": "toy"},
            "instanceType": "medium",
            "zone": "a",
            "capacityType": "on-demand",
            "pricePerHour": 0.2,
        },
        "whyNot": "",
    } in found["alternatives"]


def test_both_prices_of_a_preference_are_shown(desk: Desk) -> None:
    """Case PREFER (b): with Respect every pod is alone, with Ignore they share."""
    prices = told(desk, "web-0", a_deployment(replicas=4, cpu="500m", memory="1Gi", affinity=APART))["preferences"]
    assert prices == {
        "respect": 0.1,
        "ignore": 0.025,
        "each": [
            {
                "preference": f"preferred pod anti-affinity over {HOSTNAME}",
                "pods": 4,
                "givenUp": 0,
                "pricePerHour": 0.075,
            }
        ],
    }


def test_the_plan_itself_shows_both_prices(desk: Desk) -> None:
    """Case PREFER (b)."""
    web = a_deployment(replicas=4, cpu="500m", memory="1Gi", affinity=APART)
    assert desk.answer(POOL, web)["preferences"] == {"respect": 0.1, "ignore": 0.025}
    ignoring = desk.answer(POOL, web, flags=("--set", "policy.preferences=Ignore"))
    assert (ignoring["preferences"], ignoring["pricePerHour"]["new"]) == ({"respect": 0.1, "ignore": 0.025}, 0.025)
    _, out, _ = desk.run(POOL, web, flags=("--catalog", str(desk.folder / "catalog.json")))
    assert "preferences: $0.1000 an hour if they are respected, $0.0250 if ignored" in out.splitlines()


def test_a_pod_without_a_place_is_told_what_would_help(desk: Desk) -> None:
    found = told(desk, "shop/stuck-0", a_deployment("stuck", cpu="99"), status=3)
    assert (found["place"], found["reasons"][0]["code"]) == (None, "InsufficientResources")
    assert found["refusal"]["fix"]["placed"] == 1


def test_a_terminal_reads_it_in_short_blocks(desk: Desk) -> None:
    lines = printed(desk, "web-0", a_deployment(cpu="3", memory="6Gi"))
    assert lines[0] == "Pod shop/web-0: new node toy-1, medium spot in a of NodePool toy, $0.0500 an hour"
    assert "type large spot a 0.1000 +100 % costs more" in lines
    assert "capacity type on-demand medium a 0.2000 +300 % costs more" in lines


def test_a_node_is_told_what_comes_and_what_is_left(desk: Desk) -> None:
    lines = printed(desk, "node/n1", a_node("n1"), a_deployment(cpu="3"))
    assert lines[0] == "Node n1: a price that nobody knows"
    assert "the plan puts 1 pod there: room that is there costs nothing more" in lines
    assert "1 cpu, 14Gi memory" in lines


def test_names_are_taken_with_and_without_kind_and_namespace(desk: Desk) -> None:
    plans = [told(desk, name, a_deployment()) for name in ("web-0", "shop/web-0", "pod/web-0", "pod/shop/web-0")]
    assert all(found == plans[0] for found in plans)
    assert told(desk, "toy-1", a_deployment()) == told(desk, "node/toy-1", a_deployment())


@pytest.mark.parametrize(
    "name, words",
    [
        ("wen-0", "there is no such pod or node in the input or the plan; did you mean web-0?"),
        ("both", "means pod/shop/both, node/both; write pod/NAMESPACE/NAME or node/NAME"),
    ],
)
def test_a_name_that_means_none_or_several_is_bad_input(desk: Desk, name: str, words: str) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "both", "namespace": "shop"}, "spec": CONTAINERS}
    toy = ("--catalog", str(desk.folder / "catalog.json"), "--explain", name)
    status, _, err = desk.run(POOL, a_node("both"), pod, a_deployment(), flags=toy)
    assert (status, err) == (2, f"karpenter: --explain {name}: {words}\n")


def test_it_explains_plans_for_pending_pods_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "-f", "x.yaml", "--explain", "web-0", "--disrupt"]) == 2
    assert "leave --disrupt out" in capsys.readouterr().err


def test_without_the_flag_nothing_is_explained(desk: Desk) -> None:
    toy = ("--catalog", str(desk.folder / "catalog.json"), "-o", "json")
    _, out, _ = desk.run(POOL, a_deployment(), flags=toy)
    assert "explanation" not in json.loads(out)
