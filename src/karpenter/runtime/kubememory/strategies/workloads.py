"""Workloads: what creates pods from a template."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from karpenter.model.meta import LabelSelector
from karpenter.runtime.kube import RawObject
from karpenter.runtime.kubememory.records import Json
from karpenter.runtime.kubememory.refusals import Causes
from karpenter.runtime.kubememory.strategies.podrules import check_pod_spec
from karpenter.runtime.kubememory.strategies.pods import default_pod_spec
from karpenter.runtime.kubememory.strategies.podwarnings import pod_warnings
from karpenter.runtime.kubememory.strategies.strategy import Strategy

_CRON_FIELDS: Final = 5
_CONTROLLER_UID: Final = "batch.kubernetes.io/controller-uid"
_JOB_NAME: Final = "batch.kubernetes.io/job-name"
_STATEFUL_FREE: Final = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def _default_template(spec: dict[str, Any]) -> None:
    template = spec.setdefault("template", {})
    template.setdefault("metadata", {})
    default_pod_spec(template.setdefault("spec", {}))


def _default_rolling(strategy: dict[str, Any], **numbers: int | str) -> None:
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        for name, value in numbers.items():
            rolling.setdefault(name, value)


def _default_deployment(deployment: RawObject) -> None:
    spec = deployment.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    _default_rolling(spec.setdefault("strategy", {}), maxSurge="25%", maxUnavailable="25%")
    _default_template(spec)


def _default_replica_set(replica_set: RawObject) -> None:
    spec = replica_set.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    _default_template(spec)


def _default_replication_controller(controller: RawObject) -> None:
    _default_replica_set(controller)
    _labels_of_template(controller)
    spec = controller["spec"]
    if not spec.get("selector"):
        spec["selector"] = dict(spec["template"]["metadata"].get("labels") or {})


def _labels_of_template(workload: RawObject) -> None:
    if not workload["metadata"].get("labels"):
        labels = workload["spec"]["template"]["metadata"].get("labels")
        if labels:
            workload["metadata"]["labels"] = dict(labels)


def _default_stateful_set(stateful_set: RawObject) -> None:
    spec = stateful_set.setdefault("spec", {})
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("podManagementPolicy", "OrderedReady")
    _default_rolling(spec.setdefault("updateStrategy", {}), partition=0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    _default_template(spec)
    for claim in spec.get("volumeClaimTemplates") or ():
        claim.setdefault("apiVersion", "v1")
        claim.setdefault("kind", "PersistentVolumeClaim")
        claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
        claim.setdefault("status", {"phase": "Pending"})


def _default_daemon_set(daemon_set: RawObject) -> None:
    spec = daemon_set.setdefault("spec", {})
    spec.setdefault("revisionHistoryLimit", 10)
    _default_rolling(spec.setdefault("updateStrategy", {}), maxSurge=0, maxUnavailable=1)
    _default_template(spec)


def _default_job(job: RawObject) -> None:
    spec = job.setdefault("spec", {})
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = spec["parallelism"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 6)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "TerminatingOrFailed")
    _default_template(spec)
    if not spec.setdefault("manualSelector", False):
        _own_selector(job)
    _labels_of_template(job)


def _own_selector(job: RawObject) -> None:
    """Select the job's pods by its uid, which no other job can have."""
    uid, name, spec = job["metadata"].get("uid", ""), job["metadata"].get("name", ""), job["spec"]
    labels = spec["template"]["metadata"].setdefault("labels", {})
    for key, value in ((_CONTROLLER_UID, uid), ("controller-uid", uid), (_JOB_NAME, name), ("job-name", name)):
        labels.setdefault(key, value)
    spec.setdefault("selector", {"matchLabels": {_CONTROLLER_UID: uid}})


def _default_cron_job(cron_job: RawObject) -> None:
    spec = cron_job.setdefault("spec", {})
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    _default_template(spec.setdefault("jobTemplate", {}).setdefault("spec", {}))


def _check_workload(workload: RawObject, causes: Causes) -> None:
    spec = workload["spec"]
    replicas = spec.get("replicas", 0)
    if replicas < 0:
        causes.invalid("spec.replicas", replicas, "must be greater than or equal to 0")
    _check_selector(workload, causes)
    pods = _with_claims(spec["template"]["spec"], spec.get("volumeClaimTemplates") or ())
    check_pod_spec(pods, "spec.template.spec", causes=causes, restart_policies=("Always",))


def _check_stateful_set(stateful_set: RawObject, causes: Causes) -> None:
    policy = stateful_set["spec"]["podManagementPolicy"]
    if policy not in ("OrderedReady", "Parallel"):
        causes.invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    _check_update_strategy(stateful_set, causes)
    _check_workload(stateful_set, causes)


def _check_daemon_set(daemon_set: RawObject, causes: Causes) -> None:
    _check_workload(daemon_set, causes)
    _check_update_strategy(daemon_set, causes)


def _check_update_strategy(workload: RawObject, causes: Causes) -> None:
    strategy = workload["spec"]["updateStrategy"]
    if strategy["type"] not in ("RollingUpdate", "OnDelete"):
        shown = {"Type": strategy["type"], "RollingUpdate": strategy.get("rollingUpdate")}
        causes.unsupported("spec.updateStrategy", shown, ("RollingUpdate", "OnDelete"))


def _with_claims(pods: Json, templates: Sequence[Json]) -> Json:
    """Return a pod's spec with the volumes that a StatefulSet's claims become, which containers may mount."""
    claims = [template.get("metadata", {}).get("name", "") for template in templates]
    own = [volume for volume in pods.get("volumes") or () if volume.get("name") not in claims]
    return {**pods, "volumes": [*({"name": name} for name in claims), *own]} if claims else pods


def _check_selector(workload: RawObject, causes: Causes) -> None:
    spec = workload["spec"]
    selector, labels = spec.get("selector"), spec["template"]["metadata"].get("labels")
    if selector is None:
        causes.required("spec.selector")
        causes.invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
    elif not selector.get("matchLabels") and not selector.get("matchExpressions"):
        causes.invalid("spec.selector", selector, f"empty selector is invalid for {workload['kind'].lower()}")
    elif not msgspec.convert(selector, LabelSelector).matches(labels or {}):
        causes.invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")


def _check_replication_controller(controller: RawObject, causes: Causes) -> None:
    spec = controller["spec"]
    selector, labels = spec.get("selector") or {}, spec["template"]["metadata"].get("labels") or {}
    if not selector:
        causes.required("spec.selector")
    elif any(labels.get(key) != value for key, value in selector.items()):
        causes.invalid("spec.template.metadata.labels", labels, "`selector` does not match template `labels`")
    check_pod_spec(spec["template"]["spec"], "spec.template.spec", causes=causes, restart_policies=("Always",))


def _check_job_spec(spec: Json, path: str, causes: Causes) -> None:
    for name in ("parallelism", "completions", "backoffLimit"):
        if (spec.get(name) or 0) < 0:
            causes.invalid(f"{path}.{name}", spec[name], "must be greater than or equal to 0")
    template = spec["template"]["spec"]
    policies: tuple[str, ...] = ("OnFailure", "Never")
    needs_policy = template.get("restartPolicy") == "Always"
    allowed = ("Always", *policies) if needs_policy else policies
    check_pod_spec(template, f"{path}.template.spec", causes=causes, restart_policies=allowed)
    if needs_policy:
        # A Job's pods have an end: the default of all other pods does not fit, and the manifest has to say what does.
        causes.required(f"{path}.template.spec.restartPolicy", 'valid values: "OnFailure", "Never"')


def _check_cron_job(cron_job: RawObject, causes: Causes) -> None:
    schedule = str(cron_job["spec"].get("schedule") or "")
    if not schedule:
        causes.required("spec.schedule")
    elif not schedule.startswith("@") and len(fields := schedule.split()) != _CRON_FIELDS:
        shown = " ".join(fields)
        detail = f"expected exactly {_CRON_FIELDS} fields, found {len(fields)}: [{shown}]"
        causes.invalid("spec.schedule", schedule, detail)
    _check_job_spec(cron_job["spec"]["jobTemplate"]["spec"], "spec.jobTemplate.spec", causes)


def _zero(*counts: str) -> Callable[[RawObject], None]:
    return lambda workload: workload.update(status=dict.fromkeys(counts, 0))


def _keeps(*fields: str) -> Callable[[RawObject, RawObject, Causes], None]:
    def check(old: RawObject, new: RawObject, causes: Causes) -> None:
        for field in fields:
            if old["spec"].get(field) != new["spec"].get(field):
                causes.invalid(f"spec.{field}", new["spec"].get(field), "field is immutable")

    return check


def _check_stateful_set_update(old: RawObject, new: RawObject, causes: Causes) -> None:
    before, after = (
        {name: value for name, value in one["spec"].items() if name not in _STATEFUL_FREE} for one in (old, new)
    )
    if before != after:
        names = ", ".join(f"'{name}'" for name in _STATEFUL_FREE[:-1])
        causes.forbidden(
            "spec", f"updates to statefulset spec for fields other than {names} and 'minReadySeconds' are forbidden"
        )


def _check_job_update(old: RawObject, new: RawObject, causes: Causes) -> None:
    fields = ["completions", "selector", "completionMode"]
    # A suspended job that never started may still be told where to run.
    if not (old["spec"].get("suspend") and "startTime" not in old.get("status", {})):
        fields.append("template")
    _keeps(*fields)(old, new, causes)


def _warn_of_template(workload: RawObject) -> Iterable[str]:
    return pod_warnings(workload["spec"]["template"]["spec"], "spec.template.spec")


def _warn_of_cron_job(cron_job: RawObject) -> Iterable[str]:
    template = cron_job["spec"]["jobTemplate"]["spec"]["template"]
    return pod_warnings(template["spec"], "spec.jobTemplate.spec.template.spec")


DEPLOYMENT: Final = Strategy(
    default=_default_deployment, check=_check_workload, check_update=_keeps("selector"), warn=_warn_of_template
)
REPLICA_SET: Final = Strategy(
    default=_default_replica_set,
    begin=_zero("replicas"),
    check=_check_workload,
    check_update=_keeps("selector"),
    warn=_warn_of_template,
)
STATEFUL_SET: Final = Strategy(
    default=_default_stateful_set,
    begin=_zero("replicas", "availableReplicas"),
    check=_check_stateful_set,
    check_update=_check_stateful_set_update,
    warn=_warn_of_template,
)
DAEMON_SET: Final = Strategy(
    default=_default_daemon_set,
    begin=_zero("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled", "numberReady"),
    check=_check_daemon_set,
    check_update=_keeps("selector"),
    warn=_warn_of_template,
)
REPLICATION_CONTROLLER: Final = Strategy(
    default=_default_replication_controller, check=_check_replication_controller, warn=_warn_of_template
)
JOB: Final = Strategy(
    default=_default_job,
    check=lambda job, causes: _check_job_spec(job["spec"], "spec", causes),
    check_update=_check_job_update,
    warn=_warn_of_template,
)
CRON_JOB: Final = Strategy(default=_default_cron_job, check=_check_cron_job, warn=_warn_of_cron_job)
