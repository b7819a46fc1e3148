"""PodDisruptionBudgets: keeps their status true, so that evictions know how many pods may go."""

from __future__ import annotations

from typing import Any, Final

from karpenter.model.core import Pod
from karpenter.model.meta import OwnerReference
from karpenter.model.units import ObjectKey
from karpenter.runtime.controller import DONE, Result
from karpenter.runtime.events import ref_to
from karpenter.runtime.kube import WatchEvent
from karpenter.sim.controllers.budgets import (
    Coverage,
    UnknownScale,
    budget_status,
    expected,
    failed_status,
    next_expiry,
)
from karpenter.sim.controllers.templates import status_manifest
from karpenter.sim.kinds import BUDGETS, Budget, BudgetStatus
from karpenter.sim.standins import Context, Enqueue

COMPONENT: Final = "controllermanager"
_FIELDS: Final = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods", "observedGeneration")


class Disruption:
    """Counts the healthy pods of each budget."""

    name = "sim.disruption"

    def __init__(self, context: Context) -> None:
        self._kube = context.kube
        self._clock = context.clock
        self._informers = context.informers
        self._recorder = context.events.of(COMPONENT)
        self._coverage = Coverage()

    def watch(self, enqueue: Enqueue[ObjectKey]) -> None:
        """Look at a budget when it, a pod under it or the size of a workload changes."""

        def pod_changed(event: WatchEvent[Pod]) -> None:
            pod = event.object
            assert pod is not None
            for key in self._coverage.put_pod(pod, is_there=event.type != "DELETED"):
                enqueue(key)

        def budget_changed(event: WatchEvent[Budget]) -> None:
            assert event.object is not None
            self._coverage.put_budget(event.object, self._informers.pods.values(), is_there=event.type != "DELETED")
            enqueue(event.object.metadata.key)

        def workload_changed(event: WatchEvent[Any]) -> None:
            assert event.object is not None
            namespace = event.object.metadata.namespace
            for budget in self._informers.budgets.values():
                if budget.metadata.namespace == namespace:
                    enqueue(budget.metadata.key)

        self._informers.budgets.subscribe(budget_changed)
        self._informers.pods.subscribe(pod_changed)
        self._informers.deployments.subscribe(workload_changed)
        self._informers.replica_sets.subscribe(workload_changed)
        self._informers.stateful_sets.subscribe(workload_changed)

    async def reconcile(self, key: ObjectKey) -> Result:
        """Bring the status of one budget up to date."""
        budget = self._informers.budgets.get(key)
        if budget is None or budget.metadata.is_deleting:
            return DONE
        now = self._clock.now()
        status = self._judge(budget)
        if status != budget.status:
            body = status_manifest(status, always=_FIELDS)
            # An eviction may have been granted since we looked: writing over it would grant it twice.
            version = {"resourceVersion": budget.metadata.resource_version}
            stale = {name: None for name in budget.status.disrupted_pods if name not in status.disrupted_pods}
            if stale:
                body["disruptedPods"] = {**status.disrupted_pods, **stale}
            written = await self._kube.patch(
                BUDGETS,
                budget.metadata.name,
                {"metadata": version, "status": body},
                namespace=budget.metadata.namespace,
                subresource="status",
            )
            self._informers.budgets.fold(written)
        expiry = next_expiry(status)
        return DONE if expiry is None else Result(max(0.0, expiry - now))

    def _judge(self, budget: Budget) -> BudgetStatus:
        now = self._clock.now()
        keys = self._coverage.pods_under(budget.metadata.key)
        pods = [pod for key in keys if (pod := self._informers.pods.get(key)) is not None]
        try:
            return budget_status(budget, pods, expected(budget, pods, self._scale), now=now)
        except UnknownScale as error:
            self._recorder.record(ref_to(BUDGETS, budget), "Warning", "CalculateExpectedPodCountFailed", str(error))
            return failed_status(budget, str(error), now=now)
        except ValueError as error:
            return failed_status(budget, str(error), now=now)

    def _scale(self, namespace: str, owner: OwnerReference) -> tuple[str, int] | None:
        key = ObjectKey(namespace, owner.name)
        match owner.kind:
            case "ReplicaSet":
                replica_set = self._informers.replica_sets.get(key)
                if replica_set is None:
                    return owner.uid, 0
                above = replica_set.metadata.controller()
                if above is not None and above.kind == "Deployment":
                    deployment = self._informers.deployments.get(ObjectKey(namespace, above.name))
                    if deployment is not None:
                        return above.uid, deployment.spec.replicas
                return owner.uid, replica_set.spec.replicas
            case "StatefulSet":
                stateful_set = self._informers.stateful_sets.get(key)
                return owner.uid, stateful_set.spec.replicas if stateful_set is not None else 0
            case _:
                return None
