"""Rules of a NodePool's fields, and what they mean in the hub (spec v1 §1.3, §1.4, §8.1)."""

import pytest

from karpenter.model.errors import FieldError
from karpenter.model.nodepool import Budget, Disruption, NodeClassRef, Origin
from karpenter.model.pools import decode_pool, encode_pool_status
from karpenter.model.requirements import Requirement
from karpenter.model.units import PoolKey
from karpenter.model.v1 import decode_nodepool
from tests.builders import a_node_pool, a_pool, a_provisioner
from tests.refusals import errors_of, paths_of

HOUR = 3600.0


def decode(**spec):
    return decode_nodepool(a_node_pool(**spec))[0]


def refused(**spec) -> list[str]:
    return [path.removeprefix("spec.") for path in paths_of(decode_nodepool, a_node_pool(**spec))]


def requirement(key: str = "foo", operator: str = "In", *values: str, **more: object) -> dict:
    return {"key": key, "operator": operator, "values": list(values), **more}


@pytest.mark.parametrize("disruption", [{}, None])
def test_what_is_not_said_has_its_default(disruption: dict | None) -> None:
    """V1."""
    pool = decode(disruption=disruption)
    assert pool.disruption == Disruption(
        policy="WhenEmptyOrUnderutilized",
        consolidate_after_s=0.0,
        empty_after_s=0.0,
        drift=True,
        budgets=(Budget(nodes="10%"),),
    )
    assert (pool.template.expire_after_s, pool.template.termination_grace_period_s) == (720 * HOUR, None)
    assert (pool.weight, pool.replicas, pool.limits, pool.kubelet) == (0, None, {}, None)


def test_the_pool_knows_what_it_was_decoded_from() -> None:
    pool = decode()
    assert pool.origin == Origin("karpenter.sh/v1", "NodePool", "default", "")
    assert (pool.key, pool.identity) == (PoolKey("NodePool", "default"), ("karpenter.sh/nodepool", "default"))
    assert pool.template.node_class_ref == NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")


def test_nothing_is_required_of_machines_that_the_manifest_does_not_require() -> None:
    assert len(decode().template.requirements) == 0


@pytest.mark.parametrize("text", ["-1m", "1.5h", "2d", "", 30])
def test_durations_are_whole_groups(text: object) -> None:
    """V2."""
    assert refused(disruption={"consolidateAfter": text}) == ["disruption.consolidateAfter"]
    assert refused(template={"expireAfter": text}) == ["template.spec.expireAfter"]


def test_never_means_no_time_at_all() -> None:
    """V3."""
    pool = decode(template={"expireAfter": "Never"}, disruption={"consolidateAfter": "Never"})
    assert pool.template.expire_after_s is None
    assert (pool.disruption.consolidate_after_s, pool.disruption.empty_after_s) == (None, None)


def test_a_drain_has_an_end_or_none() -> None:
    assert decode(template={"terminationGracePeriod": "1h"}).template.termination_grace_period_s == HOUR
    assert refused(template={"terminationGracePeriod": "Never"}) == ["template.spec.terminationGracePeriod"]


@pytest.mark.parametrize(
    "budget, path",
    [
        ({"nodes": "10%", "schedule": "@daily"}, ""),  # V4
        ({"nodes": "10%", "duration": "8h"}, ""),
        ({"nodes": "10%", "schedule": "@daily", "duration": "30s"}, ".duration"),  # V5
        ({"nodes": "101%"}, ".nodes"),
        ({"nodes": "-1"}, ".nodes"),
        ({"nodes": "1.5"}, ".nodes"),
        ({"nodes": 5}, ".nodes"),
        ({"nodes": "1", "reasons": ["Expired"]}, ".reasons[0]"),
        ({"nodes": "1", "schedule": "TZ=UTC 0 9 * * *", "duration": "8h"}, ".schedule"),
        ({"nodes": "1", "schedule": "0 9 * *", "duration": "8h"}, ".schedule"),
    ],
)
def test_budgets_follow_their_grammar(budget: dict, path: str) -> None:
    """V4, V5, §1.3."""
    assert refused(disruption={"budgets": [budget]}) == [f"disruption.budgets[0]{path}"]


def test_budgets_are_read_whole() -> None:
    """V5."""
    budgets = [
        {"nodes": "0", "schedule": "0 9 * * 1-5", "duration": "1h30m", "reasons": ["Drifted", "Underutilized"]},
        {"nodes": "100%", "schedule": "@daily", "duration": "10m0s"},
        {"nodes": "5"},
    ]
    assert decode(disruption={"budgets": budgets}).disruption.budgets == (
        Budget("0", frozenset({"Drifted", "Underutilized"}), "0 9 * * 1-5", 1.5 * HOUR),
        Budget("100%", None, "@daily", 600.0),
        Budget("5"),
    )


def test_no_budgets_at_all_is_not_the_default_budget() -> None:
    assert decode(disruption={"budgets": []}).disruption.budgets == ()


def test_a_pool_has_at_most_fifty_budgets() -> None:
    assert refused(disruption={"budgets": [{"nodes": "1"}] * 51}) == ["disruption.budgets"]


@pytest.mark.parametrize(
    "given, path",
    [
        (requirement("foo", "In", "a", minValues=2), ".values"),  # V6
        (requirement("foo", "Lte", "4", "8"), ".values"),  # V8
        (requirement("foo", "Exists", minValues=0), ".minValues"),
        (requirement("foo", "Exists", minValues=51), ".minValues"),
        (requirement("karpenter.sh/nodepool", "In", "a"), ".key"),
        (requirement("kubernetes.io/hostname", "In", "a"), ".key"),
        (requirement("karpenter.k8s.aws/instance-pods", "Exists"), ".key"),
        (requirement("foo", "Near", "a"), ".operator"),
    ],
)
def test_requirements_follow_their_rules(given: dict, path: str) -> None:
    """V6, V8, §1.4.1."""
    assert refused(template={"requirements": [given]}) == [f"template.spec.requirements[0]{path}"]


def test_inclusive_bounds_and_least_numbers_of_values_are_read() -> None:
    """V7."""
    given = [requirement("cpu", "Gte", "5"), requirement("family", "Exists", minValues=3)]
    requirements = decode(template={"requirements": given}).template.requirements
    assert requirements["cpu"] == Requirement.of("cpu", "Gt", ["4"])
    assert requirements["family"].min_values == 3


def test_capacity_types_that_do_not_exist_are_an_error_when_there_is_no_other() -> None:
    """§1.4.2."""
    key = "karpenter.sh/capacity-type"
    assert refused(template={"requirements": [requirement(key, "In", "zpot")]}) == ["template.spec.requirements"]
    pool, warnings = decode_nodepool(a_node_pool(template={"requirements": [requirement(key, "In", "zpot", "spot")]}))
    assert pool.template.requirements[key].values == {"spot", "zpot"}
    assert [(warning.code, warning.path) for warning in warnings] == [
        ("W-UNKNOWN-VALUE", "spec.template.spec.requirements")
    ]


@pytest.mark.parametrize("key", ["karpenter.sh/nodepool", "karpenter.sh/x", "kubernetes.io/hostname"])
def test_labels_of_karpenter_are_refused(key: str) -> None:
    """V9."""
    assert refused(template={"metadata": {"labels": {key: "x"}}}) == [f"template.metadata.labels[{key}]"]


def test_labels_of_kubernetes_are_accepted() -> None:
    """V9."""
    given = {"node-restriction.kubernetes.io/x": "y", "karpenter.sh/capacity-type": "spot"}
    assert decode(template={"metadata": {"labels": given, "annotations": {"a": "b"}}}).template.labels == given


def test_a_template_has_at_most_a_hundred_labels_and_requirements() -> None:
    keys = [f"key-{number}" for number in range(101)]
    assert refused(template={"metadata": {"labels": dict.fromkeys(keys, "x")}}) == ["template.metadata.labels"]
    assert refused(template={"requirements": [requirement(key, "Exists") for key in keys]}) == [
        "template.spec.requirements"
    ]


def test_a_static_pool_has_no_weight_and_limits_only_nodes() -> None:
    """V10."""
    assert refused(replicas=3, weight=10) == ["weight"]
    assert refused(replicas=3, limits={"cpu": 8}) == ["limits"]
    assert decode(replicas=0, limits={"nodes": 8}).replicas == 0


@pytest.mark.parametrize(
    "spec, path",
    [
        (
            {"template": {"nodeClassRef": {"group": "a/b", "kind": "K", "name": "n"}}},
            "template.spec.nodeClassRef.group",
        ),
        ({"template": {"nodeClassRef": {"group": "a", "kind": "", "name": "n"}}}, "template.spec.nodeClassRef.kind"),
        ({"template": {"nodeClassRef": None}}, "template.spec.nodeClassRef"),
        ({"template": {"requirements": None}}, "template.spec.requirements"),
        ({"template": {"taints": [{"key": "a", "effect": ""}]}}, "template.spec.taints[0].effect"),
        ({"template": {"kubelet": {}}}, "template.spec.kubelet"),
        ({"weight": 0}, "weight"),
        ({"replicas": -1}, "replicas"),
        ({"disruption": {"consolidationPolicy": "Never"}}, "disruption.consolidationPolicy"),
    ],
)
def test_other_fields_follow_their_rules(spec: dict, path: str) -> None:
    """§1.4."""
    assert refused(**spec) == [path]


def test_a_taint_occurs_once_in_both_lists() -> None:
    """§1.4."""
    taint = {"key": "a", "effect": "NoSchedule"}
    assert refused(template={"taints": [taint], "startupTaints": [taint]}) == ["template.spec.startupTaints[0]"]


def test_a_pool_without_a_template_lacks_only_that() -> None:
    raw = a_node_pool()
    raw["spec"] = {}
    assert errors_of(decode_nodepool, raw) == (FieldError("spec.template", "is required"),)


def test_pools_are_told_apart_by_kind_and_version() -> None:
    assert decode_pool(a_node_pool())[0].key == PoolKey("NodePool", "default")
    assert decode_pool(a_provisioner())[0].key == PoolKey("Provisioner", "default")
    older = {**a_node_pool(), "apiVersion": "karpenter.sh/v1beta1"}
    assert errors_of(decode_pool, older) == (
        FieldError(
            "kind",
            "karpenter.sh/v1beta1 NodePool is no pool",
            "one of karpenter.sh/v1alpha5 Provisioner, karpenter.sh/v1 NodePool",
        ),
    )


def test_the_status_of_each_generation_is_written_as_it_is_used_to() -> None:
    """Spec v1 §1.4.2, spec v1alpha5 §1.6."""
    used = {"cpu": 4000, "nodes": 1}
    assert encode_pool_status(a_pool(kind="NodePool"), used) == {
        "status": {
            "resources": {"cpu": "4", "ephemeral-storage": "0", "memory": "0", "nodes": "1", "pods": "0"},
            "nodes": 1,
        }
    }
    assert encode_pool_status(a_pool(), used) == {"status": {"resources": {"cpu": "4"}}}
