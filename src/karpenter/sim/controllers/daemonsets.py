"""DaemonSets: one pod on every node that it belongs on."""

from __future__ import annotations

from typing import Final

from karpenter.model.core import Node, Pod
from karpenter.model.units import ObjectKey, UnixSeconds
from karpenter.runtime import kube as api
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import ref_to
from karpenter.runtime.kube import Conflict, NotFound, WatchEvent
from karpenter.sim.controllers.daemonhistory import DaemonHistory
from karpenter.sim.controllers.daemons import DaemonPlan, daemon_pod, node_of_daemon, plan_for
from karpenter.sim.controllers.daemonupdate import Changes, daemon_set_status, next_changes, outdated
from karpenter.sim.controllers.podstate import available_at
from karpenter.sim.controllers.templates import status_manifest
from karpenter.sim.kinds import DAEMON_SETS, DaemonSet
from karpenter.sim.standins import Context, Enqueue

COMPONENT: Final = "daemonset-controller"
_LONGEST_BACKOFF_S: Final = 900.0
_STATUS_FIELDS: Final = (
    "currentNumberScheduled",
    "desiredNumberScheduled",
    "numberMisscheduled",
    "numberReady",
    "observedGeneration",
)


class FailureBackoff:
    """How long to leave a failed daemon alone: 1 s, doubled with each failure up to 15 min, forgotten after 30 min."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], tuple[int, float]] = {}

    def note(self, place: tuple[str, str], now: float) -> None:
        """Take in that the daemon at a place failed and is being replaced."""
        failures, _ = self._known.get(place, (0, now))
        self._known = {key: value for key, value in self._known.items() if now - value[1] < 2 * _LONGEST_BACKOFF_S}
        self._known[place] = (failures + 1, now)

    def wait_s(self, place: tuple[str, str], now: float) -> float:
        """Return how long the next failure at a place has to wait for its replacement; 0 when it need not."""
        failures, last = self._known.get(place, (0, now))
        delay_s = min(2.0 ** (failures - 1), _LONGEST_BACKOFF_S) if failures else 0.0
        return max(0.0, last + delay_s - now)


class DaemonSets:
    """Creates a pod for each node that should have one, deletes those that should not be there, and rolls updates."""

    name = "sim.daemonset"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._clock = context.clock
        self._informers = context.informers
        self._recorder = context.events.of(COMPONENT)
        self._plans: dict[str, tuple[DaemonSet, DaemonPlan]] = {}
        self._nodes_seen: dict[str, object] = {}
        self._leaving: set[str] = set()
        """Uids of pods that were deleted and whose news have not come yet."""
        self._failures = FailureBackoff()
        self._history = DaemonHistory(context)

    def watch(self, enqueue: Enqueue[ObjectKey]) -> None:
        """Look at a DaemonSet when it or one of its pods changes, and at all when a node changes in what matters."""

        def node_changed(event: WatchEvent[Node]) -> None:
            node = event.object
            assert node is not None
            before = self._nodes_seen.pop(node.metadata.name, None)
            facts = (node.metadata.uid, node.metadata.labels, node.spec.taints, node.spec.unschedulable)
            if event.type != "DELETED":
                self._nodes_seen[node.metadata.name] = facts
            if event.type == "DELETED" or facts != before:
                for one in self._informers.daemon_sets.values():
                    enqueue(one.metadata.key)

        def pod_changed(event: WatchEvent[Pod]) -> None:
            pod = event.object
            assert pod is not None
            if event.type == "DELETED" or pod.metadata.is_deleting:
                self._leaving.discard(pod.metadata.uid)
            owner = pod.metadata.controller_key("DaemonSet")
            if owner is not None:
                enqueue(owner)

        def daemon_set_changed(event: WatchEvent[DaemonSet]) -> None:
            if event.object is not None:
                enqueue(event.object.metadata.key)

        self._informers.daemon_sets.subscribe(daemon_set_changed)
        self._informers.nodes.subscribe(node_changed)
        self._informers.pods.subscribe(pod_changed)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Bring the pods of one DaemonSet to where they belong."""
        one = self._informers.daemon_sets.get(key)
        if one is None:
            return DONE
        plan, wait_s = self._plan(one), None
        if not one.metadata.is_deleting:
            await self._history.note(one, plan.revision)
            changes = next_changes(plan, self._informers.nodes.values(), self._by_node(one))
            wait_s = await self._carry_out(one, plan, changes)
            if changes.is_nothing:
                await self._roll(one, plan)
        result = await self._report(one, plan)
        return result if wait_s is None else Result(min(wait_s, result.requeue_after_s or wait_s))

    def _plan(self, one: DaemonSet) -> DaemonPlan:
        known = self._plans.get(one.metadata.uid)
        if known is not None and known[0].spec == one.spec:
            return known[1]
        plan = plan_for(one)
        self._plans[one.metadata.uid] = (one, plan)
        return plan

    def _by_node(self, one: DaemonSet) -> dict[str, list[Pod]]:
        found: dict[str, list[Pod]] = {}
        for pod in self._informers.pods_by_controller.get(one.metadata.uid):
            if pod.metadata.uid not in self._leaving:
                found.setdefault(node_of_daemon(pod), []).append(pod)
        return found

    async def _carry_out(self, one: DaemonSet, plan: DaemonPlan, changes: Changes) -> float | None:
        """Create and delete pods; return after how many seconds a pod that failed again is to be replaced."""
        waits: list[float] = []
        for pod in changes.failed:
            place, now = (one.metadata.uid, pod.spec.node_name), self._clock.now()
            wait_s = self._failures.wait_s(place, now)
            if wait_s > 0:
                waits.append(wait_s)
                continue
            self._failures.note(place, now)
            message = f"Found failed daemon pod {pod.metadata.key} on node {pod.spec.node_name}, will try to kill it"
            self._recorder.record(ref_to(DAEMON_SETS, one), "Warning", "FailedDaemonPod", message)
            await self._delete(one, pod)
        for pod in changes.delete:
            await self._delete(one, pod)
        for node in changes.create:
            pod = await self._kube.create(api.PODS, daemon_pod(one, plan, node), namespace=one.metadata.namespace)
            self._informers.pods.fold(pod)
            message = f"Created pod: {pod.metadata.name}"
            self._recorder.record(ref_to(DAEMON_SETS, one), "Normal", "SuccessfulCreate", message)
        return min(waits, default=None)

    async def _roll(self, one: DaemonSet, plan: DaemonPlan) -> None:
        nodes, by_node = self._informers.nodes.values(), self._by_node(one)
        now = self._clock.now()
        wanted = daemon_set_status(one, plan, nodes, by_node=by_node, now=now).desired_number_scheduled
        for pod in outdated(one, plan, by_node, wanted=wanted, now=now):
            await self._delete(one, pod)

    async def _delete(self, one: DaemonSet, pod: Pod) -> None:
        metadata = pod.metadata
        try:
            await self._kube.delete(api.PODS, metadata.name, namespace=metadata.namespace, uid=metadata.uid)
        except (NotFound, Conflict):
            self._informers.pods.fold_deleted(metadata.key, metadata.uid)
            return
        self._leaving.add(metadata.uid)
        message = f"Deleted pod: {metadata.name}"
        self._recorder.record(ref_to(DAEMON_SETS, one), "Normal", "SuccessfulDelete", message)

    async def _report(self, one: DaemonSet, plan: DaemonPlan) -> Result:
        now = self._clock.now()
        by_node = self._by_node(one)
        status = daemon_set_status(one, plan, self._informers.nodes.values(), by_node=by_node, now=now)
        if status != one.status:
            written = await self._kube.patch(
                DAEMON_SETS,
                one.metadata.name,
                {"status": status_manifest(status, always=_STATUS_FIELDS)},
                namespace=one.metadata.namespace,
                subresource="status",
            )
            self._informers.daemon_sets.fold(written)
        pods = [pod for pods in by_node.values() for pod in pods]
        return _when_next_is_available(one, pods, now)


def _when_next_is_available(one: DaemonSet, pods: list[Pod], now: UnixSeconds) -> Result:
    moments = (available_at(pod, one.spec.min_ready_seconds) for pod in pods)
    ahead = [moment - now for moment in moments if moment is not None and moment > now]
    return Result(min(ahead)) if ahead else DONE
