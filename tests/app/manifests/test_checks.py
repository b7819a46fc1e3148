"""What the API server refuses in a pod, simulate refuses too, and says where."""

from typing import Any

import msgspec
import pytest

from karpenter.app.manifests.checks import limit_range_faults, node_faults, pod_faults
from karpenter.model import core

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
EXPRESSION = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def faults(**spec: Any) -> list[str]:
    raw = {"containers": [{"name": "c"}], **spec}
    return [str(fault) for fault in pod_faults(msgspec.convert(raw, core.PodSpec))]


def node_affinity(*expressions: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}}}


def test_an_ordinary_pod_has_no_faults() -> None:
    spread = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
    assert (
        faults(
            tolerations=[{"operator": "Exists"}, {"key": "a", "value": "b", "effect": "NoExecute"}],
            topologySpreadConstraints=[spread],
            affinity=node_affinity(
                {"key": "cpu", "operator": "Gt", "values": ["3"]}, {"key": "x", "operator": "Exists"}
            ),
            overhead={"cpu": "250m"},
            resources={"requests": {"memory": "1Gi"}},
        )
        == []
    )


@pytest.mark.parametrize(
    "spec, fault",
    [
        ({"containers": []}, "spec.containers: is required and must not be empty"),
        (
            {"initContainers": [{"name": "i", "resources": {"limits": {"nvidia.com/gpu": "one"}}}]},
            "spec.initContainers[0].resources.limits[nvidia.com/gpu]: 'one' is not a quantity such as 500m, 2 or 4Gi",
        ),
        ({"overhead": {"cpu": "-1"}}, "spec.overhead.cpu: -1 must not be negative"),
        (
            {"tolerations": [{"key": "a", "operator": "Exist"}]},
            "spec.tolerations[0].operator: 'Exist' is not supported (one of Equal, Exists)",
        ),
        (
            {"tolerations": [{"key": "a", "effect": "NoRun"}]},
            "spec.tolerations[0].effect: 'NoRun' is not supported (one of NoSchedule, PreferNoSchedule, NoExecute)",
        ),
        (
            {"tolerations": [{"value": "a"}]},
            "spec.tolerations[0].operator: must be Exists when there is no key, which tolerates every taint",
        ),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
            "spec.tolerations[0].value: 'b' must not be given with the operator Exists",
        ),
        (
            {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "zone"}]},
            "spec.topologySpreadConstraints[0].maxSkew: 0 is not 1 or more",
        ),
        (
            {"affinity": node_affinity({"key": "a", "operator": "in", "values": ["b"]})},
            f"{EXPRESSION}.operator: 'in' is not supported (one of In, NotIn, Exists, DoesNotExist, Gt, Lt)",
        ),
        (
            {"affinity": node_affinity({"key": "a", "operator": "Gt", "values": ["many"]})},
            f"{EXPRESSION}.values: must be one integer with the operator Gt",
        ),
        (
            {"affinity": node_affinity({"key": "a", "operator": "In"})},
            f"{EXPRESSION}.values: must not be empty with the operator In",
        ),
        (
            {"affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 0, "podAffinityTerm": {"topologyKey": "zone"}}]}}},
            f"spec.affinity.podAntiAffinity.{PREFERRED}[0].weight: 0 is not between 1 and 100",
        ),
    ],
)
def test_a_fault_is_told_with_its_path(spec: dict[str, Any], fault: str) -> None:
    assert faults(**spec) == [fault]


def test_faults_of_nodes_and_limit_ranges_are_told() -> None:
    node = {
        "metadata": {"name": "n"},
        "spec": {"taints": [{"key": "", "effect": "NoSchedule"}]},
        "status": {"allocatable": {"cpu": "lots"}},
    }
    limits = {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "?"}}]}}
    found = [
        *node_faults(msgspec.convert(node, core.Node)),
        *limit_range_faults(msgspec.convert(limits, core.LimitRange)),
    ]
    assert [fault.path for fault in found] == [
        "status.allocatable.cpu",
        "spec.taints[0].key",
        "spec.limits[0].defaultRequest.cpu",
    ]
