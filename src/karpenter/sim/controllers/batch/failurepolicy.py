"""What a Job's policy says about a pod that failed.

Source: kubernetes.io/docs/concepts/workloads/controllers/job, Pod failure policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from karpenter.runtime.kube import RawObject


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a failed pod means for its job."""

    counts: bool = True
    """Whether it counts towards the backoff limit."""
    fails_job: str = ""
    """Why the whole job fails with it; empty when it does not."""


ORDINARY: Final = Verdict()


def judge(policy: RawObject, pod: RawObject) -> Verdict:
    """Return what the first rule of a policy that matches a failed pod says; without any it counts as ever."""
    for index, rule in enumerate(policy.get("rules") or ()):
        why = _match(rule, pod)
        if why is None:
            continue
        match rule["action"]:
            case "Ignore":
                return Verdict(counts=False)
            case "FailJob":
                return Verdict(fails_job=f"{why} matching FailJob rule at index {index}")
            case _:
                return ORDINARY
    return ORDINARY


def _match(rule: Mapping[str, Any], pod: RawObject) -> str | None:
    """Return in words what about a pod a rule matches; None when it does not match."""
    status = pod.get("status") or {}
    name = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
    if (codes := rule.get("onExitCodes")) is not None:
        ended = (*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ()))
        for container, code in _exits(ended):
            if codes.get("containerName") in (None, container) and _is_meant(codes, code):
                return f"Container {container} for pod {name} failed with exit code {code}"
        return None
    for condition in status.get("conditions") or ():
        for pattern in rule.get("onPodConditions") or ():
            if (condition["type"], condition["status"]) == (pattern["type"], pattern.get("status", "True")):
                return f"Pod {name} has condition {condition['type']}"
    return None


def _exits(statuses: Iterable[Mapping[str, Any]]) -> Iterable[tuple[str, int]]:
    for one in statuses:
        terminated = (one.get("state") or {}).get("terminated") or {}
        if terminated.get("exitCode"):
            yield one["name"], terminated["exitCode"]


def _is_meant(codes: Mapping[str, Any], code: int) -> bool:
    wants_one_of_them: bool = codes["operator"] == "In"
    return (code in codes["values"]) is wants_one_of_them
