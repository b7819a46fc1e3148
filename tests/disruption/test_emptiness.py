"""Emptiness: spec v1alpha5 DEP-40 … DEP-42; spec v1 D-10; vectors TV-111, TV-113; rule of §1.2."""

from dataclasses import replace

from karpenter.disruption.emptiness import emptiness
from karpenter.disruption.verdict import Command
from karpenter.model.nodepool import Budget, Disruption
from karpenter.model.units import UnixSeconds
from karpenter.scheduling.snapshot import NodeView
from tests.builders import EPOCH, a_node, a_node_view, a_pod, a_pool, a_pool_view, a_snapshot

TTL = Disruption(
    policy="WhenEmptyOrUnderutilized", empty_after_s=30, budgets=(Budget("100%", reasons=frozenset({"Empty"})),)
)
POOL = a_pool(disruption=TTL)


def an_empty_view(name: str = "n", *, since: float | None = EPOCH - 30, **fields: object) -> NodeView:
    view = a_node_view(name, pool=POOL, node=a_node(name, pool=POOL))
    return replace(view, empty_since=None if since is None else UnixSeconds(since), **fields)


def codes(view: NodeView) -> list[str]:
    verdict = emptiness(a_snapshot(nodes=[view], pools=[a_pool_view(POOL)]))
    assert verdict.commands == ()
    return [blocked.code for blocked in verdict.blocked]


def test_tv111_a_node_goes_at_the_moment_its_ttl_ends_and_not_sooner() -> None:
    snapshot = a_snapshot(nodes=[an_empty_view(since=EPOCH - 30)], pools=[a_pool_view(POOL)])
    assert emptiness(snapshot).commands == (Command("Empty", ("n",), savings=0.2),)
    blocked = emptiness(a_snapshot(nodes=[an_empty_view(since=EPOCH - 29)], pools=[a_pool_view(POOL)])).blocked
    assert [(item.code, item.since, item.until) for item in blocked] == [("Timer", EPOCH - 29, EPOCH + 1)]


def test_tv113_daemon_static_and_finished_pods_do_not_count() -> None:
    pods = (
        a_pod("daemon", node="n", owner="DaemonSet"),
        a_pod("static", node="n", owner="Node"),
        a_pod("done", node="n", phase="Succeeded"),
    )
    snapshot = a_snapshot(nodes=[an_empty_view(pods=pods)], pools=[a_pool_view(POOL)])
    assert [command.nodes for command in emptiness(snapshot).commands] == [("n",)]


def test_a_node_with_a_pod_is_not_looked_at() -> None:
    snapshot = a_snapshot(nodes=[an_empty_view(pods=(a_pod(node="n"),))], pools=[a_pool_view(POOL)])
    assert emptiness(snapshot) == type(emptiness(snapshot))()


def test_dep23_a_node_that_was_never_initialized_stays() -> None:
    assert codes(an_empty_view(is_initialized=False)) == ["Uninitialized"]


def test_dep3_a_node_that_pods_are_expected_on_stays() -> None:
    assert codes(an_empty_view(is_nominated=True)) == ["Nominated"]


def test_a_node_that_pods_without_a_place_fit_on_stays() -> None:
    """Those of a leaving node among them: this may be the node that was launched for them."""
    moving = a_pod("moving", node="leaving", cpu="3")
    views = [
        an_empty_view("n1"),
        an_empty_view("n2"),
        a_node_view("leaving", pool=POOL, node=a_node("leaving"), pods=[moving], is_deleting=True),
    ]
    verdict = emptiness(a_snapshot(nodes=views, pools=[a_pool_view(POOL)], pending=[moving]))
    assert [(item.node, item.code) for item in verdict.blocked] == [("n1", "Nominated")]
    assert [command.nodes for command in verdict.commands] == [("n2",)]


def test_case_pending_block_a_pod_that_fits_nowhere_keeps_no_empty_node() -> None:
    hopeless = a_pod("hopeless", node_selector={"nobody": "has-this"})
    verdict = emptiness(a_snapshot(nodes=[an_empty_view()], pools=[a_pool_view(POOL)], pending=[hopeless]))
    assert [command.nodes for command in verdict.commands] == [("n",)]


def test_a_node_nobody_saw_empty_yet_stays() -> None:
    assert codes(an_empty_view(since=None)) == ["Timer"]


def test_without_a_ttl_empty_nodes_stay() -> None:
    pool = a_pool(disruption=replace(TTL, empty_after_s=None))
    view = replace(a_node_view("n", pool=pool, node=a_node("n", pool=pool)), empty_since=EPOCH)
    verdict = emptiness(a_snapshot(nodes=[view], pools=[a_pool_view(pool)]))
    assert [(item.code, item.price) for item in verdict.blocked] == [("PolicyOff", 0.2)]


def test_dep42_all_due_nodes_go_in_one_command() -> None:
    views = [an_empty_view(f"n{i}") for i in range(5)]
    commands = emptiness(a_snapshot(nodes=views, pools=[a_pool_view(POOL)])).commands
    assert [command.nodes for command in commands] == [("n0", "n1", "n2", "n3", "n4")]


def test_a_budget_lets_the_longest_empty_go_first_and_names_the_rest() -> None:
    pool = a_pool(disruption=replace(TTL, budgets=(Budget("1"),)))
    views = [
        replace(a_node_view(name, pool=pool, node=a_node(name, pool=pool)), empty_since=UnixSeconds(EPOCH - age))
        for name, age in [("young", 40), ("old", 50)]
    ]
    verdict = emptiness(a_snapshot(nodes=views, pools=[a_pool_view(pool)]))
    assert [command.nodes for command in verdict.commands] == [("old",)]
    assert [(item.node, item.code) for item in verdict.blocked] == [("young", "Budget")]
