"""Cases of users that are told nowhere else: preferences that act as hard rules, batches that took others hours."""

from karpenter.model import labels
from karpenter.scheduling import Demand, Options, Policy, PoolView, solve
from karpenter.scheduling.pricing import prices_of_preferences
from tests.builders import a_container, a_node_view, a_pod, a_snapshot
from tests.scheduling.toys import FREE, machines, on_demand, pods, solved, toys
from tests.scheduling.verifier import breaches

WEB = {"app": "web"}
SELECTS_WEB = {"matchLabels": WEB}
IGNORE = Options(Policy(preferences="Ignore"))


def spread(key: str, when: str = "DoNotSchedule") -> dict:
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": when, "labelSelector": SELECTS_WEB}


def preferring(side: str, preference: dict) -> dict:
    return {side: {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 1, **preference}]}}


def test_prefer_b_pods_that_would_rather_be_apart_cost_a_machine_each_only_when_that_is_respected() -> None:
    """Case PREFER (b): 0.40 $/h apart, at most 0.16 together, and both prices are known."""
    term = {"podAffinityTerm": {"topologyKey": labels.HOSTNAME, "labelSelector": SELECTS_WEB}}
    wanted = pods(10, cpu="250m", memory="256Mi", labels=WEB, affinity=preferring("podAntiAffinity", term))
    together, apart = solved(wanted, options=IGNORE), solved(wanted)
    assert (len(together.new_claims) <= 3, together.price <= 0.16 + 1e-9) == (True, True)
    assert (machines(apart), round(apart.price, 6)) == (["c.1"] * 10, 0.4)
    both = prices_of_preferences(a_snapshot(types=toys(), pools=[on_demand()]), Demand.each(wanted), Options())
    assert (round(both.respected.price, 6), round(both.ignored.price, 6)) == (0.4, round(together.price, 6))


def test_prefer_c_a_preference_that_no_pool_can_keep_keeps_nobody_pending() -> None:
    """Case PREFER (c)."""
    term = {"matchExpressions": [{"key": labels.NODEPOOL, "operator": "DoesNotExist"}]}
    pod = a_pod(affinity=preferring("nodeAffinity", {"preference": term}))
    assert machines(solved([pod], pools=[on_demand(kind="NodePool")])) == ["c.1"]


def test_prefer_d_a_hard_spread_over_zones_holds_while_a_soft_one_over_hosts_is_ignored() -> None:
    """Case PREFER (d)."""
    rules = [spread(labels.ZONE), spread(labels.HOSTNAME, "ScheduleAnyway")]
    solution = solved(pods(100, cpu="100m", memory="64Mi", labels=WEB, spread=rules), options=IGNORE)
    counts = [sum(len(plan.pods) for plan in solution.new_claims if plan.zone == zone) for zone in "abc"]
    assert max(counts) - min(counts) <= 1
    assert len(solution.new_claims) <= 9


def test_slow_solve_500_pods_that_keep_apart_get_a_machine_each() -> None:
    """Case SLOW-SOLVE, second input."""
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": labels.HOSTNAME, "labelSelector": SELECTS_WEB}
            ]
        }
    }
    wanted = pods(500, cpu="100m", memory="64Mi", labels=WEB, affinity=apart)
    assert machines(solved(wanted, options=FREE)) == ["c.1"] * 500


def test_slow_solve_a_batch_stopped_at_its_time_box_gives_what_it_has() -> None:
    """Case SLOW-SOLVE, first input: a selector and two soft spreads each, two pools, live nodes."""
    soft = [spread(labels.HOSTNAME, "ScheduleAnyway"), spread(labels.ZONE, "ScheduleAnyway")]
    wanted = [
        a_pod(f"p{at}", cpu="500m", labels=WEB, spread=soft, node_selector={labels.ZONE: "abc"[at % 3]})
        for at in range(300)
    ]
    nodes = [a_node_view(f"n{at}", cpu="2", zone="abc"[at % 3]) for at in range(50)]
    pools = [PoolView(on_demand("one"), toys()), PoolView(on_demand("two", weight=5), toys())]
    snapshot, demand = a_snapshot(nodes=nodes, pools=pools), Demand.each(wanted)
    whole = solve(snapshot, demand)
    assert (len(whole.placements), breaches(snapshot, demand, whole)) == (300, [])
    asked = iter(range(1000))
    cut = solve(snapshot, demand, stop=lambda: next(asked) >= 1)
    assert not cut.complete
    assert (bool(cut.placements), breaches(snapshot, demand, cut)) == (True, [])


def test_a_sidecar_counts_beside_the_pods_containers_and_beside_later_init_containers() -> None:
    """Case SIDECAR: 1 + 1 and overhead 250m need more than two cores; an init container before it does not add."""
    sidecar = a_container("mesh", cpu="1", restart_policy="Always")
    init = a_container("setup", cpu="2")
    assert machines(solved([a_pod(cpu="1", init_containers=[sidecar], overhead={"cpu": "250m"})])) == ["c.4"]
    assert machines(solved([a_pod(cpu="1", init_containers=[init, sidecar])])) == ["c.2"]
    assert machines(solved([a_pod(cpu="1", init_containers=[sidecar, init])])) == ["c.4"]
