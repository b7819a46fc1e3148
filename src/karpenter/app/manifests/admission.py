"""What the API server and the scheduler would have made of objects that no server has seen yet. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from karpenter.model.core import (
    Container,
    LimitRange,
    LimitRangeItem,
    Pod,
    PodStatus,
    PriorityClass,
    RawResources,
    ResourceRequirements,
)
from karpenter.model.meta import Condition, find_condition
from karpenter.model.pods import is_terminal

SYSTEM_PRIORITIES: Final = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
"""The classes that every cluster has."""

_UNPLACED: Final = Condition(type="PodScheduled", status="False", reason="Unschedulable")


class Admission:
    """Defaults that a pod gets from its namespace's limit ranges and from its priority class."""

    def __init__(self, limit_ranges: Iterable[LimitRange], priority_classes: Iterable[PriorityClass]) -> None:
        ordered = sorted(limit_ranges, key=lambda limit_range: limit_range.metadata.key)
        self._items: dict[str, list[LimitRangeItem]] = {}
        for limit_range in ordered:
            items = [item for item in limit_range.spec.limits if item.type == "Container"]
            self._items.setdefault(limit_range.metadata.namespace, []).extend(items)
        classes = tuple(priority_classes)
        self._priorities = SYSTEM_PRIORITIES | {each.metadata.name: each.value for each in classes}
        self._default = next((each.metadata.name for each in classes if each.global_default), "")
        self.unknown_classes: set[str] = set()
        """Names of priority classes that pods gave and nobody defined."""

    def admitted(self, pod: Pod) -> Pod:
        """Return the pod as the API server would have stored it; one that a server has stored stays as it is."""
        if pod.metadata.creation_timestamp is not None:
            return pod
        return self._with_priority(self._with_limits(pod))

    def _with_limits(self, pod: Pod) -> Pod:
        items = self._items.get(pod.metadata.namespace)
        if not items:
            return pod
        spec = msgspec.structs.replace(
            pod.spec,
            containers=tuple(_filled(container, items) for container in pod.spec.containers),
            init_containers=tuple(_filled(container, items) for container in pod.spec.init_containers),
        )
        return msgspec.structs.replace(pod, spec=spec)

    def _with_priority(self, pod: Pod) -> Pod:
        name = pod.spec.priority_class_name or self._default
        if pod.spec.priority is not None or not name:
            return pod
        if name not in self._priorities:
            self.unknown_classes.add(name)
            return pod
        spec = msgspec.structs.replace(pod.spec, priority=self._priorities[name], priority_class_name=name)
        return msgspec.structs.replace(pod, spec=spec)


def _filled(container: Container, items: Sequence[LimitRangeItem]) -> Container:
    given = container.resources
    # The API server turns a limit without a request into a request before limit ranges are looked at.
    requests: RawResources = {**given.limits, **given.requests}
    limits = dict(given.limits)
    for item in items:
        requests = {**_default_requests(item), **requests}
        limits = {**item.default, **limits}
    return msgspec.structs.replace(container, resources=ResourceRequirements(requests=requests, limits=limits))


def _default_requests(item: LimitRangeItem) -> Mapping[str, str | int | float]:
    return {**item.default, **item.default_request}


def judged(pod: Pod) -> Pod:
    """Return an unbound pod that no scheduler has looked at as one that found no room; others as they are."""
    waits = not (pod.spec.node_name or pod.spec.scheduling_gates or is_terminal(pod))
    if not waits or find_condition(pod.status.conditions, "PodScheduled") is not None:
        return pod
    status = PodStatus(phase="Pending", conditions=(*pod.status.conditions, _UNPLACED))
    return msgspec.structs.replace(pod, status=status)
