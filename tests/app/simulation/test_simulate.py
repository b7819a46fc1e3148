"""`karpenter simulate`, as users call it: files in, an answer and an exit status out."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from karpenter.app.cli import main
from karpenter.app.settings import Settings, shown
from tests.app.toys import CATALOG
from tests.builders import a_node_pool, a_node_template, a_provisioner

TAINT = {"key": "example.com/special", "effect": "NoSchedule"}


POOL = a_node_pool("toy", template={"nodeClassRef": {"group": "example.com", "kind": "ToyClass", "name": "absent"}})


def a_deployment(name: str = "web", replicas: int = 1, cpu: str = "1", memory: str = "2Gi", **pod: Any) -> Any:
    containers = [{"name": "c", "resources": {"requests": {"cpu": cpu, "memory": memory}}}]
    template = {"metadata": {"labels": {"app": name}}, "spec": {"containers": containers, **pod}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template},
    }


def a_node(name: str, cpu: str = "4", **labels: str) -> Any:
    amounts = {"cpu": cpu, "memory": "16Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels, "creationTimestamp": "2026-11-30T12:00:00Z"},
        "status": {"capacity": amounts, "allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
    }


class Desk:
    """A folder of manifests, and `simulate` run on it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capsys = capsys
        (folder / "catalog.json").write_text(json.dumps(CATALOG))

    def run(self, *manifests: Any, flags: tuple[str, ...] = ()) -> tuple[int, str, str]:
        place = self.folder / "input"
        place.mkdir(exist_ok=True)
        (place / "all.json").write_text(json.dumps(manifests))
        status = main(["simulate", "-f", str(place), *flags])
        captured = self._capsys.readouterr()
        return status, captured.out, captured.err

    def answer(self, *manifests: Any, flags: tuple[str, ...] = (), status: int = 0) -> Any:
        """Return the JSON answer on the toy catalogue, without its times."""
        toy = ("--catalog", str(self.folder / "catalog.json"), "-o", "json", *flags)
        found, out, err = self.run(*manifests, flags=toy)
        assert (found, err) == (status, "")
        answer = json.loads(out)
        assert set(answer.pop("seconds")) == {"load", "solve", "solveCpu"}
        return answer


@pytest.fixture
def desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(tmp_path, capsys)


def test_the_answer_has_the_documented_form(desk: Desk) -> None:
    assert desk.answer(POOL, a_deployment(cpu="3", memory="6Gi")) == {
        "newNodes": [
            {
                "name": "toy-1",
                "pool": {"kind": "NodePool", "name": "toy"},
                "instanceType": "medium",
                "instanceTypes": ["medium"],
                "zone": "a",
                "capacityType": "spot",
                "pricePerHour": 0.05,
                "requests": {"cpu": "3", "memory": "6Gi", "pods": "1"},
                "pods": ["shop/web-0"],
            }
        ],
        "placements": {"shop/web-0": "toy-1"},
        "unschedulable": [],
        "refusals": [],
        "pricePerHour": {
            "existing": 0.0,
            "new": 0.05,
            "lowerBound": 0.05,
            "final": None,
            "planned": 0.05,
            "expected": 0.05,
            "worst": 0.05,
            "railsCost": 0.0,
        },
        "preferences": None,
        "policy": json.loads(json.dumps(shown(Settings(), "policy"))),
        "warnings": [],
        "complete": True,
    }


def test_no_more_new_nodes_are_planned_than_asked_for(desk: Desk) -> None:
    answer = desk.answer(POOL, a_deployment(replicas=40), flags=("--max-nodes", "1", "--optimize", "0"), status=3)
    (refused, *_) = answer["unschedulable"]
    assert len(answer["newNodes"]) == 1
    assert refused["reasons"][0]["code"] == "MaxNodesReached"


def test_s38_default_spread_holds_for_workloads_and_services_of_the_input(desk: Desk) -> None:
    spread = "{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}"
    flags = ("--set", f"policy.defaultSpread={{podTopologySpread: {{defaultConstraints: [{spread}]}}}}")
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "db", "namespace": "shop"},
        "spec": {"selector": {"app": "db"}},
    }
    metadata = {"namespace": "shop", "labels": {"app": "db"}}
    spec = a_deployment()["spec"]["template"]["spec"]
    bare = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, **metadata}, "spec": spec} for name in ("x", "y")
    ]
    for of_one_kind in ([a_deployment(replicas=2)], [service, *bare]):
        answer = desk.answer(POOL, *of_one_kind, flags=flags)
        assert {node["zone"] for node in answer["newNodes"]} == {"a", "b"}
    assert len(desk.answer(POOL, *bare, flags=flags)["newNodes"]) == 1


def test_yaml_says_the_same_as_json(desk: Desk) -> None:
    toy = ("--catalog", str(desk.folder / "catalog.json"))
    _, out, _ = desk.run(POOL, a_deployment(), flags=(*toy, "-o", "yaml"))
    from_yaml = yaml.safe_load(out)
    del from_yaml["seconds"]
    assert from_yaml == desk.answer(POOL, a_deployment())


def test_pods_go_to_a_node_with_room_before_a_new_one_is_launched(desk: Desk) -> None:
    labels = {
        "karpenter.sh/nodepool": "toy",
        "node.kubernetes.io/instance-type": "medium",
        "topology.kubernetes.io/zone": "a",
        "karpenter.sh/capacity-type": "spot",
    }
    answer = desk.answer(POOL, a_node("n1", **labels), a_deployment(replicas=4))
    assert (answer["newNodes"], set(answer["placements"].values())) == ([], {"n1"})
    prices = answer["pricePerHour"]
    assert (prices["existing"], prices["new"], prices["lowerBound"], prices["railsCost"]) == (0.05, 0.0, 0.0, 0.0)


def test_a_pod_that_no_pool_takes_ends_with_3_and_says_why_pool_by_pool(desk: Desk) -> None:
    tainted = {**POOL, "spec": {"template": {"spec": {**POOL["spec"]["template"]["spec"], "taints": [TAINT]}}}}
    answer = desk.answer(tainted, a_deployment(replicas=2), status=3)
    (reason,) = answer["unschedulable"][0]["reasons"]
    assert [entry["pod"] for entry in answer["unschedulable"]] == ["shop/web-0", "shop/web-1"]
    assert (reason["pool"], reason["layer"]) == ({"kind": "NodePool", "name": "toy"}, "pod")
    assert reason["code"] == "TaintNotTolerated"
    assert "example.com/special" in reason["message"]


def test_a_pod_that_asks_for_one_named_node_is_not_planned_for(desk: Desk) -> None:
    answer = desk.answer(POOL, a_deployment(nodeSelector={"kubernetes.io/hostname": "n1"}), status=3)
    (reason,) = answer["unschedulable"][0]["reasons"]
    assert (reason["pool"], reason["layer"], reason["code"]) == (None, "pod", "NotPlannedFor")


def test_a_daemon_set_takes_its_share_of_every_new_node(desk: Desk) -> None:
    daemon = {**a_deployment("agent", cpu="500m", memory="1Gi"), "kind": "DaemonSet"}
    del daemon["spec"]["replicas"]
    (node,) = desk.answer(POOL, daemon, a_deployment(cpu="4"))["newNodes"]
    assert (node["instanceType"], node["requests"]["cpu"]) == ("large", "4500m")


def test_a_setting_changes_the_plan_and_shows_in_the_policy(desk: Desk) -> None:
    answer = desk.answer(POOL, a_deployment(replicas=4), flags=("--set", "policy.maxPodsPerNode=2"))
    assert [len(node["pods"]) for node in answer["newNodes"]] == [2, 2]
    assert answer["policy"]["maxPodsPerNode"] == 2


def test_foreign_nodes_are_priced_by_their_labels_and_others_are_named(desk: Desk) -> None:
    known = {"node.kubernetes.io/instance-type": "large", "topology.kubernetes.io/zone": "b"}
    answer = desk.answer(POOL, a_node("known", **known), a_node("unknown"))
    assert answer["pricePerHour"]["existing"] == 0.4
    assert answer["warnings"] == ["Node unknown: its price is not known, it counts as 0"]


def test_pods_on_a_node_that_is_not_in_the_input_are_named_in_a_warning(desk: Desk) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}
    spec = {"nodeName": "gone", "containers": [{"name": "c"}]}
    answer = desk.answer(POOL, {**pod, "spec": spec})
    assert answer["warnings"] == ["Node gone: is not in the input, the pods on it are not counted"]


def test_equal_input_gives_an_equal_answer_whatever_its_order(desk: Desk) -> None:
    manifests = [POOL, a_deployment("a", 7, cpu="700m"), a_deployment("b", 5, cpu="1300m")]
    assert desk.answer(*manifests) == desk.answer(*reversed(manifests))


def test_standard_input_is_read_for_a_dash(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps([a_provisioner(), a_node_template(), a_deployment()]).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert main(["simulate", "-f", "-", "-o", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["newNodes"]) == 1


def test_real_types_keep_to_the_pools_requirements_and_the_seed_fixes_their_spot_prices(desk: Desk) -> None:
    requirements = [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["spot"]},
        {"key": "karpenter.k8s.aws/instance-category", "operator": "In", "values": ["c"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["us-west-2b"]},
    ]
    manifests = [a_provisioner(requirements=requirements), a_node_template(), a_deployment(replicas=9)]
    plans = []
    for seed in ("1", "1", "2"):
        status, out, _ = desk.run(*manifests, flags=("-o", "json", "--seed", seed))
        assert status == 0
        plans.append(json.loads(out)["newNodes"])
    first = plans[0][0]
    assert plans[0] == plans[1]
    assert plans[0] != plans[2]
    assert (first["instanceType"][0], first["zone"], first["capacityType"]) == ("c", "us-west-2b", "spot")


def test_without_a_catalogue_the_node_class_must_be_in_the_input(desk: Desk) -> None:
    status, _, err = desk.run(a_provisioner(), a_node_pool("other"))
    fix = "add its manifest, or give instance types with --catalog"
    assert status == 2
    assert [line.partition("all.json: ")[2] for line in err.splitlines()] == [
        f"Provisioner default: spec.providerRef.name: AWSNodeTemplate 'default' is not in the input ({fix})",
        f"NodePool other: spec.template.spec.nodeClassRef.name: EC2NodeClass 'default' is not in the input ({fix})",
    ]


def test_a_pool_whose_node_class_finds_nothing_is_named_in_a_warning(desk: Desk) -> None:
    lost = a_node_template(subnetSelector={"aws-ids": "subnet-0"})
    status, out, _ = desk.run(a_provisioner(), lost, a_deployment(), flags=("-o", "json"))
    (warning,) = json.loads(out)["warnings"]
    assert status == 3
    assert warning.startswith("Provisioner default: can launch nothing: node class 'default' selects no subnets")


def test_a_provisioner_with_an_inline_provider_needs_no_node_template(desk: Desk) -> None:
    selector = {"karpenter.sh/discovery": "my-cluster"}
    inline = {"subnetSelector": selector, "securityGroupSelector": selector}
    status, _, _ = desk.run(a_provisioner(providerRef=None, provider=inline), a_deployment())
    assert status == 0


def test_a_broken_catalogue_is_bad_input(desk: Desk) -> None:
    (desk.folder / "broken.json").write_text('{"instanceTypes": [{"name": "a"}]}')
    status, _, err = desk.run(POOL, flags=("--catalog", str(desk.folder / "broken.json")))
    assert (status, err.count("\n")) == (2, 1)
    assert "capacity" in err


def test_the_table_shows_nodes_what_found_no_place_and_the_price(desk: Desk) -> None:
    toy = ("--catalog", str(desk.folder / "catalog.json"))
    stuck = a_deployment("stuck", replicas=5, cpu="99")
    status, out, _ = desk.run(POOL, a_deployment(cpu="3", memory="6Gi"), stuck, flags=toy)
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert status == 3
    assert "toy-1 NodePool toy medium a spot 0.0500 1 3 6Gi 1" in lines
    assert "5 shop/stuck-0, shop/stuck-1, shop/stuck-2 and 2 more" in lines
    assert any(line.startswith("NodePool toy: needs 99 cpu") for line in lines)
    fix = lines.index("fix: ask for at most 8 cpu instead of 99, what large of NodePool toy has room for")
    assert lines[fix + 1] == "then all 5 fit on 5 new nodes (5 large), $0.5000 an hour"
    assert "1 of 6 pods placed, 1 new node for $0.0500 an hour" in lines


def test_pods_of_one_trouble_come_as_one_group_with_what_would_help(desk: Desk) -> None:
    """Case WHY-PENDING (c): the machine-readable twin."""
    answer = desk.answer(POOL, a_deployment("stuck", replicas=2, nodeSelector={"team": "x"}), status=3)
    (group,) = answer["refusals"]
    (reason,) = group.pop("reasons")
    assert [(miss["code"], miss["subject"]) for miss in reason["misses"]] == [("LabelUndefined", "team")]
    assert group == {
        "count": 2,
        "pods": ["shop/stuck-0", "shop/stuck-1"],
        "example": "shop/stuck-0",
        "fix": {
            "message": "add the label team=x to NodePool toy",
            "changes": [
                {
                    "target": "pool",
                    "pool": {"kind": "NodePool", "name": "toy"},
                    "code": "AddLabel",
                    "subject": "team",
                    "before": "",
                    "after": "x",
                    "message": "add the label team=x to NodePool toy",
                }
            ],
            "placed": 2,
            "existingNodes": [],
            "newNodes": {"small": 1},
            "pricePerHour": 0.025,
        },
        "searched": True,
    }
