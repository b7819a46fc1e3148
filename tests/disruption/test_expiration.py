"""Expiration: spec v1alpha5 §5.3; spec v1 L-9 (`forceful`), D-4; vectors TV-108, V31, case EXPIRE-HERD."""

from dataclasses import replace

from karpenter.disruption.expiration import expiration, expires_at, lifetime_left
from karpenter.disruption.options import DisruptionOptions, Expiration
from karpenter.disruption.verdict import Verdict
from karpenter.model.core import Pod
from karpenter.model.nodepool import Budget, Disruption, NodePool
from karpenter.model.units import UnixSeconds, from_rfc3339, to_rfc3339
from karpenter.scheduling.snapshot import NodeView
from tests.builders import EPOCH, a_claim, a_node, a_node_view, a_pod, a_pool, a_pool_view, a_snapshot

TTL_S = 3600.0
POOL = a_pool(disruption=Disruption(budgets=(Budget("10%"),), expires_by_pool=True), expire_after_s=TTL_S)


def a_view(name: str, *pods: Pod, expired_for_s: float = 0.0, pool: NodePool = POOL) -> NodeView:
    created = to_rfc3339(UnixSeconds(EPOCH - TTL_S - expired_for_s))
    claim = replace(a_claim(f"{name}-claim", pool=pool, created=created), expire_after_s=TTL_S)
    return a_node_view(name, pool=pool, node=a_node(name, pool=pool, created=created), claim=claim, pods=pods)


def full(name: str) -> Pod:
    return a_pod(f"pod-{name}", node=name, cpu="3")


def verdict(*views: NodeView, pool: NodePool = POOL, **expiration_fields: object) -> Verdict:
    options = DisruptionOptions(expiration=Expiration(**expiration_fields))
    return expiration(a_snapshot(nodes=views, pools=[a_pool_view(pool)]), options)


def test_tv108_thirty_days_after_its_creation_a_node_has_expired() -> None:
    pool = a_pool(disruption=Disruption(expires_by_pool=True), expire_after_s=2592000)
    node = a_node("n", created="2023-11-30T00:00:00Z")
    view = a_node_view("n", pool=pool, node=node)
    assert expires_at(view, pool) == from_rfc3339("2023-12-30T00:00:00Z")


def test_the_older_of_node_and_claim_counts_dep20() -> None:
    view = a_view("n")
    older = replace(view, node=a_node("n", created=to_rfc3339(UnixSeconds(EPOCH - 2 * TTL_S))))
    assert expires_at(older, POOL) == EPOCH - TTL_S


def test_v31_what_is_left_of_a_life_of_ten_hours_after_four() -> None:
    claim = replace(a_claim("c", created=to_rfc3339(UnixSeconds(EPOCH - 4 * 3600))), expire_after_s=10 * 3600.0)
    view = a_node_view("n", claim=claim, pool=a_pool())
    assert lifetime_left(view, a_pool(), EPOCH) == 0.6
    assert lifetime_left(replace(view, claim=replace(claim, expire_after_s=None)), a_pool(), EPOCH) == 1.0


def test_a_provisioners_changed_time_to_live_rules_nodes_that_exist() -> None:
    view = a_view("n")
    changed = replace(POOL, template=replace(POOL.template, expire_after_s=60.0))
    unset = replace(POOL, template=replace(POOL.template, expire_after_s=None))
    assert expires_at(view, changed) == EPOCH - TTL_S + 60
    assert expires_at(view, unset) is None


def test_other_pools_nodes_keep_the_life_time_they_were_made_with() -> None:
    pool = replace(POOL, disruption=replace(POOL.disruption, expires_by_pool=False))
    changed = replace(pool, template=replace(pool.template, expire_after_s=60.0))
    assert expires_at(a_view("n"), changed) == EPOCH


def test_at_the_moment_of_its_expiry_a_node_is_due_and_not_sooner() -> None:
    assert [command.nodes for command in verdict(a_view("n", full("n"))).commands] == [("n",)]
    assert verdict(a_view("n", full("n"), expired_for_s=-1)) == Verdict()


def test_case_expire_herd_only_as_many_as_the_budget_lets_the_longest_expired_first() -> None:
    views = [a_view(f"n{i:02}", full(f"n{i:02}"), expired_for_s=i) for i in range(20)]
    found = verdict(*views)
    assert [command.nodes for command in found.commands] == [("n19",)]
    assert len(found.commands[0].replacements) == 1
    assert [item.code for item in found.blocked] == ["Budget"] * 18


def test_case_expire_herd_upstreams_mode_takes_all_at_once_and_replaces_none() -> None:
    views = [a_view(f"n{i}", full(f"n{i}")) for i in range(3)]
    (command,) = verdict(*views, mode="forceful").commands
    assert (command.nodes, command.is_forceful, command.replacements) == (("n0", "n1", "n2"), True, ())


def test_a_protected_pod_holds_an_expired_node() -> None:
    pod = a_pod("p", node="n", annotations={"karpenter.sh/do-not-evict": "true"})
    assert [item.code for item in verdict(a_view("n", pod)).blocked] == ["DoNotDisrupt"]


def test_a_hard_deadline_that_is_close_overrules_pods_and_budgets() -> None:
    pod = a_pod("p", node="n", annotations={"karpenter.sh/do-not-evict": "true"})
    far = verdict(a_view("n", pod, expired_for_s=2699), deadline_s=3600.0)
    assert [item.code for item in far.blocked] == ["DoNotDisrupt"]
    (command,) = verdict(a_view("n", pod, expired_for_s=2700), deadline_s=3600.0).commands
    assert (command.nodes, command.deadline) == (("n",), EPOCH + 900)
