"""What pods ask for and which state they are in."""

import pytest
from msgspec.structs import replace

from karpenter.model.core import ContainerStatus, PodStatus, ResourceRequirements
from karpenter.model.meta import Condition
from karpenter.model.pods import host_ports, is_do_not_disrupt, is_provisionable, is_reschedulable, pod_requests
from tests.builders import a_container, a_daemon, a_pod

MIB = 2**20


def cpu_of(containers: list[str], init: list[tuple[str, str]] = (), overhead: str | None = None) -> int:
    """Return the CPU a pod needs; `init` lists (request, restart policy)."""
    pod = a_pod(
        containers=[a_container(f"c{index}", cpu=cpu) for index, cpu in enumerate(containers)],
        init_containers=[a_container(f"i{index}", cpu=cpu, restart_policy=p) for index, (cpu, p) in enumerate(init)],
        overhead={"cpu": overhead} if overhead else None,
    )
    return pod_requests(pod)["cpu"]


SIDECAR, ONCE = "Always", ""


@pytest.mark.parametrize(
    "containers, init, overhead, millis",
    [
        (["100m"], [("100m", SIDECAR), ("200m", ONCE)], None, 300),
        (["1"], [("2", ONCE), ("1", SIDECAR)], None, 2000),
        (["1"], [("1", SIDECAR), ("2", ONCE)], None, 3000),
        (["1"], [("1", SIDECAR)], "250m", 2250),
        (["1"], [("3", ONCE), ("1", SIDECAR), ("1", SIDECAR), ("500m", ONCE)], None, 3000),
    ],
)
def test_sidecars_count_beside_the_containers_and_beside_later_init_containers(
    containers: list[str], init: list[tuple[str, str]], overhead: str | None, millis: int
) -> None:
    """Cases 29 SIDECAR."""
    assert cpu_of(containers, init, overhead) == millis


def test_a_limit_without_a_request_counts_as_one_and_an_init_container_may_be_the_peak() -> None:
    """TV-58."""
    limited = a_container("limited", limits={"cpu": "500m"})
    asked, init = a_container("asked", cpu="250m"), a_container("init", cpu="2")
    assert pod_requests(a_pod(containers=[asked, limited])) == {"cpu": 750, "pods": 1}
    assert pod_requests(a_pod(containers=[asked, limited], init_containers=[init])) == {"cpu": 2000, "pods": 1}
    overhead = {"cpu": "100m"}
    with_overhead = a_pod(containers=[asked, limited], init_containers=[init], overhead=overhead)
    assert pod_requests(with_overhead) == {"cpu": 2100, "pods": 1}


def test_each_resource_takes_its_own_peak() -> None:
    """TV-59."""
    init = a_container("init", cpu="500m", memory="3Gi")
    assert pod_requests(a_pod(cpu="1", memory="1Gi", init_containers=[init])) == {
        "cpu": 1000,
        "memory": 3 * 1024 * MIB,
        "pods": 1,
    }


def with_pod_level(requests: dict[str, str], limits: dict[str, str], **pod: str) -> dict[str, int]:
    built = a_pod(memory=None, **pod)
    resources = ResourceRequirements(requests=requests, limits=limits)
    return pod_requests(replace(built, spec=replace(built.spec, resources=resources)))


def test_requests_of_the_whole_pod_replace_the_sum() -> None:
    """Cases 29 SIDECAR."""
    assert with_pod_level({"cpu": "3"}, {}, cpu="1") == {"cpu": 3000, "pods": 1}


def test_a_limit_of_the_whole_pod_counts_only_where_no_container_asks() -> None:
    assert with_pod_level({}, {"cpu": "3", "memory": "1Mi"}, cpu="1") == {"cpu": 1000, "memory": MIB, "pods": 1}


def test_while_a_resize_is_under_way_the_larger_amount_counts() -> None:
    """Architecture §13a: max of spec and allocated."""
    pod = a_pod(cpu="1", memory=None, node="n")
    status = PodStatus(
        phase="Running", container_statuses=(ContainerStatus(name="main", allocated_resources={"cpu": "2"}),)
    )
    assert pod_requests(replace(pod, status=status))["cpu"] == 2000


def test_an_amount_that_is_no_quantity_names_its_resource() -> None:
    with pytest.raises(ValueError, match="cpu: '1 core' is not a quantity"):
        pod_requests(a_pod(cpu="1 core"))


def test_a_pod_judged_unschedulable_is_provisionable() -> None:
    """POD-1."""
    assert is_provisionable(a_pod())


@pytest.mark.parametrize(
    "pod",
    [
        a_pod(unschedulable=False),
        a_pod(node="n", unschedulable=True),
        a_pod(phase="Succeeded"),
        a_pod(deleted="2023-11-14T22:00:30Z"),
        a_pod(owner="DaemonSet"),
        a_pod(owner="Node"),
    ],
    ids=["not judged", "bound", "terminal", "terminating", "daemon", "static"],
)
def test_a_pod_that_a_new_node_would_not_help_is_not_provisionable(pod) -> None:
    """POD-1."""
    assert not is_provisionable(pod)


def test_a_gated_pod_is_not_provisionable() -> None:
    """TV-68."""
    pod = a_pod()
    gated = Condition(type="PodScheduled", status="False", reason="SchedulingGated")
    assert not is_provisionable(replace(pod, status=PodStatus(phase="Pending", conditions=(gated,))))


def test_pods_that_move_with_their_node_are_known() -> None:
    """B-4."""
    assert is_reschedulable(a_pod(node="n"))
    assert is_reschedulable(a_pod(node="n", owner="StatefulSet", deleted="2023-11-14T22:00:30Z"))
    assert not is_reschedulable(a_pod(node="n", deleted="2023-11-14T22:00:30Z"))
    assert not is_reschedulable(a_daemon(node="n"))
    assert not is_reschedulable(a_pod(node="n", owner="Node"))
    assert not is_reschedulable(a_pod(node="n", phase="Failed"))


@pytest.mark.parametrize(
    "annotations, forbidden",
    [
        ({"karpenter.sh/do-not-evict": "true"}, True),
        ({"karpenter.sh/do-not-disrupt": "true"}, True),
        ({"karpenter.sh/do-not-evict": "false"}, False),
        ({}, False),
    ],
)
def test_an_annotation_may_forbid_to_move_a_pod(annotations: dict[str, str], forbidden: bool) -> None:
    """TV-122."""
    assert is_do_not_disrupt(a_pod(annotations=annotations)) is forbidden


def test_host_ports_have_an_address_and_a_protocol() -> None:
    """SCH-60."""
    ports = [
        {"containerPort": 1, "hostPort": 80},
        {"containerPort": 2},
        {"hostPort": 53, "protocol": "UDP", "hostIP": "::"},
    ]
    assert host_ports(a_pod(ports=ports).spec.containers) == (("0.0.0.0", 80, "TCP"), ("::", 53, "UDP"))
