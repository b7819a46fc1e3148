"""What keeps a node from being consolidated: spec v1 D-7, D-8, §3.3; spec v1alpha5 DEP-3 … DEP-5, DEP-50."""

from dataclasses import replace

import pytest

from karpenter.disruption.consolidation import consolidation
from karpenter.disruption.options import DisruptionOptions
from karpenter.model import labels
from karpenter.model.nodeclaim import CONSOLIDATABLE, INITIALIZED
from karpenter.model.nodepool import Budget, Disruption
from karpenter.model.units import UnixSeconds, to_rfc3339
from karpenter.scheduling import Options, Policy
from karpenter.scheduling.snapshot import NodeView, Snapshot
from tests.builders import EPOCH, a_claim, a_node, a_pdb, a_pod
from tests.disruption.consolidation.fleets import a_fleet, a_free_pool, a_machine, consolidated, later, reasons
from tests.scheduling.toys import pods

POOL = a_free_pool()


def a_spare(name: str = "a", **fields: object) -> NodeView:
    """Return a node that consolidation would replace by a c.1."""
    return a_machine(name, "c.8", *pods(1, name=name), pool=POOL, **fields)


def only(*nodes: NodeView, **world: object) -> Snapshot:
    return a_fleet(*nodes, pools=[POOL], **world)


def why(fleet: Snapshot, node: str = "a") -> tuple[str, str]:
    verdict = consolidated(fleet)
    assert verdict.commands == ()
    (blocked,) = [one for one in verdict.blocked if one.node == node]
    assert blocked.price == 0.32
    return blocked.code, blocked.message


def test_a_spare_node_goes() -> None:
    assert len(consolidated(only(a_spare())).commands) == 1


@pytest.mark.parametrize(
    "change, code",
    [
        ({"is_initialized": False}, "Uninitialized"),
        ({"is_nominated": True}, "Nominated"),
        ({"held_until": UnixSeconds(EPOCH + 60)}, "BackOff"),
    ],
)
def test_what_the_operator_knows_about_a_node_keeps_it(change: dict[str, object], code: str) -> None:
    assert why(only(a_spare(**change)))[0] == code


def test_a_node_whose_price_nobody_knows_stays() -> None:
    verdict = consolidated(only(replace(a_spare(), price=None)))
    assert [(one.code, one.price) for one in verdict.blocked] == [("UnknownPrice", None)]


@pytest.mark.parametrize(
    "annotation, code",
    [(labels.DO_NOT_CONSOLIDATE, "DoNotConsolidate"), (labels.DO_NOT_DISRUPT, "NodeDoNotDisrupt")],
)
def test_tv123_a_node_that_asks_to_be_left_alone_stays(annotation: str, code: str) -> None:
    node = a_node("a", annotations={annotation: "true"}, created="2020-01-01T00:00:00Z")
    assert why(only(a_spare(node=node)))[0] == code


@pytest.mark.parametrize("annotation", [labels.DO_NOT_EVICT, labels.DO_NOT_DISRUPT])
def test_tv122_a_pod_that_must_not_be_moved_keeps_its_node(annotation: str) -> None:
    machine = a_machine("a", "c.8", a_pod("p", annotations={annotation: "true"}), pool=POOL)
    code, message = why(only(machine))
    assert (code, "default/p" in message) == ("DoNotDisrupt", True)


def test_tv121_a_budget_that_allows_no_eviction_keeps_its_node() -> None:
    machine = a_machine("a", "c.8", a_pod("p", labels={"app": "db"}), pool=POOL)
    fleet = only(machine, pdbs=[a_pdb(selects={"app": "db"}, allowed=0)])
    assert why(fleet)[0] == "PodDisruptionBudget"


def test_a_budget_that_allows_one_eviction_lets_one_pod_move_at_a_time() -> None:
    both = [a_pod(name, labels={"app": "db"}) for name in ("p", "q")]
    fleet = only(a_machine("a", "c.8", *both, pool=POOL), pdbs=[a_pdb(selects={"app": "db"}, allowed=1)])
    assert len(consolidated(fleet).commands) == 1


def test_d7_a_node_waits_until_its_pods_have_been_quiet_for_long_enough() -> None:
    pool = a_free_pool(disruption=Disruption(consolidate_after_s=300, budgets=(Budget("100%"),)))
    quiet = a_claim("c", pool=pool, conditions=[INITIALIZED, CONSOLIDATABLE])
    busy = replace(
        a_claim("c", pool=pool, conditions=[INITIALIZED]), last_pod_event_time=to_rfc3339(UnixSeconds(EPOCH - 100))
    )
    machine = a_machine("a", "c.8", a_pod("p", created="2020-01-01T00:00:00Z"), pool=pool)
    waiting = later(a_fleet(replace(machine, claim=busy), pools=[pool]), 0)
    (blocked,) = consolidated(waiting).blocked
    assert (blocked.code, blocked.since, blocked.until) == ("Timer", EPOCH - 100, EPOCH + 200)
    assert len(consolidated(later(a_fleet(replace(machine, claim=quiet), pools=[pool]), 7200)).commands) == 1


def test_a_pool_that_never_consolidates_and_one_of_a_fixed_size_keep_their_nodes() -> None:
    never = a_free_pool("never", disruption=Disruption(consolidate_after_s=None))
    fixed = replace(a_free_pool("fixed"), replicas=1)
    fleet = a_fleet(
        a_machine("a", "c.8", *pods(1, name="p"), pool=never),
        a_machine("b", "c.8", *pods(1, name="q"), pool=fixed),
        pools=[never, fixed],
    )
    assert reasons(consolidated(fleet)) == {"a": "PolicyOff", "b": "PolicyOff"}


def test_empty_nodes_are_not_looked_at() -> None:
    """Spec v1alpha5 §1.2: with a TTL, emptiness alone rules empty nodes."""
    verdict = consolidated(only(a_machine("a", "c.8", pool=POOL)))
    assert (verdict.commands, verdict.blocked) == ((), ())


def test_a_budget_of_the_pool_for_this_reason_keeps_its_nodes() -> None:
    budgets = (Budget("0", reasons=frozenset({"Underutilized"})),)
    pool = a_free_pool(disruption=Disruption(budgets=budgets))
    fleet = a_fleet(a_machine("a", "c.8", *pods(1), pool=pool), pools=[pool])
    assert reasons(consolidated(fleet)) == {"a": "Budget"}


def test_with_rails_a_young_node_stays_until_it_is_a_quarter_of_an_hour_old() -> None:
    node = a_node("a", created=to_rfc3339(UnixSeconds(EPOCH - 600)))
    rails = DisruptionOptions(solve=Options(Policy(move_price=0.0)))
    fleet = only(a_spare(node=node))
    (blocked,) = consolidation(fleet, rails).blocked
    assert (blocked.code, blocked.since, blocked.until) == ("ChurnRail", EPOCH - 600, EPOCH + 300)
    assert len(consolidation(later(fleet, 300), rails).commands) == 1
