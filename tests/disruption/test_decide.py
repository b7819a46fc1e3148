"""The order of the methods: architecture §5; D-1, DEP-2."""

from dataclasses import replace

from karpenter.disruption.decide import METHODS, decide
from karpenter.disruption.options import DisruptionOptions
from karpenter.disruption.verdict import Blocked, Command, Verdict
from karpenter.model.nodepool import Disruption
from karpenter.model.units import UnixSeconds
from karpenter.scheduling import StopCheck
from karpenter.scheduling.snapshot import Snapshot
from tests.builders import EPOCH, a_node, a_node_view, a_pod, a_pool, a_pool_view, a_snapshot
from tests.disruption.test_drift import a_drifted_view


def test_emptiness_comes_before_expiration_and_drift() -> None:
    assert [method.__name__ for method in METHODS][:3] == ["emptiness", "expiration", "drift"]


def test_the_first_method_with_a_command_acts_alone_and_what_came_before_says_why_nodes_stay() -> None:
    pool = a_pool(disruption=Disruption(empty_after_s=30))
    fresh = replace(a_node_view("fresh", pool=pool, node=a_node("fresh")), empty_since=UnixSeconds(EPOCH - 1))
    roomy = a_node_view("roomy", pool=pool, node=a_node("roomy"), pods=[a_pod("q", node="roomy")])
    drifted = a_drifted_view("n", a_pod("p", node="n"), pool=pool)
    found = decide(a_snapshot(nodes=[fresh, drifted, roomy], pools=[a_pool_view(pool)]))
    assert [(command.reason, command.nodes) for command in found.commands] == [("Drifted", ("n",))]
    assert [(item.node, item.code) for item in found.blocked] == [("fresh", "Timer")]


def test_a_further_method_is_asked_last() -> None:
    def consolidation(snapshot: Snapshot, options: DisruptionOptions, *, stop: StopCheck) -> Verdict:
        return Verdict((Command("Underutilized", ("n",)),), (Blocked("m", "Price", "nothing cheaper"),))

    found = decide(a_snapshot(), methods=(*METHODS, consolidation))
    assert [command.reason for command in found.commands] == ["Underutilized"]
    assert [item.code for item in found.blocked] == ["Price"]
