"""Taints that follow from conditions, and how long pods stay."""

from typing import Any

from msgspec.structs import replace

from karpenter.model.core import Node
from karpenter.model.meta import Condition
from karpenter.model.taints import Taint
from karpenter.sim.controllers.nodehealth import evicted_at, unknown_conditions, wanted_taints
from tests.builders import EPOCH, a_node, a_pod


def node(*conditions: tuple[str, str], **more: Any) -> Node:
    made = a_node(**more)
    return replace(made, status=replace(made.status, conditions=tuple(Condition(*one) for one in conditions)))


def taints(made: Node) -> list[str]:
    return [str(taint) for taint in wanted_taints(made, EPOCH)]


def test_a_node_that_is_not_ready_gets_both_taints() -> None:
    assert taints(node(("Ready", "False"))) == [
        "node.kubernetes.io/not-ready:NoExecute",
        "node.kubernetes.io/not-ready:NoSchedule",
    ]


def test_a_silent_node_is_unreachable() -> None:
    assert taints(node(("Ready", "Unknown"))) == [
        "node.kubernetes.io/unreachable:NoExecute",
        "node.kubernetes.io/unreachable:NoSchedule",
    ]


def test_a_node_that_is_ready_again_loses_them_and_keeps_the_others() -> None:
    before = ["node.kubernetes.io/not-ready:NoSchedule", "mine=1:NoExecute", "node.kubernetes.io/not-ready:NoExecute"]
    assert taints(node(("Ready", "True"), taints=before)) == ["mine=1:NoExecute"]


def test_cordon_and_pressure_are_taints_too() -> None:
    made = node(("Ready", "True"), ("MemoryPressure", "True"), unschedulable=True)
    assert taints(made) == [
        "node.kubernetes.io/memory-pressure:NoSchedule",
        "node.kubernetes.io/unschedulable:NoSchedule",
    ]


def test_a_taint_that_is_there_keeps_its_time() -> None:
    old = Taint("node.kubernetes.io/not-ready", effect="NoExecute", time_added="2023-11-14T22:00:00Z")
    assert old in wanted_taints(node(("Ready", "False"), taints=[old]), EPOCH)


def test_silence_makes_conditions_unknown_once() -> None:
    told = unknown_conditions(node(("Ready", "True")), EPOCH)
    assert {one["type"]: (one["status"], one["reason"]) for one in told} == {
        "Ready": ("Unknown", "NodeStatusUnknown"),
        "MemoryPressure": ("Unknown", "NodeStatusNeverUpdated"),
        "DiskPressure": ("Unknown", "NodeStatusNeverUpdated"),
        "PIDPressure": ("Unknown", "NodeStatusNeverUpdated"),
    }
    unknown = [(kind, "Unknown") for kind in ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")]
    assert unknown_conditions(node(*unknown), EPOCH) == []


NOT_READY = Taint("node.kubernetes.io/not-ready", effect="NoExecute", time_added="2023-11-14T22:13:20Z")


def test_an_untolerated_taint_drives_out_at_once() -> None:
    assert evicted_at(a_pod(), a_node(taints=["mine:NoExecute"]), EPOCH) == EPOCH


def test_pods_stay_five_minutes_on_a_node_that_is_not_ready() -> None:
    assert evicted_at(a_pod(), a_node(taints=[NOT_READY]), EPOCH) == EPOCH + 300


def test_a_pod_may_say_how_long_it_stays() -> None:
    brief = [{"key": NOT_READY.key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 10}]
    assert evicted_at(a_pod(tolerations=brief), a_node(taints=[NOT_READY]), EPOCH) == EPOCH + 10
    forever = [{"operator": "Exists"}]
    assert evicted_at(a_pod(tolerations=forever), a_node(taints=[NOT_READY, "mine:NoExecute"]), EPOCH) is None


def test_other_effects_drive_nobody_out() -> None:
    assert evicted_at(a_pod(), a_node(taints=["mine:NoSchedule"]), EPOCH) is None
