"""Jobs and CronJobs, as manifests and as the API has them."""

from typing import Any

import msgspec

from karpenter.sim.batchkinds import CronJob, Job
from tests.sim.clusters import Raw, pod_spec


def job_manifest(
    name: str = "task", *, runs_for: str = "", exit_code: int = 0, restart: str = "Never", **spec: Any
) -> Raw:
    """Return a Job whose pods run for so long and end so."""
    notes = {"simulated-kubelet/exit-code": str(exit_code)} | (
        {"simulated-kubelet/runs-for": runs_for} if runs_for else {}
    )
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "template": {"metadata": {"annotations": notes}, "spec": pod_spec(restartPolicy=restart)},
            **spec,
        },
    }


def cron_job_manifest(
    schedule: str = "*/5 * * * *", *, name: str = "nightly", job: Raw | None = None, **spec: Any
) -> Raw:
    made = job or job_manifest(runs_for="20s")
    return {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedule": schedule, "jobTemplate": {"spec": made["spec"]}, **spec},
    }


def a_job(*, status: Raw | None = None, **more: Any) -> Job:
    made = job_manifest(**more)
    made["metadata"]["uid"] = "uid-task"
    return msgspec.convert({**made, "status": status or {}}, Job)


def a_cron_job(schedule: str, *, created: str, last: str | None = None, **spec: Any) -> CronJob:
    made = cron_job_manifest(schedule, **spec)
    made["metadata"]["creationTimestamp"] = created
    return msgspec.convert({**made, "status": {"lastScheduleTime": last} if last else {}}, CronJob)
