"""When pods end by themselves, which stands for what their containers would do."""

import asyncio
from typing import Any

import msgspec
import pytest

from karpenter.model.core import Pod
from karpenter.sim.kubelet import Kubelets, NodeRhythm, Pace
from karpenter.sim.kubelet.endings import Ending, ending_of, may_end, restart_delay_s
from tests.sim.clusters import Cluster, Raw, pod
from tests.sim.machines import ScriptedMachines, machine

QUICK = Pace(speed=1.0, start_s=(2.0, 2.0), stop_s=(1.0, 1.0))
OF_A_JOB = [{"apiVersion": "batch/v1", "kind": "Job", "name": "task", "uid": "u", "controller": True}]


def a_pod(
    *command: str, notes: dict[str, str] | None = None, restart: str = "Never", owners: list[Raw] | None = None
) -> Raw:
    made = pod("task", restartPolicy=restart)
    made["metadata"] |= {"annotations": notes or {}, "ownerReferences": owners or []}
    if command:
        made["spec"]["containers"][0]["command"] = list(command)
    return made


def ending(*command: str, **more: Any) -> Ending | None:
    made = a_pod(*command, **more)
    return ending_of(msgspec.convert(made, Pod), made)


@pytest.mark.parametrize(
    "command, expected",
    [
        (("sleep", "30"), Ending(30.0)),
        (("sh", "-c", "echo hello; sleep 1.5; sleep 2m"), Ending(121.5)),
        (("sh", "-c", "sleep 5; exit 3"), Ending(5.0, 3)),
        (("sh", "-c", "sleep 5; false"), Ending(5.0, 1)),
        (("serve", "--forever"), None),
        ((), None),
    ],
)
def test_a_command_that_sleeps_says_how_long_and_how_it_ends(command: tuple[str, ...], expected: Ending | None) -> None:
    assert ending(*command) == expected


def test_annotations_say_more_than_the_command() -> None:
    notes = {"simulated-kubelet/runs-for": "1h30m", "simulated-kubelet/exit-code": "7"}
    assert ending("sleep", "30", notes=notes) == Ending(5400.0, 7)
    assert ending("sleep", "30", notes={"simulated-kubelet/runs-for": "a while"}) == Ending(30.0)


def test_a_pod_of_a_job_ends_after_ten_seconds_when_nothing_says_otherwise() -> None:
    assert ending(owners=OF_A_JOB) == Ending(10.0)
    assert ending("sleep", "60", owners=OF_A_JOB) == Ending(60.0)
    assert ending(owners=OF_A_JOB, notes={"simulated-kubelet/exit-code": "1"}) == Ending(10.0, 1)


def test_a_pod_that_is_restarted_for_ever_never_ends() -> None:
    assert not may_end(msgspec.convert(a_pod("sleep", "30", restart="Always"), Pod))


def test_each_restart_waits_longer_up_to_five_minutes() -> None:
    assert [restart_delay_s(number) for number in range(7)] == [10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0]


async def status(cluster: Cluster) -> Raw:
    kind = cluster.store.registry.find("", "v1", "pods")
    (found,) = [one.decode() for one in cluster.store.list(kind)]
    return found["status"]


async def after(seconds: float, made: Raw) -> Raw:
    """Return the status of a pod so long after it was bound."""
    cluster = Cluster()
    made["spec"]["nodeName"] = "n1"
    kubelets = Kubelets(cluster.context, ScriptedMachines(machine("n1")), pace=QUICK, rhythm=NodeRhythm())
    async with cluster.running(kubelets):
        await cluster.apply(made)
        await asyncio.sleep(seconds)
        return await status(cluster)


async def test_a_pod_runs_for_its_time_and_has_succeeded_then() -> None:
    assert (await after(2.0 + 29.9, a_pod("sleep", "30")))["phase"] == "Running"
    ended = await after(2.0 + 30.1, a_pod("sleep", "30"))
    assert ended["phase"] == "Succeeded"
    terminated = ended["containerStatuses"][0]["state"]["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (0, "Completed")
    ready = next(one for one in ended["conditions"] if one["type"] == "Ready")
    assert (ready["status"], ready["reason"]) == ("False", "PodCompleted")


async def test_a_pod_that_is_not_restarted_fails_with_its_exit_code() -> None:
    ended = await after(10.0, a_pod("sh", "-c", "sleep 5; exit 3"))
    assert ended["phase"] == "Failed"
    terminated = ended["containerStatuses"][0]["state"]["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (3, "Error")


async def test_a_container_that_failed_is_started_again_after_a_while() -> None:
    made = a_pod("sh", "-c", "sleep 5; exit 3", restart="OnFailure")
    waiting = (await after(2.0 + 6.0, made))["containerStatuses"][0]
    assert (waiting["state"], waiting["restartCount"]) == ({"waiting": {"reason": "CrashLoopBackOff"}}, 0)
    assert waiting["lastState"]["terminated"]["exitCode"] == 3
    again = (await after(2.0 + 5.0 + 11.0, made))["containerStatuses"][0]
    assert "running" in again["state"]
    assert again["restartCount"] == 1
    later = (await after(2.0 + 5.0 + 10.0 + 6.0, made))["containerStatuses"][0]
    assert (later["state"], later["restartCount"]) == ({"waiting": {"reason": "CrashLoopBackOff"}}, 1)


async def test_a_container_that_did_its_work_is_not_started_again() -> None:
    assert (await after(60.0, a_pod("sleep", "5", restart="OnFailure")))["phase"] == "Succeeded"
