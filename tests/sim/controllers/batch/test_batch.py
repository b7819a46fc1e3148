"""Jobs and CronJobs on a simulated cluster, from creation to clean-up."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from karpenter.runtime import kube as api
from karpenter.runtime.kube import NotFound
from karpenter.sim.batchkinds import CRON_JOBS, JOBS, CronJob, Job
from karpenter.sim.kubelet import Power
from tests.sim.controllers.batch.jobs import cron_job_manifest, job_manifest
from tests.sim.simulations import Simulation, a_simulation


async def the_job(cluster: Simulation, name: str = "task") -> Job:
    return await cluster.kube.get(JOBS, name, namespace="default")


async def is_finished(cluster: Simulation) -> bool:
    return (await the_job(cluster)).status.is_finished


async def finished(cluster: Simulation, within_s: float = 300.0) -> Job:
    await cluster.until(lambda: is_finished(cluster), within_s=within_s)
    return await the_job(cluster)


async def phases(cluster: Simulation) -> Counter[str]:
    return Counter(pod.status.phase for pod in (await cluster.pods()).values())


def conditions(job: Job) -> dict[str, tuple[str, str]]:
    return {one.type: (one.status, one.reason) for one in job.status.conditions}


COMPLETE = {
    "SuccessCriteriaMet": ("True", "CompletionsReached"),
    "Complete": ("True", "CompletionsReached"),
}


def failed(reason: str) -> dict[str, tuple[str, str]]:
    return {"FailureTarget": ("True", reason), "Failed": ("True", reason)}


# ends ---------------------------------------------------------------------------------------------------------------


async def test_a_job_runs_its_pod_to_the_end_and_counts_it() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(job_manifest())
        job = await finished(cluster)
        assert (job.status.succeeded, job.status.failed, job.status.active, job.status.ready) == (1, 0, 0, 0)
        assert conditions(job) == COMPLETE
        assert job.status.completion_time is not None
        (pod,) = (await cluster.pods()).values()
        assert (pod.status.phase, pod.metadata.finalizers) == ("Succeeded", ())
        assert await cluster.events("Completed") == [("task", "Job completed")]


async def test_completions_are_worked_off_with_as_many_pods_as_may_run_at_once() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(job_manifest(completions=5, parallelism=2, runs_for="10s"))
        most = 0
        while not await is_finished(cluster):
            most = max(most, (await phases(cluster))["Running"])
            await asyncio.sleep(0.2)
        assert most == 2
        assert await phases(cluster) == {"Succeeded": 5}
        assert (await the_job(cluster)).status.succeeded == 5


async def test_each_number_of_an_indexed_job_is_done_once() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(job_manifest(completions=4, parallelism=3, completionMode="Indexed", runs_for="5s"))
        job = await finished(cluster)
        assert (job.status.succeeded, job.status.completed_indexes) == (4, "0-3")
        pods = (await cluster.pods()).values()
        key = "batch.kubernetes.io/job-completion-index"
        assert sorted(pod.metadata.annotations[key] for pod in pods) == ["0", "1", "2", "3"]
        assert all(pod.metadata.name.startswith(f"task-{pod.metadata.labels[key]}-") for pod in pods)


async def test_a_work_queue_is_done_once_one_pod_says_so_and_all_have_ended() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(job_manifest(parallelism=3))
        job = await finished(cluster)
        assert job.status.succeeded == 3
        assert conditions(job) == COMPLETE


# failures -----------------------------------------------------------------------------------------------------------


async def test_a_failed_pod_is_replaced_ever_later_until_the_limit_is_reached() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(job_manifest(exit_code=1, runs_for="1s", backoffLimit=2))
        job = await finished(cluster)
        assert (job.status.failed, job.status.succeeded) == (3, 0)
        assert conditions(job) == failed("BackoffLimitExceeded")
        assert job.status.completion_time is None
        created = sorted(pod.metadata.created_at or 0.0 for pod in (await cluster.pods()).values())
        first, second = created[1] - created[0], created[2] - created[1]
        assert 10 <= first <= 16
        assert 20 <= second <= 26
        assert await cluster.events("BackoffLimitExceeded") == [("task", "Job has reached the specified backoff limit")]


async def test_a_container_that_may_be_restarted_is_and_its_restarts_count() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(job_manifest(exit_code=1, runs_for="1s", restart="OnFailure", backoffLimit=2))
        await asyncio.sleep(8.0)
        (pod,) = (await cluster.pods()).values()
        assert (pod.status.phase, pod.status.container_statuses[0].restart_count) == ("Running", 0)
        job = await finished(cluster)
        assert conditions(job) == failed("BackoffLimitExceeded")
        assert await cluster.pods() == {}, "the pod that would go on trying is deleted"


async def test_a_job_that_takes_too_long_fails_and_its_pods_go() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(job_manifest(runs_for="1h", parallelism=2, completions=2, activeDeadlineSeconds=30))
        started = cluster.clock.now()
        job = await finished(cluster)
        assert 30 <= cluster.clock.now() - started <= 40
        assert conditions(job) == failed("DeadlineExceeded")
        assert job.status.failed == 2
        assert await cluster.pods() == {}


async def test_a_pod_that_was_deleted_half_way_is_done_over() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(job_manifest(runs_for="20s"))
        await asyncio.sleep(10.0)
        (name,) = await cluster.pods()
        await cluster.kube.delete(api.PODS, name, namespace="default")
        job = await finished(cluster)
        assert (job.status.succeeded, job.status.failed) == (1, 1)
        assert name not in await cluster.pods()


async def test_a_pod_whose_machine_ends_is_done_over_elsewhere() -> None:
    async with a_simulation("n1", "n2") as cluster:
        await cluster.apply(job_manifest(runs_for="30s"))
        await asyncio.sleep(10.0)
        (pod,) = (await cluster.pods()).values()
        cluster.machines.switch(pod.spec.node_name, Power.STOPPING)
        job = await finished(cluster)
        assert (job.status.succeeded, job.status.failed) == (1, 1)


async def test_the_failure_policy_can_ignore_failures_or_end_the_job_at_once() -> None:
    fatal = {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [42]}}
    async with a_simulation("n1") as cluster:
        await cluster.apply(job_manifest(exit_code=42, runs_for="1s", podFailurePolicy={"rules": [fatal]}))
        job = await finished(cluster)
        assert conditions(job) == failed("PodFailurePolicy")
        assert job.status.failed == 1
    async with a_simulation("n1") as cluster:
        ignored = {**fatal, "action": "Ignore"}
        await cluster.apply(
            job_manifest(exit_code=42, runs_for="1s", backoffLimit=0, podFailurePolicy={"rules": [ignored]})
        )
        await asyncio.sleep(60.0)
        assert (await the_job(cluster)).status.failed == 0
        assert len(await cluster.pods()) > 1


# changes ------------------------------------------------------------------------------------------------------------


async def test_a_suspended_job_runs_nothing_until_it_is_resumed() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(job_manifest(runs_for="20s", parallelism=2, completions=2))
        await asyncio.sleep(10.0)
        await cluster.kube.patch(JOBS, "task", {"spec": {"suspend": True}}, namespace="default")
        await asyncio.sleep(10.0)
        held = await the_job(cluster)
        assert await cluster.pods() == {}
        assert (held.status.active, held.status.failed, held.status.start_time) == (0, 0, None)
        assert conditions(held) == {"Suspended": ("True", "JobSuspended")}
        await cluster.kube.patch(JOBS, "task", {"spec": {"suspend": False}}, namespace="default")
        job = await finished(cluster)
        assert conditions(job) == {"Suspended": ("False", "JobResumed"), **COMPLETE}


async def test_a_finished_job_is_deleted_with_its_pods_when_its_time_is_over() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(job_manifest(runs_for="1s", ttlSecondsAfterFinished=60))
        await finished(cluster)
        await asyncio.sleep(50.0)
        await the_job(cluster)
        await asyncio.sleep(15.0)
        with pytest.raises(NotFound):
            await the_job(cluster)
        assert await cluster.pods() == {}


@pytest.mark.parametrize("propagation", ["Background", "Foreground"])
async def test_what_a_deleted_job_ran_goes_with_it(propagation: Any) -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(job_manifest(runs_for="1h", parallelism=2, completions=2))
        await asyncio.sleep(10.0)
        await cluster.kube.delete(JOBS, "task", namespace="default", propagation=propagation)
        await asyncio.sleep(10.0)
        assert await cluster.pods() == {}
        assert (await cluster.kube.list(JOBS)).items == ()


@pytest.mark.parametrize("stop_after_s", [0.05, 1.0, 3.0, 8.0, 12.5, 13.5, 14.0])
async def test_killed_at_any_moment_nothing_is_counted_twice_or_not_at_all(stop_after_s: float) -> None:
    async with a_simulation("n1") as cluster:
        await asyncio.sleep(3.0)
        await cluster.apply(job_manifest(completions=3, parallelism=3))
        await asyncio.sleep(stop_after_s)
    async with a_simulation(after=cluster) as again:
        job = await finished(again)
        assert (job.status.succeeded, job.status.failed) == (3, 0)
        assert len(await again.pods()) == 3
        await asyncio.sleep(5.0)
        revision = again.store.revision
        await asyncio.sleep(15.0)
        assert again.store.revision - revision <= 1, "a cluster at rest writes nothing but a lease"


# CronJobs -----------------------------------------------------------------------------------------------------------


async def the_cron_job(cluster: Simulation) -> CronJob:
    return await cluster.kube.get(CRON_JOBS, "nightly", namespace="default")


async def jobs(cluster: Simulation) -> list[Job]:
    found = (await cluster.kube.list(JOBS)).items
    return sorted(found, key=lambda job: job.metadata.name)


async def test_a_job_comes_whenever_it_is_time_and_old_ones_go() -> None:
    async with a_simulation("n1") as cluster:  # it is 22:13:20
        await cluster.apply(cron_job_manifest("*/5 * * * *"))
        await asyncio.sleep(60.0)
        assert await jobs(cluster) == []
        await asyncio.sleep(50.0)  # 22:15:10
        (first,) = await jobs(cluster)
        assert first.metadata.name == f"nightly-{1_700_000_100 // 60}"
        assert first.metadata.annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"] == "2023-11-14T22:15:00Z"
        status = (await the_cron_job(cluster)).status
        assert ([one.name for one in status.active], status.last_schedule_time) == (
            [first.metadata.name],
            "2023-11-14T22:15:00Z",
        )
        await asyncio.sleep(60.0)
        status = (await the_cron_job(cluster)).status
        assert status.active == ()
        assert status.last_successful_time is not None
        await asyncio.sleep(1500.0)
        assert len(await jobs(cluster)) == 3, "as many as the history keeps"
        assert (await the_cron_job(cluster)).status.last_schedule_time == "2023-11-14T22:40:00Z"


@pytest.mark.parametrize("policy, running", [("Allow", 2), ("Forbid", 1), ("Replace", 1)])
async def test_what_happens_when_the_last_job_still_runs(policy: str, running: int) -> None:
    async with a_simulation("n1") as cluster:
        made = cron_job_manifest("* * * * *", job=job_manifest(runs_for="1h"), concurrencyPolicy=policy)
        await cluster.apply(made)
        await asyncio.sleep(130.0)  # 22:15:30, after 22:14 and 22:15
        found = await jobs(cluster)
        assert len(found) == running
        is_newest = found[-1].metadata.name == f"nightly-{1_700_000_100 // 60}"
        assert is_newest is (policy != "Forbid")
        assert bool(await cluster.events("JobAlreadyActive")) is (policy == "Forbid")


async def test_a_schedule_or_zone_that_cannot_be_read_is_said() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(cron_job_manifest("0 0 31 2 *"))
        await asyncio.sleep(1.0)
        ((name, message),) = await cluster.events("UnparseableSchedule")
        assert name == "nightly"
        assert message.startswith('unparseable schedule: "0 0 31 2 *"')


async def test_a_missed_moment_is_made_up_for_once_after_a_pause() -> None:
    async with a_simulation("n1") as cluster:
        await cluster.apply(cron_job_manifest("*/5 * * * *", job=job_manifest(runs_for="5s")))
        await asyncio.sleep(1.0)
    await asyncio.sleep(1000.0)  # 22:30
    async with a_simulation(after=cluster) as again:
        await asyncio.sleep(30.0)
        assert [job.metadata.name for job in await jobs(again)] == [f"nightly-{1_700_001_000 // 60}"]
