"""Documents become objects once each; mistakes name file, object and field, and all are told at once."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from karpenter.app.manifests.load import Input, load
from karpenter.app.manifests.problems import InputError
from karpenter.model import core
from karpenter.model.aws.nodeclass import AwsNodeClass
from karpenter.model.nodeclaim import NodeClaim
from karpenter.model.nodepool import NodePool
from karpenter.model.units import ObjectKey
from tests.builders import a_node_pool, a_node_template, a_provisioner

REQUESTS = "spec.containers[0].resources.requests"
CLAIM = {
    "version": "karpenter.sh/v1",
    "spec": {
        "requirements": [],
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
    },
    "status": {"providerID": "sim:///a"},
}
CONTAINERS = [{"name": "c", "resources": {"requests": {"cpu": "1"}}}]


def a_manifest(kind: str = "Pod", name: str = "a", version: str = "v1", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **fields}


def given(*manifests: dict[str, Any]) -> Input:
    return load(["-"], "compat", stdin=io.BytesIO(json.dumps(manifests).encode()))


def problems(*manifests: dict[str, Any]) -> list[str]:
    with pytest.raises(InputError) as raised:
        given(*manifests)
    return str(raised.value).splitlines()


def test_an_object_without_a_namespace_is_in_default() -> None:
    found = given(a_manifest(spec={"containers": CONTAINERS}))
    assert [pod.metadata.key for pod in found.pods] == [ObjectKey("default", "a")]


def test_all_mistakes_of_all_files_are_told_at_once_a_line_each(tmp_path: Path) -> None:
    bad = a_manifest(spec={"containers": [{"resources": {"requests": {"cpu": "1x", "memory": "2GiB"}}}]})
    (tmp_path / "pod.json").write_text(json.dumps(bad))
    (tmp_path / "node.yaml").write_text(
        "apiVersion: v1\nkind: Node\nmetadata: {name: n}\nspec: {taints: [{key: '', effect: NoExecute}]}"
    )
    with pytest.raises(InputError) as raised:
        load([str(tmp_path), "missing.yaml"], "compat", stdin=io.BytesIO())
    assert str(raised.value).replace(f"{tmp_path}/", "").splitlines() == [
        "missing.yaml: there is no such file or folder",
        "node.yaml: Node n: spec.taints[0].key: is required and must not be empty",
        f"pod.json: Pod a: {REQUESTS}.cpu: '1x' is not a quantity such as 500m, 2 or 4Gi",
        f"pod.json: Pod a: {REQUESTS}.memory: '2GiB' is not a quantity such as 500m, 2 or 4Gi",
    ]


def test_an_object_without_a_name_is_refused() -> None:
    nameless = {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "a-"}, "spec": {}}
    assert problems(nameless) == ["stdin: Pod a-: metadata.name: is required and must be a non-empty string"]


def test_kinds_that_are_not_read_cost_one_warning_each() -> None:
    found = given(a_manifest("Ingress"), a_manifest("Ingress", "b"), a_manifest("Rollout", version="argoproj.io/v1"))
    assert found.warnings == (
        "argoproj.io/v1 Rollout is not read (1 object)",
        "v1 Ingress is not read (2 objects)",
    )


def test_a_known_kind_in_another_version_is_refused_with_the_right_one() -> None:
    old = a_manifest("PodDisruptionBudget", version="policy/v1beta1")
    expected = "apiVersion: 'policy/v1beta1' is not supported (write policy/v1)"
    assert problems(old) == [f"stdin: PodDisruptionBudget a: {expected}"]


def test_another_groups_kind_of_the_same_name_is_only_not_read() -> None:
    assert given(a_manifest("Job", version="batch.volcano.sh/v1alpha1")).warnings == (
        "batch.volcano.sh/v1alpha1 Job is not read (1 object)",
    )


def test_of_two_different_objects_with_one_name_the_last_counts_and_the_user_is_told() -> None:
    first, last = (a_manifest("PriorityClass", version="scheduling.k8s.io/v1", value=value) for value in (1, 2))
    found = given(first, first, last)
    assert [each.value for each in found.objects.of(core.PriorityClass)] == [2]
    assert found.warnings == ("stdin: PriorityClass a: is given more than once, the last one counts",)


def test_a_pod_that_waits_at_a_gate_is_named_in_a_warning() -> None:
    found = given(a_manifest(spec={"containers": CONTAINERS, "schedulingGates": [{"name": "quota"}]}))
    assert found.warnings == ("Pod default/a: is not planned for, its scheduling gates are closed",)
    assert found.pods[0].status.conditions == ()


def test_a_pod_of_an_unknown_priority_class_is_planned_for_and_the_user_is_told() -> None:
    found = given(a_manifest(spec={"containers": CONTAINERS, "priorityClassName": "gold"}))
    assert found.warnings == ("priority class 'gold' is not in the input, its pods count as having priority 0",)


def test_pools_of_both_generations_and_claims_are_read() -> None:
    found = given(a_provisioner("old"), a_node_pool("new"), a_node_template(), a_manifest("NodeClaim", **CLAIM))
    assert [pool.key for pool in found.objects.of(NodePool)] == [("Provisioner", "old"), ("NodePool", "new")]
    assert [claim.provider_id for claim in found.objects.of(NodeClaim)] == ["sim:///a"]
    assert [each.name for each in found.objects.of(AwsNodeClass)] == ["default"]


def test_a_node_template_under_the_wrong_group_is_refused_with_the_right_one() -> None:
    wrong = {**a_node_template(), "apiVersion": "karpenter.sh/v1alpha5"}
    expected = "apiVersion: 'karpenter.sh/v1alpha5' is not supported (write karpenter.k8s.aws/v1alpha1)"
    assert problems(wrong) == [f"stdin: AWSNodeTemplate default: {expected}"]


def test_every_rule_that_a_pool_breaks_is_told() -> None:
    broken = a_provisioner(weight=101, ttlSecondsAfterEmpty=-1)
    assert problems(broken) == [
        "stdin: Provisioner default: spec.ttlSecondsAfterEmpty: -1 must not be negative",
        "stdin: Provisioner default: spec.weight: 101 is not between 1 and 100",
    ]


def test_what_compat_accepts_with_a_warning_strict_refuses() -> None:
    text = json.dumps(a_provisioner(consolidation={"enabled": True}, ttlSecondsAfterEmpty=30)).encode()
    (warning,) = load(["-"], "compat", stdin=io.BytesIO(text)).warnings
    assert warning.startswith("stdin: Provisioner default: W-EXCLUSIVE spec.ttlSecondsAfterEmpty: ")
    with pytest.raises(InputError, match=r"^stdin: Provisioner default: spec\.ttlSecondsAfterEmpty: "):
        load(["-"], "strict", stdin=io.BytesIO(text))
