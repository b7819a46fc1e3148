"""What pods need, remembered by what their manifests say: a cluster has many pods and few different requests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from karpenter.model.core import Pod
from karpenter.model.pods import pod_requests
from karpenter.model.resources import Resources

_MOST: Final = 20_000
_encode = msgspec.msgpack.Encoder().encode
_known: dict[bytes, Resources] = {}


def requests_of(pod: Pod) -> Resources:
    """Return what the pod needs on a node, `pods: 1` included, amounts of zero left out.

    Raises:
        ValueError: an amount is not a quantity; the message names the resource.
    """
    spec = pod.spec
    key = _encode((spec.containers, spec.init_containers, spec.overhead, spec.resources, pod.status.container_statuses))
    found = _known.get(key)
    if found is None:
        found = {name: amount for name, amount in pod_requests(pod).items() if amount}
        if len(_known) >= _MOST:
            _known.clear()
        _known[key] = found
    return found


def total_requests(pods: Iterable[Pod]) -> dict[str, int]:
    """Return what the pods need together. Raises ValueError as `requests_of` does."""
    total: dict[str, int] = {}
    for pod in pods:
        for name, amount in requests_of(pod).items():
            total[name] = total.get(name, 0) + amount
    return total
