"""One reason for every node that stays: issue 6, points 1 and 11."""

from collections.abc import Callable
from dataclasses import replace

from karpenter.disruption.decide import METHODS
from karpenter.disruption.options import DisruptionOptions
from karpenter.disruption.staying import every_stay
from karpenter.disruption.verdict import Blocked, Verdict
from karpenter.model.nodepool import Disruption
from karpenter.scheduling import StopCheck
from karpenter.scheduling.snapshot import NodeView, Snapshot
from tests.builders import EPOCH, a_node, a_node_view, a_pdb, a_pod, a_pool, a_pool_view, a_snapshot
from tests.disruption.test_drift import a_drifted_view

POOL = a_pool(disruption=Disruption(policy="WhenEmpty", empty_after_s=30))
OLD_METHODS = METHODS[:3]


def a_view(name: str = "n", **fields: object) -> NodeView:
    pods = [a_pod(f"p-{name}", node=name, labels={"app": "web"})]
    return replace(a_node_view(name, pool=POOL, node=a_node(name, pool=POOL), pods=pods), **fields)


def stays(*views: NodeView, methods: object = OLD_METHODS, **snapshot: object) -> dict[str, Blocked]:
    found = every_stay(a_snapshot(nodes=views, pools=[a_pool_view(POOL)], **snapshot), methods=methods)
    return {one.node: one for one in found}


def test_every_node_has_exactly_one_answer() -> None:
    views = [
        a_view("busy"),
        a_view("foreign", pool=None, is_managed=False),
        a_view("leaving", is_deleting=True),
        a_view("booting", node=None),
        a_view("empty", pods=(), empty_since=EPOCH),
    ]
    found = stays(*views)
    assert {name: one.code for name, one in found.items()} == {
        "busy": "PolicyOff",
        "foreign": "NotManaged",
        "leaving": "Leaving",
        "booting": "Uninitialized",
        "empty": "Timer",
    }
    assert {one.price for one in found.values()} == {0.2}


def test_what_keeps_a_node_that_ought_to_go_comes_before_the_methods_that_do_not_want_it() -> None:
    drifted = a_drifted_view("n", a_pod("p", node="n", labels={"app": "web"}), pool=POOL)
    found = stays(drifted, pdbs=[a_pdb("keep", selects={"app": "web"}, allowed=0)])
    assert (found["n"].code, found["n"].reason) == ("PodDisruptionBudget", "Drifted")


def test_a_node_that_a_method_would_take_has_its_turn_to_come() -> None:
    found = stays(a_drifted_view("n", pool=POOL))
    assert (found["n"].code, found["n"].reason) == ("NextTurn", "Drifted")


def saying(*blocked: Blocked) -> Callable[..., Verdict]:
    def method(snapshot: Snapshot, options: DisruptionOptions, *, stop: StopCheck) -> Verdict:
        return Verdict(blocked=blocked)

    return method


def test_a_methods_reason_wins_over_another_ones_that_has_no_wish_to_take_the_node() -> None:
    timer, price = Blocked("n", "Timer", "later"), Blocked("n", "Price", "nothing cheaper")
    assert stays(a_view(), methods=[saying(timer), saying(price)])["n"] == price
    assert stays(a_view(), methods=[saying(timer), saying()])["n"] == timer
