"""What DaemonSets take of new machines."""

from karpenter.model import labels
from karpenter.model.core import LimitRange, LimitRangeItem, LimitRangeSpec
from karpenter.model.meta import ObjectMeta
from karpenter.model.requirements import Requirement
from karpenter.scheduling import Options
from tests.builders import a_container, a_daemon, a_pod, a_pool
from tests.scheduling.toys import FREE, machines, on_demand, pods, solved, toys

EVERYWHERE = [{"operator": "Exists"}]


def limit_range(*, namespace: str = "default", default: str | None = None, request: str | None = None) -> LimitRange:
    item = LimitRangeItem(
        type="Container",
        default={"cpu": default} if default else {},
        default_request={"cpu": request} if request else {},
    )
    return LimitRange(ObjectMeta(name="defaults", namespace=namespace), LimitRangeSpec((item,)))


def test_a_daemon_that_tolerates_the_pools_taint_makes_the_machine_larger() -> None:
    """Case DS-OVERHEAD (a)."""
    tolerations = [{"key": "x", "operator": "Equal", "value": "y", "effect": "NoSchedule"}]
    daemon = a_daemon(cpu="1500m", memory="1Gi", tolerations=EVERYWHERE)
    pod = a_pod(cpu="15", memory="20Gi", tolerations=tolerations)
    assert machines(solved([pod], pools=[on_demand(taints=["x=y:NoSchedule"])], daemons=[daemon])) == ["c.32"]


def test_a_daemon_without_requests_counts_with_its_namespaces_default() -> None:
    """Case DS-OVERHEAD (b): 15 cpu and 1 cpu fit 16, a little more does not."""
    bare = a_daemon(containers=[a_container()])
    ranges = (limit_range(request="1"),)
    assert machines(solved([a_pod(cpu="15")], daemons=[bare], limit_ranges=ranges)) == ["c.16"]
    assert machines(solved([a_pod(cpu="15100m")], daemons=[bare], limit_ranges=ranges)) == ["c.32"]
    assert machines(solved([a_pod(cpu="15100m")], daemons=[bare])) == ["c.16"]


def test_the_default_limit_stands_in_for_a_default_request() -> None:
    bare = a_daemon(containers=[a_container()])
    assert machines(solved([a_pod(cpu="15100m")], daemons=[bare], limit_ranges=(limit_range(default="1"),))) == ["c.32"]


def test_a_limit_range_of_another_namespace_does_not_count() -> None:
    bare = a_daemon(containers=[a_container()])
    elsewhere = (limit_range(namespace="other", request="1"),)
    assert machines(solved([a_pod(cpu="15100m")], daemons=[bare], limit_ranges=elsewhere)) == ["c.16"]


def test_a_daemon_that_waits_for_registration_or_initialization_counts() -> None:
    """Case DS-OVERHEAD (c)."""
    for key in (labels.INITIALIZED, labels.REGISTERED):
        daemon = a_daemon(cpu="500m", node_selector={key: "true"})
        assert machines(solved([a_pod(cpu="900m")], daemons=[daemon])) == ["c.2"]


def test_a_daemon_counts_only_on_the_types_it_runs_on() -> None:
    """S-22: the GPU daemon makes no other machine larger."""
    gpu_only = a_daemon(cpu="500m", node_selector={labels.INSTANCE_CATEGORY: "g"})
    assert machines(solved([a_pod(cpu="1")], daemons=[gpu_only])) == ["c.1"]
    big = a_pod(cpu="7800m", requests={"nvidia.com/gpu": "1"})
    assert machines(solved([big], daemons=[gpu_only])) == []


def test_a_daemon_that_does_not_tolerate_the_pool_is_not_counted() -> None:
    tolerations = [{"key": "x", "operator": "Exists"}]
    solution = solved(
        [a_pod(tolerations=tolerations)], pools=[on_demand(taints=["x:NoSchedule"])], daemons=[a_daemon()]
    )
    assert machines(solution) == ["c.1"]


def test_a_preferred_taint_does_not_keep_daemons_away() -> None:
    pool = on_demand(taints=["x:PreferNoSchedule"])
    assert machines(solved([a_pod()], pools=[pool], daemons=[a_daemon()])) == ["c.2"]


def test_a_daemons_preferences_do_not_count() -> None:
    wish = {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {
                    "weight": 1,
                    "preference": {
                        "matchExpressions": [{"key": labels.INSTANCE_CATEGORY, "operator": "In", "values": ["g"]}]
                    },
                }
            ]
        }
    }
    assert machines(solved([a_pod()], daemons=[a_daemon(affinity=wish)])) == ["c.2"]


def test_the_machine_of_each_pool_carries_that_pools_daemons() -> None:
    plain, tagged = (
        on_demand("plain", requirements={labels.INSTANCE_TYPE: ["c.2"]}),
        on_demand("tagged", labels={"a": "b"}),
    )
    daemon = a_daemon(cpu="1500m", node_selector={"a": "b"})
    (plan,) = solved([a_pod(cpu="2")], pools=[plain, tagged], daemons=[daemon]).new_claims
    assert (plan.pool.name, plan.requests) == ("plain", {"cpu": 2000, "memory": 2**30, "pods": 1})


def test_the_requests_of_a_claim_are_those_of_pods_and_daemons() -> None:
    (plan,) = solved(pods(2), daemons=[a_daemon(cpu="100m", memory="64Mi")]).new_claims
    assert plan.requests == {"cpu": 2100, "memory": 2 * 2**30 + 64 * 2**20, "pods": 3}


def test_a_label_that_would_bring_a_machine_more_daemons_than_it_has_room_for_is_ruled_out() -> None:
    pool = a_pool(requirements=[Requirement.of("team", "Exists")])
    not_red = {"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["red"]}]}
    picky = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [not_red]}}}
    solution = solved(
        [
            a_pod("plain", cpu="1500m"),
            a_pod("picky", cpu="1500m", affinity=picky),
            a_pod("red", cpu="100m", node_selector={"team": "red"}),
        ],
        pools=[pool],
        types=toys("c.2"),
        daemons=[a_daemon(cpu="1500m", node_selector={"team": "red"})],
    )
    wanted = {pod.metadata.name: plan.requirements["team"] for plan in solution.new_claims for pod in plan.pods}
    assert {name: wanted[name].allows("red") for name in wanted} == {"plain": False, "picky": False, "red": True}


def test_many_small_machines_would_each_pay_for_the_daemon() -> None:
    """Case SMALL-NODES, first part: eight c.1 would cost 0.32, one c.4 0.16."""
    solution = solved(pods(8, cpu="400m", memory="512Mi"), daemons=[a_daemon(cpu="300m", memory="200Mi")])
    assert (machines(solution), solution.price) == (["c.4"], 0.16)


def test_types_on_which_daemons_do_not_fit_are_not_launched() -> None:
    pool = a_pool(requirements=[Requirement.of(labels.INSTANCE_TYPE, "In", ["c.1"])])
    assert machines(solved([a_pod(cpu="100m")], pools=[pool], daemons=[a_daemon(cpu="1100m")])) == []


def test_a_pod_goes_to_no_type_on_which_a_daemon_takes_its_port() -> None:
    """SCH-60, S-22: the claim lists no such type either, as the cloud may give any that it lists."""
    exporter = a_daemon(node_selector={labels.INSTANCE_CATEGORY: "m"}, ports=[{"hostPort": 9100}])
    for cpu in ("1", "3"):
        (plan,) = solved([a_pod(cpu=cpu, ports=[{"hostPort": 9100}])], daemons=[exporter], options=FREE).new_claims
        assert {name[0] for name in plan.instance_types} == {"c", "r", "g"}
    (plan,) = solved([a_pod(cpu="3", ports=[{"hostPort": 9101}])], daemons=[exporter], options=FREE).new_claims
    assert "m.8" in plan.instance_types


def test_a_machine_that_grows_does_not_become_one_where_a_daemon_takes_a_port() -> None:
    exporter = a_daemon(node_selector={labels.INSTANCE_CATEGORY: "m"}, ports=[{"hostPort": 9100}])
    wanted = [a_pod("one", cpu="3", ports=[{"hostPort": 9100}]), a_pod("two", cpu="3", memory="20Gi")]
    solution = solved(wanted, daemons=[exporter], options=Options(max_nodes=1))
    assert [plan.instance_type[0] for plan in solution.new_claims] == ["r"]
