"""Workloads stand for the pods that their controllers would create, unless they have pods already."""

from collections.abc import Iterable
from typing import Any

import pytest

from karpenter.app.manifests.objects import Identity, Objects
from karpenter.app.manifests.workloads import expand
from karpenter.model.core import (
    ClaimTemplate,
    PersistentVolumeClaimSpec,
    Pod,
    PodSpec,
    PodTemplate,
    Workload,
    WorkloadOrdinals,
    WorkloadSpec,
    WorkloadStatus,
)
from karpenter.model.meta import Condition, LabelSelector, ObjectMeta, OwnerReference
from karpenter.model.storage import PersistentVolumeClaim

TEMPLATE = PodTemplate(metadata=ObjectMeta(labels={"app": "web"}), spec=PodSpec(node_selector={"disk": "ssd"}))
SELECTOR = LabelSelector(match_labels={"app": "web"})


def owned_by(kind: str, name: str) -> tuple[OwnerReference, ...]:
    return (OwnerReference("apps/v1", kind, name, f"uid-{name}", controller=True),)


def a_workload(
    name: str = "web", owner: tuple[OwnerReference, ...] = (), status: WorkloadStatus | None = None, **spec: Any
) -> Workload:
    metadata = ObjectMeta(name=name, namespace="shop", owner_references=owner)
    return Workload(metadata, WorkloadSpec(template=TEMPLATE, selector=SELECTOR, **spec), status or WorkloadStatus())


def a_pod_of(kind: str, name: str, **labels: str) -> Pod:
    metadata = ObjectMeta(name=f"{name}-x", namespace="shop", owner_references=owned_by(kind, name), labels=labels)
    return Pod(metadata)


def objects(*entries: tuple[str, Any]) -> Objects:
    return Objects({Identity("", kind, value.metadata.key): value for kind, value in entries})


def names(pods: Iterable[Pod]) -> list[str]:
    return [pod.metadata.name for pod in pods]


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet"])
def test_a_workload_without_pods_becomes_as_many_as_it_has_replicas(kind: str) -> None:
    assert names(expand(objects((kind, a_workload(replicas=3)))).pods) == ["web-0", "web-1", "web-2"]


def test_an_expanded_pod_has_its_templates_labels_and_spec_and_knows_its_owner() -> None:
    (pod,) = expand(objects(("Deployment", a_workload()))).pods
    assert (pod.spec, pod.metadata.labels, pod.metadata.namespace) == (TEMPLATE.spec, {"app": "web"}, "shop")
    assert pod.metadata.is_owned_by("Deployment")


def test_a_deployment_whose_replica_set_has_pods_is_left_alone() -> None:
    replica_set = a_workload("web-5d9", owned_by("Deployment", "web"), replicas=2)
    entries = [
        ("Deployment", a_workload(replicas=2)),
        ("ReplicaSet", replica_set),
        ("Pod", a_pod_of("ReplicaSet", "web-5d9")),
    ]
    assert expand(objects(*entries)).pods == ()


def test_a_deployments_pods_are_recognised_although_the_replica_set_is_not_in_the_dump() -> None:
    entries = [("Deployment", a_workload(replicas=2)), ("Pod", a_pod_of("ReplicaSet", "web-5d9", app="web"))]
    assert expand(objects(*entries)).pods == ()


def test_pods_of_another_replica_set_do_not_count_as_the_deployments() -> None:
    entries = [("Deployment", a_workload(replicas=1)), ("Pod", a_pod_of("ReplicaSet", "webshop-5d9", app="web"))]
    assert names(expand(objects(*entries)).pods) == ["web-0"]


def test_a_deployment_and_its_empty_replica_set_are_expanded_once() -> None:
    replica_set = a_workload("web-5d9", owned_by("Deployment", "web"), replicas=2)
    entries = [("Deployment", a_workload(replicas=2)), ("ReplicaSet", replica_set)]
    assert names(expand(objects(*entries)).pods) == ["web-0", "web-1"]


@pytest.mark.parametrize(
    "job, count",
    [
        ({}, 1),
        ({"parallelism": 4}, 4),
        ({"parallelism": 4, "completions": 3}, 3),
        ({"parallelism": 4, "completions": 9, "status": WorkloadStatus(succeeded=7)}, 2),
        ({"parallelism": 4, "suspend": True}, 0),
        ({"parallelism": 4, "status": WorkloadStatus(conditions=(Condition("Complete", "True"),))}, 0),
    ],
)
def test_a_job_becomes_the_pods_that_run_at_once(job: dict[str, Any], count: int) -> None:
    assert len(expand(objects(("Job", a_workload(**job)))).pods) == count


def test_a_stateful_set_counts_from_its_first_ordinal_and_brings_its_volume_claims() -> None:
    claim = PersistentVolumeClaimSpec(storage_class_name="gp3")
    templates = (ClaimTemplate(claim, ObjectMeta(name="data")),)
    workload = a_workload(replicas=2, ordinals=WorkloadOrdinals(start=5), volume_claim_templates=templates)
    present = PersistentVolumeClaim(ObjectMeta(name="data-web-5", namespace="shop"))
    expansion = expand(objects(("StatefulSet", workload), ("PersistentVolumeClaim", present)))
    mounted = [pod.spec.volumes[0].persistent_volume_claim.claim_name for pod in expansion.pods]
    assert mounted == ["data-web-5", "data-web-6"]
    assert [(claim.metadata.name, claim.spec) for claim in expansion.claims] == [("data-web-6", claim)]


def test_two_workloads_of_one_name_get_pods_of_different_names() -> None:
    entries = [("Deployment", a_workload()), ("StatefulSet", a_workload())]
    assert names(expand(objects(*entries)).pods) == ["web-0", "web-statefulset-0"]
