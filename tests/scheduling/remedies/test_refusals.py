"""What would help pods that find no place, as shown by solving again (cases WHY-PENDING)."""

import os
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from karpenter.model import labels
from karpenter.model.core import Pod
from karpenter.model.instancetype import InstanceType
from karpenter.scheduling import Demand, Options, Policy, Snapshot, solve
from karpenter.scheduling.remedies import Effort, Refusal, Remedy, refusals_of
from tests.builders import a_daemon, a_node_view, a_pod, a_snapshot, an_owner
from tests.scheduling import worlds
from tests.scheduling.stores import a_volume, a_volume_claim, using, volumes_of
from tests.scheduling.toys import on_demand, pods, solved, toys

ZONE, TYPE = labels.ZONE, labels.INSTANCE_TYPE
WEB = {"app": "web"}
NEAR_WEB = {"topologyKey": ZONE, "labelSelector": {"matchLabels": WEB}}
APART = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [NEAR_WEB]}}
TOGETHER = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [NEAR_WEB]}}
SPREAD = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", **NEAR_WEB}


def refused(
    wanted: Iterable[Pod],
    *,
    types: Iterable[InstanceType] | None = None,
    options: Options | None = None,
    effort: Effort | None = None,
    **world: Any,
) -> tuple[Refusal, ...]:
    """Return the groups that stay pending in a small world (arguments of `a_snapshot`)."""
    snapshot = a_snapshot(types=toys() if types is None else tuple(types), **{"pools": [on_demand()], **world})
    demand, how = Demand.each(wanted), options or Options()
    return refusals_of(snapshot, demand, solve(snapshot, demand, how), options=how, effort=effort)


def remedy(wanted: Iterable[Pod], **world: Any) -> Remedy:
    """Return what would help the only group that stays pending."""
    (group,) = refused(wanted, **world)
    assert group.remedy is not None
    return group.remedy


def fix(wanted: Iterable[Pod], **world: Any) -> str:
    return remedy(wanted, **world).message


# --- labels and taints ------------------------------------------------------------------------------------------------


def test_a_label_that_no_pool_has_is_to_be_added() -> None:
    """Case WHY-PENDING (a); the pod is placed once the pool has it."""
    pod = a_pod(node_selector={"team": "x"})
    found = remedy([pod])
    (change,) = found.changes
    assert (change.target, change.code, change.subject, change.after) == ("pool", "AddLabel", "team", "x")
    assert found.message == "add the label team=x to Provisioner default"
    assert (found.placed, found.machines, found.price) == (1, (("c.1", 1),), 0.04)
    assert not solved([pod], pools=[on_demand(labels={"team": "x"})]).unschedulable


def test_a_misspelt_label_is_to_be_written_right() -> None:
    wrong, right = "topology.kubernetes.io/zon", ZONE
    assert fix([a_pod(node_selector={wrong: "a"})]) == f"write {right} instead of {wrong} in its node selector"


def test_a_toleration_is_asked_of_the_pod_rather_than_a_change_of_the_pool() -> None:
    pools = [on_demand(taints=["dedicated=db:NoSchedule"]), on_demand("small", requirements={TYPE: ["c.1"]})]
    found = remedy([a_pod(cpu="3")], pools=pools)
    assert found.message == "let it tolerate dedicated=db:NoSchedule, the taint of Provisioner default"
    toleration = {"key": "dedicated", "operator": "Equal", "value": "db", "effect": "NoSchedule"}
    assert not solved([a_pod(cpu="3", tolerations=[toleration])], pools=pools).unschedulable


def test_a_toleration_may_open_a_node_that_is_there() -> None:
    node = a_node_view("n1", taints=["dedicated:NoSchedule"])
    pool = on_demand(taints=["dedicated:NoSchedule"])
    found = remedy([a_pod()], pools=[pool], nodes=[node])
    assert (found.nodes, found.machines, found.price) == (("n1",), (), 0)


def test_a_zone_that_the_pool_leaves_out_is_to_be_allowed_there() -> None:
    pool = on_demand(requirements={ZONE: ["b", "c"]})
    assert (
        fix([a_pod(node_selector={ZONE: "a"})], pools=[pool])
        == f"allow {ZONE} a in Provisioner default (now In [b, c])"
    )


def test_a_zone_that_nobody_sells_is_to_be_dropped_by_the_pod() -> None:
    assert fix([a_pod(node_selector={ZONE: "d"})]) == f"drop its demand for {ZONE} In [d]"


def test_a_label_in_required_affinity_is_dropped_there_too() -> None:
    expression = {"key": labels.INSTANCE_CPU, "operator": "In", "values": ["5"]}
    affinity = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [expression]}]
            }
        }
    }
    assert fix([a_pod(affinity=affinity)]) == f"drop its demand for {labels.INSTANCE_CPU} In [5]"


def test_the_name_of_another_pool_cannot_be_given_to_a_pool() -> None:
    assert (
        fix([a_pod(node_selector={labels.PROVISIONER: "gone"})])
        == f"drop its demand for {labels.PROVISIONER} In [gone]"
    )


def test_two_changes_are_named_where_neither_alone_would_do() -> None:
    pool = on_demand(taints=["dedicated:NoSchedule"], requirements={TYPE: ["c.1"]})
    found = remedy([a_pod(cpu="3")], pools=[pool])
    assert [(change.target, change.code) for change in found.changes] == [("pod", "Tolerate"), ("pool", "AllowValue")]


def test_where_three_things_are_wrong_nothing_is_named() -> None:
    pool = on_demand(taints=["dedicated:NoSchedule"], requirements={TYPE: ["c.1"], ZONE: ["b"], "team": ["x"]})
    (group,) = refused([a_pod(cpu="3", node_selector={ZONE: "a", "team": "y"})], pools=[pool])
    assert (group.remedy, group.is_searched) == (None, True)


# --- sizes ------------------------------------------------------------------------------------------------------------


def test_the_cheapest_type_that_the_pool_leaves_out_is_to_be_allowed() -> None:
    """Case WHY-PENDING (b): daemons count, so r.8 and not m.16's cheaper kin is what holds the pod."""
    small = on_demand(requirements={TYPE: ["c.8", "c.16"]})
    daemon = a_daemon(cpu="100m", memory="800Mi")
    found = remedy([a_pod(cpu="5800m", memory="46Gi")], pools=[small], daemons=[daemon])
    assert found.message == f"allow {TYPE} r.8 in Provisioner default (now In [c.16, c.8])"
    assert found.machines == (("r.8", 1),)


def test_a_bound_moves_as_far_as_it_must() -> None:
    pool = on_demand(requirements={labels.INSTANCE_CATEGORY: ["c"]})
    bound = pool.template.requirements.intersect(
        (replace(pool.template.requirements.allowed(labels.INSTANCE_CPU), lt=5),)
    )
    pool = replace(pool, template=replace(pool.template, requirements=bound))
    (change,) = remedy([a_pod(cpu="7")], pools=[pool]).changes
    assert (change.subject, change.before, change.after) == (labels.INSTANCE_CPU, "Lt [5]", "Lt [9]")


def test_a_gpu_that_no_allowed_type_has_is_to_be_found_in_another_category() -> None:
    pool = on_demand(requirements={labels.INSTANCE_CATEGORY: ["c"]})
    found = remedy([a_pod(requests={"nvidia.com/gpu": "1"})], pools=[pool])
    assert found.message == f"allow {labels.INSTANCE_CATEGORY} g in Provisioner default (now In [c])"


def test_what_no_machine_holds_has_to_be_asked_for_less() -> None:
    """The issue's example: needs 70 cpu; the largest allowed type has 32."""
    found = remedy([a_pod(cpu="70")], daemons=[a_daemon(cpu="500m")])
    assert found.message == "ask for at most 31.5 cpu instead of 70, what c.32 of Provisioner default has room for"
    assert not solved([a_pod(cpu="31500m")], daemons=[a_daemon(cpu="500m")]).unschedulable


def test_millions_of_cores_are_to_be_written_as_thousandths() -> None:
    """SCH-25, TV-85."""
    assert fix([a_pod(cpu="2M")]) == "write 2m instead of 2M as its cpu request"


# --- limits -----------------------------------------------------------------------------------------------------------


def test_a_limit_is_to_be_raised_as_far_as_the_pods_need() -> None:
    wanted = pods(40)
    found = remedy(wanted, pools=[on_demand(limits={"cpu": "16"})])
    assert (found.message, found.placed) == ("raise the cpu limit of Provisioner default from 16 to 40", 24)
    assert not solved(wanted, pools=[on_demand(limits={"cpu": "40"})]).unschedulable


def test_two_limits_are_raised_together() -> None:
    found = remedy(pods(40, memory="2Gi"), pools=[on_demand(limits={"cpu": "16", "memory": "20Gi"})])
    assert [change.subject for change in found.changes] == ["cpu", "memory"]


def test_the_cap_on_new_nodes_is_to_be_raised() -> None:
    wanted = pods(40, cpu="7")
    (change,) = remedy(wanted, options=Options(max_nodes=2)).changes
    assert (change.target, change.code, change.before) == ("settings", "RaiseMaxNodes", "2")
    assert not solved(wanted, options=Options(max_nodes=int(change.after))).unschedulable


def test_min_values_are_to_be_lowered_to_what_there_is() -> None:
    pool = on_demand()
    many = replace(pool.template.requirements.allowed(labels.INSTANCE_CATEGORY), min_values=4)
    pool = replace(pool, template=replace(pool.template, requirements=pool.template.requirements.intersect((many,))))
    assert fix([a_pod()], pools=[pool], types=toys("c.1", "m.2", "r.2")) == (
        f"lower minValues of {labels.INSTANCE_CATEGORY} in Provisioner default from 4 to 3"
    )


def test_a_priority_that_is_worth_a_machine_is_to_be_given() -> None:
    options = Options(Policy(expendable_priority=0))
    assert fix(pods(2, priority=-5), options=options) == "give it a priority of at least 0"


def test_a_zone_that_a_volume_is_in_is_to_be_allowed() -> None:
    """The message names the volume, the fix the pool."""
    volumes = volumes_of(a_volume("disk", zone="c"), a_volume_claim("data", volume="disk"))
    (group,) = refused([using("db", "data")], pools=[on_demand(requirements={ZONE: ["a", "b"]})], volumes=volumes)
    assert group.reasons[0].message.startswith("its volume ('data') can be reached only: ")
    assert group.remedy is not None
    assert group.remedy.message == f"allow {ZONE} c in Provisioner default (now In [a, b])"


def test_a_demand_that_keeps_a_pod_from_its_own_volume_is_to_be_dropped() -> None:
    volumes = volumes_of(a_volume("disk", zone="c"), a_volume_claim("data", volume="disk"))
    assert (
        fix([using("db", "data", node_selector={ZONE: "a"})], volumes=volumes) == f"drop its demand for {ZONE} In [a]"
    )


# --- other pods -------------------------------------------------------------------------------------------------------


def test_a_zone_that_a_spread_still_wants_is_to_be_allowed() -> None:
    full = a_node_view("n", zone="c", cpu="1", pods=pods(1, node="n"))
    pool = on_demand(requirements={ZONE: ["a", "b"]})
    wanted = pods(4, cpu="100m", labels=WEB, spread=[SPREAD])
    assert fix(wanted, pools=[pool], nodes=[full]) == f"allow {ZONE} c in Provisioner default (now In [a, b])"


def test_a_spread_over_more_domains_than_there_are_is_to_ask_for_fewer() -> None:
    wanted = pods(4, cpu="100m", labels=WEB, spread=[{**SPREAD, "minDomains": 4}])
    assert fix(wanted) == f"drop minDomains 4 of its topology spread over {ZONE}"


def test_a_rule_of_distance_is_softened_for_the_whole_workload() -> None:
    """One replica that merely prefers distance would still be kept off by those that require it."""
    found = remedy(pods(4, labels=WEB, affinity=APART, owner=an_owner("ReplicaSet", "web")))
    assert found.message == f"make its pod anti-affinity over {ZONE} preferred, not required"


def test_company_that_is_nowhere_is_to_be_merely_preferred() -> None:
    assert fix([a_pod(affinity=TOGETHER)]) == f"make its pod affinity over {ZONE} preferred, not required"


def test_a_host_port_that_a_daemon_takes_everywhere_is_to_be_dropped() -> None:
    ports = [{"hostPort": 9100}]
    found = fix([a_pod(ports=ports)], daemons=[a_daemon("exporter", ports=ports)])
    assert found == "drop host port 9100/TCP, or reach the pods through a Service"


# --- groups -----------------------------------------------------------------------------------------------------------


def test_pods_of_one_trouble_are_one_group_whatever_their_figures() -> None:
    wanted = [
        *pods(3, cpu="40", name="large"),
        *pods(2, cpu="70", name="huge"),
        a_pod("lost", node_selector={"x": "y"}),
    ]
    first, second = refused(wanted)
    assert [pod.metadata.name for pod in first.pods] == ["huge-0", "huge-1", "large-0", "large-1", "large-2"]
    assert (first.example.metadata.name, first.is_uniform) == ("huge-0", False)
    assert first.remedy is not None
    assert first.remedy.placed == 5
    assert [pod.metadata.name for pod in second.pods] == ["lost"]


def test_what_others_took_of_a_limit_stays_taken() -> None:
    """The change is tried in the cluster as it will be: the 16 planned pods keep their cores."""
    found = remedy([*pods(16, priority=9), *pods(4, name="late")], pools=[on_demand(limits={"cpu": "16"})])
    assert found.message == "raise the cpu limit of Provisioner default from 16 to 20"


def test_nothing_is_looked_for_without_effort() -> None:
    (group,) = refused([a_pod(cpu="70")], effort=Effort(solves=0))
    assert (group.remedy, group.is_searched) == (None, False)


def test_a_pod_that_is_wrong_itself_is_not_tried_elsewhere() -> None:
    (group,) = refused([a_pod(cpu="two")])
    assert (group.remedy, group.is_searched) == (None, False)


def test_where_everything_is_placed_there_is_nothing_to_say() -> None:
    assert refused([a_pod()]) == ()


def test_each_pool_has_its_line_and_the_fix_is_the_smallest_of_all() -> None:
    """Case WHY-PENDING (c)."""
    pools = [
        on_demand("tainted", taints=["dedicated:NoSchedule"]),
        on_demand("labelled", requirements={ZONE: ["b"]}),
        on_demand("small", requirements={TYPE: ["c.1"]}),
    ]
    (group,) = refused([a_pod(cpu="3", node_selector={ZONE: "a"})], pools=pools)
    assert [str(reason.pool) for reason in group.reasons] == [
        "Provisioner small",
        "Provisioner labelled",
        "Provisioner tainted",
    ]
    assert group.remedy is not None
    assert group.remedy.message == "let it tolerate dedicated:NoSchedule, the taint of Provisioner tainted"


@settings(max_examples=int(os.environ.get("SOLVER_EXAMPLES", "20")))
@given(worlds.snapshots(limited=True), worlds.pod_lists())
def test_every_refused_pod_is_in_one_group_and_every_remedy_serves_some(
    snapshot: Snapshot, wanted: tuple[Pod, ...]
) -> None:
    demand, options = Demand.each(wanted), Options(rounds=0)
    solution = solve(snapshot, demand, options)
    groups = refusals_of(snapshot, demand, solution, options=options, effort=Effort(solves=8, groups=3))
    grouped = sorted(str(pod.metadata.key) for group in groups for pod in group.pods)
    assert grouped == sorted(str(entry.pod.metadata.key) for entry in solution.unschedulable)
    for found in (group for group in groups if group.remedy is not None):
        assert found.remedy is not None
        assert 0 < found.remedy.placed <= len(found.pods)
        assert found.remedy.price >= 0


@pytest.mark.parametrize("order", [1, -1])
def test_the_order_of_pods_does_not_matter(order: int) -> None:
    wanted = [*pods(5), a_pod("huge", cpu="70"), a_pod("lost", node_selector={"team": "x"})]
    assert refused(wanted[::order]) == refused(wanted)
