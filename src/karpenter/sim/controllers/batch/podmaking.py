"""The pods of a Job, as manifests."""

from __future__ import annotations

from typing import Any, Final

from karpenter.runtime.kube import RawObject
from karpenter.sim.batchkinds import JOBS, Job
from karpenter.sim.controllers.batch.tally import INDEX, TRACKING
from karpenter.sim.controllers.templates import controlled_by, pod_from

_INDEX_VARIABLE: Final = "JOB_COMPLETION_INDEX"
_LONGEST_PREFIX: Final = 58
"""Of a name that the API server completes."""


def job_pod(job: Job, index: int | None) -> RawObject:
    """Return the manifest of a pod of a job; `index` is its completion number, None where there are none."""
    metadata = job.metadata
    owner = controlled_by(JOBS, metadata)
    prefix = f"{metadata.name}-" if index is None else _with_index(metadata.name, index)
    pod = pod_from(job.spec.template, owner, namespace=metadata.namespace, generate_name=prefix)
    finalizers = [*pod["metadata"].get("finalizers", ()), TRACKING]
    pod = {**pod, "metadata": {**pod["metadata"], "finalizers": finalizers}}
    return pod if index is None else _numbered(pod, f"{metadata.name}-{index}", index)


def _with_index(name: str, index: int) -> str:
    end = f"-{index}-"
    return name[: _LONGEST_PREFIX - len(end)] + end


def _numbered(pod: RawObject, hostname: str, index: int) -> RawObject:
    metadata, spec = pod["metadata"], pod["spec"]
    number = {INDEX: str(index)}
    return {
        **pod,
        "metadata": {
            **metadata,
            "annotations": {**metadata.get("annotations", {}), **number},
            "labels": {**metadata.get("labels", {}), **number},
        },
        "spec": {
            **spec,
            "hostname": hostname,
            **{
                kind: [_with_variable(container) for container in spec[kind]]
                for kind in ("initContainers", "containers")
                if spec.get(kind)
            },
        },
    }


def _with_variable(container: dict[str, Any]) -> dict[str, Any]:
    present = container.get("env") or []
    if any(one["name"] == _INDEX_VARIABLE for one in present):
        return container
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    return {**container, "env": [*present, {"name": _INDEX_VARIABLE, "valueFrom": source}]}
