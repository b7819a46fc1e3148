"""`karpenter simulate --disrupt`: what would be given back, what stays and why. Issue 6, point 11."""

from pathlib import Path
from typing import Any

import pytest

from karpenter.app.cli import main
from tests.app.simulation.test_simulate import POOL, Desk, a_deployment, a_node
from tests.builders import a_node_pool

PLACE = {"topology.kubernetes.io/zone": "a", "karpenter.sh/capacity-type": "on-demand"}
NOW = "2026-11-30T12:30:00Z"


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capsys)


def a_pool_node(name: str, kind: str = "medium", **fields: Any) -> Any:
    size = {"small": "2", "medium": "4", "large": "8"}[kind]
    labels = {"karpenter.sh/nodepool": "toy", "node.kubernetes.io/instance-type": kind, **PLACE}
    return {**a_node(name, cpu=size, **labels), **fields}


def a_bound_pod(name: str, node: str, cpu: str = "3", **metadata: Any) -> Any:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "labels": {"app": "web"}, **metadata},
        "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"requests": {"cpu": cpu}}}]},
        "status": {"phase": "Running"},
    }


def a_claim(name: str, node: str, *conditions: str, pool: Any = POOL, **status: Any) -> Any:
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {
            "name": name,
            "creationTimestamp": "2026-11-30T12:00:00Z",
            "labels": {"karpenter.sh/nodepool": pool["metadata"]["name"], **PLACE},
        },
        "spec": {"nodeClassRef": pool["spec"]["template"]["spec"]["nodeClassRef"], "requirements": []},
        "status": {
            "providerID": f"sim:///{node}",
            "conditions": [
                {"type": kind, "status": "True", "lastTransitionTime": "2026-11-30T12:01:00Z"} for kind in conditions
            ],
            **status,
        },
    }


READY = ("Launched", "Registered", "Initialized")


def of(node: str, blocked: list[dict[str, Any]]) -> dict[str, Any]:
    (found,) = [entry for entry in blocked if entry["node"] == node]
    return found


def test_an_empty_node_of_a_dump_without_conditions_goes_and_the_answer_has_the_documented_form(desk: Desk) -> None:
    bare = a_pool_node("bare", "small", status={"capacity": {}, "allocatable": {"cpu": "2", "pods": "9"}})
    pods = [a_bound_pod("web-0", "busy", annotations={"karpenter.sh/do-not-disrupt": "true"})]
    answer = desk.answer(POOL, a_pool_node("busy"), bare, *pods, flags=("--disrupt", "--now", NOW))
    assert answer["disruptions"] == [
        {"reason": "Empty", "nodes": ["bare"], "replacements": [], "podsMoved": 0, "savingsPerHour": 0.1}
    ]
    assert answer["finalNodes"] == [
        {
            "name": "busy",
            "instanceType": "medium",
            "zone": "a",
            "capacityType": "on-demand",
            "pricePerHour": 0.2,
            "pods": ["shop/web-0"],
        }
    ]
    assert (answer["pricePerHour"]["existing"], answer["pricePerHour"]["final"]) == (0.3, 0.2)
    assert [entry["node"] for entry in answer["blocked"]] == ["busy"]
    assert set(answer["blocked"][0]) == {"node", "reason", "code", "message", "since", "until", "pricePerHour"}


def test_a_claim_with_conditions_is_believed_and_its_timer_holds_the_node(desk: Desk) -> None:
    pool = a_node_pool("toy", template=POOL["spec"]["template"]["spec"], disruption={"consolidateAfter": "1h"})
    node = a_pool_node("n", spec={"providerID": "sim:///n"})
    claim = a_claim("n", "n", *READY, "Empty")
    answer = desk.answer(pool, node, claim, flags=("--disrupt", "--now", NOW))
    entry = of("n", answer["blocked"])
    assert (entry["code"], entry["since"], entry["until"]) == ("Timer", "2026-11-30T12:01:00Z", "2026-11-30T13:01:00Z")
    later = desk.answer(pool, node, claim, flags=("--disrupt", "--now", "2026-11-30T13:01:00Z"))
    assert [each["reason"] for each in later["disruptions"]] == ["Empty"]


def test_an_edited_pool_rolls_the_claims_that_no_longer_match_it(desk: Desk) -> None:
    requirements = [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["large"]}]
    edited = a_node_pool("toy", template={**POOL["spec"]["template"]["spec"], "requirements": requirements})
    nodes = [a_pool_node(name, spec={"providerID": f"sim:///{name}"}) for name in ("n1", "n2")]
    claims = [a_claim(name, name, *READY) for name in ("n1", "n2")]
    for claim in claims:
        claim["metadata"]["labels"]["node.kubernetes.io/instance-type"] = "medium"
    pods = [a_bound_pod(f"web-{name}", name, cpu="3500m") for name in ("n1", "n2")]
    flags = ("--disrupt", "--now", NOW, "--set", "policy.rails=off")
    once = desk.answer(edited, *nodes, *claims, *pods, flags=flags)
    assert [(each["reason"], each["podsMoved"]) for each in once["disruptions"]] == [("Drifted", 1)]
    assert not once["settled"]
    settled = desk.answer(edited, *nodes, *claims, *pods, flags=(*flags, "--until-settled"))
    assert settled["settled"]
    assert {node["instanceType"] for node in settled["finalNodes"]} == {"large"}
    assert sorted(pod for node in settled["finalNodes"] for pod in node["pods"]) == ["shop/web-n1", "shop/web-n2"]


def test_case_pdb_block_a_the_budget_is_named_and_one_without_a_status_is_judged_by_its_pods(desk: Desk) -> None:
    pdb = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep", "namespace": "shop"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    old = a_node_pool("toy", template={**POOL["spec"]["template"]["spec"], "expireAfter": "1m"})
    world = (old, a_pool_node("n"), pdb, a_bound_pod("web-0", "n"))
    blocked = desk.answer(*world, flags=("--disrupt", "--now", NOW))
    entry = of("n", blocked["blocked"])
    assert (entry["code"], entry["pricePerHour"]) == ("PodDisruptionBudget", 0.2)
    assert "shop/keep" in entry["message"]
    free = desk.answer(*world, a_bound_pod("web-1", "foreign"), a_node("foreign"), flags=("--disrupt", "--now", NOW))
    assert [each["reason"] for each in free["disruptions"]] == ["Expired"]


def test_pending_pods_are_served_first_and_their_nodes_belong_to_the_end(desk: Desk) -> None:
    answer = desk.answer(POOL, a_deployment(cpu="3"), flags=("--disrupt", "--until-settled"))
    assert [node["pods"] for node in answer["finalNodes"]] == [["shop/web-0"]]
    assert answer["pricePerHour"]["final"] == answer["pricePerHour"]["new"]


def test_the_bound_is_that_of_a_new_fleet_for_all_pods_of_our_nodes_beside_nodes_of_others(desk: Desk) -> None:
    pods = [
        a_bound_pod("web-0", "n", cpu="3"),
        a_bound_pod("web-1", "m", cpu="3"),
        a_bound_pod("web-2", "own", cpu="3"),
    ]
    nobodys = a_node("own", **PLACE, **{"node.kubernetes.io/instance-type": "medium"})
    on_demand = [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]}]
    pool = a_node_pool("toy", template={**POOL["spec"]["template"]["spec"], "requirements": on_demand})
    nodes = [a_pool_node("n", "large"), a_pool_node("m", "large"), nobodys]
    prices = desk.answer(pool, *nodes, *pods, flags=("--disrupt", "--until-settled", "--now", NOW))["pricePerHour"]
    assert prices["final"] >= prices["lowerBound"]
    assert prices["lowerBound"] == pytest.approx(0.6)  # the node of nobody's pool, and a large one or two medium ones


def test_the_table_shows_what_goes_what_stays_and_the_price_before_and_after(desk: Desk) -> None:
    toy = ("--catalog", str(desk.folder / "catalog.json"), "--disrupt", "--now", NOW)
    protected = a_bound_pod("web-0", "busy", annotations={"karpenter.sh/do-not-disrupt": "true"})
    status, out, _ = desk.run(POOL, a_pool_node("busy"), a_pool_node("bare"), protected, flags=toy)
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert status == 0
    assert "Empty bare nothing 0 0.2000" in lines
    assert any(line.startswith("1 busy 0.2000") for line in lines)
    assert any(line.startswith("2 nodes for $0.4000 an hour become 1 for $0.2000, 0 pods moved") for line in lines)
    assert "whatever the nodes, these pods cost at least $0.0500 (75.0% less)" in " ".join(lines)


@pytest.mark.parametrize(
    "flags,says",
    [(("--until-settled",), "--until-settled"), (("--disrupt", "--now", "yesterday"), "--now yesterday")],
)
def test_flags_that_make_no_sense_are_bad_input(flags: tuple[str, ...], says: str, desk: Desk) -> None:
    status, _, err = desk.run(POOL, flags=flags)
    assert (status, err.count("\n")) == (2, 1)
    assert says in err


def test_the_command_help_names_the_flags(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--help"]) == 0
    out = capsys.readouterr().out
    assert all(flag in out for flag in ("--disrupt", "--until-settled", "--now"))
